//! Directories that may grow so much and no more, without a sandbox.

use std::path::{Path, PathBuf};

use sandbox::{
    Ended, HeldLimit, How, LimitBy, LimitKind, Space, Spec, SuperviseError, Supervisor, SupervisorWatch, Watched,
};

use crate::world::{run, sh, stage_exe, stdout};

const LIMIT: Space = Space { bytes: 10 << 20, inodes: 500 };

fn growing(directory: &Path, script: &str) -> Spec {
    let mut spec = sh(script);
    spec.cwd = directory.to_owned();
    spec.watched = Some(Watched { roots: vec![directory.to_owned()], space: LIMIT });
    spec
}

/// In a directory of its own, with something in it that alone is beyond the limit.
fn run_growing(script: &str) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("before"), vec![1; 20 << 20]).unwrap();
    run(&growing(&directory.path().canonicalize().unwrap(), script))
}

#[test]
fn growth_beyond_the_limit_ends_the_tree() {
    let cases = [
        ("i=0; while :; do head -c 1M /dev/zero > file$i; i=$((i+1)); done", LimitKind::Disk),
        ("(while :; do head -c 1M /dev/zero >> file; done) & wait", LimitKind::Disk),
        (
            "mkdir -p a/b; cd a/b; i=0; while [ $i -lt 1000000 ]; do : > $i; i=$((i+1)); done; sleep 600",
            LimitKind::Inodes,
        ),
    ];
    for (script, kind) in cases {
        let ended = run_growing(script);
        assert_eq!((&ended.how, ended.disk_exceeded), (&How::Signaled { signal: 9 }, true), "{script}: {ended:?}");
        assert!(ended.limit_hits == [kind] && !ended.timed_out && !ended.stopped, "{script}: {:?}", ended.limit_hits);
    }
}

#[test]
fn what_stays_within_it_goes_on() {
    let rule = |kind, value| HeldLimit { kind, by: LimitBy::Watched, value };
    for script in [
        "head -c 8M /dev/zero > file; for i in 1 2 3; do ln file link$i; done",
        "i=0; while [ $i -lt 400 ]; do : > $i; i=$((i+1)); done",
        // Long, and without content.
        "truncate -s 1G sparse",
        "rm before; head -c 25M /dev/zero > file",
        "ln -s /usr link; mkdir d; ln -s / d/root",
    ] {
        let ended = run_growing(&format!("set -e; {script}; sleep 0.3; echo done"));
        assert_eq!((stdout(&ended).as_str(), ended.disk_exceeded), ("done\n", false), "{script}: {ended:?}");
        assert!(ended.limit_hits.is_empty(), "{script}: {:?}", ended.limit_hits);
        assert_eq!(ended.limits[1..], [rule(LimitKind::Disk, LIMIT.bytes), rule(LimitKind::Inodes, LIMIT.inodes)]);
    }
}

#[test]
fn what_was_written_last_counts_too() {
    let ended = run_growing("exec fallocate -l 11M file");
    assert!(ended.disk_exceeded && ended.limit_hits == [LimitKind::Disk], "{ended:?}");
    // The program ends long before it is looked at, unless the machine is very busy.
    assert!(matches!(ended.how, How::Exited { code: 0 } | How::Signaled { signal: 9 }), "{ended:?}");
}

#[test]
fn the_limit_holds_when_the_stage_is_lost() {
    let ended = run_growing("head -c 11M /dev/zero > file; kill -KILL $PPID; sleep 600");
    assert_eq!((ended.how, ended.disk_exceeded), (How::SupervisorLost, true));
    assert_eq!(ended.limits.len(), 2, "what the harness holds was in force all the same");
}

#[test]
fn a_directory_that_is_not_there_is_an_error_and_nothing_starts() {
    let directory = tempfile::tempdir().unwrap();
    let mut spec = growing(directory.path(), "touch started");
    for (roots, bad_spec) in [(vec![PathBuf::from("/absent")], false), (vec![PathBuf::from("relative")], true)] {
        spec.watched = Some(Watched { roots, space: LIMIT });
        let error = Supervisor::new(stage_exe()).run_program(&spec, &mut SupervisorWatch::default()).unwrap_err();
        assert_eq!(matches!(error, SuperviseError::BadSpec { .. }), bad_spec, "{error}");
        assert_eq!(matches!(error, SuperviseError::WatchDisk { .. }), !bad_spec, "{error}");
        assert!(!directory.path().join("started").exists());
    }
}
