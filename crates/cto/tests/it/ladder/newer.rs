//! Runs that a newer program has sealed, in lists of this one.

use contract::{Purpose, Stage, Stamp, Status};
use ledger::{Ledger, SealedReason};
use serde_json::{Value, json};

use crate::recorded_run::RecordedRun;
use crate::world;

fn add_failure(ledger: &Ledger, suffix: &str, code: &str) -> String {
    let run_id = format!("20260101T000000Z-made-{suffix}");
    let time: Stamp = "2026-01-01T00:00:00.000000Z".parse().unwrap();
    RecordedRun {
        name: &run_id,
        task: "made",
        engine: "fake",
        stage: Stage::OWNED_REPOSITORY,
        purpose: Purpose::Governed,
        status: Status::Fail,
        reasons: vec![SealedReason::try_from(code.to_owned()).unwrap()],
        identity: None,
    }
    .record_run(ledger, time);
    run_id
}

#[test]
fn a_reason_of_a_newer_program_is_shown_as_unknown() {
    let world = world();
    let _ = world.cto(["key", "init"]).expect(0);
    let _ = world.cto(["recover"]).expect(0);
    let ledger = Ledger::open_file(&world.home().join("ledger.db")).unwrap();
    let (newer, known) = (add_failure(&ledger, "a111", "later_reason"), add_failure(&ledger, "b222", "no_diff"));
    drop(ledger);
    let listed = world.cto(["runs"]).expect(0).text();
    let line = |run: &str| listed.lines().find(|line| line.starts_with(run)).unwrap().to_owned();
    assert!(line(&newer).ends_with(" later_reason(unknown)"), "{listed}");
    assert!(line(&known).ends_with(" no_diff"), "control: {listed}");
    let listed = world.cto(["runs", "--json"]).expect(0).text();
    let rows: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let row = rows.iter().find(|row| row["run_id"] == json!(newer)).unwrap();
    assert_eq!((&row["reasons"], &row["status"]), (&json!(["later_reason"]), &json!("fail")));
    let filtered = world.cto(["runs", "reason:no_diff"]).expect(0).text();
    assert!(filtered.contains(&known) && !filtered.contains(&newer), "{filtered}");
    for words in [vec!["ladder"], vec!["status"], vec!["ledger", "verify"]] {
        let ran = world.cto(&words);
        assert!(ran.code < 2, "{words:?}: {}", ran.told());
    }
}
