//! Requests for approval: their steps, and their one use.

use std::sync::Barrier;

use contract::{Digest, Stage, Stamp};
use ledger::{AppendEntryError, ApprovalUse, Ledger, RequestIntent, RequestStep, UnusableRequest};
use serde_json::{Value, json};

use crate::fixtures::{at, digest, run, started};
use crate::world::{World, open_at};

const LATER: &str = "2026-03-01T12:00:00.000000Z";

fn intent(request: Digest) -> RequestIntent {
    RequestIntent {
        request,
        task_id: "r1".to_owned().try_into().unwrap(),
        stage: Stage::try_from(4).unwrap(),
        detail: Value::Null,
    }
}

fn noon() -> Stamp {
    at(LATER)
}

/// A ledger with one request that one key approved, and the run that is to use it.
fn requested(world: &World) -> Ledger {
    let ledger = world.open();
    ledger.request_recorded(at("2026-03-01T11:00:00.000000Z"), &intent(digest("aa"))).unwrap();
    ledger
        .request_stepped(digest("aa"), RequestStep::Granted, at("2026-03-01T11:01:00.000000Z"), &json!({"key": "k"}))
        .unwrap();
    ledger.run_started(&started(&run("aaaa"), 0)).unwrap();
    ledger
}

fn usable() -> ApprovalUse {
    ApprovalUse {
        request: digest("aa"),
        not_before: at("2026-03-01T11:00:00.000000Z"),
        expires_at: at("2026-03-01T13:00:00.000000Z"),
    }
}

fn start(ledger: &Ledger, suffix: &str, time: Stamp, used: &ApprovalUse) -> Result<(), Option<UnusableRequest>> {
    let started = ledger.engine_starting(&run(suffix), None, time, &json!({}), Some(used));
    started.map(drop).map_err(|error| match error {
        AppendEntryError::RequestUnusable { why, .. } => Some(why),
        _ => None,
    })
}

/// Each row: steps before the start, the start's time, and what refuses it.
#[test]
fn a_request_is_used_only_while_it_is_open_and_in_its_time() {
    use RequestStep::{Denied, Held, Released, Revoked};
    use UnusableRequest as U;
    let rows: &[(&[RequestStep], &str, Option<U>)] = &[
        (&[], LATER, None),
        (&[Held, Released], LATER, None),
        (&[Held], LATER, Some(U::Held)),
        (&[Denied], LATER, Some(U::Denied)),
        (&[Revoked], LATER, Some(U::Revoked)),
        (&[], "2026-03-01T12:59:59.999999Z", None),
        (&[], "2026-03-01T13:00:00.000000Z", Some(U::Expired { at: usable().expires_at })),
        (&[], "2026-03-01T10:59:59.999999Z", Some(U::NotYetValid { at: usable().not_before })),
    ];
    for (steps, time, refusal) in rows {
        let world = World::new();
        let ledger = requested(&world);
        for step in *steps {
            ledger.request_stepped(digest("aa"), *step, noon(), &Value::Null).unwrap();
        }
        let before = ledger.head().unwrap();
        let done = start(&ledger, "aaaa", at(time), &usable());
        assert_eq!(done.err().flatten(), *refusal, "{steps:?} {time}");
        let row = ledger.request_row(digest("aa")).unwrap().unwrap();
        assert_eq!(row.used_by.is_some(), refusal.is_none(), "{steps:?} {time}");
        assert_eq!(ledger.head().unwrap() == before, refusal.is_some(), "a refusal appends nothing: {steps:?} {time}");
        assert_eq!(ledger.verify().unwrap().problems, vec![]);
    }
}

#[test]
fn a_clock_that_was_set_back_brings_no_approval_back() {
    let world = World::new();
    let ledger = requested(&world);
    // Something else was recorded after the approval's end.
    ledger.run_started(&started(&run("bbbb"), 0)).unwrap();
    ledger.append(ledger::EntryKind::HaltSet, None, at("2026-03-01T14:00:00.000000Z"), &json!({})).unwrap();
    ledger.append(ledger::EntryKind::HaltLifted, None, noon(), &json!({})).unwrap();
    let refused = start(&ledger, "aaaa", noon(), &usable()).unwrap_err();
    assert_eq!(refused, Some(UnusableRequest::Expired { at: usable().expires_at }));
}

/// An entry that is dated ahead ends every approval; time goes back by an act of its own, which frees nothing from before it.
#[test]
fn time_goes_back_by_an_entry_that_voids_every_request_before_it() {
    let world = World::new();
    let ledger = requested(&world);
    let not_ahead = ledger.set_time_back(noon(), &json!({"reason": "r"})).unwrap_err();
    assert!(matches!(not_ahead, AppendEntryError::TimeNotAhead { .. }), "{not_ahead:?}");
    ledger.append(ledger::EntryKind::HaltSet, None, at("2099-01-01T00:00:00.000000Z"), &json!({})).unwrap();
    let expired = Some(UnusableRequest::Expired { at: usable().expires_at });
    assert_eq!(start(&ledger, "aaaa", noon(), &usable()).unwrap_err(), expired, "the entry that is dated ahead");

    let by_hand = json!({"time_went_back": {"from": "2099-01-01T00:00:00.000000Z", "to": LATER}});
    let by_hand = ledger.append(ledger::EntryKind::LedgerContinued, None, noon(), &by_hand).unwrap_err();
    assert!(matches!(by_hand, AppendEntryError::ReservedKind { .. }), "{by_hand:?}");
    let entry = ledger.set_time_back(noon(), &json!({"reason": "r"})).unwrap();
    assert_eq!(ledger.latest_time().unwrap(), Some(noon()));
    let void = Some(UnusableRequest::Void { by: entry.seq });
    assert_eq!(start(&ledger, "aaaa", noon(), &usable()).unwrap_err(), void, "what was approved before");
    let again = ledger.request_stepped(digest("aa"), RequestStep::Granted, noon(), &json!({"key": "k"})).unwrap_err();
    assert!(matches!(again, AppendEntryError::RequestUnusable { .. }), "{again:?}");

    let next = ApprovalUse { request: digest("bb"), ..usable() };
    ledger.request_recorded(noon(), &intent(digest("bb"))).unwrap();
    ledger.request_stepped(digest("bb"), RequestStep::Granted, noon(), &json!({"key": "k"})).unwrap();
    start(&ledger, "aaaa", noon(), &next).unwrap();
    let used = Some(UnusableRequest::Used { by: run("aaaa") });
    ledger.append(ledger::EntryKind::HaltSet, None, at("2099-01-01T00:00:00.000000Z"), &json!({})).unwrap();
    ledger.set_time_back(noon(), &json!({"reason": "r"})).unwrap();
    ledger.run_started(&started(&run("bbbb"), 0)).unwrap();
    assert_eq!(start(&ledger, "bbbb", noon(), &next).unwrap_err(), used, "what was used stays used");
    assert_eq!(ledger.verify().unwrap().problems, vec![]);

    world.edit("UPDATE meta SET value = '1' WHERE key = 'time_base'");
    let problems = ledger.verify().unwrap().problems;
    assert!(problems.iter().any(|problem| problem.what.starts_with("time is counted from entry 1,")), "{problems:?}");
}

#[test]
fn what_is_not_in_this_ledger_cannot_be_used() {
    let world = World::new();
    let ledger = requested(&world);
    let other = ApprovalUse { request: digest("bb"), ..usable() };
    assert_eq!(start(&ledger, "aaaa", noon(), &other).unwrap_err(), Some(UnusableRequest::Unknown));
    assert_eq!(start(&ledger, "aaaa", noon(), &usable()), Ok(()));
}

#[test]
fn a_used_request_stays_used_and_takes_no_step() {
    let world = World::new();
    let ledger = requested(&world);
    ledger.run_started(&started(&run("bbbb"), 0)).unwrap();
    start(&ledger, "aaaa", noon(), &usable()).unwrap();
    let used = Some(UnusableRequest::Used { by: run("aaaa") });
    assert_eq!(start(&ledger, "bbbb", noon(), &usable()).unwrap_err(), used);
    // The run is the key of its use: the same one again is no second use.
    assert_eq!(start(&ledger, "aaaa", noon(), &usable()), Ok(()));
    for step in
        [RequestStep::Granted, RequestStep::Denied, RequestStep::Held, RequestStep::Released, RequestStep::Revoked]
    {
        assert!(ledger.request_stepped(digest("aa"), step, noon(), &Value::Null).is_err(), "{step:?}");
    }
    // Requested again, the request is the same one.
    ledger.request_recorded(noon(), &intent(digest("aa"))).unwrap();
    assert_eq!(start(&ledger, "bbbb", noon(), &usable()).unwrap_err(), used);
    let kinds: Vec<String> =
        ledger.request_entries(digest("aa")).unwrap().into_iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, ["approval.requested", "approval.granted", "approval.used"]);
    assert_eq!(ledger.verify().unwrap().problems, vec![]);
}

#[test]
fn sixty_four_at_once_use_it_once() {
    const MANY: usize = 64;
    let world = World::new();
    let ledger = requested(&world);
    for number in 0..MANY {
        ledger.run_started(&started(&run(&format!("{number:04}")), 0)).unwrap();
    }
    let (place, ready) = (world.place(), Barrier::new(MANY));
    let started: Vec<bool> = std::thread::scope(|scope| {
        let starting = |number: usize| {
            let (place, ready) = (&place, &ready);
            scope.spawn(move || {
                let ledger = open_at(place);
                ready.wait();
                start(&ledger, &format!("{number:04}"), noon(), &usable()).is_ok()
            })
        };
        let threads: Vec<_> = (0..MANY).map(starting).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(started.iter().filter(|started| **started).count(), 1);
    assert_eq!(ledger.verify().unwrap().problems, vec![]);
}

/// Rows of requests are a projection: an edit of them is found.
#[test]
fn an_edited_row_is_found() {
    for edit in [
        "UPDATE requests SET used_by = NULL, used_seq = NULL",
        "UPDATE requests SET grants = 2",
        "UPDATE requests SET held_seq = 1",
        "DELETE FROM requests",
    ] {
        let world = World::new();
        let ledger = requested(&world);
        start(&ledger, "aaaa", noon(), &usable()).unwrap();
        assert_eq!(ledger.verify().unwrap().problems, vec![]);
        world.edit(edit);
        assert_eq!(ledger.verify().unwrap().problems.len(), 1, "{edit}");
    }
}

#[test]
fn requests_are_listed_newest_first() {
    let world = World::new();
    let ledger = world.open();
    for pair in ["aa", "bb", "cc"] {
        ledger.request_recorded(noon(), &intent(digest(pair))).unwrap();
    }
    let listed = |task: Option<&str>, limit| -> Vec<Digest> {
        let task = task.map(|task| task.to_owned().try_into().unwrap());
        ledger.requests_recent(task.as_ref(), limit).unwrap().into_iter().map(|row| row.request).collect()
    };
    assert_eq!(listed(None, 2), [digest("cc"), digest("bb")]);
    assert_eq!(listed(Some("r1"), 9).len(), 3);
    assert_eq!(listed(Some("other"), 9), []);
}
