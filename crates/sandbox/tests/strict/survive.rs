//! Outliving the program, the deadline or the harness.

use std::io::Write;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sandbox::{Confinement, How, Spec, Supervisor, Watch};

use crate::world::{Ask, World, everybody, harness, stage_exe};

/// Living processes whose environment has the marker, whoever's they are.
fn marked((key, value): &(String, String)) -> usize {
    let variable = format!("{key}={value}").into_bytes();
    let has = |entry: &std::fs::DirEntry| {
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == variable)
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(has).count()
}

fn gone_within(marker: &(String, String), time: Duration) -> bool {
    let until = Instant::now() + time;
    while marked(marker) > 0 {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

const DAEMON: &str = "
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print('up', flush=True)
        os.close(1); os.close(2)
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(0.2)
sys.exit(3)";

#[test]
fn what_left_group_session_and_parent_dies_with_the_program() {
    for who in everybody() {
        let world = World::new(who);
        let ask = Ask::strict(&world, &["/usr/bin/python3", "-c", DAEMON]);
        let outcome = ask.run(&world);
        assert_eq!((&outcome.how, outcome.stdout.as_str()), (&How::Exited { code: 3 }, "up\n"), "{outcome:?}");
        assert_eq!(outcome.leftovers.killed, 1, "{outcome:?}");
        assert_eq!(marked(&ask.marker), 0, "{who:?}");
    }
}

#[test]
fn the_deadline_holds_for_whatever_ignores_it() {
    for who in everybody() {
        for script in [
            "trap '' TERM INT HUP QUIT; while :; do sleep 60; done",
            "sleep 60 & kill -STOP $!; kill -STOP $$",
            "setsid sleep 60 & setsid setsid sleep 61 & exec sleep 62",
            "kill -KILL 1; kill -STOP 1; kill -KILL -1; exec sleep 60",
        ] {
            let world = World::new(who);
            let mut ask = Ask::strict(&world, &["/bin/sh", "-c", script]);
            ask.wall_ms = 400;
            let outcome = ask.run(&world);
            let killed_itself = script.contains("-KILL -1") && matches!(outcome.how, How::Signaled { signal: 9 });
            assert!(outcome.timed_out || killed_itself, "{script} {outcome:?}");
            assert_eq!(marked(&ask.marker), 0, "{script} {who:?}");
        }
    }
}

#[test]
fn a_fork_bomb_is_bounded_and_dies() {
    const BOMB: &str = "
import os, time
alive = 0
for _ in range(200):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        alive += 1
    except BlockingIOError: break
print(alive, flush=True)
time.sleep(60)";
    for who in everybody() {
        for (processes, most) in [(Some(40), 40), (None, 200)] {
            let world = World::new(who);
            let mut ask = Ask::strict(&world, &["/usr/bin/python3", "-c", BOMB]);
            ask.wall_ms = 4000;
            ask.confinement().processes = processes;
            let outcome = ask.run(&world);
            let alive: u32 = outcome.stdout.trim().parse().unwrap_or_else(|_| panic!("{outcome:?}"));
            assert!(alive <= most && alive + 2 >= most, "{alive} of {most} as {who:?}");
            assert!(outcome.timed_out && outcome.leftovers.killed == alive, "{outcome:?}");
            assert_eq!(marked(&ask.marker), 0, "{who:?}");
        }
    }
}

#[test]
fn the_death_of_the_harness_at_any_moment_leaves_nothing() {
    const RESTLESS: &str = "while :; do sleep 60 & setsid sleep 61 & sleep 0.01; done";
    for who in everybody() {
        let world = World::new(who);
        let mut seen_running = 0;
        for round in 0..20_u64 {
            let ask = Ask::strict(&world, &["/bin/sh", "-c", RESTLESS]);
            let mut command = harness(who, &["confined"]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(ask.request().to_string().as_bytes()).unwrap();
            // Spread over the start, the building and the first moments of the program.
            std::thread::sleep(Duration::from_millis(round * round * 37 % 150));
            seen_running += usize::from(marked(&ask.marker) > 0);
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(gone_within(&ask.marker, Duration::from_secs(1)), "round {round} as {who:?}");
        }
        assert!(seen_running > 0, "no round got as far as the program, so nothing was shown");
    }
}

#[test]
fn the_death_of_the_stage_leaves_nothing_either() {
    for who in everybody() {
        let world = World::new(who);
        let ask = Ask::strict(&world, &["/bin/sh", "-c", "sleep 60 & setsid sleep 61 & exec sleep 62"]);
        let mut command = harness(who, &["confined"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(ask.request().to_string().as_bytes()).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while marked(&ask.marker) < 3 {
            assert!(Instant::now() < until, "the program never ran");
            std::thread::sleep(Duration::from_millis(5));
        }
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        let stage: i32 = children.split_whitespace().next().unwrap().parse().unwrap();
        let stage = rustix::process::Pid::from_raw(stage).unwrap();
        rustix::process::kill_process(stage, rustix::process::Signal::KILL).unwrap();
        assert!(gone_within(&ask.marker, Duration::from_secs(1)), "{who:?}");
        let output = child.wait_with_output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("supervisor_lost"), "{output:?}");
    }
}

#[test]
fn stop_and_cancel_end_the_tree_and_are_told_apart() {
    for cancel in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let argv = ["/bin/sh", "-c", "sleep 60 & setsid sleep 61 & echo ready; wait"].map(str::to_owned).to_vec();
        let marker = ("STRICT_TEST_STOP".to_owned(), format!("{}-{cancel}", std::process::id()));
        let mut spec = Spec::new(argv, "/".into(), Duration::from_secs(30), marker);
        spec.confinement = Some(Confinement::new(directory.path().canonicalize().unwrap()));
        let flag = AtomicBool::new(false);
        let mut on_line = |_: sandbox::Line<'_>| flag.store(true, Ordering::Relaxed);
        let mut watch = Watch { on_line: Some(&mut on_line), ..Watch::default() };
        *(if cancel { &mut watch.cancel } else { &mut watch.stop }) = Some(&flag);
        let ended = Supervisor::new(stage_exe().to_owned()).run(&spec, &mut watch).unwrap();
        assert_eq!((ended.cancelled, ended.stopped, ended.timed_out), (cancel, !cancel, false));
        assert_eq!((ended.how, ended.leftovers.killed), (How::Signaled { signal: 9 }, 2), "{:?}", ended.leftovers);
        assert_eq!(marked(&spec.marker), 0);
    }
}

#[test]
fn a_confined_program_that_is_never_started_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let marker = ("STRICT_TEST_DROP".to_owned(), std::process::id().to_string());
    let mut spec = Spec::new(vec!["/bin/true".to_owned()], "/".into(), Duration::from_secs(30), marker);
    spec.confinement = Some(Confinement::new(directory.path().canonicalize().unwrap()));
    let confined = Supervisor::new(stage_exe().to_owned()).prepare().unwrap().confine(spec).unwrap();
    assert!(confined.applied().probes.len() > 40);
    drop(confined);
    // The stage was waited for, and it buries what it has built before it ends.
    let roots = std::fs::read_dir("/proc").unwrap().flatten();
    let left = roots.filter(|entry| {
        let mounts = std::fs::read_to_string(entry.path().join("mountinfo")).unwrap_or_default();
        mounts.contains(&format!(" {} ", directory.path().display()))
    });
    assert_eq!(left.count(), 0);
}
