//! The tables of a ledger file: how a new one is laid out, and how an older one is brought forward.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// "ctoL": tells a ledger from any other SQLite file.
pub(super) const APPLICATION_ID: i32 = 0x6374_6f4c;

/// Raised with every migration.
pub(super) const VERSION: i32 = 8;
/// The first version with a table of leases.
pub(super) const WITH_LEASES: i32 = 2;
/// The first version with a table of requests for approval.
pub(super) const WITH_REQUESTS: i32 = 3;
/// The first version that knows the identities of runs.
pub(super) const WITH_IDENTITIES: i32 = 4;
/// The first version whose rows say which bundles were collected and which runs were answered.
pub(super) const WITH_ANSWERS: i32 = 5;
/// The first version with a queue.
pub(super) const WITH_QUEUE: i32 = 6;

// An index of a list ends in (started_at, seq), and one of a rung in seq, so that each filter is a range of one index in its order.
// SQLite adds seq by itself.
const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    run_id TEXT,
    body TEXT NOT NULL,
    prev TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE INDEX entries_by_run ON entries (run_id, seq) WHERE run_id IS NOT NULL;
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'ledger entries are append-only'); END;
CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'ledger entries are append-only'); END;
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    suffix TEXT NOT NULL,
    task_id TEXT NOT NULL,
    engine TEXT NOT NULL,
    stage INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    duration_ms INTEGER,
    reasons TEXT NOT NULL,
    tests_passed INTEGER,
    tests_executed INTEGER,
    attestation_sha256 TEXT,
    bundle TEXT,
    sealed_seq INTEGER
) STRICT;
CREATE INDEX runs_by_suffix ON runs (suffix);
CREATE INDEX runs_by_time ON runs (started_at);
CREATE INDEX runs_by_status ON runs (status, started_at);
CREATE INDEX runs_by_engine ON runs (engine, started_at);
CREATE INDEX runs_by_task ON runs (task_id, started_at);
INSERT INTO counters VALUES ('runs', 0);
";

/// The statements that make a ledger of the next version out of one of this version. Each is run once, in the transaction that
/// also raises the version. A migration is never edited once it was released: files of every version are opened by it.
struct Migration {
    from: i32,
    statements: &'static [&'static str],
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        from: 1,
        statements: &[
            "ALTER TABLE runs ADD COLUMN owner TEXT",
            "CREATE TABLE leases (
            run_id TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            epoch INTEGER NOT NULL,
            lease_until TEXT NOT NULL
        ) STRICT, WITHOUT ROWID",
            "CREATE INDEX IF NOT EXISTS entries_of_models ON entries (time) WHERE kind IN ('model.reserved', 'model.settled')",
        ],
    },
    Migration {
        from: 2,
        statements: &[
            "CREATE TABLE requests (
            request TEXT PRIMARY KEY,
            seq INTEGER NOT NULL UNIQUE,
            task_id TEXT NOT NULL,
            stage INTEGER NOT NULL,
            requested_at TEXT NOT NULL,
            grants INTEGER NOT NULL DEFAULT 0,
            held_seq INTEGER,
            denied_seq INTEGER,
            revoked_seq INTEGER,
            used_seq INTEGER,
            used_by TEXT
        ) STRICT, WITHOUT ROWID",
            "CREATE INDEX requests_by_task ON requests (task_id, seq)",
            "CREATE INDEX entries_by_time ON entries (time)",
            "CREATE INDEX entries_of_requests ON entries (seq) WHERE kind IN ('approval.requested', 'approval.granted', \
             'approval.denied', 'approval.held', 'approval.released', 'approval.revoked', 'approval.used')",
        ],
    },
    Migration {
        from: 3,
        // An empty model is none, so that identities have an order; without a source the identity is not known.
        statements: &[
            "ALTER TABLE runs ADD COLUMN source_id TEXT",
            "ALTER TABLE runs ADD COLUMN model TEXT",
            "CREATE INDEX runs_by_rung ON runs (engine, purpose, stage, source_id, model, started_at)",
        ],
    },
    Migration {
        from: 4,
        // A source id that ends in `@unknown` is of an engine that was never identified.
        statements: &[
            "ALTER TABLE runs ADD COLUMN collected_seq INTEGER",
            "ALTER TABLE runs ADD COLUMN outcome_seq INTEGER",
            "UPDATE runs SET collected_seq = (SELECT min(seq) FROM entries WHERE entries.run_id = runs.run_id AND \
             kind = 'evidence.collected') WHERE run_id IN (SELECT run_id FROM entries WHERE kind = 'evidence.collected')",
            "UPDATE runs SET outcome_seq = (SELECT max(seq) FROM entries WHERE entries.run_id = runs.run_id AND \
             kind = 'operator.outcome.recorded' AND json_valid(body) AND json_type(body, '$.signature') = 'text') \
             WHERE run_id IN (SELECT run_id FROM entries WHERE kind = 'operator.outcome.recorded')",
            "CREATE INDEX runs_to_weigh ON runs (engine, purpose, stage, source_id, model, started_at) \
             WHERE collected_seq IS NULL OR status <> 'pass'",
            "CREATE INDEX passes_by_rung ON runs (engine, purpose, stage, source_id, model, started_at) \
             WHERE status = 'pass' AND collected_seq IS NULL",
            "CREATE INDEX passes_by_stage ON runs (engine, purpose, stage, started_at) \
             WHERE status = 'pass' AND collected_seq IS NULL",
            "CREATE INDEX runs_by_model ON runs (engine, purpose, model, started_at) \
             WHERE substr(source_id, -8) <> '@unknown'",
            "CREATE INDEX runs_unanswered ON runs (status, purpose, started_at) WHERE status = 'pass' AND purpose = 'governed' AND stage >= 5 \
             AND outcome_seq IS NULL AND collected_seq IS NULL",
            "CREATE INDEX requests_undecided ON requests (seq) \
             WHERE used_seq IS NULL AND denied_seq IS NULL AND revoked_seq IS NULL",
            "CREATE INDEX entries_by_request ON entries \
             (CASE WHEN json_valid(body) THEN json_extract(body, '$.request') END, seq) WHERE kind IN \
             ('approval.requested', 'approval.granted', 'approval.denied', 'approval.held', 'approval.released', \
             'approval.revoked', 'approval.used')",
        ],
    },
    Migration {
        from: 5,
        statements: &[
            "CREATE TABLE queue (
            run_id TEXT PRIMARY KEY,
            seq INTEGER NOT NULL UNIQUE,
            submitted_at TEXT NOT NULL,
            task_id TEXT NOT NULL,
            engine TEXT NOT NULL,
            stage INTEGER NOT NULL,
            workspace TEXT NOT NULL,
            target_key TEXT,
            priority INTEGER NOT NULL,
            after_run TEXT,
            not_before TEXT,
            labels TEXT NOT NULL,
            state TEXT NOT NULL,
            epoch INTEGER NOT NULL,
            owner TEXT,
            lease_until TEXT,
            started_at TEXT,
            stopping INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID",
            "CREATE UNIQUE INDEX queue_targets ON queue (target_key) WHERE state IN ('claimed', 'started')",
            "CREATE INDEX queue_waiting ON queue (priority DESC, seq) WHERE state = 'queued'",
            "CREATE INDEX queue_active ON queue (state, engine) WHERE state IN ('claimed', 'started')",
            "CREATE INDEX queue_by_start ON queue (started_at) WHERE started_at IS NOT NULL",
        ],
    },
    Migration {
        from: 6,
        // The runs of a rung are in the order of their entries, and outages are left out where they decide nothing.
        statements: &[
            "DROP INDEX runs_by_rung",
            "DROP INDEX runs_to_weigh",
            "DROP INDEX passes_by_rung",
            "DROP INDEX passes_by_stage",
            "DROP INDEX runs_by_model",
            "CREATE INDEX runs_of_task ON runs (task_id)",
            "CREATE INDEX runs_by_rung ON runs (engine, purpose, stage, source_id, model)",
            "CREATE INDEX runs_to_weigh ON runs (engine, purpose, stage, source_id, model) WHERE (collected_seq IS NULL OR \
             (status = 'fail' OR status = 'blocked' AND (instr(reasons, '\"timeout\"') \
             OR instr(reasons, '\"lifecycle_timeout_after_valid_patch\"') OR instr(reasons, '\"budget_exceeded\"') \
             OR instr(reasons, '\"reviewer_rejected\"'))))",
            "CREATE INDEX runs_that_decide ON runs (engine, purpose, stage, source_id, model) WHERE \
             ((status = 'fail' OR status = 'blocked' AND (instr(reasons, '\"timeout\"') \
             OR instr(reasons, '\"lifecycle_timeout_after_valid_patch\"') OR instr(reasons, '\"budget_exceeded\"') \
             OR instr(reasons, '\"reviewer_rejected\"'))) OR status = 'pass' AND collected_seq IS NULL)",
            "CREATE INDEX passes_by_rung ON runs (engine, purpose, stage, source_id, model) \
             WHERE status = 'pass' AND collected_seq IS NULL",
            "CREATE INDEX passes_by_stage ON runs (engine, purpose, stage) \
             WHERE status = 'pass' AND collected_seq IS NULL",
            "CREATE INDEX runs_by_model ON runs (engine, purpose, model) \
             WHERE substr(source_id, -8) <> '@unknown'",
        ],
    },
    Migration {
        from: 7,
        // Few entries, which almost every command asks for; and lists by stage, and by the time that runs took.
        statements: &[
            "CREATE INDEX entries_of_keys ON entries (kind) WHERE kind IN ('trust.changed', 'worker.admitted', \
             'worker.removed', 'ledger.continued')",
            "CREATE INDEX runs_by_stage ON runs (stage, started_at)",
            "CREATE INDEX runs_by_duration ON runs (duration_ms)",
        ],
    },
];

/// Lays out an empty file, unless another process did so in the meantime. Nothing of a half-made ledger ever stays.
pub(super) fn create_schema(connection: &Connection, ledger_id: &str) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if version(&transaction)? == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO meta VALUES ('ledger_id', ?1)", [ledger_id])?;
        transaction.execute("INSERT INTO meta VALUES ('schema_version', '1')", [])?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", 1)?;
        migrate_within(&transaction, &|_| {})?;
    }
    transaction.commit()
}

/// Brings an older ledger forward, all the way or not at all. `pass` is called at each step.
pub(super) fn migrate_file(connection: &Connection, pass: &dyn Fn(&'static str)) -> rusqlite::Result<()> {
    pass("ledger.migrating");
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    migrate_within(&transaction, pass)?;
    pass("ledger.migration_ready");
    transaction.commit()?;
    pass("ledger.migrated");
    Ok(())
}

/// Runs what is missing. Another process may have brought the ledger forward since its version was looked at.
fn migrate_within(transaction: &Connection, pass: &dyn Fn(&'static str)) -> rusqlite::Result<()> {
    for migration in MIGRATIONS {
        if version(transaction)? != migration.from {
            continue;
        }
        for statement in migration.statements {
            transaction.execute_batch(statement)?;
            pass("ledger.migration_step");
        }
        let to = migration.from + 1;
        transaction.execute("UPDATE meta SET value = ?1 WHERE key = 'schema_version'", [to.to_string()])?;
        transaction.pragma_update(None, "user_version", to)?;
    }
    Ok(())
}

/// Version of the tables, which SQLite keeps in the file's header.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Mark in the file's header that tells a ledger from other databases.
pub(super) fn application_id(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

/// True for a file without any table.
pub(super) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

/// Value of the table `meta`.
pub(super) fn meta(connection: &Connection, key: &str) -> rusqlite::Result<String> {
    connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_lead_from_the_first_version_to_this_one() {
        let from: Vec<i32> = MIGRATIONS.iter().map(|migration| migration.from).collect();
        assert_eq!(from, (1..VERSION).collect::<Vec<_>>());
    }
}
