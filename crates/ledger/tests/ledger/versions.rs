//! A ledger of every version that was released opens, is brought forward, and says the same as before.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use crate::fixtures::{run, started};
use crate::world::World;
use ledger::{AppendEntryError, Ledger, RunRow, RunStatus};

/// A file of an older version, or of this one: the head of its chain, whether its runs have owners and leases, and whether it has a request, a
/// collected bundle, and outcomes that somebody and nobody signed.
struct Older {
    name: &'static str,
    seq: u64,
    hash: &'static str,
    leases: bool,
    answers: bool,
}

const KEPT: &[Older] = &[
    Older {
        name: "ledger-v1.db",
        seq: 12,
        hash: "34210a74bb485f34b61d43701e30f0f0abd6cc016b98dd55d9c1323ba92d6d0d",
        leases: false,
        answers: false,
    },
    Older {
        name: "ledger-v2.db",
        seq: 11,
        hash: "0f2d2771f579bacc8f9d8199ff8aed14dd3067cd9ab1bf36ab367e5ab359b496",
        leases: true,
        answers: false,
    },
    Older {
        name: "ledger-v3.db",
        seq: 15,
        hash: "e19686e6886ef2429dd9ffdf801d74cd2c68343628c0c9246c48d46f94eca442",
        leases: true,
        answers: true,
    },
    Older {
        name: "ledger-v4.db",
        seq: 15,
        hash: "ec744c6d8e923756950968a2deb89a906e4d55cdae0960725e03904191655af0",
        leases: true,
        answers: true,
    },
    Older {
        name: "ledger-v5.db",
        seq: 15,
        hash: "ec744c6d8e923756950968a2deb89a906e4d55cdae0960725e03904191655af0",
        leases: true,
        answers: true,
    },
    // With a queue: the first run is claimed, the last one cancelled.
    Older {
        name: "ledger-v6.db",
        seq: 19,
        hash: "e147421586f2bad065359537d6b1bf2e71d515119aecf7c136cb1282f312e1c8",
        leases: true,
        answers: true,
    },
    // The same, with the runs of a rung in the order of their entries.
    Older {
        name: "ledger-v7.db",
        seq: 19,
        hash: "e147421586f2bad065359537d6b1bf2e71d515119aecf7c136cb1282f312e1c8",
        leases: true,
        answers: true,
    },
    // A ledger of today: the same, with lists by stage and by the time that runs took.
    Older {
        name: "ledger-v8.db",
        seq: 19,
        hash: "e147421586f2bad065359537d6b1bf2e71d515119aecf7c136cb1282f312e1c8",
        leases: true,
        answers: true,
    },
];
const STATUSES: [RunStatus; 4] = [RunStatus::Blocked, RunStatus::Fail, RunStatus::Pass, RunStatus::Running];

fn lay(world: &World, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    // Its bytes alone: the file of the sources may be one that nobody may write.
    fs::write(world.path(), fs::read(from).unwrap()).unwrap();
}

fn check(ledger: &Ledger, older: &Older) {
    let check = ledger.verify().unwrap();
    assert_eq!((check.head.seq, check.head.hash.to_string().as_str()), (older.seq, older.hash));
    assert_eq!(check.problems, vec![]);
    let (mut runs, mut answers) = (Vec::new(), Vec::new());
    let see = |run: RunRow| {
        runs.push((run.status, run.owner.is_some()));
        answers.push((run.collected_seq, run.outcome_seq));
    };
    ledger.runs_each(see).unwrap();
    assert_eq!(runs, STATUSES.map(|status| (status, older.leases)));
    let answered = [(None, None), (Some(15), None), (None, Some(14)), (None, None)];
    assert_eq!(answers, if older.answers { answered } else { [(None, None); 4] });
    assert_eq!(ledger.runs_unanswered(10).unwrap(), [], "its one pass is answered, or of a lower stage");
    let open = ledger.runs_open().unwrap();
    assert_eq!(open.iter().map(|run| run.lease.is_some()).collect::<Vec<_>>(), [older.leases]);
    let requests = usize::from(older.answers);
    assert_eq!(ledger.requests_recent(None, 10).unwrap().len(), requests);
    assert_eq!(ledger.requests_undecided(None, 10).unwrap().len(), requests);
}

#[test]
fn older_ledgers_are_read_and_brought_forward() {
    for older in KEPT {
        let (world, name) = (World::new(), older.name);
        lay(&world, name);
        let before = fs::read(world.path()).unwrap();
        check(&Ledger::open_existing_read_only(&world.path()).unwrap(), older);
        assert_eq!(fs::read(world.path()).unwrap(), before, "{name}: looking changes nothing");
        for _ in 0..2 {
            check(&Ledger::open_file(&world.path()).unwrap(), older);
        }
        let version: i32 = world.raw().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, 8, "{name}");
    }
}

/// A file that a newer program brings forward while it is open here takes nothing more from this program.
#[test]
fn a_ledger_that_became_newer_takes_nothing_more() {
    let world = World::new();
    let ledger = Ledger::open_file(&world.path()).unwrap();
    let append = || ledger.run_started(&started(&run("aaaa"), 0));
    world.raw().pragma_update(None, "user_version", 9).unwrap();
    let refused = append().unwrap_err();
    assert!(matches!(refused, AppendEntryError::NewerVersion { found: 9 }), "{refused}");
    assert_eq!(ledger.verify().unwrap().head.seq, 0, "nothing was written");
    world.raw().pragma_update(None, "user_version", 8).unwrap();
    append().expect("control: as it was");
}

/// Each format that this program brings forward has a file among those above, and so has its own.
#[test]
fn every_format_has_a_file() {
    let world = World::new();
    drop(Ledger::open_file(&world.path()).unwrap());
    let newest: i32 = world.raw().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let names: Vec<&str> = KEPT.iter().map(|older| older.name).collect();
    let expected: Vec<String> = (1..=newest).map(|version| format!("ledger-v{version}.db")).collect();
    assert_eq!(names, expected);
    for (version, older) in (1..).zip(KEPT) {
        let world = World::new();
        lay(&world, older.name);
        let found: i32 = world.raw().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(found, version, "{}", older.name);
    }
}

/// The places of a migration, and a ledger that was left at each of them.
#[test]
fn a_migration_that_is_cut_short_is_done_again() {
    let older = KEPT.split_last().unwrap().1;
    older.iter().for_each(cut_short_everywhere);
}

fn cut_short_everywhere(older: &Older) {
    let name = older.name;
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
        check(&Ledger::open_file(&left.join("ledger.db")).unwrap(), older);
    }
}
