//! A stolen worker stops no other machine, and spoils the runs that it has and nothing else.

use std::time::Duration;

use crate::fixtures::{TIME, digest, run, sealed, started};
use crate::queue::order;
use crate::rights::TwoWorkers;
use crate::world::World;
use contract::{Stage, Stamp, canonical_text};
use ledger::{ApprovalUse, EntryKind, LeaseRenewal, Ledger, RequestIntent, RequestStep, RunIntent};
use serde_json::{Value, json};
use testkit::each_row;

/// The document of an object with other values for some of its members.
fn with(mut of: Value, members: Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        of[name] = value.clone();
    }
    of
}

fn seal_body(suffix: &str) -> Value {
    serde_json::to_value(sealed(&run(suffix)).seal).unwrap()
}

fn start_body() -> Value {
    serde_json::to_value(started(&run("cccc"), 0).intent).unwrap()
}

/// Every entry that the program could not read again is refused of a worker, though the run is its own. The owner of the schema is not
/// asked, which is the control: it is this check that refuses.
#[test]
fn an_entry_that_nobody_could_read_is_refused() {
    let two = TwoWorkers::new();
    let (ours, own) = (run("aaaa").to_string(), run("cccc").to_string());
    let unnamed = "x".to_owned();
    let (seal, start, sealing) = ("no seal of run", "no start of a run", "evidence.sealed");
    let model = |model: Value| json!({"identity": {"source_id": "s", "model": model}});
    let deep = (0..60).fold(json!(1), |inner, _| json!([inner]));
    let rows = [
        ("status", (sealing, &ours, with(seal_body("aaaa"), json!({"status": "running"})), seal)),
        ("reason", (sealing, &ours, with(seal_body("aaaa"), json!({"reasons": ["made_up"]})), seal)),
        ("reasons", (sealing, &ours, with(seal_body("aaaa"), json!({"reasons": "no_diff"})), seal)),
        ("negative", (sealing, &ours, with(seal_body("aaaa"), json!({"tests_passed": -1})), seal)),
        (
            "hour 24",
            (sealing, &ours, with(seal_body("aaaa"), json!({"finished_at": "2026-03-01T24:00:00.000000Z"})), seal),
        ),
        (
            "leap",
            (sealing, &ours, with(seal_body("aaaa"), json!({"finished_at": "2026-03-01T10:59:60.000000Z"})), seal),
        ),
        ("digest", (sealing, &ours, with(seal_body("aaaa"), json!({"attestation_sha256": "x"})), seal)),
        ("bundle", (sealing, &ours, with(seal_body("aaaa"), json!({"bundle": "../../etc"})), seal)),
        ("model", (sealing, &ours, with(seal_body("aaaa"), model(json!({"provider": "p q", "model": "m"}))), seal)),
        ("owner", (sealing, &ours, with(seal_body("aaaa"), json!({"owner": "me"})), seal)),
        ("stage 99", ("run.started", &own, with(start_body(), json!({"stage": 99})), start)),
        ("purpose", ("run.started", &own, with(start_body(), json!({"purpose": "mine"})), start)),
        ("task", ("run.started", &own, with(start_body(), json!({"task_id": "a b"})), start)),
        ("run id", ("run.started", &unnamed, start_body(), start)),
        ("depth", ("run.started", &own, with(start_body(), json!({"detail": deep})), "canonical form")),
        ("key", ("run.started", &own, with(start_body(), json!({"detail": {"\u{fb33}": 1}})), "canonical form")),
    ];
    each_row(rows, |(kind, run_id, body, why)| {
        let sql = two.entry(&two.now.to_string(), kind, Some(run_id), &canonical_text(&body).unwrap());
        let refused = two.attempt(&two.honest, &sql).unwrap_err();
        assert!(refused.contains(why), "{refused}");
        two.attempt(testkit::SUPERUSER, &sql).expect("the control");
    });
    let good = [("run.started", &own, start_body()), (sealing, &ours, seal_body("aaaa"))];
    each_row(good.map(|row| (row.0, row)), |(kind, run_id, body)| {
        let sql = two.entry(&two.now.to_string(), kind, Some(run_id), &canonical_text(&body).unwrap());
        two.attempt(&two.honest, &sql).expect("the control: what can be read is taken");
    });
}

/// A row that cannot be read is named, and keeps no machine from the others; what is counted by it is refused.
#[test]
fn a_row_that_cannot_be_read_is_named_and_passed_over() {
    let world = World::new();
    let ledger = world.open();
    for suffix in ["aaaa", "bbbb"] {
        ledger.run_started(&started(&run(suffix), 0)).unwrap();
    }
    let open =
        |ledger: &Ledger| ledger.runs_open().unwrap().into_iter().map(|open| open.row.run_id).collect::<Vec<_>>();
    assert_eq!((open(&ledger), ledger.unreadable_rows()), (vec![run("aaaa"), run("bbbb")], vec![]), "the control");
    world.edit("UPDATE runs SET stage = 99 WHERE suffix = 'aaaa'");
    assert_eq!(open(&ledger), [run("bbbb")]);
    let named = ledger.unreadable_rows();
    assert!(named.len() == 1 && named[0].seq == 1 && named[0].what.contains("stage"), "{named:?}");
    assert_eq!(ledger.runs_recent(&Default::default(), 9).unwrap().len(), 1);
    assert!(ledger.verify().unwrap().problems.iter().any(|problem| *problem == named[0]), "and the check names it");
    assert!(ledger.run_sealed(&sealed(&run("aaaa"))).is_err(), "its own run depends on it");
    ledger.run_sealed(&sealed(&run("bbbb"))).unwrap();
}

/// Numbers that mean the same and are spelled otherwise break the chain for good; an owner that is no digest stops every reader.
#[test]
fn what_would_break_the_chain_or_a_lease_for_good_is_refused() {
    let two = TwoWorkers::new();
    let (ours, until) = (run("aaaa").to_string(), two.now.after(Duration::from_secs(60)));
    let entry = |body: &str| two.entry(&two.now.to_string(), "engine.starting", Some(&ours), body);
    for number in ["1.0", "1e2", "-0", "0.10", "9007199254740993", "00"] {
        let refused = two.attempt(&two.honest, &entry(&format!("{{\"a\":{number}}}"))).unwrap_err();
        assert!(refused.contains("canonical form") || refused.contains("invalid input"), "{number}: {refused}");
    }
    for number in ["1", "0", "-7", "0.5", "9007199254740991"] {
        two.attempt(&two.honest, &entry(&format!("{{\"a\":{number}}}"))).expect("the control");
    }
    two.world.edit("UPDATE leases SET lease_until = '2026-03-01T00:00:00.000000Z'");
    let take = |owner: &str| format!("SELECT cto.put_lease('{ours}', '{owner}', 2, '{until}')");
    let refused = two.attempt(&two.stolen, &take("o")).unwrap_err();
    assert!(refused.contains("names no owner"), "{refused}");
    two.attempt(&two.stolen, &take(&digest("0b").to_string())).expect("the control");
    let claim =
        |owner: &str| format!("SELECT cto.queue_claim('{{\"labels\":[],\"owner\":\"{owner}\",\"lease_seconds\":60}}')");
    assert!(two.attempt(&two.stolen, &claim("o")).unwrap_err().contains("names no owner"));
    two.attempt(&two.stolen, &claim(&digest("0b").to_string())).expect("the control");
}

/// An instance that takes a run over after its lease has lapsed ends it, and does nothing else with it.
#[test]
fn a_run_that_was_taken_over_is_only_sealed_and_never_as_passed() {
    let two = TwoWorkers::new();
    let ours = run("aaaa").to_string();
    let text = |body: Value| canonical_text(&body).unwrap();
    let entry = |kind: &str, body: Value| two.entry(&two.now.to_string(), kind, Some(&ours), &text(body));
    let pass = || entry("evidence.sealed", with(seal_body("aaaa"), json!({"status": "pass", "reasons": []})));
    two.attempt(&two.honest, &pass()).expect("the control: who has started it");
    two.world.edit("UPDATE leases SET lease_until = '2026-03-01T00:00:00.000000Z'");
    let until = two.now.after(Duration::from_secs(60));
    let taken = format!("SELECT cto.put_lease('{ours}', '{}', 2, '{until}')", digest("0b"));
    two.world.server.run_sql_as(&two.stolen, &two.world.database, &taken).unwrap();
    assert!(two.attempt(&two.stolen, &pass()).unwrap_err().contains("not sealed as passed"));
    for kind in ["engine.starting", "approval.used", "change.landed"] {
        let refused = two.attempt(&two.stolen, &entry(kind, json!({}))).unwrap_err();
        assert!(refused.contains("is only sealed"), "{kind}: {refused}");
    }
    let interrupted = json!({"status": "blocked", "reasons": ["harness_interrupted"]});
    two.attempt(&two.stolen, &entry("evidence.sealed", with(seal_body("aaaa"), interrupted))).expect("the control");
    assert!(two.attempt(&two.honest, &pass()).unwrap_err().contains("is not of role"));
}

/// A run of stage 4 that a worker has from the queue, and a request of its contract that is approved.
fn with_request() -> (TwoWorkers, String) {
    let two = TwoWorkers::new();
    let owner = two.world.open();
    let stage = Stage::DISPOSABLE_REPOSITORY;
    owner.queue_submitted(&ledger::QueueOrder { stage, priority: 9, ..order("dddd") }, two.now).unwrap();
    let task_id: contract::TaskId = "r1".to_owned().try_into().unwrap();
    let document = json!({"plan": {"contract": "theirs", "contract_digest": digest("cc")}}).to_string();
    let intent = RequestIntent { request: digest("ee"), task_id, stage, detail: json!({"document": document}) };
    owner.request_recorded(two.now, &intent).unwrap();
    let (from, until) = (two.now, two.now.after(Duration::from_secs(600)));
    let approval = json!({"not_before": from, "expires_at": until}).to_string();
    owner.request_stepped(digest("ee"), RequestStep::Granted, two.now, &json!({"document": approval})).unwrap();
    (two, run("dddd").to_string())
}

fn claim_fourth(two: &TwoWorkers) {
    let worker = two.ledger_of(&two.honest);
    let ask = ledger::ClaimAsk { lease: Duration::from_secs(600), ..crate::queue::ask(two.now) };
    assert_eq!(worker.queue_claimed(&ask).unwrap().unwrap().run_id, run("dddd"));
    let plain = started(&run("dddd"), 0);
    let stage = Stage::DISPOSABLE_REPOSITORY;
    let intent = RunIntent { owner: Some(digest("0a")), epoch: Some(1), stage, ..plain.intent };
    let lease_until = Some(two.now.after(Duration::from_secs(600)));
    worker.run_started(&ledger::RunStarted { time: two.now, lease_until, intent, ..plain }).unwrap();
}

/// The database itself says when a request may be used: a worker that was stolen marks no other as used.
#[test]
fn a_request_is_used_only_by_its_own_run_and_while_it_is_approved() {
    let (two, ours) = with_request();
    claim_fourth(&two);
    let body = format!("{{\"request\":\"{}\"}}", digest("ee"));
    let using = || two.entry(&two.now.to_string(), "approval.used", Some(&ours), &body);
    two.attempt(&two.honest, &using()).expect("the control: it is approved, and the run is its own");
    let requests = |change: &str| format!("UPDATE requests SET {change} WHERE request = '{}'", digest("ee"));
    let (open, not) =
        (requests("grants = 1, held_seq = NULL, denied_seq = NULL, revoked_seq = NULL, stage = 4"), "not to be used");
    let meta = "INSERT INTO meta VALUES ('time_base', '999')";
    let elsewhere = "UPDATE queue SET seq = -seq WHERE priority = 9".to_owned();
    let rows = [
        ("not granted", (requests("grants = 0"), open.clone(), not)),
        ("held", (requests("held_seq = 1"), open.clone(), not)),
        ("denied", (requests("denied_seq = 1"), open.clone(), not)),
        ("revoked", (requests("revoked_seq = 1"), open.clone(), not)),
        ("void", (meta.to_owned(), "DELETE FROM meta WHERE key = 'time_base'".to_owned(), not)),
        ("another stage", (requests("stage = 5"), open.clone(), "not one that the request is for")),
        (
            "not of the queue",
            (
                "UPDATE queue SET state = 'sealed' WHERE priority = 9".to_owned(),
                "UPDATE queue SET state = 'started' WHERE priority = 9".to_owned(),
                "not one that the request is for",
            ),
        ),
        ("another contract", (elsewhere.clone(), elsewhere, "has another contract")),
    ];
    each_row(rows, |(change, back, why)| {
        two.world.edit(&change);
        let refused = two.attempt(&two.honest, &using());
        two.world.edit(&back);
        let refused = refused.unwrap_err();
        assert!(refused.contains(why), "{refused}");
        two.attempt(&two.honest, &using()).expect("the control");
    });
    let clock = |seconds: u32| -> Stamp { two.now.after(Duration::from_secs(u64::from(seconds))) };
    two.world.set_clock(clock(601));
    let refused = two.attempt(&two.honest, &using()).unwrap_err();
    assert!(refused.contains("no approval of request"), "{refused}");
    two.world.set_clock(clock(5));
    let used = ApprovalUse { request: digest("ee"), not_before: two.now, expires_at: clock(600) };
    let worker = two.ledger_of(&two.honest);
    worker
        .engine_starting(
            &run("dddd"),
            Some(LeaseRenewal { epoch: 1, until: clock(60) }),
            clock(1),
            &json!({}),
            Some(&used),
        )
        .expect("by the program, as it is meant");
    assert_eq!(two.world.open().verify().unwrap().problems, vec![]);
}

/// A worker reads the contract in a request while it has a run that is to use it.
#[test]
fn a_worker_reads_a_request_when_it_has_its_run() {
    let (two, _) = with_request();
    let read = |role: &str| {
        let entries = two.ledger_of(role).request_entries(digest("ee")).unwrap();
        entries.iter().any(|entry| entry.body.to_string().contains("theirs"))
    };
    assert_eq!([read(&two.honest), read(&two.stolen), read(testkit::SUPERUSER)], [false, false, true]);
    claim_fourth(&two);
    assert_eq!([read(&two.honest), read(&two.stolen)], [true, false]);
}

/// A worker's entries are limited in number, and each is about an existing run.
#[test]
fn what_a_worker_says_of_other_runs_is_bounded() {
    let two = TwoWorkers::new();
    let worker = two.ledger_of(&two.stolen);
    let late = |suffix: &str, detail: &Value| worker.late_refused(&run(suffix), 1, two.now, detail);
    let refused = late("zzzz", &json!({})).unwrap_err().to_string();
    assert!(refused.contains("is not in the ledger"), "{refused}");
    let refused = late("aaaa", &json!({"long": "x".repeat(5000)})).unwrap_err().to_string();
    assert!(refused.contains("no late step"), "{refused}");
    for _ in 0..16 {
        late("aaaa", &json!({})).expect("the control");
    }
    let refused = late("aaaa", &json!({})).unwrap_err().to_string();
    assert!(refused.contains("has said enough"), "{refused}");
    two.ledger_of(&two.honest).late_refused(&run("aaaa"), 1, two.now, &json!({})).expect("the control: another role");
}

/// Time to come is the server's to say, and so is the store of witnesses an operator's.
#[test]
fn a_worker_neither_dates_ahead_nor_names_the_witness() {
    let two = TwoWorkers::new();
    let worker = two.ledger_of(&two.stolen);
    let ahead = |seconds| two.now.after(Duration::from_secs(seconds));
    let start = |time| {
        let plain = started(&run("cccc"), 0);
        worker.run_started(&ledger::RunStarted { time, ..plain })
    };
    let refused = start(ahead(300)).unwrap_err().to_string();
    assert!(refused.contains("ahead of the server"), "{refused}");
    start(ahead(1)).expect("the control");
    let bind = |role: &str, place: &str| two.ledger_of(role).bind_evidence(place, false).unwrap().unwrap();
    let (plain, whole, other) = ("s3://b/c", "s3://b/c at https://one:443", "s3://b/c at https://two:443");
    assert_eq!(bind(&two.stolen, "s3://mine/"), "", "a worker names none");
    assert_eq!(bind(testkit::SUPERUSER, plain), plain);
    assert_eq!(bind(&two.stolen, whole), plain, "and completes none");
    assert_eq!(bind(testkit::SUPERUSER, whole), whole, "an operator completes an older name");
    assert_eq!(bind(testkit::SUPERUSER, other), whole, "and it stays");
    assert_eq!(two.world.open().bind_evidence(other, true).unwrap().unwrap(), other, "until it is named anew");
    two.world.open().append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
}
