//! Appending: every write is one immediate transaction, so that the head an entry is chained to is still the head when it
//! is committed, and an entry and its row in `runs` are there together or not at all.

use std::fmt;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entry::{Hashed, Position, head};
use crate::open::is_busy;
use crate::runs::{self, RunRow, Verdict};
use crate::{Ledger, kind};

/// A run that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    #[serde(skip)]
    pub run_id: String,
    #[serde(skip)]
    pub time: String,
    pub task_id: String,
    pub engine: String,
    pub stage: u8,
    pub purpose: String,
    /// What recovery needs to account for the run should it die: the caller's own.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

/// A run whose bundle is in its final place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSealed {
    #[serde(skip)]
    pub run_id: String,
    /// When the entry is written; the run itself finished at `finished_at`.
    #[serde(skip)]
    pub time: String,
    #[serde(rename = "status")]
    pub verdict: Verdict,
    pub finished_at: String,
    pub duration_ms: u64,
    pub reasons: Vec<String>,
    pub tests_passed: Option<u64>,
    pub tests_executed: Option<u64>,
    pub attestation_sha256: String,
    /// Relative to the home folder.
    pub bundle: String,
}

impl Ledger {
    /// Appends an entry of the caller's own kind.
    pub fn append(
        &self,
        kind: &str,
        run_id: Option<&str>,
        time: &str,
        body: &Value,
    ) -> Result<Position, AppendEntryError> {
        if kind::OF_EVERY_RUN.contains(&kind) {
            return Err(AppendEntryError::ReservedKind { kind: kind.to_owned() });
        }
        let transaction = self.begin()?;
        let position = push(&transaction, kind, run_id, time, body)?;
        transaction.commit()?;
        Ok(position)
    }

    /// Records a run that is about to begin. Its place in the chain is what the run's evidence is tied to.
    pub fn run_started(&self, run: &RunStarted) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(run)?;
        let transaction = self.begin()?;
        if runs::get(&transaction, &run.run_id)?.is_some() {
            return Err(AppendEntryError::AlreadyStarted { run_id: run.run_id.clone() });
        }
        let position = push(&transaction, kind::RUN_STARTED, Some(&run.run_id), &run.time, &body)?;
        runs::put(&transaction, &RunRow::started(position.seq, run))?;
        transaction.execute("UPDATE counters SET value = value + 1 WHERE name = 'runs'", [])?;
        transaction.commit()?;
        Ok(position)
    }

    /// Records, before it happens, that the engine process is started.
    pub fn engine_starting(&self, run_id: &str, time: &str, body: &Value) -> Result<Position, AppendEntryError> {
        let transaction = self.begin()?;
        let run = started_run(&transaction, run_id)?;
        if let Some(recorded) = run.attestation_sha256 {
            return Err(AppendEntryError::AlreadySealed { run_id: run.run_id, recorded });
        }
        let position = push(&transaction, kind::ENGINE_STARTING, Some(run_id), time, body)?;
        transaction.commit()?;
        Ok(position)
    }

    /// Records a sealed bundle. Saying the same again changes nothing and gives the first entry's place.
    pub fn run_sealed(&self, sealed: &RunSealed) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(sealed)?;
        let transaction = self.begin()?;
        let run = started_run(&transaction, &sealed.run_id)?;
        if let Some(recorded) = run.attestation_sha256 {
            if recorded != sealed.attestation_sha256 {
                return Err(AppendEntryError::AlreadySealed { run_id: run.run_id, recorded });
            }
            return Ok(position_of(&transaction, run.sealed_seq)?);
        }
        let position = push(&transaction, kind::EVIDENCE_SEALED, Some(&run.run_id), &sealed.time, &body)?;
        runs::put(&transaction, &run.sealed(position.seq, sealed))?;
        transaction.commit()?;
        Ok(position)
    }

    pub(crate) fn begin(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }
}

pub(crate) fn push(
    transaction: &Connection,
    kind: &str,
    run_id: Option<&str>,
    time: &str,
    body: &Value,
) -> Result<Position, AppendEntryError> {
    if !is_utc(time) {
        return Err(AppendEntryError::Time { time: time.to_owned() });
    }
    let last = head(transaction)?;
    let seq = last.seq + 1;
    let prev = last.hash.as_str();
    let body = serde_json_canonicalizer::to_string(body)?;
    let hash = Hashed { seq, time, kind, run_id, body: &body, prev }.hash()?;
    transaction
        .prepare_cached(
            "INSERT INTO entries (seq, time, kind, run_id, body, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![seq, time, kind, run_id, body, prev, hash])?;
    Ok(Position { seq, hash })
}

pub(crate) fn started_run(transaction: &Connection, run_id: &str) -> Result<RunRow, AppendEntryError> {
    runs::get(transaction, run_id)?.ok_or_else(|| AppendEntryError::NotStarted { run_id: run_id.to_owned() })
}

fn position_of(transaction: &Connection, seq: Option<u64>) -> rusqlite::Result<Position> {
    transaction.query_row("SELECT seq, hash FROM entries WHERE seq = ?1", [seq], |row| {
        Ok(Position { seq: row.get(0)?, hash: row.get(1)? })
    })
}

/// Lists are ordered by comparing times as text, which is right for one shape only: `yyyy-mm-ddThh:mm:ss[.fraction]Z`.
fn is_utc(time: &str) -> bool {
    let Some(time) = time.strip_suffix('Z') else {
        return false;
    };
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let shape = whole.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq("0000-00-00T00:00:00".bytes())
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

/// Why nothing was appended.
#[derive(Debug)]
#[non_exhaustive]
pub enum AppendEntryError {
    /// This kind has a method of its own, which also keeps the row in `runs`.
    ReservedKind {
        kind: String,
    },
    /// The time is not RFC 3339 in UTC.
    Time {
        time: String,
    },
    AlreadyStarted {
        run_id: String,
    },
    NotStarted {
        run_id: String,
    },
    NotSealed {
        run_id: String,
    },
    /// The run was sealed before, with the attestation `recorded`.
    AlreadySealed {
        run_id: String,
        recorded: String,
    },
    /// The body has no canonical form.
    Body(serde_json::Error),
    /// Others kept the ledger locked for as long as we wait.
    Busy,
    /// The disk is full.
    Full,
    /// The ledger was opened to look only, or may no longer be written.
    ReadOnly,
    Sqlite(rusqlite::Error),
}

impl From<serde_json::Error> for AppendEntryError {
    fn from(error: serde_json::Error) -> Self {
        Self::Body(error)
    }
}

impl From<rusqlite::Error> for AppendEntryError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            _ if is_busy(&error) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            _ => Self::Sqlite(error),
        }
    }
}

impl fmt::Display for AppendEntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReservedKind { kind } => write!(f, "ledger entries of kind {kind} are not appended by hand"),
            Self::Time { time } => {
                write!(f, "ledger entries need a time like 2026-01-31T08:00:00.000000Z, not {time:?}")
            }
            Self::AlreadyStarted { run_id } => write!(f, "run {run_id} is in the ledger already"),
            Self::NotStarted { run_id } => write!(f, "run {run_id} is not in the ledger"),
            Self::NotSealed { run_id } => write!(f, "run {run_id} is not sealed"),
            Self::AlreadySealed { run_id, recorded } => {
                write!(f, "run {run_id} is sealed already, with attestation {recorded}")
            }
            Self::Body(error) => write!(f, "cannot write a ledger entry as canonical JSON: {error}"),
            Self::Busy => f.write_str("the ledger is locked by other commands"),
            Self::Full => f.write_str("cannot append to the ledger: the disk is full"),
            Self::ReadOnly => f.write_str("cannot append to the ledger: it is read-only"),
            Self::Sqlite(error) => write!(f, "cannot append to the ledger: {error}"),
        }
    }
}

impl std::error::Error for AppendEntryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Body(error) => Some(error),
            Self::Sqlite(error) => Some(error),
            _ => None,
        }
    }
}
