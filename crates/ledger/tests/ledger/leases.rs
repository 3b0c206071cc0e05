//! A live run belongs to one instance at a time, and who lost it can no longer seal it.

use crate::fixtures::{at, digest, run, sealed, started};
use crate::world::{World, open_at};
use ledger::{AppendEntryError, FIRST_EPOCH, Lease, LeaseRenewal, Ledger, RunIntent, RunSealed, RunStarted};

const UNTIL: &str = "2026-03-01T10:01:00.000000Z";

fn leased(ledger: &Ledger, suffix: &str) {
    let plain = started(&run(suffix), 0);
    let intent = RunIntent { owner: Some(digest("0a")), ..plain.intent.clone() };
    ledger.run_started(&RunStarted { lease_until: Some(at(UNTIL)), intent, ..plain }).unwrap();
}

#[test]
fn a_run_is_taken_over_only_when_its_lease_has_lapsed() {
    let world = World::new();
    let ledger = world.open();
    leased(&ledger, "aaaa");
    let first = Lease { owner: digest("0a"), epoch: FIRST_EPOCH, until: at(UNTIL) };
    assert_eq!(ledger.runs_open().unwrap()[0].lease, Some(first));
    let take = |now: &str| ledger.lease_taken_over(&run("aaaa"), digest("0b"), at(now), at("2026-03-01T11:00:00Z"));
    assert_eq!(take("2026-03-01T10:00:59.999999Z").unwrap(), None, "it holds");
    assert!(ledger.lease_renewed(&run("aaaa"), FIRST_EPOCH, at("2026-03-01T10:02:00Z")).unwrap());
    assert_eq!(take(UNTIL).unwrap(), None, "it was renewed");
    assert_eq!(take("2026-03-01T10:02:00Z").unwrap(), Some(2));
    assert_eq!(take("2026-03-01T10:02:01Z").unwrap(), None, "somebody else was faster");
    assert!(!ledger.lease_renewed(&run("aaaa"), FIRST_EPOCH, at("2026-03-01T12:00:00Z")).unwrap(), "an old epoch");
    assert_eq!(ledger.lease(&run("aaaa")).unwrap().map(|lease| (lease.owner, lease.epoch)), Some((digest("0b"), 2)));
    assert!(ledger.verify().unwrap().is_intact(), "leases are no part of the chain");
}

#[test]
fn an_old_epoch_seals_nothing() {
    let world = World::new();
    let ledger = world.open();
    leased(&ledger, "aaaa");
    let later = at("2026-03-01T10:02:00Z");
    assert_eq!(ledger.lease_taken_over(&run("aaaa"), digest("0b"), later, later).unwrap(), Some(2));
    let head = ledger.head().unwrap();
    let with = |epoch| RunSealed { epoch: Some(epoch), ..sealed(&run("aaaa")) };
    let refused = ledger.run_sealed(&with(FIRST_EPOCH));
    assert!(matches!(refused, Err(AppendEntryError::LeaseLost { epoch: 1, held: 2, .. })), "{refused:?}");
    assert_eq!(ledger.head().unwrap(), head);
    ledger.run_sealed(&with(2)).unwrap();
    assert_eq!(ledger.lease(&run("aaaa")).unwrap(), None, "a sealed run belongs to nobody");
    assert!(matches!(ledger.lease_renewed(&run("aaaa"), 2, later), Ok(false)));
}

/// The change that starts an engine renews the lease of its run, or does nothing at all.
#[test]
fn an_engine_starts_on_a_lease_that_is_renewed_with_it() {
    let world = World::new();
    let ledger = world.open();
    leased(&ledger, "aaaa");
    ledger.run_started(&started(&run("bbbb"), 1)).unwrap();
    let (later, until) = (at("2026-03-01T10:00:30Z"), at("2026-03-01T10:01:30Z"));
    let start = |suffix: &str, epoch| {
        let renewal = LeaseRenewal { epoch, until };
        ledger.engine_starting(&run(suffix), Some(renewal), later, &serde_json::json!({}), None)
    };
    let before = (ledger.head().unwrap(), ledger.lease(&run("aaaa")).unwrap());
    assert!(matches!(start("aaaa", 2), Err(AppendEntryError::LeaseLost { epoch: 2, held: 1, .. })));
    assert!(matches!(start("bbbb", 1), Err(AppendEntryError::LeaseGone { epoch: 1, .. })), "it never had one");
    assert_eq!((ledger.head().unwrap(), ledger.lease(&run("aaaa")).unwrap()), before);
    start("aaaa", FIRST_EPOCH).unwrap();
    assert_eq!(ledger.lease(&run("aaaa")).unwrap().map(|lease| lease.until), Some(until), "the control");
}

/// A lapsed run that many find at once goes to one of them.
#[test]
fn one_of_many_takes_it_over() {
    let world = World::new();
    leased(&world.open(), "aaaa");
    let later = at("2026-03-01T10:02:00Z");
    let place = world.place();
    let taken: usize = std::thread::scope(|scope| {
        let take = |number: u8| {
            let place = &place;
            scope.spawn(move || {
                let owner = digest(&format!("{number:02x}"));
                let until = at("2026-03-01T11:00:00Z");
                open_at(place).lease_taken_over(&run("aaaa"), owner, later, until).unwrap().is_some()
            })
        };
        let threads: Vec<_> = (1..=16).map(take).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|taken| *taken).count()
    });
    assert_eq!(taken, 1);
}
