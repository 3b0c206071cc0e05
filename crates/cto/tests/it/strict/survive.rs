//! Outliving the engine, the deadline or the harness's patience.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Stdio};

use contract::Status;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use testkit::{end_marked, wait_for};

use super::check::check;
use super::kill;
use super::program::{REACHED, python, sh};
use super::row::{Control, NOTHING, Row, Says};
use super::scene::Scene;
use super::sealed::Sealed;

pub(super) const CLASS: &str = "Surviving";

const DEATH: &str = "the death of the first process of its pid namespace, which is the death of all";
const COUNT: &str = "`limits.processes`, for all processes of the run together";

/// Asks nothing of its child but that it is there.
const DAEMON: &str = "
ours, theirs = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for file in (0, 1, 2): os.dup2(os.open('/dev/null', os.O_RDWR), file)
        os.write(theirs, b'x')
        time.sleep(600)
    os._exit(0)
os.wait()
os.read(ours, 1)";

const BOMB: &str = "
started = 0
try:
    while started < 150:
        if os.fork() == 0:
            for file in (0, 1, 2): os.dup2(os.open('/dev/null', os.O_RDWR), file)
            time.sleep(600)
        started += 1
except OSError as error: print(error)
print('started', started)
if started == 150: reached()";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = after_the_end();
    rows.extend(at_the_deadline());
    rows
}

fn after_the_end() -> Vec<Row> {
    let left = Says { besides: "who was left, in `leftover_processes`", ..NOTHING };
    let lives_on = |row: Row| row.stopped_by(DEATH).says(left).control(Control::Own(outlives)).evidence(was_left);
    let apart = "up=$(mktemp); setsid sh -c 'echo up > $0; exec sleep 600' $up > /dev/null 2>&1 &\n\
        while [ ! -s $up ]; do sleep 0.01; done; rm $up";
    vec![
        lives_on(python("a daemon: forked twice, in a session of its own", DAEMON)),
        lives_on(sh("a session of its own (`setsid`)", apart)),
        lives_on(sh("a child that is stopped", "sleep 600 > /dev/null 2>&1 & kill -STOP $!")),
        Row { limits: "{processes: 40}", ..python("more processes than it may have (fork bomb)", BOMB) }
            .stopped_by(COUNT)
            .says(left)
            .control(Control::Own(outlives))
            .evidence(|scene, sealed| {
                was_left(scene, sealed);
                let started = sealed.stdout.lines().find_map(|line| line.strip_prefix("started ")).unwrap();
                let started: u32 = started.parse().unwrap();
                assert!((30..40).contains(&started), "{}", sealed.told());
            }),
    ]
}

fn at_the_deadline() -> Vec<Row> {
    let late = |row: Row| {
        let says = Says {
            status: Status::Fail,
            reasons: &["lifecycle_timeout_after_valid_patch"],
            attempts: &[],
            besides: "`backend_exit_code` 124",
        };
        let row = row.stopped_by("SIGKILL from outside at the deadline").says(says);
        Row { arguments: &["--timeout", "2"], ..row }.evidence(|_, sealed| {
            assert_eq!(sealed.report["backend_exit_code"], 124);
            assert_eq!(sealed.events("engine.exited")[0]["timed_out"], true);
        })
    };
    let deaf =
        "trap '' TERM INT HUP QUIT; echo ready; while read -r line; do echo REACHED; done; while :; do sleep 600; done";
    vec![
        late(sh("a program that is deaf to every polite signal", deaf)).control(Control::Own(is_deaf)),
        late(sh(
            "a program that is stopped, with a stopped child",
            "sleep 600 & kill -STOP $!; echo ready; kill -STOP $$",
        ))
        .control(Control::Own(stays_stopped)),
    ]
}

fn was_left(_: &Scene, sealed: &Sealed) {
    assert_ne!(sealed.sandbox["leftover_processes"], json!([]), "{}", sealed.told());
}

/// The marker of a program that is run directly, as the harness would mark it.
fn marker(scene: &Scene) -> String {
    format!("control-{}", scene.secret)
}

/// What the program started lives on when it has ended.
fn outlives(scene: &Scene, row: &Row) -> bool {
    let marker = marker(scene);
    let ended = scene.direct(row, &marker).stdout(Stdio::null()).status().unwrap();
    let left = end_marked(&marker);
    ended.success() && left > 0
}

/// The program in a process group of its own, once it says that it is ready.
fn started(scene: &Scene, row: &Row) -> (Child, BufReader<ChildStdout>, Pid) {
    let mut command = scene.direct(row, &marker(scene));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    while line(&mut output) != "ready" {}
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    (child, output, pid)
}

fn line(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// It answers after a signal that ends others.
fn is_deaf(scene: &Scene, row: &Row) -> bool {
    let (mut child, mut output, group) = started(scene, row);
    kill_process_group(group, Signal::TERM).unwrap();
    let _ = child.stdin.take().unwrap().write_all(b"still there?\n");
    let answers = line(&mut output) == REACHED;
    end_marked(&marker(scene));
    child.wait().unwrap();
    answers
}

fn stays_stopped(scene: &Scene, row: &Row) -> bool {
    let (mut child, _output, group) = started(scene, row);
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", group.as_raw_pid())).unwrap_or_default();
        stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('T')
    };
    wait_for("a stopped program", || is_stopped().then_some(()));
    kill_process_group(group, Signal::TERM).unwrap();
    let stays = is_stopped();
    end_marked(&marker(scene));
    child.wait().unwrap();
    stays
}

/// How often is told by `CTO_TEST_KILLS`.
#[test]
fn a_killed_harness_leaves_nothing() {
    kill::check("a_killed_harness_leaves_nothing");
}

#[test]
fn nothing_survives() {
    check("nothing_survives", &rows(), |_| ());
}
