//! Nothing outlives the program, however it tries.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sandbox::{How, Line, Supervisor, SupervisorWatch, find_program, kill_marked};

use crate::world::{eventually, marked, new_marker, program, run, run_watched, sh, stage_exe, text, unsupervised};

/// Leaves a process that has left the process group, the session and its parent.
const DAEMON: &str = "d=$(mktemp -d); (setsid sh -c \"echo up > $d/up; exec sleep 600\" >/dev/null 2>&1 &)
while [ ! -s $d/up ]; do sleep 0.01; done; rm -r $d; exit 3";

#[test]
fn a_daemonised_child_dies_with_the_program() {
    let ended = run(&sh(DAEMON));
    assert_eq!(ended.how, How::Exited { code: 3 });
    assert_eq!(ended.leftovers.killed, 1, "{:?}", ended.leftovers);
    assert!(["sleep", "sh"].contains(&ended.leftovers.names[0].as_str()), "{:?}", ended.leftovers);
}

#[test]
fn without_supervision_it_lives_until_swept() {
    let marker = new_marker();
    let status = unsupervised(&sh(DAEMON).argv, &marker).status().unwrap();
    assert_eq!(status.code(), Some(3));
    assert_eq!(marked(&marker).len(), 1, "the control left nothing, so the defence proves nothing");
    assert_eq!(kill_marked(&new_marker()), 0);
    assert_eq!(marked(&marker).len(), 1, "a sweep for another marker must not touch it");
    assert_eq!(kill_marked(&marker), 1);
    eventually("the daemon is gone", || marked(&marker).is_empty());
}

#[test]
fn a_sweeper_with_the_marker_spares_itself() {
    let marker = new_marker();
    let exe = stage_exe();
    let args = [
        "/bin/sh",
        "-c",
        "sleep 600 >/dev/null & exec \"$@\"",
        "sh",
        exe.to_str().unwrap(),
        "sweep",
        &marker.0,
        &marker.1,
    ];
    let output = unsupervised(&args.map(str::to_owned), &marker).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "1\n".to_owned()));
}

#[test]
fn hundreds_of_children_are_counted_and_killed() {
    let flag = AtomicBool::new(false);
    let mut on_line = |_: Line<'_>| flag.store(true, Ordering::Relaxed);
    let mut watch = SupervisorWatch { stop: Some(&flag), on_line: Some(&mut on_line), ..SupervisorWatch::default() };
    let ended = run_watched(&sh("for i in $(seq 200); do sleep 600 & done; echo ready; wait"), &mut watch);
    assert!(ended.stopped);
    assert_eq!((ended.leftovers.killed, ended.leftovers.remaining), (200, 0));
    assert_eq!(ended.leftovers.names.len(), 32);
}

#[test]
fn a_bomb_that_is_still_growing_is_killed_at_the_deadline() {
    let mut spec = sh("n=0; while [ $n -lt 2000 ]; do (sleep 600 & sleep 600) & n=$((n+1)); done; wait");
    // A busy machine may need longer to get it going.
    for wall in [400, 800, 1600, 3200].map(Duration::from_millis) {
        spec.wall = wall;
        let ended = run(&spec);
        assert!(ended.timed_out && ended.leftovers.remaining == 0, "{:?}", ended.leftovers);
        if ended.leftovers.killed > 0 {
            return;
        }
    }
    panic!("it never grew");
}

#[test]
fn a_process_that_forks_and_exits_all_the_time_is_caught() {
    let dirs = ["/usr/bin".into(), "/bin".into()];
    let Some(perl) = find_program("perl", &dirs, "/".as_ref()) else {
        let test = "trees::a_process_that_forks_and_exits_all_the_time_is_caught";
        return testkit::skip(test, "no perl to write a fast fork chain in");
    };
    // The chain ends by itself some day, so that a failing test does not leave it to the machine
    // for good.
    let chain = "$end = time + 15; while (time < $end) { exit if fork }";
    let mut spec = program(&[perl.to_str().unwrap(), "-e", chain]);
    spec.wall = Duration::from_millis(500);
    let ended = Supervisor::new(stage_exe()).run_program(&spec, &mut SupervisorWatch::default()).unwrap();
    assert_eq!(ended.leftovers.remaining, 0, "{:?}", ended.leftovers);
    // The last one may have been killed and not be gone yet; alive, it would go on for seconds.
    let until = Instant::now() + Duration::from_secs(3);
    while !marked(&spec.marker).is_empty() {
        assert!(Instant::now() < until, "left behind: {:?}", marked(&spec.marker));
        std::thread::sleep(Duration::from_millis(10));
    }
}
