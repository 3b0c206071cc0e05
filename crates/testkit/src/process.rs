//! Programs beside the one under test, and looking for those it left behind.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use contract::RunId;
use rustix::process::{Pid, Signal, kill_process};

/// A program with nothing of our environment but PATH, behind the system's, as a user with an empty home would start it.
#[expect(clippy::disallowed_methods, reason = "tests compare with the programs a user runs")]
pub fn program(name: &str, dir: &Path) -> Command {
    let path = format!("/usr/local/bin:/usr/bin:/bin:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(name);
    command.current_dir(dir).env_clear().env("PATH", path);
    command.envs([("HOME", "/nonexistent"), ("LC_ALL", "C"), ("GIT_CONFIG_NOSYSTEM", "1")]).stdin(Stdio::null());
    command
}

/// Plain git with its own defaults; whatever comes of it.
pub fn run_git<S: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> Output {
    let settings = ["user.name=U", "user.email=u@example.invalid", "protocol.file.allow=always"];
    let date = "1700000000 +0000";
    program("git", dir)
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .args(args)
        .envs([("GIT_AUTHOR_DATE", date), ("GIT_COMMITTER_DATE", date)])
        .output()
        .expect("git starts")
}

/// The same where it must succeed; gives what it printed.
pub fn git<S: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> String {
    let output = run_git(dir, args);
    assert!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Everything of a git directory that is neither whole nor somebody's.
pub fn unfinished_git_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a git directory").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if name.ends_with(".lock") || name.starts_with("tmp_") || name.starts_with(".cto") {
            found.push(path.display().to_string());
        }
        if path.is_dir() {
            found.extend(unfinished_git_files(&path));
        }
    }
    found
}

/// Time after which something that is waited for is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Asks until there is an answer. Fails only when something is stuck.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Variable that the harness marks the processes of a run with.
pub const MARKER: &str = "CTO_RUN_MARK";

/// Processes of a run, or of a control that has its own mark.
pub fn left_running(run: &str) -> Vec<String> {
    let mark = mark_of(run);
    let marker = format!("{MARKER}={mark}").into_bytes();
    let marked = |entry: &fs::DirEntry| {
        fs::read(entry.path().join("environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|variable| variable == marker))
    };
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter(marked).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn mark_of(run: &str) -> String {
    RunId::try_from(run.to_owned()).map_or_else(|_| run.to_owned(), |run| run.mark())
}

/// Work areas of a run: in a home, and in memory.
pub fn work_areas(home: &Path, run_id: &str) -> [PathBuf; 2] {
    let mark = mark_of(run_id);
    [home.join("work").join(&mark), Path::new("/dev/shm").join(format!("cto-{mark}"))]
}

/// Ends what is marked, until nothing of it is left, and says how many there were at first.
pub fn end_marked(marker: &str) -> usize {
    let first = left_running(marker).len();
    wait_for("the end of the control", || {
        let left = left_running(marker);
        for pid in left.iter().filter_map(|pid| pid.parse().ok()).filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        left.is_empty().then_some(())
    });
    first
}

/// Processes that still live when the time is up.
pub fn left_within(time: Duration, living: impl Fn() -> Vec<String>) -> Vec<String> {
    let until = Instant::now() + time;
    loop {
        let left = living();
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
