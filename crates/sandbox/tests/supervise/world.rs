//! Specs, markers and the view of `/proc` that the tests share.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sandbox::{Ended, Spec, Supervisor, SupervisorWatch};

/// More than anything takes that ends by itself, on a machine that is busy and slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The example next to this test; it calls `stage_main`.
pub(crate) fn stage_exe() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let exe = test.parent().and_then(Path::parent).unwrap().join("examples/stage");
    assert!(exe.exists(), "{} is missing: run `cargo test -p sandbox`, which builds examples", exe.display());
    exe
}

pub(crate) fn new_marker() -> (String, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    ("SANDBOX_TEST_RUN".to_owned(), format!("{}-{number}", std::process::id()))
}

pub(crate) fn program(argv: &[&str]) -> Spec {
    let argv = argv.iter().map(|arg| (*arg).to_owned()).collect();
    let mut spec = Spec::new(argv, PathBuf::from("/"), PATIENCE, new_marker());
    spec.env.push(("PATH".to_owned(), "/usr/bin:/bin".to_owned()));
    spec
}

pub(crate) fn sh(script: &str) -> Spec {
    program(&["/bin/sh", "-c", script])
}

pub(crate) fn run(spec: &Spec) -> Ended {
    run_watched(spec, &mut SupervisorWatch::default())
}

/// Runs it, and holds every run to the one promise: nothing with its marker is left.
pub(crate) fn run_watched(spec: &Spec, watch: &mut SupervisorWatch<'_>) -> Ended {
    let ended = Supervisor::new(stage_exe()).run_program(spec, watch).unwrap();
    assert_eq!(marked(&spec.marker), Vec::<u32>::new(), "left behind by {:?}", spec.argv);
    ended
}

/// The same program without supervision.
#[expect(clippy::disallowed_methods, reason = "the control: how it goes without the door")]
pub(crate) fn unsupervised(argv: &[String], marker: &(String, String)) -> Command {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).env_clear().env("PATH", "/usr/bin:/bin").env(&marker.0, &marker.1).current_dir("/");
    command
}

/// Living processes whose environment has the marker.
pub(crate) fn marked((key, value): &(String, String)) -> Vec<u32> {
    let variable = format!("{key}={value}").into_bytes();
    let pids =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == variable)
    };
    pids.filter(has).collect()
}

pub(crate) fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < until, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn stdout(ended: &Ended) -> String {
    text(&ended.stdout.text_bytes())
}
