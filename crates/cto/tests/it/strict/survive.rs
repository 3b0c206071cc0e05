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
use super::row::{Control, NOTHING, Row, Says, violation};
use super::scene::Scene;
use super::sealed::Sealed;

pub(super) const CLASS: &str = "Surviving";

const DEATH: &str = "the kernel kills every process when process 1 of the pid namespace ends";
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

/// A process whose first thread ends while another one runs: `/proc` shows it as a zombie.
const HEADLESS: &str = "
import threading
ours, theirs = os.pipe()
if os.fork() == 0:
    for file in (0, 1, 2): os.dup2(os.open('/dev/null', os.O_RDWR), file)
    def live():
        os.write(theirs, b'x')
        time.sleep(600)
    threading.Thread(target=live).start()
    libc.syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)
os.read(ours, 1)";

/// Takes descriptors, processor time and priority from process 1, and leaves a daemon that it is not to see.
const BLINDER: &str = "
import resource
first = 1 if os.getppid() == 1 or os.path.exists('/run/cto/state') else os.getpid()
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU):
    try: resource.prlimit(first, limit, (1, 1)) if first == 1 else reached()
    except PermissionError: pass
for attempt in (lambda: os.sched_setscheduler(first, os.SCHED_IDLE, os.sched_param(0)), lambda: os.setpriority(os.PRIO_PROCESS, first, 19)):
    try: attempt(); reached()
    except PermissionError: pass
";

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
    let left = Says { besides: "`leftover_processes` names the remaining processes", ..NOTHING };
    let lives_on = |row: Row| row.stopped_by(DEATH).says(left).control(Control::Own(outlives)).evidence(was_left);
    let apart = "up=$(mktemp); setsid sh -c 'echo up > $0; exec sleep 600' $up > /dev/null 2>&1 &\n\
        while [ ! -s $up ]; do sleep 0.01; done; rm $up";
    vec![
        lives_on(python("a daemon: forked twice, in a separate session", DAEMON)),
        lives_on(sh("a separate session (`setsid`)", apart)),
        lives_on(sh("a child that is stopped", "sleep 600 > /dev/null 2>&1 & kill -STOP $!")),
        lives_on(python("a process whose first thread has ended", HEADLESS)).control(Control::Own(outlives_headless)),
        python("taking descriptors, time and priority from process 1", BLINDER)
            .stopped_by("the filter of system calls; leftovers are looked for from outside")
            .says(violation(BLINDED)),
        Row { limits: "{processes: 40}", ..python("more processes than allowed (fork bomb)", BOMB) }
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

const BLINDED: &[(&str, &str)] =
    &[("violation", "prlimit64_first"), ("violation", "sched_setscheduler_first"), ("violation", "setpriority_first")];

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
        late(sh("a program that ignores every signal that it can", deaf)).control(Control::Own(is_deaf)),
        late(sh("a stopped program with a stopped child", "sleep 600 & kill -STOP $!; echo ready; kill -STOP $$"))
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

/// The same for a process that has no environment to be found by: it is in the program's group.
fn outlives_headless(scene: &Scene, row: &Row) -> bool {
    let mut child = scene.direct(row, &marker(scene)).stdout(Stdio::null()).process_group(0).spawn().unwrap();
    let ended = child.wait().unwrap();
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    ended.success() && kill_process_group(group, Signal::KILL).is_ok()
}

/// True if a process of the program outlives it.
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

/// True if the program answers after a signal that ends others.
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

/// `CTO_TEST_KILLS` sets the number of kills.
#[test]
fn a_killed_harness_leaves_nothing() {
    kill::check("a_killed_harness_leaves_nothing");
}

#[test]
fn nothing_survives() {
    check("nothing_survives", &rows(), |_| ());
}
