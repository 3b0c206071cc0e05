//! Outliving the program, the deadline or the harness.

use std::io::Write;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sandbox::{Access, Confinement, HostMount, How, Spec, SuperviseError, Supervisor, SupervisorWatch};

use crate::world::{Ask, PATIENCE, World, everybody, harness, stage_exe};

/// Living processes whose environment has the marker, whoever's they are.
fn marked((key, value): &(String, String)) -> usize {
    let variable = format!("{key}={value}").into_bytes();
    let has = |entry: &std::fs::DirEntry| {
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == variable)
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(has).count()
}

/// Waits for so many living processes with the marker; what is left over for good never becomes fewer.
fn until_marked(marker: &(String, String), enough: impl Fn(usize) -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while !enough(marked(marker)) {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

fn is_gone(marker: &(String, String)) -> bool {
    until_marked(marker, |count| count == 0)
}

const DAEMON: &str = "
import os, sys, time
up, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print('up', flush=True)
        os.close(1); os.close(2)
        os.write(tell, b'x')
        time.sleep(600)
    os._exit(0)
os.wait()
os.read(up, 1)
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
            "trap '' TERM INT HUP QUIT; while :; do sleep 600; done",
            "sleep 600 & kill -STOP $!; kill -STOP $$",
            "setsid sleep 600 & setsid setsid sleep 601 & exec sleep 602",
            "kill -KILL 1; kill -STOP 1; kill -KILL -1; exec sleep 600",
        ] {
            let world = World::new(who);
            let mut ask = Ask::strict(&world, &["/bin/sh", "-c", script]);
            ask.wall = Duration::from_millis(400);
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
            time.sleep(600)
            os._exit(0)
        alive += 1
    except BlockingIOError: break
print(alive, flush=True)
time.sleep(600)";
    for who in everybody() {
        for (processes, most) in [(Some(40), 40), (None, 200)] {
            let world = World::new(who);
            let mut ask = Ask::strict(&world, &["/usr/bin/python3", "-c", BOMB]);
            ask.stop_at_output = true;
            ask.confinement().processes = processes;
            let outcome = ask.run(&world);
            let alive: u32 = outcome.stdout.trim().parse().unwrap_or_else(|_| panic!("{outcome:?}"));
            assert!(alive <= most && alive + 2 >= most, "{alive} of {most} as {who:?}");
            assert!(outcome.stopped && outcome.leftovers.killed == alive, "{outcome:?}");
            assert_eq!(marked(&ask.marker), 0, "{who:?}");
        }
    }
}

#[test]
fn the_death_of_the_harness_at_any_moment_leaves_nothing() {
    const RESTLESS: &str = "while :; do sleep 600 & setsid sleep 601 & sleep 0.01; done";
    for who in everybody() {
        let world = World::new(who);
        for round in 0..=20_u64 {
            let ask = Ask::strict(&world, &["/bin/sh", "-c", RESTLESS]);
            let mut command = harness(who, &["confined"]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(ask.request().to_string().as_bytes()).unwrap();
            // Spread over the start, the building and the first moments of the program; the last round is sure to get there.
            std::thread::sleep(Duration::from_millis(round * round * 37 % 150));
            assert!(round < 20 || until_marked(&ask.marker, |count| count > 3), "the program never ran");
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(is_gone(&ask.marker), "round {round} as {who:?}");
        }
    }
}

#[test]
fn the_death_of_the_stage_leaves_nothing_either() {
    for who in everybody() {
        let world = World::new(who);
        let ask = Ask::strict(&world, &["/bin/sh", "-c", "sleep 600 & setsid sleep 601 & exec sleep 602"]);
        let mut command = harness(who, &["confined"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(ask.request().to_string().as_bytes()).unwrap();
        assert!(until_marked(&ask.marker, |count| count == 3), "the program never ran");
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        let stage: i32 = children.split_whitespace().next().unwrap().parse().unwrap();
        let stage = rustix::process::Pid::from_raw(stage).unwrap();
        rustix::process::kill_process(stage, rustix::process::Signal::KILL).unwrap();
        assert!(is_gone(&ask.marker), "{who:?}");
        let output = child.wait_with_output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("supervisor_lost"), "{output:?}");
    }
}

#[test]
fn stop_and_cancel_end_the_tree_and_are_told_apart() {
    for cancel in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let argv = ["/bin/sh", "-c", "sleep 600 & setsid sleep 601 & echo ready; wait"].map(str::to_owned).to_vec();
        let marker = ("STRICT_TEST_STOP".to_owned(), format!("{}-{cancel}", std::process::id()));
        let mut spec = Spec::new(argv, "/".into(), PATIENCE, marker);
        spec.confinement = Some(Confinement::new(directory.path().canonicalize().unwrap()));
        let flag = AtomicBool::new(false);
        let mut on_line = |_: sandbox::Line<'_>| flag.store(true, Ordering::Relaxed);
        let mut watch = SupervisorWatch { on_line: Some(&mut on_line), ..SupervisorWatch::default() };
        *(if cancel { &mut watch.cancel } else { &mut watch.stop }) = Some(&flag);
        let ended = Supervisor::new(stage_exe().to_owned()).run_program(&spec, &mut watch).unwrap();
        assert_eq!((ended.cancelled, ended.stopped, ended.timed_out), (cancel, !cancel, false));
        assert_eq!((ended.how, ended.leftovers.killed), (How::Signaled { signal: 9 }, 2), "{:?}", ended.leftovers);
        assert_eq!(marked(&spec.marker), 0);
    }
}

#[test]
fn a_confined_program_that_is_never_started_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let marker = ("STRICT_TEST_DROP".to_owned(), std::process::id().to_string());
    let mut spec = Spec::new(vec!["/bin/true".to_owned()], "/".into(), PATIENCE, marker);
    spec.confinement = Some(Confinement::new(directory.path().canonicalize().unwrap()));
    let confined = Supervisor::new(stage_exe().to_owned()).prepare().unwrap().confine_spec(spec).unwrap();
    assert!(confined.applied().posture.probes.len() > 40);
    drop(confined);
    // The stage was waited for, and it buries what it has built before it ends.
    let roots = std::fs::read_dir("/proc").unwrap().flatten();
    let left = roots.filter(|entry| {
        let mounts = std::fs::read_to_string(entry.path().join("mountinfo")).unwrap_or_default();
        mounts.contains(&format!(" {} ", directory.path().display()))
    });
    assert_eq!(left.count(), 0);
}

/// The way without a word in between: what was applied and how it ended may arrive in one piece.
#[test]
fn a_program_that_starts_at_once_is_told_of_in_full() {
    let directory = tempfile::tempdir().unwrap();
    let run = |argv: &[&str], mount: Option<HostMount>| {
        let marker = ("STRICT_TEST_ONCE".to_owned(), std::process::id().to_string());
        let argv = argv.iter().map(|arg| (*arg).to_owned()).collect();
        let mut spec = Spec::new(argv, "/".into(), PATIENCE, marker);
        let mut confinement = Confinement::new(directory.path().canonicalize().unwrap());
        confinement.mounts.extend(mount);
        spec.confinement = Some(confinement);
        Supervisor::new(stage_exe().to_owned()).run_program(&spec, &mut SupervisorWatch::default())
    };
    for _ in 0..30 {
        let ended = run(&["/bin/echo", "hello"], None).unwrap();
        assert_eq!((&ended.how, ended.stdout.head.as_slice()), (&How::Exited { code: 0 }, b"hello\n".as_slice()));
        let applied = ended.applied.as_ref().unwrap();
        assert!(applied.posture.probes.len() > 40 && applied.seen.executions_total == 1, "{applied:?}");
        assert_eq!(applied.posture.limits, ended.limits);
        let written = serde_json::to_string(&ended).unwrap();
        assert_eq!(serde_json::from_str::<sandbox::Ended>(&written).unwrap(), ended, "lossless");
    }
    let absent = run(&["/bin/absent"], None).unwrap();
    assert!(matches!(absent.how, How::SpawnFailed(_)) && absent.applied.is_some(), "{:?}", absent.how);
    let missing = HostMount { source: "/absent".into(), target: "/given".into(), access: Access::ReadOnly };
    let error = run(&["/bin/true"], Some(missing)).unwrap_err();
    assert!(matches!(error, SuperviseError::ConfineProgram { .. }), "{error:?}");
}
