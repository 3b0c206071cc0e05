//! A ledger is moved from a file to a server and back: the same chain, the same rows, the same name.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::fixtures::{TIME, at, digest, run, sealed, started};
use crate::queue::order;
use crate::world::{World, open_at};
use ledger::{EntryKind, Ledger, LedgerPlace, MoveLedgerError, QueueOrder, RequestIntent, RequestStep, RunStarted};
use serde_json::json;
use testkit::times;

/// Runs of a ledger that is moved in every test run; a soak moves more.
const FEW: u32 = 40;

/// A ledger in a file with every kind of row.
fn filled(folder: &tempfile::TempDir, runs: u32) -> Ledger {
    let ledger = Ledger::open_file(&folder.path().join("ledger.db")).unwrap();
    for number in 0..runs {
        let id = run(&format!("{number:04}"));
        ledger.run_started(&started(&id, number % 3000)).unwrap();
        ledger.run_sealed(&sealed(&id)).unwrap();
    }
    ledger.append(EntryKind::OutcomeRecorded, Some(&run("0001")), *TIME, &json!({"signature": "s"})).unwrap();
    let intent = |pair: &str| -> RequestIntent {
        serde_json::from_value(
            json!({"request": digest(pair), "task_id": "r1", "stage": 4, "detail": {"odd": "\u{0}\u{1f}é\u{2028}"}}),
        )
        .unwrap()
    };
    ledger.request_recorded(*TIME, &intent("aa")).unwrap();
    ledger.request_stepped(digest("aa"), RequestStep::Held, *TIME, &json!({})).unwrap();
    let labels = ["gpu", "big"].map(str::to_owned).to_vec();
    ledger.queue_submitted(&QueueOrder { labels, ..order("gone") }, *TIME).unwrap();
    ledger.queue_cancelled(&run("gone"), *TIME, &json!({})).unwrap();
    ledger.append(EntryKind::HaltSet, None, at("2099-01-01T00:00:00.000000Z"), &json!({})).unwrap();
    ledger.set_time_back(*TIME, &json!({"reason": "r"})).unwrap();
    ledger.request_recorded(*TIME, &intent("bb")).unwrap();
    ledger
}

fn rows(ledger: &Ledger) -> String {
    let (runs, requests) = (ledger.runs_recent(&Default::default(), usize::MAX), ledger.requests_recent(None, 99));
    let queue = ledger.queue_runs(true, 99).unwrap();
    assert_eq!(queue.len(), 1, "control: a run of the queue that has ended");
    format!("{:?}\n{:?}\n{:?}\n{queue:?}", runs.unwrap(), requests.unwrap(), ledger.latest_time().unwrap())
}

#[test]
fn there_and_back_it_is_the_same_ledger() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new());
    let number = times("CTO_TEST_MOVED_RUNS", FEW);
    let file = filled(&folder, number);
    let begun = Instant::now();
    let moved = file.move_to(&world.open()).unwrap();
    println!("{number} runs moved to the server in {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!((moved.head, moved.runs, moved.requests), (file.head().unwrap(), number.into(), 2));
    let server = world.open();
    assert_eq!((server.ledger_id(), rows(&server)), (file.ledger_id(), rows(&file)));

    let back = LedgerPlace::File(folder.path().join("back.db"));
    let begun = Instant::now();
    server.move_to(&open_at(&back)).unwrap();
    println!("and back in {:.1} s", begun.elapsed().as_secs_f64());
    let back = open_at(&back);
    assert_eq!(
        (back.ledger_id(), back.verify().unwrap(), rows(&back)),
        (file.ledger_id(), file.verify().unwrap(), rows(&file))
    );
    server.copy_to(&folder.path().join("copy.db")).unwrap();
    let copy = Ledger::open_file(&folder.path().join("copy.db")).unwrap();
    assert_eq!((copy.verify().unwrap(), rows(&copy)), (file.verify().unwrap(), rows(&file)));
}

#[test]
fn what_cannot_be_moved_leaves_nothing_behind() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new());
    let file = filled(&folder, FEW);
    let server = world.open();
    let live = started(&run("live"), 50);
    file.run_started(&RunStarted { ..live }).unwrap();
    assert!(matches!(file.move_to(&server), Err(MoveLedgerError::RunsGoOn { runs: 1 })));
    file.run_sealed(&sealed(&run("live"))).unwrap();

    let raw = rusqlite::Connection::open(folder.path().join("ledger.db")).unwrap();
    let edit = |time: &str| {
        raw.execute_batch(&format!(
            "DROP TRIGGER IF EXISTS entries_are_never_changed; UPDATE entries SET time = '{time}' WHERE seq = 1"
        ))
        .unwrap();
    };
    edit("2026-03-01T09:00:00.000000Z");
    assert!(matches!(file.move_to(&server), Err(MoveLedgerError::Broken(problem)) if problem.seq == 1));
    assert_eq!(server.head().unwrap().seq, 0);
    edit("2026-03-01T10:00:00.000000Z");
    file.move_to(&server).expect("control: it holds again");
    assert!(matches!(file.move_to(&server), Err(MoveLedgerError::NotEmpty { .. })));
}

/// A copy that is behind the ledger that goes on is never committed.
#[test]
fn entries_that_come_in_meanwhile_leave_nothing_behind() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new());
    let (file, server) = (filled(&folder, FEW), world.open());
    let (path, stop) = (folder.path().join("ledger.db"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = Ledger::open_file(&path).unwrap();
            while !stop.load(Ordering::Relaxed) {
                other.append(EntryKind::OperatorActed, None, *TIME, &json!({})).unwrap();
                // Slower than they are copied.
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        let moved = file.move_to(&server);
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(moved, Err(MoveLedgerError::Changed { .. })), "{moved:?}");
    });
    assert_eq!(server.head().unwrap().seq, 0);
    file.move_to(&server).expect("control: nobody writes to it");
}
