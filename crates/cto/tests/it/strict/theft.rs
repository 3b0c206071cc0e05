//! Theft by the harness's own hand: a program swaps plain entries for links to what it may not read, wherever the harness looks
//! afterwards, by processes that try to outlive the report that all are dead. No byte of the host may reach the bundle, and
//! nothing may make the harness wait.
//!
//! One run tries every kind in every place at once. `cargo xtask soak theft` does it hundreds of times, with and without load.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use testkit::{Who, end_marked, program, times};

use super::check::harmless;
use super::row::Row;
use super::scene::Scene;

pub(super) const CLASS: &str = "Theft through the harness";

const DOOR: &str = "`cto` reads the result after all processes are dead, and follows no link";
/// All of it in one run, by an engine, by a check and by a setup; what is left of a bait may be kept or left out.
pub(super) const LINES: &[[&str; 3]] = &[
    [
        "a file replaced by a link to a secret, in state, workspace, home and temporary folder",
        DOOR,
        "`leftover_processes` names the remaining processes",
    ],
    ["a folder replaced by a link to a folder of secrets", DOOR, "nothing from that folder"],
    ["a link to a named pipe, a terminal or an endless device", DOOR, "the run ends"],
    ["a link to the harness's environment or to a file it has open, by `/proc`", DOOR, "nothing from there"],
    ["an endless file, and a named pipe", "reads have a limit and never wait", "`state.left_out` in `trace.jsonl`"],
];

/// Leaves swapped entries and processes that go on swapping: some with a first thread that has ended, all at idle priority.
const THIEF: &str = r"
import ctypes, os, sys, threading, time
print('TRIED', flush=True)
libc = ctypes.CDLL(None, use_errno=True)
number = {'x86_64': 316, 'aarch64': 276}[os.uname().machine]
leave = {'x86_64': 60, 'aarch64': 93}[os.uname().machine]
op, victim = os.environ['OPERATOR'], os.environ['VICTIM']
targets = {
    'file': op + '/.ssh/id_ed25519',
    'folder': op + '/.ssh',
    'pipe': victim + '/pipe',
    'device': '/dev/zero',
    'terminal': '/dev/tty',
    'environment': '/proc/self/environ',
    'descriptor': '/proc/self/fd/9',
    'root': '/proc/self/root' + op + '/.ssh/id_ed25519',
    'shadow': '/etc/shadow',
}
pairs = []
def bait(place, name, target):
    plain, link = os.path.join(place, 'bait-' + name), os.path.join(place, 'link-' + name)
    if name == 'folder':
        os.mkdir(plain)
        open(plain + '/id_ed25519', 'w').write('bait\n')
    else:
        open(plain, 'w').write('bait\n')
    os.symlink(target, link)
    pairs.append((plain.encode(), link.encode()))
for place in sys.argv[1:]:
    place = os.path.expandvars(place)
    try: os.makedirs(place, exist_ok=True)
    except OSError: continue
    for name, target in targets.items(): bait(place, name, target)
    with open(place + '/endless', 'w') as endless: endless.truncate(1 << 31)
    if not place.startswith(os.getcwd()): os.mkfifo(place + '/fifo')
def swap(pairs):
    while True:
        for one, other in pairs: libc.syscall(number, -100, one, -100, other, 2)
def hide(share, zombie):
    if os.fork(): return
    null = os.open('/dev/null', os.O_RDWR)
    for fd in (0, 1, 2): os.dup2(null, fd)
    try: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError: pass
    if zombie:
        threading.Thread(target=swap, args=(share,)).start()
        libc.syscall(leave, 0)
    swap(share)
for n in range(8): hide(pairs[n::2] or pairs, n % 2 == 0)
time.sleep(0.05)
os._exit(0)
";

/// Everywhere an engine can write: its state, its workspace (litter there), its home and the temporary folder.
const PLACES: &[&str] = &["/run/cto/state", "/run/cto/state/deep/er", "junk", "$HOME", "$HOME/.cache", "/tmp/bait"];
/// The folder of a check's reports, which the check can write and the harness reads.
const REPORTS: &[&str] = &["/run/cto/reports", "$HOME", "/tmp/bait", "reports"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thief {
    Engine,
    Check,
    Setup,
}

fn thief(places: &[&str]) -> Vec<String> {
    let argv = ["/usr/bin/python3", "-c", THIEF];
    argv.iter().chain(places).map(|word| (*word).to_owned()).collect()
}

fn set_scene(who: Who) -> Scene {
    let scene = Scene::new(who);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scene.victim("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    scene
}

/// Programs that keep every processor busy while they are held.
struct Load(Vec<Child>);

impl Load {
    fn begin(wanted: bool) -> Self {
        let spin = || {
            let mut command = program("/bin/sh", Path::new("/"));
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap()
        };
        Self((0..if wanted { 6 } else { 0 }).map(|_| spin()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A run must come to an end of its own, with nothing stolen, whatever it is called.
fn try_once(scene: &Scene, thief_is: Thief) {
    let before = scene.outside();
    let sealed = scene.run_strict(&[]);
    let tried = match thief_is {
        Thief::Engine => sealed.says_tried(),
        Thief::Check => sealed.text("test.log").contains("TRIED"),
        Thief::Setup => sealed.sandbox["cells"].to_string().contains("\"setup"),
    };
    assert!(tried, "not tried: {}", sealed.told());
    harmless(scene, &sealed, &before);
    assert_eq!(sealed.holding("root:"), Vec::<std::path::PathBuf>::new(), "/etc/shadow: {}", sealed.told());
    let reasons = sealed.report["blocker_reasons"].to_string();
    assert!(!reasons.contains("harness_interrupted"), "{}", sealed.told());
    if thief_is == Thief::Engine {
        assert_ne!(sealed.sandbox["leftover_processes"], json!([]), "{}", sealed.told());
    }
}

/// `set` writes the case of a round.
fn repeated(set: impl Fn(&Scene, u32), thief_is: Thief) {
    let tries = times("CTO_TEST_THEFTS", 1);
    for who in Who::all("theft") {
        let scene = set_scene(who);
        for round in 0..tries {
            set(&scene, round);
            let _load = Load::begin(round % 2 == 1);
            try_once(&scene, thief_is);
        }
    }
}

#[test]
fn an_engine_steals_nothing_through_what_is_kept_of_it() {
    repeated(|scene, _| scene.set(&Row::new("theft", thief(PLACES)), ""), Thief::Engine);
}

#[test]
fn a_check_steals_nothing_through_its_reports() {
    let set = |scene: &Scene, _| {
        let steps = json!({"steps": [{"write": {"path": "a.txt", "text": "two\n"}}]}).to_string();
        let commands = json!([{"argv": thief(REPORTS)}]).to_string();
        scene.set_case(&[("fake", &steps), ("verification_commands", &commands)]);
    };
    repeated(set, Thief::Check);
}

#[test]
fn a_setup_steals_nothing_through_its_layer() {
    let set = |scene: &Scene, round: u32| {
        let steps = json!({"steps": [{"write": {"path": "a.txt", "text": "two\n"}}]}).to_string();
        // A layer is kept: another variable makes another layer.
        let mut variables = scene.variables.clone();
        variables.insert("ROUND", round.to_string());
        let setup = json!([{"argv": thief(&[".", "deps/er", "$HOME", "/tmp/bait"])}]);
        let environment = json!({"setup": setup, "variables": variables}).to_string();
        scene.set_case(&[("fake", &steps), ("environment", &environment)]);
    };
    repeated(set, Thief::Setup);
}

/// The control: who looks at an entry and then opens it by its path gets the secret within a moment.
#[test]
fn the_thief_robs_who_reads_by_path() {
    for who in Who::all("theft") {
        let scene = set_scene(who);
        let marker = format!("control-{}", scene.secret);
        let row = Row::new("theft", thief(&["bait"]));
        let mut child = scene.direct(&row, &marker).stdout(Stdio::null()).process_group(0).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        let robbed = reads_secret(&scene.world.path().join("direct/bait/bait-file"), &scene.secret);
        // Processes without a first thread have no environment to be found by.
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process_group(group, Signal::KILL).unwrap();
        end_marked(&marker);
        assert!(robbed, "as {who:?}");
    }
}

fn reads_secret(path: &Path, secret: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        if fs::symlink_metadata(path).is_ok_and(|stat| stat.is_file())
            && fs::read_to_string(path).is_ok_and(|text| text.contains(secret))
        {
            return true;
        }
    }
    false
}
