//! A worker's role may append what follows, and nothing else.

use crate::fixtures::{TIME, run, sealed, started};
use crate::world::{World, open_at};
use ledger::{AppendEntryError, EntryKind};
use serde_json::json;

/// A ledger with an entry, and the name of a worker's role.
fn with_worker() -> (World, String) {
    let world = World::new();
    world.open().append(EntryKind::HaltSet, None, *TIME, &json!({})).unwrap();
    let role = format!("worker_of_{}", world.database);
    world.edit(&format!("CREATE ROLE {role} LOGIN IN ROLE cto_worker"));
    (world, role)
}

#[test]
fn a_worker_works_by_the_functions_alone() {
    let (world, role) = with_worker();
    let worker = open_at(&world.place_of(&role));
    worker.run_started(&started(&run("aaaa"), 0)).unwrap();
    worker.run_sealed(&sealed(&run("aaaa"))).unwrap();
    assert_eq!(worker.runs_recent(&Default::default(), 9).unwrap().len(), 1);
    assert_eq!(worker.verify().unwrap().problems, vec![]);
    let refused = worker.rebuild_rows().unwrap_err();
    assert!(matches!(refused, AppendEntryError::ReadOnly), "{refused}");
    world.open().rebuild_rows().expect("control: the owner may");
}

/// Every table, by every verb; and every function that is not a worker's. The owner may do all of it, which is the control.
#[test]
fn a_stolen_worker_reaches_no_table() {
    let (world, role) = with_worker();
    let tables =
        world.server.run_sql(&world.database, "SELECT tablename FROM pg_tables WHERE schemaname = 'cto'").unwrap();
    assert!(tables.lines().count() > 4, "{tables}");
    for table in tables.lines() {
        for sql in [
            format!("SELECT * FROM cto.{table} LIMIT 1"),
            format!("INSERT INTO cto.{table} SELECT * FROM cto.{table} LIMIT 0"),
            format!("DELETE FROM cto.{table} WHERE FALSE"),
            format!("TRUNCATE cto.{table}"),
            format!("ALTER TABLE cto.{table} DISABLE TRIGGER ALL"),
            format!("DROP TABLE cto.{table}"),
        ] {
            let refused = world.server.run_sql_as(&role, &world.database, &sql).unwrap_err();
            assert!(refused.contains("permission denied") || refused.contains("must be owner"), "{sql}: {refused}");
        }
        world.server.run_sql(&world.database, &format!("SELECT * FROM cto.{table}")).expect("control");
    }
    for sql in [
        "SELECT cto.project_again()",
        "SELECT cto.copy_entries('{}', '{}', '{}', '{}', '{}', '{}', '{}')",
        "SELECT cto.insert_checked(2, 't', 'k', NULL, '{}', 'p', 'h')",
        "SELECT cto.adopt_ledger('x')",
        "SELECT cto.queue_entry(9, 't', 'queue.cancelled', NULL, '{}')",
        "CREATE TABLE cto.own (a INT)",
        "SELECT cto.project_entry(9, 't', 'run.started', 'r', '{}')",
    ] {
        let refused = world.server.run_sql_as(&role, &world.database, sql).unwrap_err();
        assert!(refused.contains("permission denied"), "{sql}: {refused}");
    }
}

/// By hand, with the function that a worker has: only what truly follows is taken.
#[test]
fn a_stolen_worker_cannot_forge_an_entry() {
    let (world, role) = with_worker();
    let head = world.open().head().unwrap();
    let call = |seq: u64, prev: &str, hash: &str| {
        let sql = format!("SELECT cto.insert_entry({seq}, 't', 'halt.set', NULL, '{{}}', '{prev}', '{hash}')");
        world.server.run_sql_as(&role, &world.database, &sql)
    };
    let (prev, zero) = (head.hash.to_string(), "0".repeat(64));
    let good = format!("SELECT cto.entry_hash(2, 't', 'halt.set', NULL, '{{}}', '{prev}')");
    let hash = world.server.run_sql(&world.database, &good).unwrap();
    for (seq, prev, of_hash, why) in [
        (1, &prev, &hash, "does not follow"),
        (3, &prev, &hash, "does not follow"),
        (2, &zero, &hash, "does not follow"),
        (2, &prev, &zero, "is not that of the entry"),
    ] {
        let refused = call(seq, prev, of_hash).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    call(2, &prev, &hash).expect("control: what follows is taken");
    assert_eq!(world.open().verify().unwrap().problems, vec![]);
}

/// A table of the same name that a worker puts before ours is not looked at.
#[test]
fn a_search_path_of_the_callers_changes_nothing() {
    let (world, role) = with_worker();
    let sql = "CREATE TEMP TABLE entries (seq BIGINT, hash TEXT); INSERT INTO entries VALUES (99, 'x'); \
         SET search_path = pg_temp, cto; SELECT seq FROM cto.read_head()";
    assert_eq!(world.server.run_sql_as(&role, &world.database, sql).unwrap(), "1");
}
