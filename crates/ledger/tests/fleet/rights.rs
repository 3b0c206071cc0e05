//! A worker's role may append what follows, and nothing else.

use std::time::Duration;

use crate::fixtures::{TIME, TIME_TEXT, digest, run, sealed, started};
use crate::queue::{ask, order};
use crate::world::{World, open_at};
use contract::Stamp;
use ledger::{AppendEntryError, ClaimAsk, EntryKind, Ledger, RequestIntent, RunIntent, RunStarted};
use serde_json::{Value, json};
use testkit::each_row;

/// A ledger with an entry, and the name of a worker's role.
pub(crate) fn with_worker() -> (World, String) {
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
    let refused = worker.verify().unwrap_err();
    assert!(refused.to_string().contains("check the chain as an operator"), "{refused}");
    assert_eq!(world.open().verify().unwrap().problems, vec![]);
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
        "SELECT cto.append_entry(2, 't', 'k', NULL, '{}', 'p', 'h')",
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

/// A kind that a worker may append about any run.
const KIND: &str = "run.late_refused";

/// Body of such an entry.
fn late_body() -> String {
    format!("{{\"epoch\":1,\"run_id\":\"{}\"}}", run("aaaa"))
}

/// By hand, with the function that a worker has: only what truly follows is taken.
#[test]
fn a_stolen_worker_cannot_forge_an_entry() {
    let (world, role) = with_worker();
    world.open().run_started(&started(&run("aaaa"), 0)).unwrap();
    let (head, body) = (world.open().head().unwrap(), late_body());
    let call = |seq: u64, prev: &str, hash: &str| {
        let sql =
            format!("SELECT cto.insert_entry({seq}, '{TIME_TEXT}', '{KIND}', NULL, '{body}', '{prev}', '{hash}')");
        world.server.run_sql_as(&role, &world.database, &sql)
    };
    let (prev, zero) = (head.hash.to_string(), "0".repeat(64));
    let good = format!("SELECT cto.entry_hash(3, '{TIME_TEXT}', '{KIND}', NULL, '{body}', '{prev}')");
    let hash = world.server.run_sql(&world.database, &good).unwrap();
    for (seq, prev, of_hash, why) in [
        (2, &prev, &hash, "does not follow"),
        (4, &prev, &hash, "does not follow"),
        (3, &zero, &hash, "does not follow"),
        (3, &prev, &zero, "is not that of the entry"),
    ] {
        let refused = call(seq, prev, of_hash).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    call(3, &prev, &hash).expect("control: what follows is taken");
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

/// A ledger on which one worker has started a run of the queue, and another one has nothing.
pub(crate) struct TwoWorkers {
    pub(crate) world: World,
    /// The worker that has the run, and the one that was stolen.
    pub(crate) honest: String,
    pub(crate) stolen: String,
    pub(crate) now: Stamp,
}

impl TwoWorkers {
    pub(crate) fn new() -> Self {
        let (world, honest) = with_worker();
        let stolen = format!("stolen_of_{}", world.database);
        world.edit(&format!("CREATE ROLE {stolen} LOGIN IN ROLE cto_worker"));
        let owner = world.open();
        let now = owner.store_time(*TIME).unwrap();
        for suffix in ["aaaa", "bbbb"] {
            let detail = json!({"task": format!("contract-of-{suffix}")});
            owner.queue_submitted(&ledger::QueueOrder { detail, ..order(suffix) }, now).unwrap();
        }
        let intent = RequestIntent {
            request: digest("cc"),
            task_id: "another".to_owned().try_into().unwrap(),
            stage: contract::Stage::DISPOSABLE_REPOSITORY,
            detail: Value::Null,
        };
        owner.request_recorded(now, &intent).unwrap();
        let two = Self { world, honest, stolen, now };
        two.claim_and_start(&two.ledger_of(&two.honest), "aaaa");
        two
    }

    pub(crate) fn ledger_of(&self, role: &str) -> Ledger {
        open_at(&self.world.place_of(role))
    }

    pub(crate) fn claim_and_start(&self, ledger: &Ledger, suffix: &str) {
        let claimed = ledger.queue_claimed(&ClaimAsk { lease: Duration::from_secs(600), ..ask(self.now) }).unwrap();
        assert_eq!(claimed.unwrap().run_id, run(suffix));
        let plain = started(&run(suffix), 0);
        let intent = RunIntent { owner: Some(digest("0a")), epoch: Some(1), ..plain.intent };
        let lease_until = Some(self.now.after(Duration::from_secs(600)));
        ledger.run_started(&RunStarted { time: self.now, lease_until, intent, ..plain }).unwrap();
    }

    /// SQL that appends what truly follows.
    pub(crate) fn entry(&self, time: &str, kind: &str, run_id: Option<&str>, body: &str) -> String {
        let head = self.world.open().head().unwrap();
        let run_id = run_id.map_or("NULL".to_owned(), |run| format!("'{run}'"));
        let said = format!("{}, '{time}', '{kind}', {run_id}, '{body}', '{}'", head.seq + 1, head.hash);
        let hash = self.world.server.run_sql(&self.world.database, &format!("SELECT cto.entry_hash({said})")).unwrap();
        format!("SELECT cto.insert_entry({said}, '{hash}')")
    }

    /// Tries it as a role, and leaves everything as it was.
    pub(crate) fn attempt(&self, role: &str, sql: &str) -> Result<String, String> {
        self.world.server.run_sql_as(role, &self.world.database, &format!("BEGIN; {sql}; ROLLBACK"))
    }
}

/// Everything that a stolen worker might say of runs that are not its own. Who has the run, or an operator, may say it: the control.
#[test]
fn a_stolen_worker_says_nothing_of_other_runs() {
    let two = TwoWorkers::new();
    let (ours, waits) = (run("aaaa").to_string(), run("bbbb").to_string());
    let (ours, time) = (Some(ours.as_str()), two.now.to_string());
    let far = "9999-01-01T00:00:00.000000Z";
    let (honest, operator) = (two.honest.as_str(), testkit::SUPERUSER);
    let sealing = serde_json::to_string(&sealed(&run("aaaa")).seal).unwrap();
    let sealing: String = contract::canonical_text(&serde_json::from_str::<Value>(&sealing).unwrap()).unwrap();
    let about = |run: &str| format!("{{\"run_id\":\"{run}\"}}");
    let account = |run: &str| format!("{{\"day\":\"2026-03-01\",\"pair\":\"p/m\",\"run\":\"{run}\",\"tokens\":5}}");
    let using = format!("{{\"request\":\"{}\"}}", digest("cc"));
    let claimed = format!("{{\"epoch\":1,\"run_id\":\"{waits}\"}}");
    let entry = |kind: &str, run: Option<&str>, body: &str| two.entry(&time, kind, run, body);
    let mine = "is not of role";
    let rows = [
        ("seal", (entry("evidence.sealed", ours, &sealing), honest, mine)),
        ("start the engine", (entry("engine.starting", ours, "{}"), honest, mine)),
        ("land", (entry("change.landed", ours, "{}"), operator, mine)),
        ("collect", (entry("evidence.collected", ours, "{}"), operator, mine)),
        ("use a request", (entry("approval.used", ours, &using), operator, mine)),
        ("use a model", (entry("model.settled", None, &account(ours.unwrap())), honest, mine)),
        ("use a model of nobody", (entry("model.settled", None, "{}"), operator, mine)),
        ("cancel", (entry("queue.cancelled", None, &about(&waits)), operator, "under the epoch of its claim")),
        ("cancel under an epoch", (entry("queue.cancelled", None, &claimed), operator, mine)),
        ("start a queued run", (entry("run.started", Some(&waits), "{}"), operator, mine)),
        ("submit", (entry("queue.submitted", None, "{}"), operator, "are not a worker")),
        ("vouch", (entry("ledger.continued", None, "{}"), operator, "are not a worker")),
        ("trust", (entry("trust.changed", None, "{}"), operator, "are not a worker")),
        ("halt", (entry("halt.set", None, "{}"), operator, "are not a worker")),
        ("approve", (entry("approval.granted", None, &using), operator, "are not a worker")),
        ("an outcome", (entry("operator.outcome.recorded", ours, "{}"), operator, "are not a worker")),
        ("a kind of nobody", (entry("run.begun", None, "{}"), operator, "are not a worker")),
        ("spaces", (entry(KIND, None, "{\"a\": 1}"), operator, "canonical form")),
        ("disorder", (entry(KIND, None, "{\"b\":1,\"a\":1}"), operator, "canonical form")),
        ("a key twice", (entry(KIND, None, "{\"a\":[{\"b\":1,\"b\":2}]}"), operator, "canonical form")),
        ("no object", (entry(KIND, None, "1"), operator, "canonical form")),
        ("a time ahead", (two.entry(far, KIND, None, "{}"), operator, "ahead of the server")),
        (
            "take a live lease",
            (format!("SELECT cto.put_lease('{}', 'o', 2, '{time}')", run("bbbb")), operator, "epoch"),
        ),
        (
            "keep a lease for ever",
            (format!("SELECT cto.renew_lease('{waits}', 1, '{far}')"), operator, "ends too late"),
        ),
        ("beat for ever", (format!("SELECT cto.keep_lease('{waits}', 1, 1e9)"), operator, "ends too late")),
        (
            "claim for ever",
            (
                "SELECT cto.queue_claim('{\"labels\":[],\"owner\":\"o\",\"lease_seconds\":1e9}')".to_owned(),
                operator,
                "ends too late",
            ),
        ),
        (
            "name a witness anew",
            ("SELECT cto.bind_evidence('file:///x', TRUE)".to_owned(), operator, "does not say where"),
        ),
    ];
    each_row(rows, |(sql, may, why)| {
        let refused = two.attempt(&two.stolen, &sql).unwrap_err();
        assert!(refused.contains(why), "{sql}: {refused}");
        let allowed = two.attempt(may, &sql);
        // Not everything that an operator may append makes sense here: it is refused for another reason then.
        assert!(
            !matches!(&allowed, Err(said) if said.contains(why)) || why == "epoch",
            "the control: {sql}: {allowed:?}"
        );
        assert!(may == operator || allowed.is_ok(), "the control: {sql}: {allowed:?}");
    });
    assert_eq!(two.world.open().verify().unwrap().problems, vec![]);
}

/// Leases and claims of others stay as they are, and a lease that lapsed is taken over.
#[test]
fn a_stolen_worker_takes_no_live_lease() {
    let two = TwoWorkers::new();
    let (ours, far) = (run("aaaa").to_string(), two.now.after(Duration::from_secs(7200)));
    let take = format!("SELECT cto.put_lease('{ours}', '{}', 2, '{far}')", digest("0b"));
    for role in [two.stolen.as_str(), two.honest.as_str(), testkit::SUPERUSER] {
        let refused = two.attempt(role, &take).unwrap_err();
        assert!(refused.contains("has not lapsed"), "{role}: {refused}");
    }
    let renew = format!("SELECT cto.renew_lease('{ours}', 1, '{far}')");
    assert_eq!(two.attempt(&two.stolen, &renew).unwrap(), "f");
    assert_eq!(two.attempt(&two.honest, &renew).unwrap(), "t", "control");
    let beat = format!("SELECT held FROM cto.keep_lease('{ours}', 1, 60)");
    assert_eq!(two.attempt(&two.stolen, &beat).unwrap(), "f");
    assert_eq!(two.attempt(&two.honest, &beat).unwrap(), "t", "control");
    two.world.edit("UPDATE leases SET lease_until = '2026-03-01T00:00:00.000000Z'");
    two.attempt(&two.stolen, &take).expect("control: it has lapsed, and is sealed by whoever finds it");
}

/// A worker reads the contract of a run once it has claimed it, and no other.
#[test]
fn a_stolen_worker_reads_no_contract_of_others() {
    let two = TwoWorkers::new();
    let read = |role: &str| {
        let entries = two.ledger_of(role).entries_of(&[EntryKind::QueueSubmitted], None).unwrap();
        entries.iter().map(|entry| entry.body["detail"]["task"].clone()).collect::<Vec<_>>()
    };
    let [first, second] = ["aaaa", "bbbb"].map(|suffix| json!(format!("contract-of-{suffix}")));
    assert_eq!(read(&two.stolen), [Value::Null, Value::Null]);
    assert_eq!(read(&two.honest), [first.clone(), Value::Null]);
    two.claim_and_start(&two.ledger_of(&two.stolen), "bbbb");
    assert_eq!(read(&two.stolen), [Value::Null, second.clone()], "control: what it claimed");
    assert_eq!(read(testkit::SUPERUSER), [first.clone(), second.clone()], "control: an operator");
    let operator = format!("operator_of_{}", two.world.database);
    two.world.edit(&format!("CREATE ROLE {operator} LOGIN IN ROLE cto_operator"));
    assert_eq!(read(&operator), [first, second]);
    let by_operator = two.ledger_of(&operator);
    by_operator.append(EntryKind::HaltSet, None, two.now, &json!({})).expect("control: an operator appends");
    assert_eq!(by_operator.verify().unwrap().problems, vec![]);
    let refused = by_operator.rebuild_rows().unwrap_err();
    assert!(matches!(refused, AppendEntryError::ReadOnly), "{refused}");
}

/// A stolen worker does nothing once its role may no longer log in.
#[test]
fn a_role_that_was_dropped_does_nothing() {
    let two = TwoWorkers::new();
    let ledger = two.ledger_of(&two.stolen);
    ledger.head().expect("control");
    two.world.edit(&format!("ALTER ROLE {} NOLOGIN", two.stolen));
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}'", two.stolen);
    two.world.server.run_sql("postgres", &end).unwrap();
    assert!(ledger.head().is_err());
    two.ledger_of(&two.honest).head().expect("control: the others go on");
}
