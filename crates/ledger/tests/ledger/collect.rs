//! Bundles that are removed on purpose: said once, before, and only of what was sealed.

use crate::world::{TIME, World, sealed, started};
use ledger::{AppendEntryError, Ledger, RunCollected, kind};
use serde_json::json;

fn collected(run_id: &str) -> RunCollected {
    RunCollected {
        run_id: run_id.to_owned(),
        time: "2026-03-02T10:00:00.000000Z".to_owned(),
        attestation_sha256: "ab".repeat(32),
        reason: "older than 30d".to_owned(),
        bytes: 4096,
    }
}

fn filled(world: &World) -> Ledger {
    let ledger = world.open();
    for (second, id) in (0..).zip(["t-r1-aaaa", "t-r1-bbbb", "t-r1-cccc"]) {
        ledger.run_started(&started(id, second)).unwrap();
    }
    ledger.run_sealed(&sealed("t-r1-aaaa")).unwrap();
    ledger.run_sealed(&sealed("t-r1-bbbb")).unwrap();
    ledger
}

#[test]
fn it_is_said_once_and_found_again() {
    let world = World::new();
    let ledger = filled(&world);
    let place = ledger.runs_collected(&[collected("t-r1-aaaa")]).unwrap();
    assert_eq!(ledger.runs_collected(&[collected("t-r1-aaaa")]).unwrap(), place, "saying it again changes nothing");
    assert_eq!(ledger.run_collection("t-r1-aaaa").unwrap(), Some(collected("t-r1-aaaa")));
    assert_eq!(ledger.run_collection("t-r1-bbbb").unwrap(), None);
    let rows = ledger.runs_recent(&Default::default(), 50).unwrap();
    let found: Vec<String> = ledger.collections_of(&rows).unwrap().into_keys().collect();
    assert_eq!(found, ["t-r1-aaaa"]);
    assert!(ledger.verify().unwrap().is_intact());
}

#[test]
fn what_does_not_fit_is_refused_with_all_that_came_with_it() {
    let world = World::new();
    let ledger = filled(&world);
    let head = ledger.head().unwrap();
    let other = RunCollected { attestation_sha256: "cd".repeat(32), ..collected("t-r1-bbbb") };
    use AppendEntryError as E;
    let refused = |second| ledger.runs_collected(&[collected("t-r1-aaaa"), second]).unwrap_err();
    assert!(matches!(refused(collected("t-r1-cccc")), E::NotSealed { .. }));
    assert!(matches!(refused(collected("nobody")), E::NotStarted { .. }));
    assert!(matches!(refused(other), E::AlreadySealed { .. }));
    let by_hand = ledger.append(kind::EVIDENCE_COLLECTED, Some("t-r1-aaaa"), TIME, &json!({}));
    assert!(matches!(by_hand, Err(E::ReservedKind { .. })));
    assert_eq!(ledger.head().unwrap(), head);
}

#[test]
fn a_run_that_another_entry_names_is_spoken_of() {
    let world = World::new();
    let ledger = filled(&world);
    ledger.engine_starting("t-r1-cccc", TIME, &json!({})).unwrap();
    ledger.runs_collected(&[collected("t-r1-aaaa")]).unwrap();
    ledger.append("halt.set", None, TIME, &json!({})).unwrap();
    assert!(ledger.runs_spoken_of().unwrap().is_empty());
    ledger.append("patch.taken", Some("t-r1-bbbb"), TIME, &json!({})).unwrap();
    assert_eq!(ledger.runs_spoken_of().unwrap().into_iter().collect::<Vec<_>>(), ["t-r1-bbbb"]);
    let mut all = Vec::new();
    ledger.runs_each(|run| all.push(run.run_id)).unwrap();
    assert_eq!(all, ["t-r1-aaaa", "t-r1-bbbb", "t-r1-cccc"]);
}

#[test]
fn an_entry_of_something_that_was_not_sealed_is_found() {
    for (run_id, digest) in [("t-r1-cccc", "ab"), ("t-r1-aaaa", "cd"), ("t-r1-zzzz", "ab")] {
        let world = World::new();
        let ledger = filled(&world);
        let body = json!({"attestation_sha256": digest.repeat(32), "bytes": 1, "reason": "r"});
        ledger.append("evidence.collectee", Some(run_id), TIME, &body).unwrap();
        let head = ledger.head().unwrap().seq;
        let raw = world.raw();
        raw.execute_batch("DROP TRIGGER entries_are_never_changed").unwrap();
        raw.execute("UPDATE entries SET kind = 'evidence.collected' WHERE seq = ?1", [head]).unwrap();
        let problems = ledger.verify().unwrap().problems;
        let fits = problems.iter().any(|it| it.seq == head && it.what.ends_with("entry that fits no run"));
        assert!(fits, "{run_id}: {problems:?}");
    }
}
