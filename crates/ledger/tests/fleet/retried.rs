//! Repetitions by a worker's role: that of its own run, word for word, and no other submission.

use std::time::Duration;

use contract::task::RetryRule;
use contract::{Digest, Reason, RunId};
use ledger::{EntryKind, QueueOrder, QueuedRun, RunIntent, RunStarted};
use serde_json::{Value, json};
use testkit::each_row;

use crate::fixtures::{digest, run, sealed, started};
use crate::queue::{ask, order};
use crate::rights::TwoWorkers;

/// The body of a repetition of this run, as its worker says it.
fn body_of(two: &TwoWorkers, run_id: &RunId) -> Value {
    let entries = two.world.open().entries_of(&[EntryKind::QueueSubmitted], None).unwrap();
    let mut body = entries.into_iter().find(|entry| entry.body["run_id"] == json!(run_id)).unwrap().body;
    body["retry_of"] = json!(run_id);
    body["attempt"] = json!(1);
    body["run_id"] = json!(run("zzzz"));
    body["not_before"] = json!(two.now);
    body
}

#[test]
fn a_worker_repeats_its_own_run_and_submits_nothing_else() {
    let two = TwoWorkers::new();
    let (owner, honest) = (two.world.open(), two.ledger_of(&two.honest));
    let retry = Some(RetryRule { attempts: 1, on: vec![Reason::NoDiff] });
    // A whole contract may stand in an order, so that a repetition may be as large as a start.
    let detail = json!({"task": "x".repeat(100_000)});
    let (with_rule, without) =
        (QueueOrder { retry, priority: 9, detail, ..order("cccc") }, QueueOrder { priority: 8, ..order("dddd") });
    for order in [&with_rule, &without] {
        owner.queue_submitted(order, two.now).unwrap();
        let claimed = honest.queue_claimed(&ask(two.now)).unwrap().unwrap();
        assert_eq!(claimed.run_id, order.run_id);
        let plain = started(&order.run_id, 0);
        let intent = RunIntent { owner: Some(digest("0a")), epoch: Some(1), ..plain.intent };
        let lease_until = Some(two.now.after(Duration::from_secs(600)));
        honest.run_started(&RunStarted { time: two.now, lease_until, intent, ..plain }).unwrap();
    }
    let seal = |order: &QueueOrder| {
        honest.run_sealed(&ledger::RunSealed { epoch: Some(1), time: two.now, ..sealed(&order.run_id) }).unwrap();
    };
    seal(&without);
    let waits = |two: &TwoWorkers| -> Vec<QueuedRun> {
        let rows = two.world.open().queue_runs(false, 99).unwrap();
        rows.into_iter().filter(|row| row.submitted_at >= two.now && row.priority > 0).collect()
    };
    assert_eq!(
        waits(&two).iter().filter(|row| row.run_id != with_rule.run_id).count(),
        0,
        "the order asks for nothing"
    );
    seal(&with_rule);
    let repeated = waits(&two);
    assert_eq!(repeated.len(), 1);
    let next = owner.queue_order(&repeated[0]).unwrap();
    assert_eq!((next.retry_of.as_ref(), next.attempt), (Some(&with_rule.run_id), 1));

    let attempt = |role: &str, body: &Value| {
        let body = contract::canonical_text(body).unwrap();
        two.attempt(role, &two.entry(&two.now.to_string(), "queue.submitted", None, &body))
    };
    let mine = body_of(&two, &with_rule.run_id);
    // As if nothing had been said yet.
    two.world.edit("DELETE FROM retries");
    attempt(&two.honest, &mine).expect("control: the body is right");
    let with = |key: &str, value: Value| {
        let mut body = mine.clone();
        body[key] = value;
        body
    };
    let rows = [
        ("another engine", (with("engine", json!("codex")), "not to be repeated so")),
        ("another contract", (with("contract_sha256", json!(Digest::of_bytes(b"x"))), "not to be repeated so")),
        ("another task in the order", (with("detail", json!({"task": "./mine"})), "not to be repeated so")),
        ("a higher priority", (with("priority", json!(10)), "not to be repeated so")),
        ("more labels", (with("labels", json!(["gpu"])), "not to be repeated so")),
        ("a second repetition", (with("attempt", json!(2)), "not to be repeated so")),
        ("the number of the first run", (with("attempt", json!(0)), "not to be repeated so")),
        ("a larger rule", (with("retry", json!({"attempts": 9, "on": ["no_diff"]})), "not to be repeated so")),
        ("no id of a run", (with("run_id", json!("x")), "not to be repeated so")),
        ("no time", (with("not_before", json!("soon")), "not to be repeated so")),
        ("a run without a rule", (body_of(&two, &without.run_id), "not to be repeated so")),
        ("another's run", (with("retry_of", json!(run("bbbb"))), "is not of role")),
        ("no run", (with("retry_of", Value::Null), "are not a worker")),
    ];
    each_row(rows, |(body, why)| {
        let refused = attempt(&two.honest, &body).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    });
    let refused = attempt(&two.stolen, &mine).unwrap_err();
    assert!(refused.contains("is not of role"), "{refused}");
    two.world.edit(&format!("INSERT INTO retries VALUES ('{}')", with_rule.run_id));
    let refused = attempt(&two.honest, &mine).unwrap_err();
    assert!(refused.contains("was repeated before"), "{refused}");
    assert_eq!(owner.verify().unwrap().problems, vec![]);
}
