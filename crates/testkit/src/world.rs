//! A temporary home and the real binary in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use contract::Digest;
use serde_json::Value;
use tempfile::TempDir;

use crate::claims::search_printed;
use crate::collected::{CollectOnDrop, share_world};
use crate::command::CtoCommand;
use crate::warm::share_memory;
use crate::who::{self, Who};

/// A place of its own for one test: a home, a HOME, a directory to work in, and the binary under test.
#[derive(Debug)]
pub struct World {
    /// Stands before the folder, so that it is dropped before that is removed.
    _collect: CollectOnDrop,
    dir: TempDir,
    binary: PathBuf,
    /// Whose it is, where that is another user than the test's own.
    uid: Option<u32>,
    /// True if a home gets the knowledge of earlier homes about the binary.
    is_warm: bool,
    is_shared: bool,
}

/// Result of one call of the binary.
pub struct Ran {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl fmt::Debug for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told())
    }
}

impl Ran {
    /// The result of a command whose output was searched.
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Stdout as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.told()))
    }

    /// The outcome in a few lines.
    pub fn told(&self) -> String {
        format!("exit {}\n{}\nstderr: {}", self.code, crate::outcome(&self.stdout), self.stderr.trim_end())
    }

    /// Panics with the outcome unless the exit code is this one.
    #[must_use]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.told());
        self
    }
}

impl World {
    /// `binary` is `env!("CARGO_BIN_EXE_cto")` of the calling test.
    pub fn new(binary: &str) -> Self {
        Self::named(binary, "cto-test-")
    }

    /// A world in a folder whose name begins like this.
    pub fn named(binary: &str, prefix: &str) -> Self {
        let dir = tempfile::Builder::new().prefix(prefix).tempdir().expect("a temporary directory");
        for name in ["user", "here", "tmp"] {
            fs::create_dir(dir.path().join(name)).expect("a directory");
        }
        let collect = CollectOnDrop::new(dir.path());
        Self { _collect: collect, dir, binary: binary.into(), uid: None, is_warm: true, is_shared: false }
    }

    /// A world of this user's: everything in it is theirs, nobody else sees it, and the binary runs as them.
    pub fn of(binary: &str, who: Who) -> Self {
        let (world, uid) = (Self::new(binary), who.other_uid());
        let world = Self { binary: who::binary_for(&world.binary, uid), uid, is_warm: uid.is_none(), ..world };
        world.give();
        world
    }

    /// Makes everything that the test has put here the user's.
    pub fn give(&self) {
        self.give_only(self.path());
    }

    /// Makes one path and everything below it the user's.
    pub fn give_only(&self, path: &Path) {
        if let Some(uid) = self.uid {
            who::give(path, uid);
        }
    }

    /// With a copy of the binary that nothing else runs, so that its processes are distinct from all others.
    #[must_use]
    pub fn with_own_binary(mut self) -> Self {
        let copy = self.path().join("cto");
        who::copy(&self.binary, &copy);
        self.give_only(&copy);
        self.binary = copy;
        self
    }

    /// Without what earlier homes found out, for tests in which a home is not to be made.
    #[must_use]
    pub fn without_memory(mut self) -> Self {
        self.is_warm = false;
        self
    }

    /// The binary that this world runs.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Any program as the user of this world, with the environment that the binary gets.
    #[expect(clippy::disallowed_methods, reason = "a test starts programs beside the binary under test")]
    pub fn program(&self, name: &str) -> CtoCommand {
        let ours = self.command::<&str>([]);
        let mut command = Command::new(name);
        command.env_clear().envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.here()).stdin(Stdio::null());
        who::run_as(&mut command, self.uid);
        CtoCommand::new(command, self.is_shared)
    }

    /// A command of this world's, started by another program: `strace -o file`, for example.
    pub fn under(&self, command: &Command, wrapper: &[&str]) -> CtoCommand {
        let mut wrapped = self.program(wrapper.first().copied().unwrap_or_default());
        wrapped.args(wrapper.iter().skip(1)).arg(command.get_program()).args(command.get_args());
        wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        wrapped.current_dir(command.get_current_dir().map_or_else(|| self.here(), Path::to_path_buf));
        wrapped
    }

    /// A world that all tests of a program share. A static is never dropped, so a child removes the folder when the
    /// program is gone, however it ended.
    #[expect(clippy::disallowed_methods, reason = "a test cleans up behind itself")]
    pub fn shared(binary: &str) -> Self {
        let world = Self { is_shared: true, ..Self::new(binary) };
        let mut child = Command::new("sh");
        child.args(["-c", "cat; exec rm -rf -- \"$1\"", "sh"]).arg(world.path());
        child.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/").process_group(0);
        std::mem::forget(child.spawn().expect("a child that waits"));
        share_world(world.path());
        world
    }

    /// Folder of the world.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Leaves the folder for the caller to remove.
    pub(crate) fn keep(self) -> PathBuf {
        self.dir.keep()
    }

    /// `CTO_HOME` of this world; made by the first run.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Makes the home before the first run does, as that would.
    pub fn make_home(&self) {
        fs::DirBuilder::new().mode(0o700).create(self.home()).expect("a home");
    }

    /// Writes a file of the home that is the user's alone, whatever the umask says.
    pub fn write_own(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.home().join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("permissions");
    }

    /// `HOME` of this world.
    pub fn user(&self) -> PathBuf {
        self.dir.path().join("user")
    }

    /// Folder in which commands are run.
    pub fn here(&self) -> PathBuf {
        self.dir.path().join("here")
    }

    /// `TMPDIR` of this world.
    pub fn tmp(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// Folder of the sealed bundles.
    pub fn bundles(&self) -> PathBuf {
        self.home().join("harness-runs")
    }

    /// The binary with this world's environment and nothing else of ours but PATH and RUSTUP_HOME.
    #[expect(clippy::disallowed_methods, reason = "a test starts the binary under test with an environment of its own")]
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> CtoCommand {
        let mut command = Command::new(&self.binary);
        command.env_clear().env("HOME", self.user()).env("CTO_HOME", self.home()).env("LANG", "C.UTF-8");
        command.env("TMPDIR", self.tmp());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let rustup = std::env::var_os("RUSTUP_HOME")
            .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".rustup").into()));
        command.env("RUSTUP_HOME", rustup.unwrap_or_default());
        command.current_dir(self.here()).args(args).stdin(Stdio::null());
        who::run_as(&mut command, self.uid);
        if self.is_warm {
            share_memory(&self.binary, &self.home(), command.get_args().next().map(OsStr::as_bytes));
        }
        CtoCommand::new(command, self.is_shared)
    }

    /// Runs the binary to its end.
    pub fn cto<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(self.command(args).output().expect("the binary starts"))
    }

    /// Recovers what was killed, once nothing of it is alive: a process that it was about to start holds its lock for a moment.
    pub fn recover_killed(&self) -> serde_json::Value {
        crate::wait_for("the processes of what was killed", || {
            let recovered = self.cto(["recover", "--json"]).expect(0).json();
            (recovered["alive"] == serde_json::json!([])).then_some(recovered)
        })
    }

    /// Starts the binary with its output kept.
    pub fn start<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    }

    /// Waits for a child of [`World::start`].
    pub fn finish(child: Child) -> Ran {
        Ran::of(Self::finish_output(child))
    }

    /// The same, as it came.
    pub fn finish_output(child: Child) -> Output {
        let output = child.wait_with_output().expect("the binary ends");
        search_printed(&output.stdout, &output.stderr);
        output
    }

    /// Writes a file below [`World::here`] and gives its path.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.here().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(&path, text).expect("a file");
        path
    }

    /// The same for a file that nobody else may read.
    pub fn write_secret(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
        path
    }

    /// A governed run of a case; gives its report and its bundle.
    pub fn run(&self, task: &str, code: i32) -> (Value, PathBuf) {
        let report = self.cto(["run", task, "--json"]).expect(code).json();
        let bundle = self.bundles().join(report["run_id"].as_str().expect("a run id"));
        (report, bundle)
    }
}

/// Everything below a path (kind, mode, content) as one digest, so that "nothing changed" can be shown. Missing is one too.
pub fn content_digest(root: &Path, leave_out: &[&str]) -> Digest {
    let mut entries = BTreeMap::new();
    gather(root, root, leave_out, &mut entries);
    let mut bytes = Vec::new();
    for (path, digest) in entries {
        bytes.extend_from_slice(&path);
        bytes.extend_from_slice(digest.to_string().as_bytes());
    }
    Digest::of_bytes(&bytes)
}

/// Everything below a folder, one entry a path: what [`content_digest`] digests, for tests that tell what differs.
pub fn contents(root: &Path, leave_out: &[&str]) -> BTreeMap<String, Digest> {
    let mut entries = BTreeMap::new();
    gather(root, root, leave_out, &mut entries);
    entries.into_iter().map(|(path, digest)| (String::from_utf8_lossy(&path).into_owned(), digest)).collect()
}

fn gather(root: &Path, path: &Path, leave_out: &[&str], entries: &mut BTreeMap<Vec<u8>, Digest>) {
    let Ok(stat) = fs::symlink_metadata(path) else { return };
    let below = path.strip_prefix(root).unwrap_or(path);
    if leave_out.iter().any(|name| below == Path::new(name)) {
        return;
    }
    let mut bytes = format!("{:o} ", stat.permissions().mode()).into_bytes();
    if stat.is_symlink() {
        bytes.extend_from_slice(fs::read_link(path).unwrap_or_default().as_os_str().as_bytes());
    } else if stat.is_file() {
        bytes.extend_from_slice(&fs::read(path).unwrap_or_default());
    } else if !stat.is_dir() {
        bytes.extend_from_slice(format!("{}", stat.rdev()).as_bytes());
    }
    entries.insert(below.as_os_str().as_bytes().to_vec(), Digest::of_bytes(&bytes));
    if stat.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            gather(root, &entry.path(), leave_out, entries);
        }
    }
}
