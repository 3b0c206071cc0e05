//! Ends of a run, one row for each.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sandbox::{How, SpawnFailureKind, Spec, SuperviseError, Supervisor, SupervisorWatch};

use crate::world::{program, run, run_watched, sh, stage_exe, stdout};

#[test]
fn the_programs_own_end_is_reported() {
    let cases = [
        ("exit 0", How::Exited { code: 0 }),
        ("exit 7", How::Exited { code: 7 }),
        ("kill -TERM $$", How::Signaled { signal: 15 }),
        ("kill -KILL $$", How::Signaled { signal: 9 }),
    ];
    for (script, how) in cases {
        let ended = run(&sh(script));
        assert_eq!(ended.how, how, "{script}");
        let flags = [ended.timed_out, ended.cancelled, ended.stopped, ended.output_exceeded, ended.output_open];
        assert_eq!(flags, [false; 5], "{script}");
        assert_eq!((ended.leftovers.killed, ended.leftovers.remaining, ended.swept), (0, 0, 0), "{script}");
    }
}

#[test]
fn a_program_that_cannot_start_is_a_result() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("plain"), "#!/bin/sh\n").unwrap();
    let cases = [
        (path("absent"), "/", SpawnFailureKind::NotFound, Some(2)),
        (path("plain"), "/", SpawnFailureKind::Permission, Some(13)),
        ("/".to_owned(), "/", SpawnFailureKind::Permission, Some(13)),
        (path("plain/below"), "/", SpawnFailureKind::Other, Some(20)),
        ("/bin/true".to_owned(), "/absent", SpawnFailureKind::Directory, Some(2)),
        ("/bin/true".to_owned(), "/etc/passwd", SpawnFailureKind::Directory, Some(20)),
        ("/bin/tr\0ue".to_owned(), "/", SpawnFailureKind::Other, None),
    ];
    for (name, cwd, kind, errno) in cases {
        let mut spec = program(&[&name]);
        spec.cwd = PathBuf::from(cwd);
        let How::SpawnFailed(failure) = run(&spec).how else { panic!("{name} in {cwd} started") };
        assert_eq!((failure.kind, failure.errno), (kind, errno), "{failure:?}");
        assert!(failure.text.contains(if cwd == "/" { &name } else { cwd }), "{failure:?}");
    }
}

#[test]
fn a_spec_that_means_nothing_is_an_error() {
    let spec = |argv: &[&str], cwd: &str, marker: (&str, &str)| {
        let argv = argv.iter().map(|arg| (*arg).to_owned()).collect();
        Spec::new(argv, PathBuf::from(cwd), Duration::from_secs(1), (marker.0.to_owned(), marker.1.to_owned()))
    };
    let cases = [
        (spec(&[], "/", ("M", "1")), "argv is empty"),
        (spec(&["true"], "/", ("M", "1")), "not a path: true"),
        (spec(&["/bin/true"], "here", ("M", "1")), "cwd is not absolute: here"),
        (spec(&["/bin/true"], "/", ("", "1")), "marker"),
        (spec(&["/bin/true"], "/", ("M=", "1")), "marker"),
        (spec(&["/bin/true"], "/", ("M", "")), "marker"),
    ];
    for (spec, why) in cases {
        let error = Supervisor::new(stage_exe()).run_program(&spec, &mut SupervisorWatch::default()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_missing_stage_is_an_error_and_a_useless_one_is_lost() {
    let error = Supervisor::new(PathBuf::from("/absent"))
        .run_program(&sh("exit 0"), &mut SupervisorWatch::default())
        .unwrap_err();
    assert!(matches!(error, SuperviseError::StartStage { .. }), "{error}");
    for exe in ["/bin/true", "/bin/cat"] {
        let ended =
            Supervisor::new(PathBuf::from(exe)).run_program(&sh("exit 0"), &mut SupervisorWatch::default()).unwrap();
        assert_eq!(ended.how, How::SupervisorLost, "{exe}");
    }
}

#[test]
fn the_deadline_ends_the_tree() {
    for script in ["sleep 600", "sleep 600 & exec sleep 601", "trap '' TERM INT HUP; while :; do sleep 600; done"] {
        let mut spec = sh(script);
        spec.wall = Duration::from_millis(300);
        let ended = run(&spec);
        assert_eq!(ended.how, How::Signaled { signal: 9 }, "{script}");
        assert!(ended.timed_out && !ended.stopped && !ended.cancelled, "{ended:?}");
        assert!(ended.elapsed >= spec.wall, "{script}");
    }
}

#[test]
fn cancel_and_stop_end_the_tree_and_are_told_apart() {
    for cancel in [true, false] {
        let flag = AtomicBool::new(false);
        let mut on_line = |_: sandbox::Line<'_>| flag.store(true, Ordering::Relaxed);
        let mut watch = SupervisorWatch { on_line: Some(&mut on_line), ..SupervisorWatch::default() };
        if cancel {
            watch.cancel = Some(&flag)
        } else {
            watch.stop = Some(&flag)
        }
        let ended = run_watched(&sh("sleep 600 & echo ready; wait"), &mut watch);
        assert_eq!(ended.how, How::Signaled { signal: 9 });
        assert_eq!((ended.cancelled, ended.stopped, ended.timed_out), (cancel, !cancel, false));
        assert_eq!(stdout(&ended), "ready\n");
    }
}

#[test]
fn an_endless_wall_is_no_deadline() {
    let mut spec = program(&["/bin/true"]);
    spec.wall = Duration::MAX;
    assert_eq!(run(&spec).how, How::Exited { code: 0 });
}

#[test]
fn cpu_time_of_the_tree_is_counted() {
    let ended = run(&sh("sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'"));
    assert!(ended.cpu.unwrap().user > Duration::ZERO, "{ended:?}");
}
