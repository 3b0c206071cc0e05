//! A run at stage 5 that is stopped in its landing for longer than its lease: another home has sealed it, and nothing of it stays.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::{Ran, World, wait_for};

use super::Scene;
use crate::world;

/// Long enough for a busy machine to renew in time.
const LEASE: u64 = 4;

fn share_ledger(world: &World, ledger: &std::path::Path) {
    let folder = world.path().join("user/.config/cto");
    fs::create_dir_all(&folder).unwrap();
    let text = format!("store:\n  url: sqlite://{}\n  lease_seconds: {LEASE}\n", ledger.display());
    fs::write(folder.join("config.yaml"), text).unwrap();
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The branches that runs made in the target.
fn branches(scene: &Scene) -> String {
    scene.git(&["for-each-ref", "--format=%(refname)", "refs/heads/cto"])
}

/// Another home has none of the run's files. Its bundle verifies all the same, and tells from the ledger which approval was used.
fn assert_sealed_bundle_tells_the_approval(theirs: &World, recovered: &Value) {
    let run = recovered["sealed"][0]["run_id"].as_str().unwrap();
    let _ = theirs.cto(["verify", run]).expect(0);
    let bundle = theirs.bundles().join(run);
    let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
    for kind in ["approval.requested", "approval.granted"] {
        assert_eq!(events.matches(&format!("\"type\":\"{kind}\"")).count(), 1, "{kind}: {events}");
    }
    let report: Value = serde_json::from_slice(&fs::read(bundle.join("report.json")).unwrap()).unwrap();
    let covered = report["coverage"].as_array().unwrap().iter().any(|code| code == "solo_operator");
    assert!(covered, "{}", report["coverage"]);
}

/// Runs to a place of the landing. Stopped there for longer than its lease, it goes on when another home has sealed it.
fn land(test: &str, place: &str, stops: bool) -> Option<(Scene, Ran)> {
    let binary = testkit::stoppable(test)?;
    let (ours, theirs, shared) = (World::new(binary.to_str().unwrap()), world(), tempfile::tempdir().unwrap());
    let ledger = shared.path().join("ledger.db");
    [&ours, &theirs].into_iter().for_each(|world| share_ledger(world, &ledger));
    let quick = [("verification_commands", "[[\"true\"]]")];
    let scene = Scene::with(test, ours, |target| target.to_owned(), &quick)?;
    let _ = scene.approve("5");
    let go = scene.world.path().join("go");
    let mut command = scene.world.command(scene.words("run", "5"));
    command.env("CTO_STOP_AT", place).env("CTO_STOP_DO", format!("wait:{}", go.display()));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the place", || go.with_extension("here").exists().then_some(()));
    if stops {
        signal(&child, Signal::STOP);
        std::thread::sleep(Duration::from_secs(LEASE + 1));
        let recovered = theirs.cto(["recover", "--json"]).expect(0).json();
        assert_eq!(recovered["sealed"][0]["status"], "fail", "{recovered}");
        assert_sealed_bundle_tells_the_approval(&theirs, &recovered);
    }
    fs::write(&go, "").unwrap();
    if stops {
        signal(&child, Signal::CONT);
    }
    let ran = World::finish(child);
    let _ = scene.world.cto(["ledger", "verify"]).expect(0);
    Some((scene, ran))
}

#[test]
fn a_landing_that_comes_too_late_does_not_stay() {
    let test = "a_landing_that_comes_too_late_does_not_stay";
    let rows = [
        ("landing.noted", "the change did not land"),
        ("landing.objects", "the change did not land"),
        ("landing.branch", "the landing was undone"),
    ];
    testkit::each_row(rows.map(|row| (row.0, row)), |(place, told)| {
        let Some((scene, late)) = land(test, place, true) else { return };
        assert!(late.code == 3 && late.stderr.contains("lost its lease"), "{}", late.told());
        assert!(late.stderr.contains(told), "{}", late.told());
        assert_eq!(branches(&scene), "", "no branch stays");
        assert_eq!(scene.git(&["fsck", "--full", "--strict", "--no-dangling"]), "", "the target is whole");
    });
}

/// The control: the same place, and nobody has stopped it.
#[test]
fn a_landing_in_time_stays() {
    let Some((scene, landed)) = land("a_landing_in_time_stays", "landing.objects", false) else { return };
    assert_eq!(landed.code, 0, "{}", landed.told());
    assert_ne!(branches(&scene), "");
}

/// Killed after its branch was made: another home seals it, and its own undoes the landing when it is back.
#[test]
fn a_landing_of_a_killed_run_that_another_home_has_sealed_is_undone() {
    let test = "a_landing_of_a_killed_run_that_another_home_has_sealed_is_undone";
    let Some(binary) = testkit::stoppable(test) else { return };
    let (ours, theirs, shared) = (World::new(binary.to_str().unwrap()), world(), tempfile::tempdir().unwrap());
    let ledger = shared.path().join("ledger.db");
    [&ours, &theirs].into_iter().for_each(|world| share_ledger(world, &ledger));
    let quick = [("verification_commands", "[[\"true\"]]")];
    let Some(scene) = Scene::with(test, ours, |target| target.to_owned(), &quick) else { return };
    let _ = scene.approve("5");
    let killed = scene.world.command(scene.words("run", "5")).env("CTO_STOP_AT", "landing.branch").output().unwrap();
    assert_eq!(killed.status.code(), None);
    assert_ne!(branches(&scene), "", "control: it had landed");
    std::thread::sleep(Duration::from_secs(LEASE + 1));
    let recovered = theirs.cto(["recover", "--json"]).expect(0).json();
    assert_eq!(recovered["sealed"][0]["status"], "fail", "{recovered}");
    assert_sealed_bundle_tells_the_approval(&theirs, &recovered);
    let back = scene.world.cto(["recover"]).expect(0);
    assert!(back.told().contains("the landing was undone"), "{}", back.told());
    assert_eq!(branches(&scene), "", "no branch stays");
}
