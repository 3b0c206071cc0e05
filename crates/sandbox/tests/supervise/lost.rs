//! The stage is killed or stopped by its program, or the harness dies: still nothing stays, or the result says so.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use sandbox::{How, Supervisor, SupervisorWatch};

use crate::world::{alive, eventually, marked, new_marker, run, sh, stage_exe, stdout, text, unsupervised};

/// Starts a process without the marker, outside group and session, and waits until it has become that; prints its pid.
const UNMARKED: &str =
    "env -i setsid sleep 600 & echo $!; until read -r name < /proc/$!/comm && [ $name = sleep ]; do :; done";

#[test]
fn a_program_that_kills_its_supervisor_is_swept() {
    let ended = run(&sh("sleep 600 & setsid sleep 600 & kill -KILL $PPID; sleep 600"));
    assert_eq!(ended.how, How::SupervisorLost);
    assert!(ended.swept >= 3 && !ended.output_open, "{ended:?}");
    assert!(!ended.timed_out && ended.limits.is_empty() && ended.cpu.is_none(), "{ended:?}");
}

#[test]
fn a_supervisor_that_was_stopped_is_replaced_after_its_deadline() {
    let mut spec = sh(&format!("{UNMARKED}; kill -STOP $PPID; sleep 600"));
    // Long enough to get as far as the stop, whatever the machine has to do besides.
    spec.wall = Duration::from_secs(3);
    let ended = run(&spec);
    assert_eq!((ended.how.clone(), ended.timed_out, ended.output_open), (How::SupervisorLost, true, false));
    let unmarked: u32 = stdout(&ended).trim().parse().unwrap();
    assert!(!alive(unmarked), "the child without a marker is still there");
}

#[test]
fn a_process_that_escaped_cannot_keep_the_harness_waiting() {
    let ended = run(&sh(&format!("{UNMARKED}; kill -KILL $PPID; sleep 600")));
    assert_eq!((ended.how.clone(), ended.output_open), (How::SupervisorLost, true));
    let escaped: u32 = stdout(&ended).trim().parse().unwrap();
    assert!(alive(escaped), "it was meant to be out of reach");
    let pid = rustix::process::Pid::from_raw(escaped.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn the_death_of_the_harness_ends_the_program() {
    let marker = new_marker();
    let script = "sleep 600 & setsid sleep 600 & exec sleep 600";
    let exe = stage_exe();
    let args = [exe.to_str().unwrap(), "harness", &marker.0, &marker.1, "/bin/sh", "-c", script];
    let mut harness = unsupervised(&args.map(str::to_owned), &new_marker()).spawn().unwrap();
    eventually("the program and its children run", || marked(&marker).len() == 3);
    harness.kill().unwrap();
    harness.wait().unwrap();
    eventually("the program is gone", || marked(&marker).is_empty());
}

#[test]
fn descriptors_the_harness_was_given_are_named() {
    let exe = stage_exe();
    let script = "exec 9</dev/null; exec \"$0\" harness M 1 /bin/true";
    let args = ["/bin/sh", "-c", script, exe.to_str().unwrap()].map(str::to_owned);
    let output = unsupervised(&args, &new_marker()).stdout(Stdio::piped()).output().unwrap();
    assert!(text(&output.stdout).contains('9'), "{output:?}");
}

#[test]
fn a_stage_that_reads_no_order_is_given_up() {
    // More input than the socket holds, and a stage that ends without reading it.
    let mut spec = sh("exit 0");
    spec.stdin = Some(vec![0; 8 << 20]);
    let ended =
        Supervisor::new(PathBuf::from("/bin/false")).run_program(&spec, &mut SupervisorWatch::default()).unwrap();
    assert_eq!(ended.how, How::SupervisorLost);
}
