//! The kill switch: blocks what would start, stops what goes on, is believed when it cannot be read.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;

use contract::Stamp;
use serde_json::{Value, json};
use testkit::{World, content_digest, left_running, program, stoppable, wait_for};

use crate::world;

const SLEEPS: &str = "{steps: [{spawn: {argv: [sleep, \"600\"], detach: true}}, {sleep: {seconds: 600}}]}";

fn record(world: &World) -> PathBuf {
    world.home().join("halt.json")
}

/// A run that the switch blocks: refused before anything, with a whole bundle.
fn check_blocked(world: &World) -> Value {
    let (report, bundle) = world.run("r1-string-slugify", 3);
    assert_eq!(report["blocker_reasons"], json!(["halted"]));
    assert_eq!(report["engine"]["process_started"], false);
    assert_eq!(report["blockers"][0]["remedy"], "cto resume");
    let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
    let blocked = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let reasons: Vec<Value> = blocked
        .filter(|event| event["type"] == "backend.gate.blocked")
        .map(|event| event["data"]["reason"].clone())
        .collect();
    assert_eq!(reasons, ["halted"]);
    let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
    report
}

#[test]
fn a_halted_home_runs_nothing_and_says_what_lifts_it() {
    let world = world();
    let _ = world.cto(["halt", "--reason", "the disks\u{1b}[2J are moving"]).expect(0);
    check_blocked(&world);
    let said = "the disks␛[2J are moving";
    let decided = world.cto(["decide", "r1-string-slugify"]).expect(3);
    assert!(
        decided.text().contains("missing kill_switch halted the kill switch is set fix: cto resume"),
        "{decided:?}"
    );
    assert!(decided.stderr.contains(said), "{decided:?}");
    let doctor = world.cto(["doctor"]).expect(3).text();
    let told = doctor.lines().find(|line| line.starts_with("missing kill switch set since ")).expect("a finding");
    assert!(told.contains(said) && told.ends_with("fix: cto resume"), "{told}");
    for words in [&["demo"][..], &["case", "check", "r1-string-slugify"]] {
        let ran = world.cto(words).expect(3);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("next  cto resume"), "{words:?}: {ran:?}");
    }
    let status = world.cto(["status", "--json"]).expect(0).json();
    let waits: Vec<&Value> =
        status["waiting"].as_array().unwrap().iter().filter(|row| row["waits_for"] == "resume").collect();
    assert_eq!((waits.len(), &status["status"], &waits[0]["remedy"]), (1, &json!("waiting"), &json!("cto resume")));
    assert!(waits[0]["text"].as_str().unwrap().contains("the disks"), "{status:#}");
    let matrix = world.cto(["matrix", "--json"]).expect(1).json();
    let ended = |row: &Value| row["reasons"].as_array().unwrap().contains(&json!("halted"));
    assert!(matrix["cases"].as_array().unwrap().iter().all(ended), "{matrix}");

    let _ = world.cto(["resume"]).expect(0);
    let _ = world.cto(["decide", "r1-string-slugify"]).expect(0);
    let doctor = world.cto(["doctor"]).expect(0).text();
    assert!(!doctor.contains("kill switch"), "{doctor}");
    let status = world.cto(["status", "--json"]).expect(0).json();
    assert!(!status["waiting"].as_array().unwrap().iter().any(|row| row["waits_for"] == "resume"), "{status:#}");
    let _ = world.run("shell-script-rotate-logs", 0);
}

fn sleeping(world: &World) -> Vec<String> {
    let active = fs::read_dir(world.home().join("active")).into_iter().flatten().flatten();
    let slept = |entry: &fs::DirEntry| {
        let events = fs::read_to_string(entry.path().join("events.normalized.jsonl"));
        events.is_ok_and(|events| events.contains(r#"\"do\":\"sleep\""#))
    };
    active.filter(slept).map(|entry| entry.file_name().into_string().unwrap()).collect()
}

fn stamp(value: &Value) -> i64 {
    value.as_str().unwrap().parse::<Stamp>().unwrap().timestamp().as_millisecond()
}

#[test]
fn runs_that_go_on_are_stopped_within_a_second_with_complete_evidence() {
    let world = world();
    world.case("made", &[("fake", SLEEPS)]);
    let children: Vec<Child> = (0..2).map(|_| world.start(["run", "./made", "--json"])).collect();
    let runs = wait_for("two sleeping engines", || Some(sleeping(&world)).filter(|runs| runs.len() == 2));
    let halted = world.cto(["halt", "--reason", "fire drill", "--json"]).expect(0).json();
    let mut stopping: Vec<String> = serde_json::from_value(halted["stopping"].clone()).unwrap();
    let mut expected = runs;
    stopping.sort();
    expected.sort();
    assert_eq!(stopping, expected);
    for child in children {
        // A signal would have been 130, and a kill 1.
        let report = World::finish(child).expect(3).json();
        assert_eq!((&report["status"], &report["blocker_reasons"]), (&json!("blocked"), &json!(["halted"])));
        assert_eq!(report["engine"]["process_started"], true);
        let blocker = &report["blockers"][0];
        assert_eq!(blocker["text"], "the run was stopped by `cto halt`: fire drill");
        assert_eq!(blocker["remedy"], "cto resume");
        let run = report["run_id"].as_str().unwrap();
        assert_eq!(left_running(run), Vec::<String>::new());
        let _ = world.cto(["verify", run]).expect(0);
        let events = fs::read_to_string(world.bundles().join(run).join("events.normalized.jsonl")).unwrap();
        let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let exited = events.iter().find(|event| event["type"] == "engine.exited").expect("the engine's end");
        let last = events.last().unwrap();
        assert_eq!((&last["type"], &last["data"]["reason"]), (&json!("run.completed"), &json!("halted")));
        let took = stamp(&exited["time"]) - stamp(&halted["set_at"]);
        assert!(took < 1000, "the engine lived {took} ms after the switch was set");
    }
    assert_eq!(world.cto(["ledger", "verify", "--json"]).expect(0).json()["ok"], true);
}

#[test]
fn saying_it_twice_changes_nothing() {
    let world = world();
    // A home that was never made has nothing to lift, and none is made for that.
    assert!(world.cto(["resume"]).expect(0).text().contains("was not set"));
    assert!(!world.home().exists());
    let first = world.cto(["halt", "--reason", "one", "--json"]).expect(0).json();
    assert_eq!((&first["halted"], &first["was_set"], &first["reason"]), (&json!(true), &json!(false), &json!("one")));
    let written = fs::read(record(&world)).unwrap();
    let second = world.cto(["halt", "--reason", "two", "--json"]).expect(0).json();
    assert_eq!(
        (&second["was_set"], &second["reason"], &second["set_at"]),
        (&json!(true), &json!("one"), &first["set_at"])
    );
    assert!(world.cto(["halt"]).expect(0).text().starts_with("halted already\nswitch set since "));
    assert_eq!(fs::read(record(&world)).unwrap(), written);
    assert!(world.cto(["resume"]).expect(0).text().ends_with(": one\n"));
    assert_eq!(world.cto(["resume", "--json"]).expect(0).json()["was_set"], false);
    assert!(!record(&world).exists());

    let ledger = ledger::Ledger::open_existing_read_only(&world.home().join("ledger.db")).unwrap();
    assert_eq!(ledger.head().unwrap().seq, 2, "one entry for each change, none for what changed nothing");
    assert!(ledger.verify().unwrap().is_intact());
    drop(ledger);
    let raw = rusqlite::Connection::open(world.home().join("ledger.db")).unwrap();
    let mut kinds = raw.prepare("SELECT kind, body FROM entries ORDER BY seq").unwrap();
    let kinds = kinds.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let kinds: Vec<(String, String)> = kinds.map(Result::unwrap).collect();
    let body = json!({"reason": "one", "set_at": first["set_at"]}).to_string();
    assert_eq!(kinds, [("halt.set".to_owned(), body.clone()), ("halt.lifted".to_owned(), body)]);
    let long = world.cto(["halt".to_owned(), "--reason".to_owned(), "a".repeat(2001)]).expect(2);
    assert!(long.stderr.contains("longer than 2000 bytes") && !record(&world).exists(), "{long:?}");
}

/// Whatever lies there is the switch.
#[test]
fn a_record_that_cannot_be_read_is_a_switch_that_is_set() {
    let world = world();
    let _ = world.run("fail-critical-risk", 3);
    type Put = fn(&Path);
    let put: [(&str, Put); 7] = [
        ("nothing in it", |path| fs::write(path, "").unwrap()),
        ("no JSON", |path| fs::write(path, "halt!").unwrap()),
        ("another document", |path| fs::write(path, "{\"set_at\":7}").unwrap()),
        ("more than any record", |path| fs::write(path, vec![b' '; 1 << 20]).unwrap()),
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a link to nothing", |path| symlink("/nonexistent/nothing", path).unwrap()),
        ("a pipe", |path| assert!(program("mkfifo", Path::new("/")).arg(path).status().unwrap().success())),
    ];
    for (what, put) in put {
        put(&record(&world));
        check_blocked(&world);
        let again = world.cto(["halt", "--json"]).expect(0).json();
        assert!(again["was_set"] == true && again["problem"].is_string(), "{what}: {again}");
        let lifted = world.cto(["resume"]).expect(0).text();
        assert!(lifted.contains("its record cannot be read"), "{what}: {lifted}");
        let _ = world.cto(["decide", "r1-string-slugify"]).expect(0);
    }
}

/// The switch works without the ledger; lifting it does not.
#[test]
fn a_damaged_ledger_keeps_nobody_from_halting() {
    let world = world();
    world.make_home();
    world.write_own("ledger.db", "this is no ledger");
    let ran = world.cto(["halt"]).expect(3);
    assert!(ran.stderr.contains("the kill switch is set, and the ledger cannot be told"), "{ran:?}");
    let before = content_digest(&record(&world), &[]);
    let ran = world.cto(["resume"]).expect(3);
    assert!(ran.stderr.contains("the kill switch is set"), "{ran:?}");
    assert_eq!(content_digest(&record(&world), &[]), before, "what cannot be accounted for stays set");
}

/// Killed anywhere, the switch is set or not, never half; and what was begun can be said again.
#[test]
fn killed_at_every_place() {
    let Some(binary) = stoppable("halt::killed_at_every_place") else { return };
    let world = World::new(binary.to_str().unwrap());
    let _ = world.run("fail-critical-risk", 3);
    for (command, place, set) in
        [("halt", "halt.placing", false), ("halt", "halt.placed", true), ("resume", "resume.said", true)]
    {
        let killed = world.command([command]).env("CTO_STOP_AT", place).output().unwrap();
        assert_eq!((killed.status.code(), record(&world).exists()), (None, set), "{place}");
        let _ = world.cto(["decide", "r1-string-slugify"]).expect(if set { 3 } else { 0 });
    }
    let _ = world.cto(["resume"]).expect(0);
    let _ = world.cto(["decide", "r1-string-slugify"]).expect(0);
    let _ = world.cto(["ledger", "verify"]).expect(0);
}
