//! A ledger of every version that was released opens, is brought forward, and says the same as before.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use crate::world::World;
use ledger::{Ledger, RunStatus};

/// Files of older versions, each with the head of its chain and where its runs stand.
const OLDER: &[(&str, u64, &str)] =
    &[("ledger-v1.db", 12, "34210a74bb485f34b61d43701e30f0f0abd6cc016b98dd55d9c1323ba92d6d0d")];
const STATUSES: [RunStatus; 4] = [RunStatus::Blocked, RunStatus::Fail, RunStatus::Pass, RunStatus::Running];

fn lay(world: &World, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    // Its bytes alone: the file of the sources may be one that nobody may write.
    fs::write(world.path(), fs::read(from).unwrap()).unwrap();
}

fn check(ledger: &Ledger, seq: u64, hash: &str) {
    let check = ledger.verify().unwrap();
    assert_eq!((check.head.seq, check.head.hash.to_string().as_str()), (seq, hash));
    assert_eq!(check.problems, vec![]);
    let mut runs = Vec::new();
    ledger.runs_each(|run| runs.push((run.status, run.owner))).unwrap();
    assert_eq!(runs, STATUSES.map(|status| (status, None)));
    let open = ledger.runs_open().unwrap();
    assert_eq!(open.iter().map(|run| run.lease).collect::<Vec<_>>(), [None]);
}

#[test]
fn older_ledgers_are_read_and_brought_forward() {
    for (name, seq, hash) in OLDER {
        let world = World::new();
        lay(&world, name);
        let before = fs::read(world.path()).unwrap();
        check(&Ledger::open_existing_read_only(&world.path()).unwrap(), *seq, hash);
        assert_eq!(fs::read(world.path()).unwrap(), before, "{name}: looking changes nothing");
        for _ in 0..2 {
            check(&Ledger::open(&world.path()).unwrap(), *seq, hash);
        }
        let version: i32 = world.raw().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, 2, "{name}");
    }
}

/// The places of a migration, and a ledger that was left at each of them.
#[test]
fn a_migration_that_is_cut_short_is_done_again() {
    let (name, seq, hash) = OLDER[0];
    let world = World::new();
    lay(&world, name);
    let places = RefCell::new(0);
    drop(Ledger::open_observed(&world.path(), &|_| *places.borrow_mut() += 1).unwrap());
    assert!(*places.borrow() > 3, "{places:?}");
    for cut in 0..*places.borrow() {
        let world = World::new();
        lay(&world, name);
        let (passed, left) = (RefCell::new(0), world.folder.path().join("left"));
        fs::create_dir(&left).unwrap();
        // A copy of all files at that moment is what a power cut would leave.
        let observe = |_: &str| {
            if *passed.borrow() == cut {
                for file in ["ledger.db", "ledger.db-wal"] {
                    let _ = fs::copy(world.folder.path().join(file), left.join(file));
                }
            }
            *passed.borrow_mut() += 1;
        };
        drop(Ledger::open_observed(&world.path(), &observe).unwrap());
        check(&Ledger::open(&left.join("ledger.db")).unwrap(), seq, hash);
    }
}
