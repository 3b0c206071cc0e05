//! `cto ledger verify`: the chain by itself, and compared with the bundles that were signed for it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::{World, content_digest};

use crate::world;

/// A home with two runs, and the ledger as somebody who may write the file has it.
fn scene() -> (World, [String; 2], Connection) {
    let world = world();
    let runs = [(); 2].map(|()| world.run("fail-critical-risk", 3).0["run_id"].as_str().unwrap().to_owned());
    let raw = Connection::open(world.home().join("ledger.db")).unwrap();
    raw.execute_batch("DROP TRIGGER entries_are_never_changed; DROP TRIGGER entries_are_never_deleted").unwrap();
    (world, runs, raw)
}

/// Chains all entries again, so that the chain holds by itself.
pub(crate) fn rechain(raw: &Connection) {
    type Row = (u64, String, String, Option<String>, String);
    let mut statement = raw.prepare("SELECT seq, time, kind, run_id, body FROM entries ORDER BY seq").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)));
    let rows: Vec<Row> = rows.unwrap().map(Result::unwrap).collect();
    let mut prev = "0".repeat(64);
    for (seq, time, kind, run_id, body) in rows {
        let body: Value = serde_json::from_str(&body).unwrap();
        let whole = json!({"body": body, "kind": kind, "prev": prev, "run_id": run_id, "seq": seq, "time": time});
        let bytes = contract::canonical_bytes(&whole).unwrap();
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        raw.execute("UPDATE entries SET prev = ?2, hash = ?3 WHERE seq = ?1", (seq, &prev, &hash)).unwrap();
        prev = hash;
    }
}

/// The problems, which are the reason for exit 1.
fn check(world: &World, words: &[&str]) {
    let code = i32::from(!words.is_empty());
    let document = world.cto(["ledger", "verify", "--json"]).expect(code).json();
    let problems: Vec<&str> =
        document["problems"].as_array().unwrap().iter().map(|it| it["what"].as_str().unwrap()).collect();
    assert_eq!((problems.len(), &document["ok"]), (words.len(), &json!(words.is_empty())), "{document}");
    assert!(problems.iter().zip(words).all(|(problem, words)| problem.contains(words)), "{document}");
    let lines = world.cto(["ledger", "verify"]).expect(code).text();
    assert!(lines.starts_with(if words.is_empty() { "pass entries=" } else { "fail entries=" }), "{lines}");
    assert_eq!(lines.lines().filter(|line| line.starts_with("problem seq=")).count(), words.len(), "{lines}");
}

#[test]
fn a_ledger_as_it_was_written_holds() {
    let (world, _, raw) = scene();
    check(&world, &[]);
    rechain(&raw);
    check(&world, &[]);
    let document = world.cto(["ledger", "verify", "--json"]).expect(0).json();
    assert_eq!(
        (&document["entries"], &document["bundles"], &document["head"]["seq"]),
        (&json!(4), &json!(2), &json!(4))
    );
}

#[test]
fn an_entry_that_was_changed_is_told() {
    let (world, _, raw) = scene();
    raw.execute("UPDATE entries SET time = '2026-01-01T00:00:00.000000Z' WHERE seq = 2", []).unwrap();
    check(&world, &["the hash is not that of the entry"]);
}

/// A chain that is computed anew is valid by itself, and differs from the signed bundles.
#[test]
fn a_history_that_was_written_again_is_told() {
    let (world, _, raw) = scene();
    raw.execute("UPDATE entries SET time = '2026-01-01T00:00:00.000000Z' WHERE seq = 2", []).unwrap();
    rechain(&raw);
    check(&world, &["is signed for another entry at this place"]);
}

#[test]
fn an_end_that_was_cut_off_is_told() {
    let (world, runs, raw) = scene();
    raw.execute("DELETE FROM entries WHERE seq > 2", []).unwrap();
    raw.execute("DELETE FROM runs WHERE run_id = ?1", [&runs[1]]).unwrap();
    raw.execute("UPDATE counters SET value = 1", []).unwrap();
    check(&world, &["lies under harness-runs/ and no entry names it"]);
}

#[test]
fn a_bundle_that_is_gone_or_another_is_told() {
    let (world, runs, _) = scene();
    let [first, second] = runs.map(|run| world.bundles().join(run));
    fs::copy(second.join("attestation.dsse.json"), first.join("attestation.dsse.json")).unwrap();
    check(&world, &["is not the one that was sealed"]);
    fs::remove_dir_all(&first).unwrap();
    check(&world, &["is gone, and no entry says why"]);
    fs::remove_file(second.join("attestation.dsse.json")).unwrap();
    check(&world, &["is gone, and no entry says why", "cannot be read"]);
}

#[test]
fn an_entry_that_was_dropped_is_told() {
    let (world, _, raw) = scene();
    raw.execute("DELETE FROM entries WHERE seq = 2", []).unwrap();
    let ran = world.cto(["ledger", "verify"]).expect(1);
    assert!(ran.text().lines().any(|line| line.starts_with("problem seq=")), "{ran:?}");
}

/// Everything in one file, so that its bytes are all there is to the ledger.
fn folded(world: &World) -> PathBuf {
    let path = world.home().join("ledger.db");
    let raw = Connection::open(&path).unwrap();
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    path
}

/// A byte anywhere in the file: the check ends, changes nothing, and gives 0 only where it holds what it held.
#[test]
fn any_damaged_byte_is_told_or_means_nothing() {
    let world = world();
    let _ = world.run("fail-critical-risk", 3);
    let path = folded(&world);
    let whole = fs::read(&path).unwrap();
    let answer = world.cto(["ledger", "verify", "--json"]).expect(0).text();
    let number = testkit::times("CTO_TEST_FLIPS", 150) as usize;
    let mut told = 0;
    for at in (0..number).map(|index| index * whole.len() / number) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&path, &damaged).unwrap();
        let ran = world.cto(["ledger", "verify", "--json"]);
        match ran.code {
            0 => assert_eq!(ran.text(), answer, "byte {at}"),
            1 | 3 => told += 1,
            code => panic!("byte {at}: exit {code}: {ran:?}"),
        }
        assert!(fs::read(&path).unwrap() == damaged, "byte {at}: the file was changed");
    }
    assert!(told > 0, "control: some of this was damage");
    // Bytes that are certainly somebody's words.
    let words = br#""task_id":"fail-critical-risk""#;
    let entry = whole.windows(words.len()).rposition(|bytes| bytes == words).unwrap() + 11;
    let mut damaged = whole;
    damaged[entry] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let _ = world.cto(["ledger", "verify"]).expect(1);
    assert!(fs::read(&path).unwrap() == damaged);
}

#[test]
fn a_ledger_of_a_newer_program_is_refused_and_left_as_it_is() {
    let world = world();
    let (report, bundle) = world.run("fail-critical-risk", 3);
    let raw = Connection::open(world.home().join("ledger.db")).unwrap();
    raw.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(raw);
    let path = folded(&world);
    let before = (fs::read(&path).unwrap(), content_digest(&world.bundles(), &[]));
    let run = report["run_id"].as_str().unwrap();
    for words in
        [&["ledger", "verify"][..], &["runs"], &["show", run], &["gc"], &["run", "fail-critical-risk"], &["recover"]]
    {
        let ran = world.cto(words).expect(3);
        assert!(ran.stderr.contains("version 99") && ran.stderr.contains("newer program"), "{words:?}: {ran:?}");
        assert!(before == (fs::read(&path).unwrap(), content_digest(&world.bundles(), &[])), "{words:?} changed it");
    }
    let key = world.home().join("keys/harness.pub");
    let words = ["verify".as_ref(), bundle.as_os_str(), "--key".as_ref(), key.as_os_str()];
    let _ = world.cto(words).expect(0);
}

#[test]
fn where_nothing_was_recorded_there_is_nothing_to_hold() {
    let world = world();
    let _ = world.cto(["ledger", "verify"]).expect(2);
    let unnamed = world.command(["ledger", "verify", "--json"]).env_remove("CTO_HOME").output().unwrap();
    assert_eq!(unnamed.status.code(), Some(0), "{unnamed:?}");
    assert_eq!(serde_json::from_slice::<Value>(&unnamed.stdout).unwrap()["entries"], 0);
    assert!(!world.home().exists());
    world.make_home();
    world.write_own("ledger.db", "this is no ledger");
    let _ = world.cto(["ledger", "verify"]).expect(3);
    assert_eq!(world.cto(["ledger"]).code, 2);
}
