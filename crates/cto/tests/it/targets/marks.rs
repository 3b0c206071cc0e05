//! Marks of used approvals in the home: one that cannot be looked for or left stops the engine, and one of a use that did not happen goes
//! again.

use std::fs;
use std::process::{Child, Stdio};

use testkit::{World, stoppable, wait_for};

use super::{Scene, reasons};

/// A run that has come to a place, and goes on once there is a file `go`.
fn run_to(scene: &Scene, stage: &str, place: &str) -> Child {
    let (go, here) = (scene.world.path().join("go"), scene.world.path().join("go.here"));
    let _ = (fs::remove_file(&go), fs::remove_file(&here));
    let mut command = scene.world.command(scene.words("run", stage));
    command.env("CTO_STOP_AT", place).env("CTO_STOP_DO", format!("wait:{}", go.display()));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the place", || here.exists().then_some(()));
    child
}

/// A mark that cannot be looked for may be there: no engine starts by an approval that may be spent.
#[test]
fn a_mark_that_cannot_be_looked_for_may_be_there() {
    let test = "targets::marks::a_mark_that_cannot_be_looked_for_may_be_there";
    let Some(scene) = Scene::new(test) else { return };
    for stage in ["4", "5"] {
        let request = scene.approve(stage);
        let marks = scene.world.home().join("used");
        let _ = fs::rename(&marks, scene.world.path().join("marks"));
        scene.world.write_own("used", "no folder");
        let report = scene.run(stage, 3);
        assert_eq!(report["engine"]["process_started"], false, "stage {stage}: {report:#}");
        assert!(report["blockers"].to_string().contains("cannot be looked for"), "{:#}", report["blockers"]);
        fs::remove_file(&marks).unwrap();
        let _ = fs::rename(scene.world.path().join("marks"), &marks);
        let name = request["request"].as_str().unwrap();
        let packet = scene.world.cto(["packet", name, "--json"]).expect(0).json();
        assert_eq!(packet["approval_consumed"], false, "stage {stage}: nothing was spent");
        assert_eq!(scene.run(stage, 0)["status"], "pass", "the control: the marks can be looked for");
    }
}

/// A run that loses its lease between the mark and the use has used nothing: its mark goes again.
#[test]
fn a_lease_that_is_lost_after_the_mark_spends_nothing() {
    let test = "targets::marks::a_lease_that_is_lost_after_the_mark_spends_nothing";
    let Some(binary) = stoppable(test) else { return };
    let world = World::new(binary.to_str().unwrap());
    let Some(scene) = Scene::with(test, world, |target| target.to_owned(), &[]) else { return };
    let request = scene.approve("4");
    let child = run_to(&scene, "4", "approval.marked");
    let mark = scene.world.home().join("used").join(request["request_digest"].as_str().unwrap());
    assert!(mark.exists(), "the control: it was made");
    let ledger = rusqlite::Connection::open(scene.world.home().join("ledger.db")).unwrap();
    assert_eq!(ledger.execute("UPDATE leases SET epoch = epoch + 1", []).unwrap(), 1);
    drop(ledger);
    fs::write(scene.world.path().join("go"), "").unwrap();
    let ran = World::finish(child);
    assert_ne!(ran.code, 0, "{}", ran.told());
    assert!(!mark.exists(), "what was not used is not marked as used: {}", ran.told());
    let _ = scene.world.recover_killed();
    let name = request["request"].as_str().unwrap();
    let packet = scene.world.cto(["packet", name, "--json"]).expect(0).json();
    assert_eq!(packet["approval_consumed"], false);
    assert_eq!(scene.run("4", 0)["status"], "pass", "the control: the approval is there for the next run");
}

/// The home's mark at stage 5 follows the ledger's entry. Where it cannot be left, a restored ledger could not tell of the use, so that
/// the engine does not start.
#[test]
fn no_engine_starts_where_no_mark_can_be_left() {
    let test = "targets::marks::no_engine_starts_where_no_mark_can_be_left";
    let Some(binary) = stoppable(test) else { return };
    let world = World::new(binary.to_str().unwrap());
    let Some(scene) = Scene::with(test, world, |target| target.to_owned(), &[]) else { return };
    for is_broken in [true, false] {
        scene.approve("5");
        let child = run_to(&scene, "5", "approval.used");
        if is_broken {
            scene.world.write_own("used", "no folder");
        }
        fs::write(scene.world.path().join("go"), "").unwrap();
        let ran = World::finish(child).expect(if is_broken { 3 } else { 0 });
        let report = ran.json();
        assert_eq!(report["engine"]["process_started"], !is_broken, "{report:#}");
        if is_broken {
            assert_eq!(reasons(&report), "approval_consumed");
            assert!(report["blockers"].to_string().contains("its mark was not written"), "{:#}", report["blockers"]);
            fs::remove_file(scene.world.home().join("used")).unwrap();
        }
        let _ = scene.world.cto(["verify", "@"]).expect(0);
    }
}
