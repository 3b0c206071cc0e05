//! Requests for approval: one row for each, made from its entries and nothing else, and the use of a request, which happens once.
//!
//! The request digest is the key: a run uses a request up in the transaction that records the start of its engine, so two
//! runs that start at the same instant, on any number of processes, use it once.

use contract::{Digest, RunId, Stage, Stamp, TaskId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Ledger;
use crate::entry::{self, Entry, Position};
use crate::kind::EntryKind;
use crate::runs::{ReadLedgerError, typed, typed_or_null};
use crate::schema::WITH_REQUESTS;
use crate::write::{AppendEntryError, push};

/// Body of the entry that puts a plan up for approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestIntent {
    /// Digest of the plan: the request digest.
    pub request: Digest,
    pub task_id: TaskId,
    pub stage: Stage,
    /// Details of the caller's own.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

/// A later step in the life of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestStep {
    Granted,
    Denied,
    Held,
    Released,
    Revoked,
}

impl RequestStep {
    fn kind(self) -> EntryKind {
        match self {
            Self::Granted => EntryKind::ApprovalGranted,
            Self::Denied => EntryKind::ApprovalDenied,
            Self::Held => EntryKind::ApprovalHeld,
            Self::Released => EntryKind::ApprovalReleased,
            Self::Revoked => EntryKind::ApprovalRevoked,
        }
    }
}

/// One request as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestRow {
    pub request: Digest,
    /// The entry that requested it.
    pub seq: u64,
    pub task_id: TaskId,
    pub stage: Stage,
    pub requested_at: Stamp,
    /// Approvals that were recorded; the caller says which of them count.
    pub grants: u64,
    pub held_seq: Option<u64>,
    pub denied_seq: Option<u64>,
    pub revoked_seq: Option<u64>,
    pub used_seq: Option<u64>,
    pub used_by: Option<RunId>,
}

impl RequestRow {
    pub(crate) fn requested(seq: u64, time: Stamp, intent: RequestIntent) -> Self {
        Self {
            request: intent.request,
            seq,
            task_id: intent.task_id,
            stage: intent.stage,
            requested_at: time,
            grants: 0,
            held_seq: None,
            denied_seq: None,
            revoked_seq: None,
            used_seq: None,
            used_by: None,
        }
    }

    /// Adds what an entry of this kind says.
    pub(crate) fn stepped(mut self, kind: EntryKind, seq: u64, run_id: Option<RunId>) -> Self {
        match kind {
            EntryKind::ApprovalGranted => self.grants += 1,
            EntryKind::ApprovalDenied => self.denied_seq = Some(seq),
            EntryKind::ApprovalHeld => self.held_seq = Some(seq),
            EntryKind::ApprovalReleased => self.held_seq = None,
            EntryKind::ApprovalRevoked => self.revoked_seq = Some(seq),
            EntryKind::ApprovalUsed => (self.used_seq, self.used_by) = (Some(seq), run_id),
            _ => {}
        }
        self
    }

    /// The reason why no run can use it now, whoever approved it.
    pub fn closed(&self) -> Option<UnusableRequest> {
        if let Some(run_id) = &self.used_by {
            return Some(UnusableRequest::Used { by: run_id.clone() });
        }
        let closed = [
            (self.denied_seq, UnusableRequest::Denied),
            (self.revoked_seq, UnusableRequest::Revoked),
            (self.held_seq, UnusableRequest::Held),
        ];
        closed.into_iter().find_map(|(seq, why)| seq.map(|_| why))
    }
}

/// Why a request cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableRequest {
    #[error("it is not in this ledger")]
    Unknown,
    #[error("run {by} has used it")]
    Used { by: RunId },
    #[error("it was denied")]
    Denied,
    #[error("it was revoked")]
    Revoked,
    #[error("it is held")]
    Held,
    #[error("it expired at {at}")]
    Expired { at: Stamp },
    #[error("it is not valid before {at}")]
    NotYetValid { at: Stamp },
}

/// The use that a run makes of an approved request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalUse {
    pub request: Digest,
    /// The latest of its approvals' beginnings, and the earliest of their ends.
    pub not_before: Stamp,
    pub expires_at: Stamp,
}

/// The kinds of entries about requests, as the index of them has it.
const KINDS: &str = "'approval.requested', 'approval.granted', 'approval.denied', 'approval.held', 'approval.released', \
     'approval.revoked', 'approval.used'";

const COLUMNS: &str =
    "request, seq, task_id, stage, requested_at, grants, held_seq, denied_seq, revoked_seq, used_seq, used_by";

impl Ledger {
    /// Puts a plan up for approval. Saying the same again changes nothing and gives the first entry's place.
    pub fn request_recorded(&self, time: Stamp, intent: &RequestIntent) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(intent)?;
        let transaction = self.begin()?;
        if let Some(row) = get(&transaction, intent.request)? {
            return Ok(crate::write::position_of(&transaction, Some(row.seq))?);
        }
        let position = push(&transaction, EntryKind::ApprovalRequested, None, time, &body)?;
        put(&transaction, &RequestRow::requested(position.seq, time, intent.clone()))?;
        transaction.commit()?;
        Ok(position)
    }

    /// Records a later step of a request, with `detail` of the caller's own. A request that was used, denied or revoked takes none.
    pub fn request_stepped(
        &self,
        request: Digest,
        step: RequestStep,
        time: Stamp,
        detail: &Value,
    ) -> Result<Position, AppendEntryError> {
        let transaction = self.begin()?;
        let unusable = |why| AppendEntryError::RequestUnusable { request, why };
        let row = get(&transaction, request)?.ok_or(unusable(UnusableRequest::Unknown))?;
        match row.closed() {
            None | Some(UnusableRequest::Held) => {}
            Some(why) => return Err(unusable(why)),
        }
        let body = body_of(request, detail);
        let position = push(&transaction, step.kind(), None, time, &body)?;
        put(&transaction, &row.stepped(step.kind(), position.seq, None))?;
        transaction.commit()?;
        Ok(position)
    }

    /// One request.
    pub fn request(&self, request: Digest) -> Result<Option<RequestRow>, ReadLedgerError> {
        if self.version < WITH_REQUESTS {
            return Ok(None);
        }
        Ok(get(&self.connection, request)?)
    }

    /// Requests, newest first; those of one task where one is named.
    pub fn requests_recent(&self, task_id: Option<&TaskId>, limit: usize) -> Result<Vec<RequestRow>, ReadLedgerError> {
        if self.version < WITH_REQUESTS {
            return Ok(Vec::new());
        }
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = format!("SELECT {COLUMNS} FROM requests WHERE ?1 IS NULL OR task_id = ?1 ORDER BY seq DESC LIMIT ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params![task_id.map(TaskId::as_str), limit], from_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Every entry about this request, in order.
    pub fn request_entries(&self, request: Digest) -> Result<Vec<Entry>, ReadLedgerError> {
        let sql = format!(
            "SELECT {} FROM entries WHERE kind IN ({KINDS}) AND json_extract(body, '$.request') = ?1 ORDER BY seq",
            entry::COLUMNS
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let stored = statement.query_map([request.to_string()], entry::from_row)?;
        stored
            .map(|stored| {
                let stored = stored?;
                let seq = stored.entry.seq;
                stored.parse().map_err(|_| ReadLedgerError::Entry { seq })
            })
            .collect()
    }

    /// The latest time that any entry has; `None` before the first.
    pub fn latest_time(&self) -> Result<Option<Stamp>, ReadLedgerError> {
        Ok(latest_time(&self.connection)?)
    }
}

/// Uses a request up, inside the transaction that records the start of a run's engine. The run is the key: the same run uses
/// it again without effect.
pub(crate) fn use_up(
    transaction: &Connection,
    used: &ApprovalUse,
    run_id: &RunId,
    time: Stamp,
) -> Result<(), AppendEntryError> {
    let unusable = |why| AppendEntryError::RequestUnusable { request: used.request, why };
    let row = get(transaction, used.request)?.ok_or(unusable(UnusableRequest::Unknown))?;
    if row.used_by.as_ref() == Some(run_id) {
        return Ok(());
    }
    if let Some(why) = row.closed() {
        return Err(unusable(why));
    }
    // A clock that was set back does not bring an approval back to life.
    let now = latest_time(transaction)?.map_or(time, |latest| latest.max(time));
    if now >= used.expires_at {
        return Err(unusable(UnusableRequest::Expired { at: used.expires_at }));
    }
    if time < used.not_before {
        return Err(unusable(UnusableRequest::NotYetValid { at: used.not_before }));
    }
    let body = body_of(used.request, &Value::Null);
    let position = push(transaction, EntryKind::ApprovalUsed, Some(run_id), time, &body)?;
    put(transaction, &row.stepped(EntryKind::ApprovalUsed, position.seq, Some(run_id.clone())))?;
    Ok(())
}

/// The request that the body of an entry is about.
pub(crate) fn request_of(body: &Value) -> Option<Digest> {
    body.get("request")?.as_str()?.parse().ok()
}

fn body_of(request: Digest, detail: &Value) -> Value {
    match detail {
        Value::Null => serde_json::json!({"request": request}),
        detail => serde_json::json!({"detail": detail, "request": request}),
    }
}

fn latest_time(connection: &Connection) -> rusqlite::Result<Option<Stamp>> {
    let sql = "SELECT time FROM entries ORDER BY time DESC LIMIT 1";
    connection.prepare_cached(sql)?.query_row([], |row| typed(row, 0, "time")).optional()
}

fn get(connection: &Connection, request: Digest) -> rusqlite::Result<Option<RequestRow>> {
    let sql = format!("SELECT {COLUMNS} FROM requests WHERE request = ?1");
    connection.prepare_cached(&sql)?.query_row([request.to_string()], from_row).optional()
}

/// Every row, for the check of the whole ledger.
pub(crate) fn each(connection: &Connection) -> rusqlite::Result<Vec<RequestRow>> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM requests ORDER BY seq"))?;
    statement.query_map([], from_row)?.collect()
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<RequestRow> {
    let stage: u8 = row.get(3)?;
    Ok(RequestRow {
        request: typed(row, 0, "request")?,
        seq: row.get(1)?,
        task_id: typed(row, 2, "task_id")?,
        stage: Stage::try_from(stage).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(3, stage.into()))?,
        requested_at: typed(row, 4, "requested_at")?,
        grants: row.get(5)?,
        held_seq: row.get(6)?,
        denied_seq: row.get(7)?,
        revoked_seq: row.get(8)?,
        used_seq: row.get(9)?,
        used_by: typed_or_null(row, 10, "used_by")?,
    })
}

fn put(connection: &Connection, row: &RequestRow) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT INTO requests ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (request) DO UPDATE SET grants = ?6, held_seq = ?7, denied_seq = ?8, revoked_seq = ?9, used_seq = ?10,
         used_by = ?11"
    );
    let values = params![
        row.request.to_string(),
        row.seq,
        row.task_id.as_str(),
        row.stage.number(),
        row.requested_at.to_string(),
        row.grants,
        row.held_seq,
        row.denied_seq,
        row.revoked_seq,
        row.used_seq,
        row.used_by.as_ref().map(RunId::as_str),
    ];
    connection.prepare_cached(&sql)?.execute(values).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::KindRole;

    #[test]
    fn the_index_of_requests_knows_every_kind_of_entry_about_them() {
        let names: Vec<String> = EntryKind::of_role(KindRole::Request).map(|kind| format!("'{kind}'")).collect();
        assert_eq!(KINDS, names.join(", "));
    }
}
