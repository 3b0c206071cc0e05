//! Requests for approval, step by step, and the use of a request, which happens once.
//!
//! The request digest is the key: a run uses a request up in the transaction that records
//! the start of its engine, so two runs that start at the same instant, on any number of
//! processes, use it once.

use contract::{Digest, RunId, Stamp, TaskId};
use serde_json::Value;

use crate::entry::{Entry, Position, StoredEntry};
use crate::kind::EntryKind;
use crate::read::{ReadLedgerError, parse_entries};
use crate::request_row::{RequestIntent, RequestRow, UnusableRequest};
use crate::store::{Ledger, LedgerChange};
use crate::write::AppendEntryError;

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

/// The use that a run makes of an approved request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalUse {
    pub request: Digest,
    /// The latest of its approvals' beginnings, and the earliest of their ends.
    pub not_before: Stamp,
    pub expires_at: Stamp,
}

impl Ledger {
    /// Puts a plan up for approval, at the ledger's time where that is later. Saying the same again changes nothing and gives the
    /// first entry's place.
    pub fn request_recorded(&self, time: Stamp, intent: &RequestIntent) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(intent)?;
        self.store.change_once(|change| {
            if let Some(row) = change.store.read_request(intent.request)? {
                return change.position_of(Some(row.seq));
            }
            let time = change.date_entry(time)?;
            let position = change.push_entry(EntryKind::ApprovalRequested, None, time, &body)?;
            change.put_request(&RequestRow::new_request(position.seq, time, intent.clone()))?;
            Ok(position)
        })
    }

    /// Records a later step of a request, with `detail` of the caller's own, at the ledger's
    /// time where that is later. A request that was used, denied or revoked takes none.
    pub fn request_stepped(
        &self,
        request: Digest,
        step: RequestStep,
        time: Stamp,
        detail: &Value,
    ) -> Result<Position, AppendEntryError> {
        let body = body_of(request, detail);
        self.store.change_once(|change| {
            let row = change.known_request(request)?;
            match row.closed() {
                None | Some(UnusableRequest::Held) => {}
                Some(why) => return Err(AppendEntryError::RequestUnusable { request, why }),
            }
            let position = change.push_entry(step.kind(), None, change.date_entry(time)?, &body)?;
            change.put_request(&row.stepped(step.kind(), position.seq, None))?;
            Ok(position)
        })
    }

    /// One request.
    pub fn request_row(&self, request: Digest) -> Result<Option<RequestRow>, ReadLedgerError> {
        Ok(self.store.read_request(request)?)
    }

    /// Requests, newest first; those of one task where one is named.
    pub fn requests_recent(&self, task_id: Option<&TaskId>, limit: usize) -> Result<Vec<RequestRow>, ReadLedgerError> {
        Ok(self.store.recent_requests(task_id, limit)?)
    }

    /// Requests that were not used, denied or revoked, newest first, held ones included;
    /// `before` is the number of an entry.
    pub fn requests_undecided(&self, before: Option<u64>, limit: usize) -> Result<Vec<RequestRow>, ReadLedgerError> {
        Ok(self.store.undecided_requests(before, limit)?)
    }

    /// The number of all requests.
    pub fn requests_total(&self) -> Result<u64, ReadLedgerError> {
        Ok(self.store.count_requests()?)
    }

    /// The request that a run has used up.
    pub fn request_used_by(&self, run_id: &RunId) -> Result<Option<Digest>, ReadLedgerError> {
        let used = parse_entries(self.store.first_entry(run_id, EntryKind::ApprovalUsed)?.into_iter().collect())?;
        let request = used.first().and_then(|entry| entry.body["request"].as_str()?.parse().ok());
        Ok(request)
    }

    /// Every entry about this request, in order.
    pub fn request_entries(&self, request: Digest) -> Result<Vec<Entry>, ReadLedgerError> {
        self.request_bytes(request)?.parse()
    }

    /// The same entries as the database holds them.
    pub fn request_bytes(&self, request: Digest) -> Result<RequestBytes, ReadLedgerError> {
        Ok(RequestBytes { request, entries: self.store.request_entries(request)? })
    }
}

/// Every stored byte about one request. Two of them are equal only if nothing was added,
/// removed or edited between their readings.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestBytes {
    request: Digest,
    entries: Vec<StoredEntry>,
}

impl RequestBytes {
    /// Entries with their bodies parsed.
    pub fn parse(&self) -> Result<Vec<Entry>, ReadLedgerError> {
        let parse = |stored: &StoredEntry| {
            let body =
                serde_json::from_str(&stored.body).map_err(|_| ReadLedgerError::Entry { seq: stored.entry.seq })?;
            Ok(Entry { body, ..stored.entry.clone() })
        };
        self.entries.iter().map(parse).collect()
    }
}

impl ApprovalUse {
    /// The reason why this run cannot use the request; `latest` is the time that the ledger
    /// has reached.
    pub(crate) fn refusal(&self, row: &RequestRow, time: Stamp, latest: Option<Stamp>) -> Option<UnusableRequest> {
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

impl LedgerChange<'_> {
    fn known_request(&self, request: Digest) -> Result<RequestRow, AppendEntryError> {
        let row = self.store.read_request(request)?;
        row.ok_or(AppendEntryError::RequestUnusable { request, why: UnusableRequest::Unknown })
    }

    /// Uses a request up, inside the change that records the start of a run's engine. The
    /// run is the key: the same run uses it again without effect.
    pub(crate) fn use_up(&self, used: &ApprovalUse, run_id: &RunId, time: Stamp) -> Result<(), AppendEntryError> {
        let row = self.known_request(used.request)?;
        if row.used_by.as_ref() == Some(run_id) {
            return Ok(());
        }
        let latest = self.store.latest_time()?;
        let refusal = used.refusal(&row, time, latest);
        let other = || match self.store.keeps_timeline() {
            Ok(true) => None,
            Ok(false) => Some(Ok(UnusableRequest::OtherTimeline)),
            Err(fault) => Some(Err(fault)),
        };
        if let Some(why) = refusal.map(Ok).or_else(other).transpose()? {
            return Err(AppendEntryError::RequestUnusable { request: used.request, why });
        }
        let body = body_of(used.request, &Value::Null);
        let position = self.push_entry(EntryKind::ApprovalUsed, Some(run_id), time, &body)?;
        self.put_request(&row.stepped(EntryKind::ApprovalUsed, position.seq, Some(run_id.clone())))?;
        Ok(())
    }
}

fn body_of(request: Digest, detail: &Value) -> Value {
    match detail {
        Value::Null => serde_json::json!({"request": request}),
        detail => serde_json::json!({"detail": detail, "request": request}),
    }
}
