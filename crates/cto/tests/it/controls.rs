//! Nothing foreign reaches a terminal or a pipe as it is: names, reasons and records may hold what moves a cursor or sets a title.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;

use serde_json::{Value, json};
use testkit::{World, copy_bundle};

use crate::world;

/// Sets a title, clears the screen, turns the direction of writing; with an escape, a C1 control and characters of Unicode.
const HOSTILE: &str = "a\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}\u{200b}\rb";

/// Bytes that no output may contain. Line ends are the terminal's own.
const NEVER: [&str; 6] = ["\u{1b}]0;", "\u{7}", "\u{1b}[2J", "\u{9b}", "\u{202e}", "\rb"];

fn check(world: &World, words: &[&str]) {
    let piped = world.cto(words);
    let shown = world.on_terminal(words);
    assert_eq!(piped.code, shown.code, "{words:?}");
    let outputs = [piped.text(), piped.stderr, String::from_utf8_lossy(&shown.bytes).into_owned()];
    for output in outputs {
        for never in NEVER {
            assert!(!output.contains(never), "{words:?} printed {never:?}: {output:?}");
        }
    }
}

/// A home in which everything that somebody else may have named is named like that.
fn hostile_home() -> World {
    let world = world();
    let (report, bundle) = world.run("fail-critical-risk", 3);
    let run = report["run_id"].as_str().unwrap();
    copy_bundle(&bundle, &world.bundles().join(HOSTILE));
    copy_bundle(&bundle, &world.here().join(HOSTILE));
    fs::create_dir_all(world.home().join("cache/mounts").join(HOSTILE)).unwrap();
    fs::create_dir_all(world.home().join("imported").join(format!(".part-{HOSTILE}"))).unwrap();
    fs::write(world.here().join(format!("{HOSTILE}.tar.zst")), "no archive").unwrap();
    append_foreign(&world, run);
    world
}

/// An entry of a kind that no program of ours writes, well chained.
fn append_foreign(world: &World, run: &str) {
    append_by_hand(world, &format!("x.{HOSTILE}"), Some(run), "2026-03-01T10:00:00.000000Z", &json!({"a": HOSTILE}));
}

/// An entry by somebody with a hand in the file, well chained.
pub(crate) fn append_by_hand(world: &World, kind: &str, run: Option<&str>, time: &str, body: &Value) {
    let path = world.home().join("ledger.db");
    let head = ledger::Ledger::open_file(&path).unwrap().head().unwrap();
    let seq = head.seq + 1;
    let entry = json!({"body": body, "kind": kind, "prev": head.hash, "run_id": run, "seq": seq, "time": time});
    let hash = contract::canonical_digest(&entry).unwrap().to_string();
    let body = String::from_utf8(contract::canonical_bytes(body).unwrap()).unwrap();
    rusqlite::Connection::open(path)
        .unwrap()
        .execute(
            "INSERT INTO entries (seq, time, kind, run_id, body, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            rusqlite::params![seq, time, kind, run, body, head.hash.to_string(), hash],
        )
        .unwrap();
}

#[test]
fn in_no_output_of_commands_that_keep_and_hand_over() {
    let world = hostile_home();
    let file = format!("{HOSTILE}.tar.zst");
    let path = format!("./{HOSTILE}");
    let missing = format!("./nowhere/{HOSTILE}");
    check(&world, &["gc", "--dry-run", "-v"]);
    check(&world, &["gc", "--older-than", HOSTILE]);
    check(&world, &["gc", "-v", "--older-than", "0s", "--keep", "0"]);
    check(&world, &["ledger", "verify"]);
    check(&world, &["import", &file]);
    check(&world, &["import", &missing]);
    check(&world, &["import", &file, "--key", &missing]);
    check(&world, &["export", HOSTILE]);
    check(&world, &["export", "@", "-o", &missing]);
    check(&world, &["export", "@", "-o", &file]);
    check(&world, &["replay", HOSTILE]);
    check(&world, &["replay", &path]);
    check(&world, &["replay", &missing]);
    check(&world, &["replay", "@", "--speed", HOSTILE]);
    check(&world, &["verify", &path, &missing]);
    check(&world, &["halt", "--reason", HOSTILE]);
    check(&world, &["halt"]);
    check(&world, &["doctor"]);
    check(&world, &["decide", "r1-string-slugify"]);
    check(&world, &["run", "fail-critical-risk"]);
    check(&world, &["show", "@"]);
    check(&world, &["replay", "@"]);
    check(&world, &["resume"]);
    check(&world, &["runs"]);
}

/// The same of what was collected: what is left to tell of it comes from the ledger.
#[test]
fn in_no_word_about_what_was_collected() {
    let world = world();
    let (report, bundle) = world.run("fail-critical-risk", 3);
    let run = report["run_id"].as_str().unwrap();
    let attestation = fs::read(bundle.join("attestation.dsse.json")).unwrap();
    let said = ledger::RunCollected {
        run_id: run.to_owned().try_into().unwrap(),
        time: "2026-03-01T10:00:00.000000Z".parse().unwrap(),
        collection: ledger::Collection {
            attestation_sha256: contract::Digest::of_bytes(&attestation),
            reason: HOSTILE.to_owned(),
            bytes: 1,
        },
    };
    ledger::Ledger::open_file(&world.home().join("ledger.db")).unwrap().runs_collected(&[said]).unwrap();
    fs::remove_dir_all(bundle).unwrap();
    for command in ["show", "verify", "replay", "export", "diff", "logs"] {
        check(&world, &[command, run]);
    }
    check(&world, &["runs"]);
}

/// Control: a terminal would have obeyed.
#[test]
fn what_is_looked_for_is_found() {
    let world = world();
    let ran = world.cto(["halt", "--reason", HOSTILE, "--json"]).expect(0);
    assert_eq!(ran.json()["reason"], HOSTILE, "a document carries it as it is, escaped as JSON does");
    assert!(NEVER.iter().all(|never| HOSTILE.contains(never)));
}
