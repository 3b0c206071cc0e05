//! Ways to outlive the program unseen: each leaves a process that goes on writing, and none may be writing when the run has
//! ended. Each way works against a supervisor that only waits for its child.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sandbox::{How, kill_marked};

use crate::world::{Ask, PATIENCE, World, everybody};

/// Long enough for a living writer to have written again, on a machine that is busy.
const PAUSE: Duration = Duration::from_millis(60);

/// `beat()` writes without end; `hide(f)` runs `f` in a child, `ready()` waits until somebody has begun to beat.
const PRELUDE: &str = r#"
import ctypes, os, resource, signal, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
call = libc.syscall
path = os.getcwd() + '/beat'
def beat():
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    n = 0
    while True:
        n += 1
        os.pwrite(fd, str(n).encode(), 0)
        time.sleep(0.002)
def quiet():
    null = os.open('/dev/null', os.O_RDWR)
    for fd in (0, 1, 2): os.dup2(null, fd)
def hide(f):
    pid = os.fork()
    if pid == 0:
        quiet()
        try: f()
        finally: os._exit(0)
    return pid
def ready():
    until = time.monotonic() + 60
    while not (os.path.exists(path) and os.path.getsize(path)):
        if time.monotonic() > until: sys.exit(9)
        time.sleep(0.002)
def thread(f):
    t = threading.Thread(target=f); t.start(); return t
def end_this_thread(): call(60, 0)
"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// A process is alive when the program ends, and is named.
    Named,
    /// The program may have ended by then.
    Perhaps,
}

struct Way {
    name: &'static str,
    script: &'static str,
    left: Left,
}

const fn way(name: &'static str, script: &'static str) -> Way {
    Way { name, script, left: Left::Named }
}

const WAYS: &[Way] = &[
    way("a plain child", "hide(beat); ready()"),
    way("a grandchild in a session of its own", "hide(lambda: (os.setsid(), hide(beat))); ready()"),
    way("a group of its own", "hide(lambda: (os.setpgid(0, 0), beat())); ready()"),
    way("a first thread that has ended", "hide(lambda: (thread(beat), end_this_thread())); ready()"),
    way(
        "200 idle threads behind a first thread that has ended",
        "hide(lambda: ([thread(beat) for _ in range(200)], os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)), \
         end_this_thread())); ready()",
    ),
    way(
        "process 1 without descriptors",
        "call(302, 1, resource.RLIMIT_NOFILE, (ctypes.c_ulong * 2)(0, 0), 0)\nhide(beat); ready()",
    ),
    way(
        "process 1 without memory, processor time and processes",
        "[call(302, 1, limit, (ctypes.c_ulong * 2)(0, 0), 0) for limit in (0, 2, 3, 6, 8, 9)]\nhide(beat); ready()",
    ),
    way("process 1 at idle priority", "call(144, 1, 5, (ctypes.c_int * 1)(0))\nhide(beat); ready()"),
    way("process 1 in a batch", "call(142, 1, (ctypes.c_int * 1)(0)); call(314, 1, None, 0)\nhide(beat); ready()"),
    way("process 1 nice", "call(141, 0, 1, 19); call(141, 1, 1, 19); call(141, 2, 0, 19)\nhide(beat); ready()"),
    way(
        "process 1 last in line for the disk",
        "call(251, 1, 1, 3 << 13); call(251, 3, 1000, 3 << 13)\nhide(beat); ready()",
    ),
    way("process 1 on no processor", "call(203, 1, 8, (ctypes.c_ulong * 1)(1))\nhide(beat); ready()"),
    way(
        "process 1 under signals",
        "[os.kill(1, s) for s in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTERM, signal.SIGCHLD)]\nhide(beat); ready()",
    ),
    way("the lowest priority", "hide(lambda: (os.nice(19), beat())); ready()"),
    way("idle priority", "hide(lambda: (os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)), beat())); ready()"),
    way("a stopped child", "p = hide(beat); ready(); os.kill(p, signal.SIGSTOP)"),
    way(
        "a stopped thread group with an ended leader",
        "p = hide(lambda: (thread(beat), end_this_thread())); ready(); os.kill(p, signal.SIGSTOP)",
    ),
    way(
        "a child of process 1 by CLONE_PARENT",
        "p = call(56, 0x8000 | 17, 0, 0, 0, 0)\nif p == 0: quiet(); beat()\nready()",
    ),
    way("a child without a signal for its end", "p = call(56, 0, 0, 0, 0, 0)\nif p == 0: quiet(); beat()\nready()"),
    way("a child with another signal for its end", "p = call(56, 10, 0, 0, 0, 0)\nif p == 0: quiet(); beat()\nready()"),
    way(
        "a spawned program (vfork)",
        "os.posix_spawn('/usr/bin/python3', ['python3', '-c', open('prelude').read() + 'quiet(); beat()'], os.environ); ready()",
    ),
    way("a parent that waits in vfork", "hide(lambda: ctypes.CDLL(None).vfork() or beat()); ready()"),
    way("a name that looks like a zombie's", "hide(lambda: (libc.prctl(15, b'x) Z 1 1 (', 0, 0, 0), beat())); ready()"),
    way("an empty name", "hide(lambda: (libc.prctl(15, b'', 0, 0, 0), beat())); ready()"),
    way("a process that may not be dumped", "hide(lambda: (libc.prctl(4, 0, 0, 0, 0), beat())); ready()"),
    way(
        "orphans under a subreaper",
        "hide(lambda: (libc.prctl(36, 1, 0, 0, 0), hide(lambda: hide(beat)), time.sleep(600))); ready()",
    ),
    way(
        "every signal ignored",
        "hide(lambda: ([signal.signal(s, signal.SIG_IGN) for s in range(1, 32) if s not in (9, 19)], beat())); ready()",
    ),
    way(
        "a program in memory",
        "import shutil\nfd = os.memfd_create('m')\nos.write(fd, open('/usr/bin/python3.11' if os.path.exists('/usr/bin/python3.11') else os.path.realpath('/usr/bin/python3'), 'rb').read())\n\
         hide(lambda: os.execve(fd, ['python3', '-c', open('prelude').read() + 'quiet(); beat()'], os.environ)); ready()",
    ),
    way(
        "an execution by a thread that is not the first",
        "hide(lambda: (thread(lambda: os.execv('/usr/bin/python3', ['python3', '-c', open('prelude').read() + 'beat()'])), time.sleep(600))); ready()",
    ),
    way(
        "no working directory, no descriptor",
        "fd = os.open(path, os.O_RDWR | os.O_CREAT)\ndef bare():\n    os.chdir('/'); n = 0\n    while True: n += 1; os.pwrite(fd, str(n).encode(), 0); time.sleep(0.002)\nhide(bare); ready()",
    ),
    way("the program killed by its own hand", "hide(beat); ready(); os.kill(os.getpid(), 9)"),
    way(
        "the program crashed",
        "hide(beat); ready(); resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); ctypes.string_at(0)",
    ),
    Way {
        name: "a chain of short-lived processes",
        // Each writes and is replaced by its child; never is one of them there for long.
        script: "def hop():\n    fd = os.open(path, os.O_RDWR | os.O_CREAT)\n    for n in range(1, 10000):\n        os.pwrite(fd, str(n).encode(), 0)\n        if os.fork(): os._exit(0)\nhide(hop); ready()",
        left: Left::Perhaps,
    },
    Way {
        name: "children made in the last moment",
        script: "hide(beat); ready()\nfor _ in range(50): hide(lambda: time.sleep(600))",
        left: Left::Named,
    },
    Way {
        name: "a fork at every signal, sent without end",
        script: "def multiply():\n    signal.signal(signal.SIGALRM, lambda *a: os.fork())\n    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\n    beat()\nresource.setrlimit(resource.RLIMIT_NPROC, (200, 200))\nhide(multiply); ready()",
        left: Left::Named,
    },
];

fn script_of(way: &Way) -> String {
    format!("{PRELUDE}\n{}\nsys.stdout.flush(); os._exit(0)", way.script)
}

/// True if somebody writes.
fn is_beating(file: &Path) -> bool {
    let read = || fs::read(file).unwrap_or_default();
    let before = read();
    std::thread::sleep(PAUSE);
    before != read()
}

#[test]
fn nothing_of_the_program_lives_when_its_end_is_told() {
    for who in everybody() {
        for way in WAYS {
            let world = World::new(who);
            fs::write(world.path("workspace/prelude"), PRELUDE).unwrap();
            let ask = Ask::strict(&world, &["/usr/bin/python3", "-c", &script_of(way)]);
            let outcome = ask.run(&world);
            let first = fs::read(world.path("workspace/beat")).unwrap_or_default();
            assert!(!first.is_empty(), "{}: nobody wrote: {outcome:?}", way.name);
            assert!(!is_beating(&world.path("workspace/beat")), "{} as {who:?}: somebody still writes", way.name);
            assert_eq!(outcome.living, 0, "{} as {who:?}", way.name);
            let named = outcome.leftovers.killed > 0 && !outcome.leftovers.names.is_empty();
            assert!(named || way.left == Left::Perhaps, "{} as {who:?}: {outcome:?}", way.name);
            let ended = matches!(outcome.how, How::Exited { code: 0 } | How::Signaled { .. });
            assert!(ended && !outcome.timed_out, "{} as {who:?}: {:?}", way.name, outcome.how);
        }
    }
}

/// Programs that keep every processor busy while they are held, so that what runs at idle priority takes long to die.
struct Busy(Vec<Child>);

impl Busy {
    fn begin() -> Self {
        let spin = || Command::new("/bin/sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        Self((0..8).map(|_| spin()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Leaves many processes that die slowly: at idle priority, with memory to be given back.
const SLOW_TO_DIE: &str = "
def linger():
    memory = bytearray(8 << 20)
    for at in range(0, len(memory), 4096): memory[at] = 1
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    beat()
for _ in range(30): hide(linger)
ready()
";

/// That processes were killed is not enough: the end is reported when the kernel has no process of the program any more.
#[test]
fn the_end_is_told_when_the_last_process_is_gone() {
    let world = World::new(everybody()[0]);
    fs::write(world.path("workspace/prelude"), PRELUDE).unwrap();
    let script = format!("exec(open('prelude').read())\n{SLOW_TO_DIE}");
    let ask = Ask::strict(&world, &["/usr/bin/python3", "-c", &script]);
    let busy = Busy::begin();
    let outcome = ask.run(&world);
    drop(busy);
    assert!(outcome.leftovers.killed > 0, "control: they outlived the program: {outcome:?}");
    assert_eq!(outcome.living, 0, "{outcome:?}");
}

/// The control: a supervisor that starts a program and waits for it finds somebody writing afterwards.
#[test]
fn each_way_outlives_a_supervisor_that_only_waits() {
    let may_outlive = WAYS.iter().filter(|way| !QUIET.contains(&way.name));
    let failed: Vec<&str> = may_outlive.filter(|way| !outlives_a_plain_wait(way)).map(|way| way.name).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// A stopped process writes nothing, and a chain comes to its end: the first is seen by name, the other may be over.
const QUIET: [&str; 3] =
    ["a chain of short-lived processes", "a stopped child", "a stopped thread group with an ended leader"];

fn outlives_a_plain_wait(way: &Way) -> bool {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("prelude"), PRELUDE).unwrap();
    let marker = ("STRICT_TEST_HIDDEN".to_owned(), format!("{}-{}", std::process::id(), way.name.len()));
    // Numbers of process 1 are the host's here: what is done to it inside is left out.
    let script = script_of(way).replace("call(302, 1,", "(lambda *a: 0)(").replace("os.kill(1,", "(lambda *a: 0)(");
    let script = ["call(144, 1,", "call(142, 1,", "call(314, 1,", "call(141, ", "call(251, ", "call(203, 1,"]
        .iter()
        .fold(script, |script, call| script.replace(call, "(lambda *a: 0)("));
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", &script]).current_dir(directory.path()).env_clear().env(&marker.0, &marker.1);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().unwrap();
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
    // One of idle priority has to wait until a busy machine has time for it.
    let beats = || is_beating(&directory.path().join("beat"));
    let beating = std::iter::repeat_with(beats).take_while(|beats| *beats || Instant::now() < until).any(|beats| beats);
    // A process without a first thread has no environment to be found by: its group is killed too.
    let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    while kill_marked(&marker) > 0 {}
    beating
}
