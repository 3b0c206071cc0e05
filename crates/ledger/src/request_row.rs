//! The rows of requests: one for every request for approval, made from its entries and
//! nothing else.

use contract::{Digest, RunId, Stage, Stamp, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::EntryKind;

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
    /// Row of a new, undecided request.
    pub(crate) fn new_request(seq: u64, time: Stamp, intent: RequestIntent) -> Self {
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

    /// Reason why no run can use it now, whatever approvals it has.
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

/// Reason why a request cannot be used.
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
    /// This entry made it void.
    #[error("it is older than entry {by}, by which the ledger's time went back")]
    Void { by: u64 },
    /// The server writes on another timeline than when the caller last asked for the ledger's identity.
    #[error("the ledger's server was restored or promoted meanwhile, and uses of approvals may be missing")]
    OtherTimeline,
    #[error("it is held")]
    Held,
    #[error("it expired at {at}")]
    Expired { at: Stamp },
    #[error("it is not valid before {at}")]
    NotYetValid { at: Stamp },
}

/// The request that the body of an entry is about.
pub(crate) fn request_of(body: &Value) -> Option<Digest> {
    body.get("request")?.as_str()?.parse().ok()
}
