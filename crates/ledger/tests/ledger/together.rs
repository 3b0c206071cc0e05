//! Many who append at once, each with a connection of its own.

use std::sync::Barrier;

use crate::world::{TIME, World, sealed, started};
use ledger::Ledger;
use serde_json::json;

const WRITERS: usize = 100;

#[test]
fn a_hundred_writers_all_succeed_and_the_chain_holds() {
    let world = World::new();
    let path = world.path();
    let ready = Barrier::new(WRITERS);
    std::thread::scope(|scope| {
        for number in 0..WRITERS {
            let (path, ready) = (&path, &ready);
            scope.spawn(move || {
                ready.wait();
                // Nobody made the ledger before: they also race to create it.
                let ledger = Ledger::open(path).unwrap();
                let id = format!("t-r1-{number:04}");
                ledger.run_started(&started(&id, 0)).unwrap();
                ledger.append("note", Some(&id), TIME, &json!({"number": number})).unwrap();
                ledger.run_sealed(&sealed(&id)).unwrap();
            });
        }
    });
    let check = Ledger::open_existing_read_only(&path).unwrap().verify().unwrap();
    assert_eq!((check.entries, check.problems), (300, vec![]));
    assert_eq!(check.head.seq, 300);
}
