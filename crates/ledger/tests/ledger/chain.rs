//! Entries are chained, cannot be changed through SQL, and every change made around that is found.

use crate::fixtures::{TIME, TIME_TEXT, digest, run, sealed, started};
use crate::world::World;
use contract::Digest;
use ledger::{AppendEntryError, EntryKind, Position, RunIntent, RunSeal, RunSealed, RunStarted, RunStatus};
use serde_json::json;
use sha2::{Digest as _, Sha256};

#[test]
fn an_empty_ledger_has_the_genesis_head() {
    let ledger = World::new();
    let ledger = ledger.open();
    assert_eq!(ledger.head().unwrap(), Position::GENESIS);
    assert_eq!(ledger.ledger_id().len(), 32);
    assert!(ledger.verify().unwrap().is_intact());
}

#[test]
fn the_hash_is_that_of_the_documented_bytes() {
    let world = World::new();
    let ledger = world.open();
    let first = ledger.append(EntryKind::PatchTaken, None, *TIME, &json!({"b": 1, "a": "é"})).unwrap();
    let bytes = format!(
        r#"{{"body":{{"a":"é","b":1}},"kind":"patch.taken","prev":"{}","run_id":null,"seq":1,"time":"{TIME_TEXT}"}}"#,
        Digest::ZERO
    );
    let expected: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(first, Position { seq: 1, hash: expected.parse().unwrap() });

    ledger.append(EntryKind::PatchTaken, Some(&run("r")), *TIME, &json!({})).unwrap();
    let second = &ledger.run_entries(&run("r")).unwrap()[0];
    assert_eq!((second.seq, &second.prev), (2, &first.hash.to_string()));
    assert_eq!(ledger.head().unwrap().hash.to_string(), second.hash);
}

#[test]
fn a_run_is_one_row_and_its_entries() {
    let world = World::new();
    let ledger = world.open();
    ledger.run_started(&started(&run("aaaa"), 0)).unwrap();
    ledger.engine_starting(&run("aaaa"), None, *TIME, &json!({"argv_sha256": "00"}), None).unwrap();
    assert_eq!(ledger.runs_open().unwrap().len(), 1);
    let position = ledger.run_sealed(&sealed(&run("aaaa"))).unwrap();

    assert_eq!(ledger.run_sealed(&sealed(&run("aaaa"))).unwrap(), position, "saying it again changes nothing");
    assert_eq!(ledger.head().unwrap(), position);
    assert!(ledger.runs_open().unwrap().is_empty());
    let row = &ledger.runs_recent(&Default::default(), 50).unwrap()[0];
    assert_eq!((row.status, row.sealed_seq, row.tests_executed), (RunStatus::Fail, Some(3), Some(4)));
    let kinds: Vec<String> = ledger.run_entries(&run("aaaa")).unwrap().into_iter().map(|entry| entry.kind).collect();
    let expected = [EntryKind::RunStarted, EntryKind::EngineStarting, EntryKind::EvidenceSealed];
    assert_eq!(kinds, expected.map(EntryKind::name));
    assert_eq!(ledger.runs_total().unwrap(), 1);
    assert!(ledger.verify().unwrap().is_intact());
}

/// A time that was computed from a clock is finer than its text.
#[test]
fn a_time_finer_than_its_text_is_as_good_as_any() {
    let world = World::new();
    let ledger = world.open();
    let fine = TIME.after(std::time::Duration::from_nanos(1_234_567));
    ledger.run_started(&RunStarted { time: fine, ..started(&run("aaaa"), 0) }).unwrap();
    let plain = sealed(&run("aaaa"));
    let seal = RunSeal { finished_at: fine, ..plain.seal.clone() };
    ledger.run_sealed(&RunSealed { time: fine, seal, ..plain }).unwrap();
    assert!(ledger.verify().unwrap().is_intact());
}

#[test]
fn what_recovery_needs_comes_back_with_the_entry() {
    let world = World::new();
    let ledger = world.open();
    let detail = json!({"workspace": "work/t-r1-aaaa"});
    let plain = started(&run("aaaa"), 0);
    let intent = RunIntent { detail: detail.clone(), ..plain.intent.clone() };
    ledger.run_started(&RunStarted { intent, ..plain }).unwrap();
    ledger.run_started(&started(&run("bbbb"), 1)).unwrap();
    assert_eq!(ledger.run_entries(&run("aaaa")).unwrap()[0].body["detail"], detail);
    assert_eq!(ledger.run_entries(&run("bbbb")).unwrap()[0].body.get("detail"), None, "nothing to say is not written");
    assert!(ledger.verify().unwrap().is_intact());
}

#[test]
fn what_makes_no_sense_is_refused_and_leaves_nothing() {
    let world = World::new();
    let ledger = world.open();
    ledger.run_started(&started(&run("aaaa"), 0)).unwrap();
    ledger.run_sealed(&sealed(&run("aaaa"))).unwrap();
    let plain = sealed(&run("aaaa"));
    let seal = RunSeal { attestation_sha256: digest("cd"), ..plain.seal.clone() };
    let other = RunSealed { seal, ..plain };
    let head = ledger.head().unwrap();

    use AppendEntryError as E;
    assert!(matches!(ledger.run_sealed(&other), Err(E::AlreadySealed { recorded, .. }) if recorded == digest("ab")));
    assert!(matches!(ledger.run_started(&started(&run("aaaa"), 0)), Err(E::AlreadyStarted { .. })));
    assert!(matches!(ledger.run_sealed(&sealed(&run("nobody"))), Err(E::NotStarted { .. })));
    assert!(matches!(ledger.engine_starting(&run("nobody"), None, *TIME, &json!({}), None), Err(E::NotStarted { .. })));
    assert!(matches!(
        ledger.engine_starting(&run("aaaa"), None, *TIME, &json!({}), None),
        Err(E::AlreadySealed { .. })
    ));
    assert!(matches!(ledger.append(EntryKind::RunStarted, None, *TIME, &json!({})), Err(E::ReservedKind { .. })));
    assert_eq!(ledger.head().unwrap(), head);
    let reader = world.open_read_only();
    assert!(matches!(reader.append(EntryKind::HaltSet, None, *TIME, &json!({})), Err(E::ReadOnly)));
}

#[test]
fn sql_cannot_change_an_entry() {
    let world = World::new();
    world.open().append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
    for sql in ["UPDATE entries SET kind = 'y'", "DELETE FROM entries", World::REPLACE_ENTRIES] {
        assert!(world.try_edit(sql).unwrap_err().contains("append-only"), "{sql}");
    }
}

/// Changes the file behind the triggers' back and tells what `verify` says, with the sequence it says it of.
fn tampered(sql: &str) -> Vec<(u64, String)> {
    let world = World::new();
    let ledger = world.open();
    ledger.append(EntryKind::HaltSet, None, *TIME, &json!({"n": 1})).unwrap();
    ledger.run_started(&started(&run("aaaa"), 0)).unwrap();
    ledger.run_sealed(&sealed(&run("aaaa"))).unwrap();
    ledger.append(EntryKind::HaltSet, None, *TIME, &json!({"n": 2})).unwrap();
    assert!(ledger.verify().unwrap().is_intact());
    world.disarm();
    world.edit(sql);
    ledger.verify().unwrap().problems.into_iter().map(|problem| (problem.seq, problem.what)).collect()
}

#[test]
fn every_changed_column_of_an_entry_is_found() {
    let hash = "the hash is not that of the entry";
    for (set, seq, what) in [
        ("seq = 9 WHERE seq = 4", 9, "the entry before it is 3"),
        ("time = '2026-03-01T10:00:01.000000Z' WHERE seq = 1", 1, hash),
        ("kind = 'patch.taken' WHERE seq = 1", 1, hash),
        ("run_id = '20260301T100000Z-r1-bbbb' WHERE seq = 1", 1, hash),
        ("run_id = NULL WHERE seq = 2", 2, hash),
        ("body = '{\"n\":2}' WHERE seq = 1", 1, hash),
        ("body = '{\"n\": 1}' WHERE seq = 1", 1, "the body is not canonical JSON"),
        ("body = '{\"n\":1,\"n\":1}' WHERE seq = 1", 1, "the body is not canonical JSON"),
        ("body = '{' WHERE seq = 1", 1, "the body is not JSON: EOF while parsing an object at line 1 column 1"),
        ("prev = hash WHERE seq = 2", 2, "prev is not the hash of the entry before it"),
        ("hash = prev WHERE seq = 1", 2, "prev is not the hash of the entry before it"),
    ] {
        let problems = tampered(&format!("UPDATE entries SET {set}"));
        assert!(problems.iter().any(|(at, text)| *at == seq && text.starts_with(what)), "{set}: {problems:?}");
    }
    // A file can hold what is no text; a server cannot.
    if let Some(set) = World::UNREADABLE_BODY {
        let problems = tampered(&format!("UPDATE entries SET {set} WHERE seq = 1"));
        assert!(
            problems.iter().any(|(at, text)| *at == 1 && text.starts_with("the entry cannot be read")),
            "{problems:?}"
        );
    }
}

#[test]
fn a_missing_entry_is_found() {
    assert!(tampered("DELETE FROM entries WHERE seq = 1").contains(&(2, "the entry before it is 0".to_owned())));
    let cut = tampered("DELETE FROM entries WHERE seq >= 3");
    assert_eq!(cut, [(2, "the row of 20260301T100000Z-r1-aaaa in runs is not what the entries say".to_owned())]);
}

#[test]
fn every_changed_column_of_a_run_is_found() {
    for set in [
        "seq = 7",
        "suffix = 'b'",
        "task_id = 'b'",
        "engine = 'b'",
        "stage = 3",
        "purpose = 'validation'",
        "status = 'pass'",
        "started_at = '2026-03-01T10:00:09.000000Z'",
        "finished_at = NULL",
        "duration_ms = 1",
        "reasons = '[]'",
        "tests_passed = 4",
        "tests_executed = NULL",
        "attestation_sha256 = replace(attestation_sha256, 'ab', 'cd')",
        "bundle = 'b'",
        "sealed_seq = 1",
        "owner = attestation_sha256",
    ] {
        let problems = tampered(&format!("UPDATE runs SET {set}"));
        assert_eq!(problems.len(), 1, "{set}: {problems:?}");
        assert!(problems[0].1.ends_with("is not what the entries say"), "{set}: {problems:?}");
    }
    for (sql, what) in [
        ("UPDATE runs SET run_id = '20260301T100000Z-r1-b'", "runs has 20260301T100000Z-r1-b, which no entry started"),
        ("UPDATE runs SET status = 'b'", "the row in runs cannot be read"),
        ("UPDATE runs SET run_id = 'b'", "the row in runs cannot be read"),
        ("UPDATE runs SET stage = 900", "the row in runs cannot be read"),
        ("UPDATE runs SET purpose = 'b'", "the row in runs cannot be read"),
        ("UPDATE runs SET started_at = 'b'", "the row in runs cannot be read"),
        ("UPDATE runs SET attestation_sha256 = 'b'", "the row in runs cannot be read"),
        ("DELETE FROM runs", "1 runs have no row in runs"),
        ("UPDATE counters SET value = 5", "the counter says 5 runs, the entries say 1"),
    ] {
        let problems = tampered(sql);
        assert!(problems.iter().any(|(_, text)| text.starts_with(what)), "{sql}: {problems:?}");
    }
}

#[test]
fn rows_are_made_again_from_the_entries_of_a_chain_that_holds() {
    let world = World::new();
    let ledger = world.open();
    ledger.run_started(&started(&run("aaaa"), 0)).unwrap();
    ledger.run_sealed(&sealed(&run("aaaa"))).unwrap();
    let row = || ledger.run_find("aaaa").unwrap();
    let before = (row(), ledger.head().unwrap());
    world.edit("DELETE FROM runs; UPDATE counters SET value = 7");
    assert_ne!(row(), before.0, "control: it is gone");
    assert!(!ledger.verify().unwrap().is_intact());
    assert_eq!(ledger.rebuild_rows().unwrap().runs, 1);
    assert_eq!((row(), ledger.head().unwrap()), before);
    assert!(ledger.verify().unwrap().is_intact());

    world.disarm();
    world.edit("UPDATE entries SET time = '' WHERE seq = 1");
    let refused = ledger.rebuild_rows().unwrap_err();
    assert!(matches!(refused, ledger::AppendEntryError::BrokenChain { seq: 1, .. }), "{refused}");
    assert_eq!(ledger.run_find("aaaa").unwrap(), before.0, "nothing is made of a chain that does not hold");
}
