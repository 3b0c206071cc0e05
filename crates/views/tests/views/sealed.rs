//! Results of verification, rungs and lanes, all of sealed bundles.

use std::fs;
use std::sync::Arc;

use contract::engine::{RungFact, RungLack};
use contract::{Stage, Status};
use ledger::FoundRuns;
use views::{RungIdentity, VerifyMemo, compare_runs, verify_run};

use crate::world::{World, attestation, golden_key, now, terms};

#[test]
fn a_result_is_remembered_by_its_attestation_until_it_is_verified_again() {
    let world = World::new();
    let sealed = world.seal("pass");
    let memo = Arc::new(VerifyMemo::default());
    let views = world.views().sharing_memo(Arc::clone(&memo));
    let first = views.recall_verification("@", now()).unwrap();
    assert!(first.ok && first.run_id.as_ref() == Some(&sealed) && first.status == Some(Status::Pass));
    fs::write(world.bundles.bundle_dir(&sealed).join("patch.diff"), "other").unwrap();
    let other_thread = world.views().sharing_memo(memo);
    assert!(Arc::ptr_eq(&first, &other_thread.recall_verification("@", now()).unwrap()), "the attestation is the same");
    let again = views.verify_again("@", now()).unwrap();
    assert!(!again.ok && again.status.is_none());
    assert!(Arc::ptr_eq(&again, &views.recall_verification("@", now()).unwrap()), "what was found last counts");
}

#[test]
fn another_attestation_in_its_place_is_verified() {
    let world = World::new();
    let (pass, fail) = (world.seal("pass"), world.seal("fail"));
    let views = world.views();
    assert!(views.recall_verification(pass.as_str(), now()).unwrap().ok);
    assert!(views.recall_verification(fail.as_str(), now()).unwrap().ok);
    fs::remove_dir_all(world.bundles.bundle_dir(&pass)).unwrap();
    testkit::copy_bundle(&world.bundles.bundle_dir(&fail), &world.bundles.bundle_dir(&pass));
    assert!(!views.recall_verification(pass.as_str(), now()).unwrap().ok, "a genuine bundle, of another run");
}

#[test]
fn other_keys_have_results_of_their_own() {
    let world = World::new();
    world.seal("pass");
    let views = world.views();
    assert!(views.recall_verification("@", now()).unwrap().ok);
    assert!(!views.trusting_keys(Vec::new()).recall_verification("@", now()).unwrap().ok);
}

#[test]
fn a_rung_rests_on_the_last_run_that_verifies() {
    let world = World::new();
    let rung = |world: &World, source_id: &str| {
        let identity = RungIdentity { engine: "fake", source_id, pair: None };
        world.views().view_ladder(identity, terms()).unwrap().rungs.remove(1).into_fact()
    };
    let stage = Stage::ARTIFICIAL_FIXTURE;
    assert_eq!(rung(&world, "fake@0.1.0"), RungFact::NotStarted { stage });
    let run_id = world.seal("pass").to_string();
    assert_eq!(rung(&world, "fake@0.1.0"), RungFact::Validated { stage, run_id: run_id.clone() });
    assert!(matches!(rung(&world, "fake@0.2.0"), RungFact::Stale { .. }), "another source");
    let patch = world.root().join("harness-runs").join(&run_id).join("patch.diff");
    let whole = fs::read(&patch).unwrap();
    fs::write(&patch, "other").unwrap();
    let damaged = RungFact::Blocked { stage, run_id: run_id.clone(), lack: Some(RungLack::BundleDamaged) };
    assert_eq!(rung(&world, "fake@0.1.0"), damaged, "what does not verify proves nothing");
    fs::write(&patch, whole).unwrap();
    let failed = world.seal("fail").to_string();
    assert_eq!(rung(&world, "fake@0.1.0"), RungFact::Blocked { stage, run_id: failed, lack: None });
    assert!(matches!(rung(&world, "fake@0.2.0"), RungFact::Stale { .. }), "the failure of another");
}

#[test]
fn an_unsealed_run_proves_nothing() {
    let world = World::new();
    let report = world.publish("pass");
    let proven = || {
        let FoundRuns::One(row) = world.ledger().run_find("@").unwrap() else { panic!("it was started") };
        verify_run(&world.bundles, &[golden_key()], &row)
    };
    assert!(proven().is_none(), "its bundle is in its place, and the ledger does not know it as sealed");
    world.tell_sealed(&report, attestation("pass"));
    assert_eq!(proven(), Some(report));
}

#[test]
fn lanes_are_set_side_by_side_and_a_broken_one_is_refused() {
    let world = World::new();
    let (pass, fail) = (world.seal("pass"), world.seal("fail"));
    let views = world.views();
    let found = [&pass, &fail].map(|run| views.find_run(run.as_str(), now()).unwrap());
    let comparison = compare_runs(&found, &[golden_key()]).unwrap();
    assert_eq!((comparison.status, comparison.lanes.len(), comparison.task_id), (Status::Fail, 2, None));
    fs::write(world.bundles.bundle_dir(&pass).join("patch.diff"), "other").unwrap();
    let refused = compare_runs(&found, &[golden_key()]).unwrap_err();
    assert_eq!(refused.id, pass.as_str());
}

#[test]
fn a_sealed_bundle_that_is_gone_blocks_its_rung_unless_it_was_collected() {
    let stage = Stage::ARTIFICIAL_FIXTURE;
    let identity = RungIdentity { engine: "fake", source_id: "fake@0.1.0", pair: None };
    let rung = |world: &World| world.views().view_ladder(identity, terms()).unwrap().rungs.remove(1).into_fact();
    let collected = World::new();
    collected.collect("pass");
    assert_eq!(rung(&collected), RungFact::NotStarted { stage }, "control: gc recorded it");
    for kind in ["pass", "fail", "blocked"] {
        let world = World::new();
        let run_id = world.seal(kind);
        fs::remove_dir_all(world.bundles.bundle_dir(&run_id)).unwrap();
        let lack = Some(RungLack::BundleMissing);
        let row = world.ledger().runs_recent(&ledger::RunFilter::default(), 1).unwrap().remove(0);
        assert_eq!(rung(&world), RungFact::Blocked { stage, run_id: row.run_id.to_string(), lack }, "{kind}");
    }
}
