//! Ledgers of earlier versions of the schema, laid out by the statements of then: each is brought forward and goes on.

use crate::fixtures::{TIME_TEXT, digest, run, started};
use crate::world::{World, open_at};
use contract::Stamp;
use ledger::{ClaimAsk, EntryKind, Ledger, QueueLimits, RunIntent, RunStarted};
use serde_json::json;
use std::time::Duration;

const FIRST: [&str; 3] = [
    include_str!("../../src/postgres/schema.sql"),
    include_str!("../../src/postgres/read.sql"),
    include_str!("../../src/postgres/write.sql"),
];
const QUEUE: &str = include_str!("../../src/postgres/queue.sql");
const WORKER: &str = include_str!("../../src/postgres/worker.sql");
const RUNGS: &str = include_str!("../../src/postgres/rungs.sql");
const GUARD: &str = include_str!("../../src/postgres/guard.sql");
const WORKERS: &str = include_str!("../../src/postgres/workers.sql");
const ENGINES: &str = include_str!("../../src/postgres/engines.sql");

/// Lays out a ledger as the program of that version did.
fn lay_out(world: &World, version: usize) {
    // The roles of the server come from any ledger of now.
    drop(World::new().open());
    let later = [(2, QUEUE), (3, WORKER), (4, RUNGS), (5, GUARD), (6, WORKERS), (6, ENGINES)];
    let later = later.into_iter().filter(|(since, _)| version >= *since);
    let statements: Vec<&str> = FIRST.into_iter().chain(later.map(|(_, statements)| statements)).collect();
    let (id, timeline) = ("ab".repeat(16), "SELECT 'timeline', cto.read_timeline()");
    let meta = format!(
        "INSERT INTO cto.meta VALUES ('schema_version', '{version}'), ('accepts', '1'), ('ledger_id', '{id}'); \
         INSERT INTO cto.meta {timeline}"
    );
    world.server.run_sql(&world.database, &format!("CREATE SCHEMA cto; {}; {meta}", statements.concat())).unwrap();
}

/// Appends an entry by the function of then.
fn append(world: &World, kind: &str, run_id: Option<&str>, body: &str) {
    let run_id = run_id.map_or("NULL".to_owned(), |run| format!("'{run}'"));
    let sql = format!(
        "SELECT cto.insert_entry(seq, '{TIME_TEXT}', '{kind}', {run_id}, '{body}', prev, \
         cto.entry_hash(seq, '{TIME_TEXT}', '{kind}', {run_id}, '{body}', prev)) FROM (SELECT coalesce(max(seq), 0) + 1 AS seq, \
         coalesce((SELECT hash FROM cto.read_head()), repeat('0', 64)) AS prev FROM cto.entries) AS head"
    );
    world.edit(&sql);
}

fn body_of_start() -> String {
    contract::canonical_text(&serde_json::to_value(started(&run("aaaa"), 0).intent).unwrap()).unwrap()
}

#[test]
fn every_earlier_version_is_brought_forward_and_goes_on() {
    for version in [1, 2, 3, 4, 5, 6] {
        let world = World::new();
        lay_out(&world, version);
        append(&world, "halt.set", None, "{}");
        append(&world, "run.started", Some(run("aaaa").as_str()), &body_of_start());
        world.edit(&format!("SELECT cto.put_lease('{}', '{}', 1, '{TIME_TEXT}')", run("aaaa"), digest("0a")));
        if version >= 3 {
            world.edit("UPDATE holders SET role = ''");
        }
        let opened = world.open();
        assert_eq!(opened.verify().unwrap().problems, vec![], "version {version}");
        assert_eq!((opened.head().unwrap().seq, opened.ledger_id()), (2, "ab".repeat(16).as_str()));
        let shown = world.server.run_sql(&world.database, "SELECT value FROM cto.meta WHERE key = 'schema_version'");
        assert_eq!(shown.unwrap(), "7");
        opened.append(EntryKind::HaltLifted, None, TIME_TEXT.parse().unwrap(), &json!({})).unwrap();
        // The ledger knows the owner of a run since version 3, and this one is the operator's.
        if version < 3 {
            check_worker(&world, version);
        }
        assert_eq!(world.open().verify().unwrap().problems, vec![]);
    }
}

/// A run that a worker had when the ledger was brought forward is still that worker's to end. No name says whose it was, so that no
/// worker may say that it passed.
fn check_worker(world: &World, version: usize) {
    let role = format!("worker_of_{}", world.database);
    world.edit(&format!("CREATE ROLE {role} LOGIN IN ROLE cto_worker"));
    let worker = open_at(&world.place_of(&role));
    let sealed = ledger::RunSealed { epoch: Some(1), ..crate::fixtures::sealed(&run("aaaa")) };
    let mut passed = sealed.clone();
    passed.seal.status = contract::Status::Pass;
    let refused = worker.run_sealed(&passed).unwrap_err().to_string();
    assert!(refused.contains("not sealed as passed"), "version {version}: {refused}");
    let answer = worker.run_sealed(&sealed);
    assert!(answer.is_ok(), "version {version}: {answer:?}");
}

/// While the machines are upgraded one after the other, a program of the version before works on what the new one has brought forward.
#[test]
fn the_functions_of_the_version_before_are_still_there() {
    let world = World::new();
    lay_out(&world, 2);
    let (ledger, now) = (world.open(), Stamp::clone(&TIME_TEXT.parse().unwrap()));
    let order = crate::queue::order("bbbb");
    ledger.queue_submitted(&order, now).unwrap();
    let asked = json!({"labels": [], "lease_seconds": 60, "owner": digest("0a")});
    let claim = format!("SELECT run_id, epoch FROM cto.queue_claim('{asked}')");
    assert_eq!(world.server.run_sql(&world.database, &claim).unwrap(), format!("{}|1", run("bbbb")));
    let found = "SELECT state, epoch FROM cto.find_queue('{\"limit\":5}')";
    assert_eq!(world.server.run_sql(&world.database, found).unwrap(), "claimed|1");
    start(&ledger, &ledger.store_time(now).unwrap());
    let renew = format!("SELECT cto.renew_lease('{}', 1, cto.queue_clock(60))", run("bbbb"));
    assert_eq!(world.server.run_sql(&world.database, &renew).unwrap(), "t");
}

fn start(ledger: &Ledger, now: &Stamp) {
    let plain = started(&run("bbbb"), 0);
    let intent = RunIntent { owner: Some(digest("0a")), epoch: Some(1), ..plain.intent };
    let lease_until = Some(now.after(Duration::from_secs(60)));
    ledger.run_started(&RunStarted { time: *now, lease_until, intent, ..plain }).unwrap();
    let ask = ClaimAsk {
        owner: digest("0b"),
        engines: None,
        labels: Vec::new(),
        limits: QueueLimits::default(),
        lease: Duration::from_secs(60),
        now: *now,
    };
    assert_eq!(ledger.queue_claimed(&ask).unwrap(), None, "nobody gets it twice");
}
