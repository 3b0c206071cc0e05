//! Bundles that are removed on purpose: said once, before, and only of what was sealed.

use crate::fixtures::{TIME, at, digest, run, sealed, started};
use crate::world::World;
use contract::RunId;
use ledger::{AppendEntryError, Collection, EntryKind, Ledger, RunCollected};
use serde_json::json;

fn collected(run_id: &RunId) -> RunCollected {
    RunCollected {
        run_id: run_id.clone(),
        time: at("2026-03-02T10:00:00.000000Z"),
        collection: Collection { attestation_sha256: digest("ab"), reason: "older than 30d".to_owned(), bytes: 4096 },
    }
}

fn filled(world: &World) -> Ledger {
    let ledger = world.open();
    for (second, suffix) in (0..).zip(["aaaa", "bbbb", "cccc"]) {
        ledger.run_started(&started(&run(suffix), second)).unwrap();
    }
    ledger.run_sealed(&sealed(&run("aaaa"))).unwrap();
    ledger.run_sealed(&sealed(&run("bbbb"))).unwrap();
    ledger
}

#[test]
fn it_is_said_once_and_found_again() {
    let world = World::new();
    let ledger = filled(&world);
    let place = ledger.runs_collected(&[collected(&run("aaaa"))]).unwrap();
    assert_eq!(ledger.runs_collected(&[collected(&run("aaaa"))]).unwrap(), place, "saying it again changes nothing");
    assert_eq!(ledger.run_collection(&run("aaaa")).unwrap(), Some(collected(&run("aaaa"))));
    assert_eq!(ledger.run_collection(&run("bbbb")).unwrap(), None);
    let rows = ledger.runs_recent(&Default::default(), 50).unwrap();
    let found: Vec<RunId> = ledger.collections_of(&rows).unwrap().into_keys().collect();
    assert_eq!(found, [run("aaaa")]);
    assert!(ledger.verify().unwrap().is_intact());
}

#[test]
fn what_does_not_fit_is_refused_with_all_that_came_with_it() {
    let world = World::new();
    let ledger = filled(&world);
    let head = ledger.head().unwrap();
    let plain = collected(&run("bbbb"));
    let collection = Collection { attestation_sha256: digest("cd"), ..plain.collection.clone() };
    let other = RunCollected { collection, ..plain };
    use AppendEntryError as E;
    let refused = |second| ledger.runs_collected(&[collected(&run("aaaa")), second]).unwrap_err();
    assert!(matches!(refused(collected(&run("cccc"))), E::NotSealed { .. }));
    assert!(matches!(refused(collected(&run("nobody"))), E::NotStarted { .. }));
    assert!(matches!(refused(other), E::AlreadySealed { .. }));
    let by_hand = ledger.append(EntryKind::EvidenceCollected, Some(&run("aaaa")), *TIME, &json!({}));
    assert!(matches!(by_hand, Err(E::ReservedKind { .. })));
    assert_eq!(ledger.head().unwrap(), head);
}

#[test]
fn a_run_that_another_entry_names_is_spoken_of() {
    let world = World::new();
    let ledger = filled(&world);
    ledger.engine_starting(&run("cccc"), None, *TIME, &json!({}), None).unwrap();
    ledger.runs_collected(&[collected(&run("aaaa"))]).unwrap();
    ledger.append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
    assert!(ledger.runs_spoken_of().unwrap().is_empty());
    ledger.append(EntryKind::PatchTaken, Some(&run("bbbb")), *TIME, &json!({})).unwrap();
    assert_eq!(ledger.runs_spoken_of().unwrap().into_iter().collect::<Vec<_>>(), [run("bbbb").to_string()]);
    let mut all = Vec::new();
    ledger.runs_each(|run| all.push(run.run_id)).unwrap();
    assert_eq!(all, ["aaaa", "bbbb", "cccc"].map(run));
}

#[test]
fn an_entry_of_something_that_was_not_sealed_is_found() {
    for (suffix, digest) in [("cccc", "ab"), ("aaaa", "cd"), ("zzzz", "ab")] {
        let world = World::new();
        let ledger = filled(&world);
        let body = json!({"attestation_sha256": digest.repeat(32), "bytes": 1, "reason": "r"});
        ledger.append(EntryKind::PatchTaken, Some(&run(suffix)), *TIME, &body).unwrap();
        let head = ledger.head().unwrap().seq;
        world.disarm();
        world.edit(&format!("UPDATE entries SET kind = 'evidence.collected' WHERE seq = {head}"));
        let problems = ledger.verify().unwrap().problems;
        let fits = problems.iter().any(|it| it.seq == head && it.what.ends_with("entry that fits no run"));
        assert!(fits, "{suffix}: {problems:?}");
    }
}
