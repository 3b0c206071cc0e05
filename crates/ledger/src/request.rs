//! Requests for approval: one row for each, made from its entries and nothing else, and the use of a request, which happens once.
//!
//! The request digest is the key: a run uses a request up in the transaction that records the start of its engine, so two
//! runs that start at the same instant, on any number of processes, use it once.

use contract::{Digest, RunId, Stage, Stamp, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entry::{Entry, Position};
use crate::kind::EntryKind;
use crate::read::{ReadLedgerError, parse_entries};
use crate::store::{Change, Ledger};
use crate::write::AppendEntryError;

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
    /// The entry by which time went back since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub void_seq: Option<u64>,
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
            void_seq: None,
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
            self.denied_seq.map(|_| UnusableRequest::Denied),
            self.revoked_seq.map(|_| UnusableRequest::Revoked),
            self.void_seq.map(|by| UnusableRequest::Void { by }),
            self.held_seq.map(|_| UnusableRequest::Held),
        ];
        closed.into_iter().flatten().next()
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
    /// By this entry.
    #[error("it is older than entry {by}, by which the ledger's time went back")]
    Void { by: u64 },
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

impl Ledger {
    /// Puts a plan up for approval. Saying the same again changes nothing and gives the first entry's place.
    pub fn request_recorded(&self, time: Stamp, intent: &RequestIntent) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(intent)?;
        self.store.change(|change| {
            if let Some(row) = change.store.read_request(intent.request)? {
                return change.position_of(Some(row.seq));
            }
            let position = change.push(EntryKind::ApprovalRequested, None, time, &body)?;
            change.put_request(&RequestRow::requested(position.seq, time, intent.clone()))?;
            Ok(position)
        })
    }

    /// Records a later step of a request, with `detail` of the caller's own. A request that was used, denied or revoked takes none.
    pub fn request_stepped(
        &self,
        request: Digest,
        step: RequestStep,
        time: Stamp,
        detail: &Value,
    ) -> Result<Position, AppendEntryError> {
        let body = body_of(request, detail);
        self.store.change(|change| {
            let row = change.known_request(request)?;
            match row.closed() {
                None | Some(UnusableRequest::Held) => {}
                Some(why) => return Err(AppendEntryError::RequestUnusable { request, why }),
            }
            let position = change.push(step.kind(), None, time, &body)?;
            change.put_request(&row.stepped(step.kind(), position.seq, None))?;
            Ok(position)
        })
    }

    /// One request.
    pub fn request(&self, request: Digest) -> Result<Option<RequestRow>, ReadLedgerError> {
        Ok(self.store.read_request(request)?)
    }

    /// Requests, newest first; those of one task where one is named.
    pub fn requests_recent(&self, task_id: Option<&TaskId>, limit: usize) -> Result<Vec<RequestRow>, ReadLedgerError> {
        Ok(self.store.recent_requests(task_id, limit)?)
    }

    /// Requests that nobody used, denied or revoked, newest first, held ones among them; `before` is the number of an entry.
    pub fn requests_undecided(&self, before: Option<u64>, limit: usize) -> Result<Vec<RequestRow>, ReadLedgerError> {
        Ok(self.store.undecided_requests(before, limit)?)
    }

    /// The number of all requests.
    pub fn requests_total(&self) -> Result<u64, ReadLedgerError> {
        Ok(self.store.count_requests()?)
    }

    /// Every entry about this request, in order.
    pub fn request_entries(&self, request: Digest) -> Result<Vec<Entry>, ReadLedgerError> {
        parse_entries(self.store.request_entries(request)?)
    }
}

impl ApprovalUse {
    /// The reason why this run cannot use the request; `latest` is the time that the ledger has reached.
    fn refusal(&self, row: &RequestRow, time: Stamp, latest: Option<Stamp>) -> Option<UnusableRequest> {
        // A clock that was set back does not bring an approval back to life.
        let now = latest.map_or(time, |latest| latest.max(time));
        match row.closed() {
            Some(why) => Some(why),
            None if now >= self.expires_at => Some(UnusableRequest::Expired { at: self.expires_at }),
            None if time < self.not_before => Some(UnusableRequest::NotYetValid { at: self.not_before }),
            None => None,
        }
    }
}

impl Change<'_> {
    fn known_request(&self, request: Digest) -> Result<RequestRow, AppendEntryError> {
        let row = self.store.read_request(request)?;
        row.ok_or(AppendEntryError::RequestUnusable { request, why: UnusableRequest::Unknown })
    }

    /// Uses a request up, inside the change that records the start of a run's engine. The run is the key: the same run uses
    /// it again without effect.
    pub(crate) fn use_up(&self, used: &ApprovalUse, run_id: &RunId, time: Stamp) -> Result<(), AppendEntryError> {
        let row = self.known_request(used.request)?;
        if row.used_by.as_ref() == Some(run_id) {
            return Ok(());
        }
        if let Some(why) = used.refusal(&row, time, self.store.latest_time()?) {
            return Err(AppendEntryError::RequestUnusable { request: used.request, why });
        }
        let body = body_of(used.request, &Value::Null);
        let position = self.push(EntryKind::ApprovalUsed, Some(run_id), time, &body)?;
        self.put_request(&row.stepped(EntryKind::ApprovalUsed, position.seq, Some(run_id.clone())))?;
        Ok(())
    }
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
