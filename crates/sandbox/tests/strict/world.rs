//! A world of files, the two users, and one way to run a program in both profiles.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sandbox::{Applied, Confinement, Cpu, HeldLimit, How, Leftovers, LimitKind, Probe, ProcessLimits, Watched};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Nobody on any system.
const ORDINARY: u32 = 12_345;
/// More than anything takes that ends by itself, on a machine that is busy and slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Output of an attack that succeeded.
pub(crate) const REACHED: &str = "REACHED";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Root,
    Ordinary,
}

/// Everybody this test can be; what cannot be tried is printed.
pub(crate) fn everybody() -> Vec<Who> {
    if rustix::process::geteuid().is_root() {
        return vec![Who::Root, Who::Ordinary];
    }
    // libtest names the thread of a test by it.
    let thread = std::thread::current();
    testkit::skip(thread.name().unwrap_or_default(), "the half as root, which this test is not");
    vec![Who::Ordinary]
}

/// A directory of one user with a workspace and with things that are none of a program's business.
pub(crate) struct World {
    pub(crate) who: Who,
    directory: TempDir,
}

impl World {
    pub(crate) fn new(who: Who) -> Self {
        let directory = tempfile::Builder::new().prefix("strict-").tempdir().unwrap();
        let world = Self { who, directory };
        for (path, content) in [
            ("home/.ssh/id_ed25519", "TOP SECRET KEY\n"),
            ("source/file", "source\n"),
            ("other-run/report", "sealed\n"),
            ("workspace/readme", "hello\n"),
        ] {
            let path = world.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::set_permissions(world.path(""), fs::Permissions::from_mode(0o700)).unwrap();
        world.give(&world.path(""));
        world
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(path)
    }

    /// Makes everything below a path the user's.
    pub(crate) fn give(&self, path: &Path) {
        if !rustix::process::geteuid().is_root() || self.who == Who::Root {
            return;
        }
        std::os::unix::fs::lchown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
        if path.symlink_metadata().unwrap().is_dir() {
            fs::read_dir(path).unwrap().flatten().for_each(|entry| self.give(&entry.path()));
        }
    }

    /// The workspace as it is, and nothing else.
    pub(crate) fn confinement(&self) -> Confinement {
        Confinement::new(self.path("workspace"))
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }
}

/// A program, and everything about its run that a test may want to be otherwise.
pub(crate) struct Ask {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) wall: Duration,
    pub(crate) stop_at_output: bool,
    pub(crate) output_bytes: u64,
    pub(crate) limits: ProcessLimits,
    pub(crate) watched: Option<Watched>,
    pub(crate) confinement: Option<Confinement>,
    /// True if the stage prepares before it has its order, as it does for a harness that runs tasks.
    pub(crate) ahead: bool,
    pub(crate) cwd: PathBuf,
    pub(crate) marker: (String, String),
}

impl Ask {
    /// The program in the world's workspace, unconfined; the world's places are in the environment.
    pub(crate) fn control(world: &World, argv: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = |name: &str, place: &str| (name.to_owned(), world.path(place).display().to_string());
        Self {
            argv: argv.iter().map(|arg| (*arg).to_owned()).collect(),
            env: vec![
                ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
                ("HOME".to_owned(), sandbox::HOME_DEFAULT.to_owned()),
                path("BASE", ""),
                path("WS", "workspace"),
                path("KEY", "home/.ssh/id_ed25519"),
            ],
            wall: PATIENCE,
            stop_at_output: false,
            output_bytes: 1 << 24,
            limits: ProcessLimits::default(),
            watched: None,
            confinement: None,
            ahead: false,
            cwd: world.path("workspace"),
            marker: ("STRICT_TEST_RUN".to_owned(), format!("{}-{number}", std::process::id())),
        }
    }

    pub(crate) fn strict(world: &World, argv: &[&str]) -> Self {
        Self { confinement: Some(world.confinement()), ahead: true, ..Self::control(world, argv) }
    }

    pub(crate) fn confinement(&mut self) -> &mut Confinement {
        self.confinement.as_mut().unwrap()
    }

    pub(crate) fn run(&self, world: &World) -> Outcome {
        let outcome = self.told(world);
        serde_json::from_value(outcome.clone()).unwrap_or_else(|error| panic!("{error}: {outcome}"))
    }

    /// The harness' own words, also when nothing was started.
    pub(crate) fn told(&self, world: &World) -> Value {
        self.told_by(harness(world.who, &["confined"]))
    }

    /// The same, of a harness that is started in some way of its own.
    pub(crate) fn told_by(&self, mut harness: Command) -> Value {
        let mut child = harness.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(self.request().to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let outcome = serde_json::from_slice(&output.stdout);
        outcome.unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    pub(crate) fn request(&self) -> Value {
        json!({
            "argv": self.argv,
            "cwd": self.cwd,
            "env": self.env,
            "wall_ms": u64::try_from(self.wall.as_millis()).unwrap(),
            "stop_at_output": self.stop_at_output,
            "output_bytes": self.output_bytes,
            "limits": self.limits,
            "marker": self.marker,
            "watched": self.watched,
            "confinement": self.confinement,
            "ahead": self.ahead,
        })
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) how: How,
    pub(crate) timed_out: bool,
    pub(crate) stopped: bool,
    pub(crate) output_exceeded: bool,
    pub(crate) disk_exceeded: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) leftovers: Leftovers,
    /// Processes of the program when its end was reported.
    pub(crate) living: usize,
    pub(crate) limits: Vec<HeldLimit>,
    pub(crate) limit_hits: Vec<LimitKind>,
    pub(crate) cpu: Option<Cpu>,
    pub(crate) applied: Option<Applied>,
    pub(crate) upper: Option<Vec<(String, String)>>,
}

impl Outcome {
    pub(crate) fn applied(&self) -> &Applied {
        self.applied.as_ref().unwrap()
    }

    pub(crate) fn probes(&self) -> &[Probe] {
        &self.applied().posture.probes
    }
}

/// The test harness of this user, from a place that every user can read.
pub(crate) fn harness(who: Who, args: &[&str]) -> Command {
    let mut command = program_as(who, stage_exe());
    command.args(args);
    command
}

/// Any program as this user.
#[expect(clippy::disallowed_methods, reason = "a test starts a harness as another user")]
pub(crate) fn program_as(who: Who, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    if who == Who::Ordinary && rustix::process::geteuid().is_root() {
        command.uid(ORDINARY).gid(ORDINARY);
    }
    command
}

/// The example beside this test, or a copy of it where other users cannot reach it. One copy is kept for each build.
pub(crate) fn stage_exe() -> &'static Path {
    static EXE: OnceLock<PathBuf> = OnceLock::new();
    EXE.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let built = test.parent().and_then(Path::parent).unwrap().join("examples/stage");
        assert!(built.exists(), "{} is missing: run `cargo test -p sandbox`, which builds it", built.display());
        let open = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o005 == 0o005;
        if built.ancestors().all(open) { built } else { copy_for_everybody(&built) }
    })
}

fn copy_for_everybody(built: &Path) -> PathBuf {
    let age = built.metadata().unwrap().modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    let user = rustix::process::geteuid().as_raw();
    let copy = std::env::temp_dir().join(format!("sandbox-test-stage-{user}-{}", age.as_nanos()));
    if !copy.exists() {
        let partial = copy.with_extension(std::process::id().to_string());
        fs::copy(built, &partial).unwrap();
        fs::rename(&partial, &copy).unwrap();
    }
    copy
}

/// An attack. It prints [`REACHED`] when it got through.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) argv: Vec<String>,
    /// For whom it works without the sandbox; for others it proves nothing, and only has to fail inside.
    pub(crate) works_for: &'static [Who],
}

pub(crate) const BOTH: &[Who] = &[Who::Root, Who::Ordinary];
pub(crate) const ROOT: &[Who] = &[Who::Root];
pub(crate) const NOBODY: &[Who] = &[];

pub(crate) fn sh(name: &'static str, works_for: &'static [Who], script: &str) -> Attack {
    Attack { name, argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()], works_for }
}

/// With `call(number, args...)`, which raises on an error.
pub(crate) fn python(name: &'static str, works_for: &'static [Who], script: &str) -> Attack {
    const PRELUDE: &str = "\
import ctypes, os, socket, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
";
    let script = format!("{PRELUDE}{script}");
    Attack { name, argv: vec!["/usr/bin/python3".to_owned(), "-c".to_owned(), script], works_for }
}

/// Every attack as everybody: it works without the sandbox and does not within.
pub(crate) fn check(attacks: &[Attack], prepare: impl Fn(&World) -> Vec<(String, String)>) {
    everybody().into_iter().for_each(|who| check_as(who, attacks, &prepare));
}

pub(crate) fn check_as(who: Who, attacks: &[Attack], prepare: impl Fn(&World) -> Vec<(String, String)>) {
    for attack in attacks {
        let argv: Vec<&str> = attack.argv.iter().map(String::as_str).collect();
        let world = World::new(who);
        let more = prepare(&world);
        // The attack may destroy what it gets hold of, so the sandbox comes first.
        let mut strict = Ask::strict(&world, &argv);
        strict.env.extend(more.clone());
        for ahead in [true, false] {
            strict.ahead = ahead;
            let outcome = strict.run(&world);
            assert!(!outcome.stdout.contains(REACHED), "{} as {who:?}: {outcome:?}", attack.name);
            assert!(matches!(outcome.how, How::Exited { .. }), "{} as {who:?}: {outcome:?}", attack.name);
        }
        if attack.works_for.contains(&who) {
            let mut control = Ask::control(&world, &argv);
            control.env.extend(more);
            let outcome = control.run(&world);
            assert!(outcome.stdout.contains(REACHED), "control of {} as {who:?}: {outcome:?}", attack.name);
        }
    }
}

pub(crate) fn nothing_more(_: &World) -> Vec<(String, String)> {
    Vec::new()
}
