//! Many who append at once, each with a connection of its own.

use std::sync::Barrier;

use crate::fixtures::{TIME, at, run, sealed, started};
use crate::world::{World, open_at};
use ledger::{EntryKind, Ledger, OpenLedgerError};
use serde_json::json;

const WRITERS: usize = 100;

#[test]
fn a_hundred_writers_all_succeed_and_the_chain_holds() {
    let world = World::new();
    let place = world.place();
    let ready = Barrier::new(WRITERS);
    std::thread::scope(|scope| {
        for number in 0..WRITERS {
            let (place, ready) = (&place, &ready);
            scope.spawn(move || {
                ready.wait();
                // Nobody made the ledger before: they also race to create it.
                let ledger = open_at(place);
                let id = run(&format!("{number:04}"));
                ledger.run_started(&started(&id, 0)).unwrap();
                ledger.append(EntryKind::PatchTaken, Some(&id), *TIME, &json!({"number": number})).unwrap();
                ledger.run_sealed(&sealed(&id)).unwrap();
            });
        }
    });
    let check = world.open_read_only().verify().unwrap();
    assert_eq!((check.entries, check.problems), (300, vec![]));
    assert_eq!(check.head.seq, 300);
}

/// Looking while others make the ledger finds none yet, or a whole one.
#[test]
fn looking_while_the_ledger_is_made_finds_none_or_a_whole_one() {
    for _ in 0..20 {
        let world = World::new();
        let place = world.place();
        let ready = Barrier::new(8);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (place, ready) = (&place, &ready);
                scope.spawn(move || {
                    ready.wait();
                    if number % 4 == 0 {
                        drop(open_at(place));
                        return;
                    }
                    let found_none = |error: &OpenLedgerError| matches!(error, OpenLedgerError::Missing { .. });
                    while let Err(error) = Ledger::open_place_read_only(place) {
                        assert!(found_none(&error), "{error}");
                    }
                });
            }
        });
    }
}

/// Everybody wants one of five: what each sees before it takes is all that others took.
#[test]
fn who_reserves_has_seen_all_that_is_reserved() {
    let world = World::new();
    let place = world.place();
    let ledger = world.open();
    // Not seen: of another day, and of another kind.
    ledger
        .model_reserved(at("2026-02-28T23:59:59.999999Z"), at("2026-02-28T00:00:00Z"), |_| json!({"taken": 5}))
        .unwrap();
    ledger.append(EntryKind::HaltSet, None, *TIME, &json!({"taken": 5})).unwrap();
    let ready = Barrier::new(20);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                ready.wait();
                let reserve = |entries: &[ledger::Entry]| {
                    let taken: u64 = entries.iter().filter_map(|entry| entry.body["taken"].as_u64()).sum();
                    json!({"taken": u64::from(taken < 5)})
                };
                open_at(&place).model_reserved(*TIME, at("2026-03-01T00:00:00Z"), reserve).unwrap();
            });
        }
    });
    let mut taken = Vec::new();
    let look = |entries: &[ledger::Entry]| {
        taken.extend(entries.iter().map(|entry| entry.body["taken"].as_u64().unwrap()));
        json!({})
    };
    ledger.model_reserved(*TIME, at("2026-03-01T00:00:00Z"), look).unwrap();
    assert_eq!((taken.len(), taken.iter().sum::<u64>()), (20, 5));
    assert_eq!(ledger.verify().unwrap().problems, vec![]);
}
