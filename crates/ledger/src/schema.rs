//! The tables of a ledger file, and how a new one is laid out.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// "ctoL": tells a ledger from any other SQLite file.
pub(crate) const APPLICATION_ID: i32 = 0x6374_6f4c;

/// Raised when a ledger written by this program can no longer be read by the one before it.
pub(crate) const VERSION: i32 = 1;

// Every index of `runs` ends in (started_at, seq), so that each single filter is a range of one index in listing order.
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

/// Lays out an empty file, unless another process did so in the meantime. Nothing of a half-made ledger ever stays.
pub(crate) fn create(connection: &Connection, ledger_id: &str) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if version(&transaction)? == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO meta VALUES ('ledger_id', ?1)", [ledger_id])?;
        transaction.execute("INSERT INTO meta VALUES ('schema_version', ?1)", [VERSION.to_string()])?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

pub(crate) fn application_id(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

pub(crate) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

pub(crate) fn meta(connection: &Connection, key: &str) -> rusqlite::Result<String> {
    connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0))
}
