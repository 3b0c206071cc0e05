//! The waiting list: a dead run, which looking does not recover, and passes without an outcome.

use contract::{Digest, Purpose, Stage, Stamp, Status};
use ledger::{EngineIdentity, Ledger, RequestIntent};
use serde_json::Value;
use testkit::wait_for;

use crate::recorded_run::RecordedRun;
use crate::world;

#[test]
fn a_dead_run_is_told_and_left_alone() {
    let world = world();
    let steps = r#"{"steps": [{"run": {"argv": ["sleep", "86399"]}}]}"#;
    world.case("made", &[("fake", steps)]);
    // Makes the ledger, which nobody can read while it is being laid out.
    let _ = world.cto(["key", "init"]).expect(0);
    let _ = world.cto(["recover"]).expect(0);
    let status = || world.cto(["status", "--json"]).expect(0).json();
    let mut child = world.start(["run", "./made", "--json"]);
    let working = |status: &Value| status["running"][0]["phase"] == "working";
    wait_for("its engine", || working(&status()).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("its end", || (status()["running"] == serde_json::json!([])).then_some(()));
    for _ in 0..2 {
        let told = status();
        assert_eq!(
            (&told["status"], &told["waiting"][0]["waits_for"]),
            (&"waiting".into(), &"recovery".into()),
            "{told}"
        );
        assert_eq!(told["waiting"][0]["remedy"], "cto recover");
    }
    let lines = world.cto(["status"]).expect(0).text();
    assert!(lines.starts_with("waiting 1 running=0\nwaits recovery "), "{lines}");
    let _ = world.cto(["recover"]).expect(0);
    assert_eq!(status()["status"], "clear");
}

/// A pass that the ledger knows, or a refresh; both of stage 5 or higher and answered by nobody.
fn add_pass(ledger: &Ledger, number: u32, task: &str, purpose: Purpose) -> String {
    let time: Stamp = format!("2026-01-01T00:{:02}:{:02}.000000Z", number / 60, number % 60).parse().unwrap();
    let name = format!("20260101T00{:02}{:02}Z-{task}-w{number:03}", number / 60, number % 60);
    RecordedRun {
        name: &name,
        task,
        engine: "codex",
        stage: Stage::OWNED_REPOSITORY,
        purpose,
        status: Status::Pass,
        reasons: Vec::new(),
        identity: Some(EngineIdentity { source_id: "codex@1".to_owned(), model: None }),
    }
    .record_run(ledger, time);
    name
}

/// One screen lists the newest fifty, says that there are more, and gives no place of it to a refresh.
#[test]
fn the_newest_fifty_passes_without_an_outcome_are_listed() {
    let world = world();
    let _ = world.cto(["key", "init"]).expect(0);
    let _ = world.cto(["recover"]).expect(0);
    let ledger = Ledger::open_file(&world.home().join("ledger.db")).unwrap();
    let mut names: Vec<String> = (0..50).map(|number| add_pass(&ledger, number, "made", Purpose::Governed)).collect();
    for number in 100..160 {
        let _ = add_pass(&ledger, number, "stage6-real-governed-refresh", Purpose::Validation);
    }
    let listed = || {
        let status = world.cto(["status", "--json"]).expect(0).json();
        let waiting = status["waiting"].as_array().unwrap().iter();
        let subjects: Vec<String> = waiting.map(|one| one["subject"].as_str().unwrap().to_owned()).collect();
        (subjects, status["older_waiting"].as_bool().unwrap())
    };
    assert_eq!(listed(), (names.clone(), false), "sixty newer refreshes take no place");
    // What a person calls their own case does not decide whether it waits.
    names.push(add_pass(&ledger, 200, "stage6-real-governed-refresh", Purpose::Governed));
    assert_eq!(listed(), (names[1..].to_vec(), true), "oldest first, without the oldest");
    let lines = world.cto(["status"]).expect(0).text();
    assert!(lines.starts_with("waiting 50 running=0\nolder outcome cto runs --status pass\nwaits outcome "), "{lines}");
    let validated = world.cto(["validate", "stage", "5", "--json"]).json();
    let missing = validated["failure_reports"].as_array().unwrap().iter();
    let missing = missing.filter(|row| row["class"] == "missing-operator-outcome" && row["report"].is_string());
    assert_eq!(missing.count(), 51, "a validator lists all of them");
}

/// A request that nobody has decided, made after every clock.
fn add_request(ledger: &Ledger, number: u32) {
    let time: Stamp = format!("2999-01-01T00:00:{number:02}.000000Z").parse().unwrap();
    let request = Digest::of_bytes(&number.to_le_bytes());
    let task_id = "made".to_owned().try_into().unwrap();
    let intent = RequestIntent { request, task_id, stage: Stage::OWNED_REPOSITORY, detail: Value::Null };
    ledger.request_recorded(time, &intent).unwrap();
}

/// Requests beyond those that one screen lists are said, with the command that lists all.
#[test]
fn more_requests_than_a_screen_lists_are_said() {
    let world = world();
    let _ = world.cto(["key", "init"]).expect(0);
    let _ = world.cto(["recover"]).expect(0);
    let ledger = Ledger::open_file(&world.home().join("ledger.db")).unwrap();
    for (number, has_older) in (0..51).map(|number| (number, number == 50)) {
        add_request(&ledger, number);
        if number < 49 {
            continue;
        }
        let status = world.cto(["status", "--json"]).expect(0).json();
        assert_eq!(status["waiting"].as_array().unwrap().len(), 50, "{status:#}");
        assert_eq!((&status["older_requests"], &status["older_waiting"]), (&has_older.into(), &has_older.into()));
        let lines = world.cto(["status"]).expect(0).text();
        assert_eq!(lines.contains("\nolder decision cto approvals --open\n"), has_older, "{lines}");
        let screen = world.on_terminal(["status"]).screen().join("\n");
        assert_eq!(screen.contains("cto approvals --open"), has_older, "{screen}");
    }
}
