//! Appending: every write is one immediate transaction, so that the head an entry is chained to is still the head when it
//! is committed, and an entry and its row in `runs` are there together or not at all.

use contract::{Digest, Purpose, Reason, RunId, Stage, Stamp, Status, TaskId};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Ledger;
use crate::entry::{Hashed, Position, head, position_from_row};
use crate::kind::{EntryKind, KindRole};
use crate::lease::{self, Lease};
use crate::open::is_busy;
use crate::request::{self, ApprovalUse, UnusableRequest};
use crate::runs::{self, RunRow};

/// A run that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStarted {
    pub run_id: RunId,
    pub time: Stamp,
    /// The end of the owner's first lease.
    pub lease_until: Option<Stamp>,
    pub intent: RunIntent,
}

/// The body of its entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunIntent {
    pub task_id: TaskId,
    pub engine: String,
    pub stage: Stage,
    pub purpose: Purpose,
    /// The instance that runs it; older programs named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Digest>,
    /// What recovery needs to account for the run should it die: the caller's own.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

/// A run whose bundle is in its final place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSealed {
    pub run_id: RunId,
    /// When the entry is written; the run itself finished at `finished_at`.
    pub time: Stamp,
    /// The lease under which it was sealed; an older one is refused.
    pub epoch: Option<u64>,
    pub seal: RunSeal,
}

/// The body of its entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSeal {
    pub status: Status,
    pub finished_at: Stamp,
    pub duration_ms: u64,
    pub reasons: Vec<Reason>,
    pub tests_passed: Option<u64>,
    pub tests_executed: Option<u64>,
    pub attestation_sha256: Digest,
    /// Relative to the home folder of the instance that sealed it.
    pub bundle: String,
    /// That instance, where another started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Digest>,
}

impl Ledger {
    /// Appends an entry of a kind that has no method of its own.
    pub fn append(
        &self,
        kind: EntryKind,
        run_id: Option<&RunId>,
        time: Stamp,
        body: &Value,
    ) -> Result<Position, AppendEntryError> {
        if matches!(kind.role(), KindRole::Life | KindRole::Request) {
            return Err(AppendEntryError::ReservedKind { kind });
        }
        let transaction = self.begin()?;
        let position = push(&transaction, kind, run_id, time, body)?;
        transaction.commit()?;
        Ok(position)
    }

    /// Records a run that is about to begin. Its place in the chain is what the run's evidence is tied to.
    pub fn run_started(&self, run: &RunStarted) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(&run.intent)?;
        let transaction = self.begin()?;
        if runs::get(&transaction, &run.run_id)?.is_some() {
            return Err(AppendEntryError::AlreadyStarted { run_id: run.run_id.clone() });
        }
        let position = push(&transaction, EntryKind::RunStarted, Some(&run.run_id), run.time, &body)?;
        runs::put(&transaction, &RunRow::started(position.seq, &run.run_id, run.time, &run.intent))?;
        if let (Some(owner), Some(until)) = (run.intent.owner, run.lease_until) {
            lease::put(&transaction, &run.run_id, &Lease { owner, epoch: FIRST_EPOCH, until })?;
        }
        transaction.execute("UPDATE counters SET value = value + 1 WHERE name = 'runs'", [])?;
        transaction.commit()?;
        Ok(position)
    }

    /// Records, before it happens, that the engine process is started; where the run rests on an approval, that is used up in the
    /// same transaction.
    pub fn engine_starting(
        &self,
        run_id: &RunId,
        time: Stamp,
        body: &Value,
        approval: Option<&ApprovalUse>,
    ) -> Result<Position, AppendEntryError> {
        let transaction = self.begin()?;
        let run = started_run(&transaction, run_id)?;
        if let Some(recorded) = run.attestation_sha256 {
            return Err(AppendEntryError::AlreadySealed { run_id: run.run_id, recorded });
        }
        if let Some(used) = approval {
            request::use_up(&transaction, used, run_id, time)?;
        }
        let position = push(&transaction, EntryKind::EngineStarting, Some(run_id), time, body)?;
        transaction.commit()?;
        Ok(position)
    }

    /// Records a sealed bundle. Saying the same again changes nothing and gives the first entry's place.
    pub fn run_sealed(&self, sealed: &RunSealed) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(&sealed.seal)?;
        let transaction = self.begin()?;
        let run = started_run(&transaction, &sealed.run_id)?;
        if let Some(recorded) = run.attestation_sha256 {
            if recorded != sealed.seal.attestation_sha256 {
                return Err(AppendEntryError::AlreadySealed { run_id: run.run_id, recorded });
            }
            return Ok(position_of(&transaction, run.sealed_seq)?);
        }
        if let (Some(epoch), Some(held)) = (sealed.epoch, lease::lease_of(&transaction, &run.run_id)?)
            && epoch != held.epoch
        {
            return Err(AppendEntryError::LeaseLost { run_id: run.run_id, epoch, held: held.epoch });
        }
        let position = push(&transaction, EntryKind::EvidenceSealed, Some(&run.run_id), sealed.time, &body)?;
        lease::remove(&transaction, &run.run_id)?;
        runs::put(&transaction, &run.sealed(position.seq, &sealed.seal))?;
        transaction.commit()?;
        Ok(position)
    }

    pub(crate) fn begin(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }
}

pub(crate) fn push(
    transaction: &Connection,
    kind: EntryKind,
    run_id: Option<&RunId>,
    time: Stamp,
    body: &Value,
) -> Result<Position, AppendEntryError> {
    let last = head(transaction)?;
    let seq = last.seq + 1;
    let (prev, time, kind) = (last.hash.to_string(), time.to_string(), kind.name());
    let run_id = run_id.map(RunId::as_str);
    let body = serde_json_canonicalizer::to_string(body)?;
    let hash = Hashed { seq, time: &time, kind, run_id, body: &body, prev: &prev }.hash()?;
    transaction
        .prepare_cached(
            "INSERT INTO entries (seq, time, kind, run_id, body, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![seq, time, kind, run_id, body, prev, hash.to_string()])?;
    Ok(Position { seq, hash })
}

pub(crate) fn started_run(transaction: &Connection, run_id: &RunId) -> Result<RunRow, AppendEntryError> {
    runs::get(transaction, run_id)?.ok_or_else(|| AppendEntryError::NotStarted { run_id: run_id.to_owned() })
}

pub(crate) fn position_of(transaction: &Connection, seq: Option<u64>) -> rusqlite::Result<Position> {
    transaction.query_row("SELECT seq, hash FROM entries WHERE seq = ?1", [seq], position_from_row)
}

/// The epoch of the instance that starts a run.
pub const FIRST_EPOCH: u64 = 1;

/// Why nothing was appended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendEntryError {
    /// This kind has a method of its own, which also keeps the row in `runs`.
    #[error("ledger entries of kind {kind} are not appended by hand")]
    ReservedKind { kind: EntryKind },
    #[error("run {run_id} is in the ledger already")]
    AlreadyStarted { run_id: RunId },
    #[error("run {run_id} is not in the ledger")]
    NotStarted { run_id: RunId },
    #[error("run {run_id} is not sealed")]
    NotSealed { run_id: RunId },
    /// The run was sealed before, with the attestation `recorded`.
    #[error("run {run_id} is sealed already, with attestation {recorded}")]
    AlreadySealed { run_id: RunId, recorded: Digest },
    /// Another instance took the run over after its lease had lapsed.
    #[error("run {run_id} was taken over by another instance: its lease {epoch} has lapsed, and {held} holds")]
    LeaseLost { run_id: RunId, epoch: u64, held: u64 },
    /// The request for approval can take no further step, or cannot be used.
    #[error("request {request} cannot be used: {why}")]
    RequestUnusable {
        request: Digest,
        #[source]
        why: UnusableRequest,
    },
    /// The body has no canonical form.
    #[error("cannot write a ledger entry as canonical JSON: {0}")]
    Body(#[from] serde_json::Error),
    /// Others kept the ledger locked for as long as we wait.
    #[error("the ledger is locked by other commands")]
    Busy,
    /// The disk is full.
    #[error("cannot append to the ledger: the disk is full")]
    Full,
    /// The ledger was opened to look only, or may no longer be written.
    #[error("cannot append to the ledger: it is read-only")]
    ReadOnly,
    #[error("cannot append to the ledger: {0}")]
    Sqlite(#[source] rusqlite::Error),
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
