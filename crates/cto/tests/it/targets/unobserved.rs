//! Sandboxes that cannot tell which programs run: a change whose proof nobody could give is never made.

use testkit::{Ran, World, stoppable};

use super::{Scene, reasons};

/// Runs a program under a listener for system calls. The kernel allows one, so that the sandbox below gets none.
const LISTENER: &str = r#"
import ctypes, platform, subprocess, sys
class Filter(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filters", ctypes.POINTER(Filter))]
libc = ctypes.CDLL(None, use_errno=True)
allow = Filter(0x06, 0, 0, 0x7FFF0000)
program = Program(1, ctypes.pointer(allow))
seccomp = {"x86_64": 317, "aarch64": 277}.get(platform.machine(), -1)
if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.syscall(seccomp, 1, 8, ctypes.byref(program)) < 0:
    sys.exit(99)
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"#;

fn under_listener(scene: &Scene, words: &[&str]) -> Ran {
    let command = scene.world.command(words);
    Ran::of(scene.world.under(&command, &["python3", "-c", LISTENER]).output().unwrap())
}

fn is_used(scene: &Scene, request: &serde_json::Value) -> bool {
    let name = request["request"].as_str().unwrap();
    scene.world.cto(["packet", name, "--json"]).expect(0).json()["approval_consumed"] == true
}

#[test]
fn without_a_recorder_nothing_is_used_up() {
    let test = "targets::unobserved::without_a_recorder_nothing_is_used_up";
    let Some(scene) = Scene::new(test) else { return };
    let copied = under_listener(&scene, &["run", "./made", "--json"]);
    if copied.code == 99 {
        testkit::skip(test, "this user can have no listener for system calls");
        return;
    }
    let report = copied.expect(0).json();
    let coverage = report["coverage"].as_array().unwrap();
    assert!(coverage.contains(&"actions_not_observed".into()), "the control: a copy may change: {coverage:?}");
    for stage in ["4", "5"] {
        let request = scene.approve(stage);
        let report = under_listener(&scene, &scene.words("run", stage)).expect(3).json();
        assert_eq!(reasons(&report), "sandbox_unavailable", "stage {stage}: {:#}", report["blockers"]);
        let told = report["blockers"][0]["text"].as_str().unwrap();
        assert!(told.contains("needs a record of the programs that run"), "{told}");
        assert_eq!(report["engine"]["process_started"], false);
        assert!(!is_used(&scene, &request), "stage {stage}: nothing is spent");
        let _ = scene.world.cto(["verify", "@"]).expect(0);
        assert_eq!(scene.run(stage, 0)["status"], "pass", "the control: the same approval, with a recorder");
    }
}

#[test]
fn a_recorder_that_goes_blind_lets_nothing_land() {
    let test = "targets::unobserved::a_recorder_that_goes_blind_lets_nothing_land";
    let Some(binary) = stoppable(test) else { return };
    let world = World::new(binary.to_str().unwrap());
    let Some(scene) = Scene::with(test, world, |target| target.to_owned(), &[]) else { return };
    let before = scene.untouched();
    for stage in ["4", "5"] {
        let request = scene.approve(stage);
        let mut command = scene.world.command(scene.words("run", stage));
        let report = Ran::of(command.env("CTO_DEFECT", "recorder_blind").output().unwrap()).expect(3).json();
        assert_eq!(reasons(&report), "provider_unavailable", "stage {stage}: {:#}", report["blockers"]);
        assert_eq!((&report["engine"]["process_started"], &report["target_commit"]), (&true.into(), &().into()));
        assert!(is_used(&scene, &request), "stage {stage}: the engine was started");
        let _ = scene.world.cto(["verify", "@"]).expect(0);
        assert_eq!((scene.branches().len(), scene.untouched()), (0, before.clone()));
        scene.approve(stage);
        assert_eq!(scene.run(stage, 0)["status"], "pass", "the control: the same, seen to its end");
        for branch in scene.branches() {
            scene.git(&["branch", "-q", "-D", &branch]);
        }
    }
}

/// A copy that is changed may say that nobody looked: only what lands needs to be seen.
#[test]
fn a_copy_may_change_unseen() {
    let test = "targets::unobserved::a_copy_may_change_unseen";
    let Some(binary) = stoppable(test) else { return };
    let world = World::new(binary.to_str().unwrap());
    let Some(scene) = Scene::with(test, world, |target| target.to_owned(), &[]) else { return };
    let mut command = scene.world.command(["run", "./made", "--json"]);
    let report = Ran::of(command.env("CTO_DEFECT", "recorder_blind").output().unwrap()).expect(0).json();
    assert!(report["coverage"].as_array().unwrap().contains(&"actions_not_observed".into()), "{report:#}");
}
