//! The one door to `git`: a fixed environment, a fixed configuration, a bounded time.
//!
//! Every child gets a `GIT_DIR` of the harness. Nothing of the caller's environment, of the
//! machine's or of a repository's configuration reaches it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use untrusted_fs::own_files::OwnPath as _;

use crate::error::{GitOutcome, TreeError, malformed};
use crate::store::talk::{Talk, wait_for_exit};

const SYSTEM_DIRS: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// Time that a git process may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
const STDERR_SHOWN: usize = 2000;
/// Upper bound on the output of any call.
const MOST_OUTPUT: usize = 1 << 30;

/// Pinned so that no default of a git version changes what the harness sees.
const CONFIG: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=true",
    "core.autocrlf=false",
    "core.eol=lf",
    "core.safecrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.ignoreCase=false",
    "core.precomposeUnicode=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.checkStat=default",
    "core.trustctime=true",
    "core.commitGraph=false",
    "core.multiPackIndex=false",
    "core.preloadIndex=false",
    "core.splitIndex=false",
    "core.pager=cat",
    "core.fsync=none",
    "index.version=2",
    "index.sparse=false",
    "gc.auto=0",
    "pack.compression=1",
    "maintenance.auto=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "diff.algorithm=myers",
    "diff.context=3",
    "diff.interHunkContext=0",
    "diff.indentHeuristic=true",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.renames=false",
    "diff.suppressBlankEmpty=false",
    "diff.ignoreSubmodules=none",
    "diff.submodule=short",
    "apply.whitespace=nowarn",
    "apply.ignoreWhitespace=no",
    "status.showUntrackedFiles=all",
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C"),
    ("HOME", "/nonexistent"),
];

/// The git program this harness runs.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    path: OsString,
}

/// The version a git program reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
}

impl GitVersion {
    /// The oldest git whose plumbing this crate was written for.
    pub const OLDEST: GitVersion = GitVersion { major: 2, minor: 39 };
}

impl std::fmt::Display for GitVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

fn outcome_of(status: ExitStatus) -> GitOutcome {
    let by_somebody = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP].map(Signal::as_raw);
    match (status.code(), status.signal()) {
        (Some(code), _) => GitOutcome::Exited(code),
        (_, Some(signal)) if !by_somebody.contains(&signal) => GitOutcome::Crashed(signal),
        _ => GitOutcome::Killed,
    }
}

/// Standard input of a child.
pub(crate) enum Input<'a> {
    Bytes(&'a [u8]),
    File(File),
}

/// One git child to be.
pub(crate) struct GitCall<'a> {
    /// Action of the call, for errors.
    pub(crate) doing: &'static str,
    /// Git directory of the harness; never one of somebody else.
    pub(crate) git_dir: &'a Path,
    /// Work tree, if the call needs one.
    pub(crate) work_tree: Option<&'a Path>,
    pub(crate) env: Vec<(&'static str, OsString)>,
    pub(crate) args: Vec<OsString>,
    pub(crate) input: Input<'a>,
    /// File for the output, if it does not go to memory.
    pub(crate) output: Option<File>,
    /// Time limit of the call.
    pub(crate) patience: Duration,
    /// More than so many bytes on standard output end the child.
    pub(crate) most_output: usize,
}

impl<'a> GitCall<'a> {
    /// Call in a git directory of the harness; `doing` names the action in errors.
    pub(crate) fn new(doing: &'static str, git_dir: &'a Path, args: &[&str]) -> GitCall<'a> {
        let args = args.iter().map(OsString::from).collect();
        let (input, env) = (Input::Bytes(b""), Vec::new());
        GitCall {
            doing,
            git_dir,
            work_tree: None,
            env,
            args,
            input,
            output: None,
            patience: PATIENCE,
            most_output: MOST_OUTPUT,
        }
    }

    fn failed(&self, outcome: GitOutcome, stderr: &[u8]) -> TreeError {
        let shown = &stderr[..stderr.len().min(STDERR_SHOWN)];
        TreeError::Git { doing: self.doing, outcome, stderr: String::from_utf8_lossy(shown).trim().to_owned() }
    }
}

impl Git {
    /// Looks for git in the system's directories, then in `more`; these are also the PATH
    /// of every child.
    pub fn find_git(more: &[PathBuf]) -> Result<Git, TreeError> {
        let dirs: Vec<PathBuf> = SYSTEM_DIRS.iter().map(PathBuf::from).chain(more.iter().cloned()).collect();
        let program = dirs.iter().map(|dir| dir.join("git")).find(|program| program.own_is_file());
        let path = std::env::join_paths(&dirs).map_err(|e| malformed("search path", e.to_string()))?;
        program.map(|program| Git { program, path }).ok_or(TreeError::NoGit { looked_in: dirs })
    }

    /// Path of the executable.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The version of this git, for a preflight.
    pub fn version(&self) -> Result<GitVersion, TreeError> {
        let out = self.run_child(GitCall::new("asking for git's version", Path::new("/"), &["version"]))?;
        let text = String::from_utf8_lossy(&out).into_owned();
        let mut numbers = text.trim_start_matches("git version ").split('.').map_while(|n| n.trim().parse().ok());
        match (numbers.next(), numbers.next()) {
            (Some(major), Some(minor)) => Ok(GitVersion { major, minor }),
            _ => Err(malformed("git version", text)),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the one door to git")]
    fn command(&self, call: &GitCall<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(ENVIRONMENT.iter().copied()).env("PATH", &self.path).env("GIT_DIR", call.git_dir);
        command.envs(call.env.iter().map(|(key, value)| (key, value)));
        if let Some(work_tree) = call.work_tree {
            command.env("GIT_WORK_TREE", work_tree);
        }
        command.args(CONFIG.iter().flat_map(|pair| ["-c", pair])).args(&call.args).current_dir(call.git_dir);
        command
    }

    /// Starts a child that is talked to over pipes; the caller reaps it.
    pub(crate) fn start_child(&self, call: &GitCall<'_>) -> Result<Child, TreeError> {
        let mut command = self.command(call);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().map_err(|e| call.failed(GitOutcome::NotStarted(e.to_string()), b""))
    }

    /// Runs a child to its end and returns its standard output.
    pub(crate) fn run_child(&self, call: GitCall<'_>) -> Result<Vec<u8>, TreeError> {
        self.run_allowing(call, &[0])
    }

    /// Same as `run`, for calls with further good exit codes.
    pub(crate) fn run_allowing(&self, mut call: GitCall<'_>, good: &[i32]) -> Result<Vec<u8>, TreeError> {
        let mut command = self.command(&call);
        let input = match std::mem::replace(&mut call.input, Input::Bytes(b"")) {
            Input::Bytes(b"") => (command.stdin(Stdio::null()), &b""[..]).1,
            Input::Bytes(bytes) => (command.stdin(Stdio::piped()), bytes).1,
            Input::File(file) => (command.stdin(file), &b""[..]).1,
        };
        command.stdout(call.output.take().map_or_else(Stdio::piped, Stdio::from)).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| call.failed(GitOutcome::NotStarted(e.to_string()), b""))?;
        let deadline = Instant::now() + call.patience;
        let mut talk = Talk::with_child(&mut child, input, call.most_output);
        match talk.until(deadline).and_then(|()| wait_for_exit(&mut child, deadline)) {
            Ok(status) if status.code().is_some_and(|code| good.contains(&code)) => Ok(talk.out),
            Ok(status) => Err(call.failed(outcome_of(status), &talk.err)),
            Err(e) => {
                // The child may be gone already; either way it must not outlive the call.
                let _ = child.kill();
                let _ = child.wait();
                let outcome = match e.kind() {
                    io::ErrorKind::TimedOut => GitOutcome::Late(call.patience),
                    io::ErrorKind::FileTooLarge => GitOutcome::TooMuch(call.most_output),
                    _ => GitOutcome::Lost(e.to_string()),
                };
                Err(call.failed(outcome, &talk.err))
            }
        }
    }
}

/// An environment value that names directories, quoted as git reads them.
pub(crate) fn alternates_value(dir: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut quoted = vec![b'"'];
    for byte in dir.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(*b"\\n"),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A stand-in that does what its first argument after the configuration says.
    const STAND_IN: &str = "#!/bin/sh\nwhile [ \"$1\" = -c ]; do shift 2; done\neval \"$1\"\n";

    /// One test, and the program written before any child starts: a child of another test would hold it open for writing.
    #[test]
    fn children_are_fed_stopped_and_kept_from_the_environment() {
        let dir = tempfile::TempDir::new().unwrap();
        let program = dir.path().join("git");
        std::fs::write(&program, STAND_IN).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let git = Git { program, path: "/usr/bin:/bin".into() };
        let run = |script: &str, input: &[u8], patience: u64| {
            let mut call = GitCall::new("testing", dir.path(), &[script]);
            call.input = Input::Bytes(input);
            call.patience = Duration::from_millis(patience);
            git.run_child(call)
        };
        let much = vec![b'x'; 3 << 20];
        assert_eq!(run("cat", &much, 60_000).unwrap(), much);
        assert_eq!(run("echo out; exec >&-", &much, 60_000).unwrap(), b"out\n", "input nobody reads");
        let failed = run("echo because >&2; exit 3", b"", 60_000).unwrap_err().to_string();
        assert!(failed.contains("exit status: 3: because"), "{failed}");
        let begun = Instant::now();
        for script in ["exec sleep 60", "exec >&- 2>&-; exec sleep 60"] {
            let stopped = run(script, b"", 200).unwrap_err().to_string();
            assert!(stopped.contains("was stopped") && begun.elapsed() < Duration::from_secs(30), "{stopped}");
        }
        let seen = String::from_utf8(run("env", b"", 60_000).unwrap()).unwrap();
        let own = |name: &str| ENVIRONMENT.iter().any(|(n, _)| *n == name) || ["PATH", "GIT_DIR"].contains(&name);
        let shell = |name: &str| ["PWD", "_", "SHLVL", "OLDPWD"].contains(&name);
        for name in seen.lines().filter_map(|line| line.split('=').next()) {
            assert!(own(name) || shell(name), "{name} got through");
        }
    }
}
