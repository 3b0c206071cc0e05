//! The replay of a ledger: the chain computed again from the first entry, and with it every
//! row of runs and requests.

use std::collections::BTreeMap;
use std::fmt::Display;

use contract::{Digest, RunId};
use serde::Serialize;
use serde_json::Value;

use crate::entry::{Entry, Position, StoredEntry};
use crate::kind::{EntryKind, KindRole};
use crate::request_row::{RequestIntent, RequestRow, UnusableRequest, request_of};
use crate::runs::{Collection, RunIntent, RunRow, RunSeal};

/// Member of the entry's body that says from when to when time went back.
pub(crate) const WENT_BACK: &str = "time_went_back";

/// True if an entry says that time went back.
pub(crate) fn sets_time_back(kind: EntryKind, body: &Value) -> bool {
    kind == EntryKind::LedgerContinued && body.get(WENT_BACK).is_some()
}

/// Something that does not add up at or after this entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerProblem {
    pub seq: u64,
    pub what: String,
}

/// The state of a ledger as its entries tell it. A store tells it every entry in order,
/// then the rows that it keeps of them.
pub(crate) struct Replay {
    entries: u64,
    head: Position,
    runs: BTreeMap<RunId, RunRow>,
    requests: BTreeMap<Digest, RequestRow>,
    time_base: u64,
    /// Hash of the last entry as stored, which need not be a digest.
    last: String,
    seen: u64,
    problems: Vec<LedgerProblem>,
}

impl Replay {
    /// Replay before the first entry.
    pub(crate) fn new() -> Replay {
        Replay {
            entries: 0,
            head: Position::GENESIS,
            last: Digest::ZERO.to_string(),
            runs: BTreeMap::new(),
            requests: BTreeMap::new(),
            time_base: 0,
            seen: 0,
            problems: Vec::new(),
        }
    }

    /// Number of entries, the last of them, and what does not add up.
    pub(crate) fn into_findings(self) -> (u64, Position, Vec<LedgerProblem>) {
        (self.entries, self.head, self.problems)
    }

    /// First problem, by entry.
    pub(crate) fn first_problem(&self) -> Option<&LedgerProblem> {
        self.problems.first()
    }

    /// Rows of runs as the entries tell them.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunRow> {
        self.runs.values()
    }

    /// Rows of requests as the entries tell them.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &RequestRow> {
        self.requests.values()
    }

    /// The entry by which time last went back, if it ever did.
    pub(crate) fn time_base(&self) -> Option<u64> {
        (self.time_base > 0).then_some(self.time_base)
    }

    /// Records a problem at an entry.
    pub(crate) fn problem(&mut self, seq: u64, what: impl Into<String>) {
        self.problems.push(LedgerProblem { seq, what: what.into() });
    }

    /// Passes over an entry that the store cannot read.
    pub(crate) fn skip_entry(&mut self, seq: u64, error: &dyn Display) {
        self.entries += 1;
        self.head.seq = seq;
        self.problem(seq, format!("the entry cannot be read: {error}"));
    }

    /// Takes the next entry.
    pub(crate) fn take_entry(&mut self, stored: StoredEntry) {
        let seq = stored.entry.seq;
        self.entries += 1;
        self.check_place(&stored.entry);
        let hash = stored.hashed().hash().ok();
        if hash.map(|hash| hash.to_string()).as_ref() != Some(&stored.entry.hash) {
            self.problem(seq, "the hash is not that of the entry");
        }
        self.head = Position { seq, hash: stored.entry.hash.parse().unwrap_or(Digest::ZERO) };
        self.last.clone_from(&stored.entry.hash);
        let text = stored.body.clone();
        match stored.parse_body() {
            Ok(entry) if serde_json_canonicalizer::to_string(&entry.body).ok() == Some(text) => self.project(entry),
            Ok(_) => self.problem(seq, "the body is not canonical JSON"),
            Err(error) => self.problem(seq, format!("the body is not JSON: {error}")),
        }
    }

    fn check_place(&mut self, entry: &Entry) {
        if entry.seq != self.head.seq + 1 {
            self.problem(entry.seq, format!("the entry before it is {}", self.head.seq));
        }
        if entry.prev != self.last {
            self.problem(entry.seq, "prev is not the hash of the entry before it");
        }
    }

    fn project(&mut self, entry: Entry) {
        let Some(kind) = EntryKind::from_name(&entry.kind) else { return };
        let seq = entry.seq;
        let done = match kind {
            EntryKind::RunStarted => self.project_started(entry),
            EntryKind::EvidenceSealed => self.project_sealed(entry),
            EntryKind::EvidenceCollected => self.project_collected(entry),
            EntryKind::OutcomeRecorded => self.project_outcome(entry),
            EntryKind::ApprovalRequested => self.project_requested(entry),
            kind if kind.role() == KindRole::Request => self.project_request_step(kind, entry),
            kind if sets_time_back(kind, &entry.body) => self.project_time_base(entry.seq),
            _ => return,
        };
        if done.is_none() {
            let what = if kind.role() == KindRole::Request { "request" } else { "run" };
            self.problem(seq, format!("a {kind} entry that fits no {what}"));
        }
    }

    fn project_started(&mut self, entry: Entry) -> Option<()> {
        let run_id = RunId::try_from(entry.run_id?).ok()?;
        let intent: RunIntent = serde_json::from_value(entry.body).ok()?;
        let row = RunRow::started(entry.seq, &run_id, entry.time.parse().ok()?, &intent);
        self.runs.insert(run_id, row).is_none().then_some(())
    }

    fn project_sealed(&mut self, entry: Entry) -> Option<()> {
        let seal: RunSeal = serde_json::from_value(entry.body).ok()?;
        let run = self.runs.get_mut(&RunId::try_from(entry.run_id?).ok()?)?;
        if run.sealed_seq.is_some() {
            return None;
        }
        *run = run.clone().sealed(entry.seq, &seal);
        Some(())
    }

    fn project_collected(&mut self, entry: Entry) -> Option<()> {
        let collection: Collection = serde_json::from_value(entry.body).ok()?;
        let run = self.runs.get_mut(&RunId::try_from(entry.run_id?).ok()?)?;
        if run.attestation_sha256 != Some(collection.attestation_sha256) {
            return None;
        }
        *run = run.clone().collected(entry.seq);
        Some(())
    }

    /// An outcome of a run of another ledger is a statement and no more.
    fn project_outcome(&mut self, entry: Entry) -> Option<()> {
        let run_id = entry.run_id.and_then(|run_id| RunId::try_from(run_id).ok());
        if let Some(run) = run_id.and_then(|run_id| self.runs.get_mut(&run_id)) {
            *run = run.clone().answered(entry.seq, &entry.body);
        }
        Some(())
    }

    fn project_requested(&mut self, entry: Entry) -> Option<()> {
        let intent: RequestIntent = serde_json::from_value(entry.body).ok()?;
        let row = RequestRow::new_request(entry.seq, entry.time.parse().ok()?, intent);
        self.requests.insert(row.request, row).is_none().then_some(())
    }

    /// A request that was used, denied or revoked takes no further step.
    fn project_request_step(&mut self, kind: EntryKind, entry: Entry) -> Option<()> {
        let run_id = entry.run_id.map(RunId::try_from).transpose().ok()?;
        let row = self.requests.get_mut(&request_of(&entry.body)?)?;
        let open = matches!(row.closed(), None | Some(UnusableRequest::Held));
        let fits = open && run_id.is_some() == (kind == EntryKind::ApprovalUsed);
        *row = row.clone().stepped(kind, entry.seq, run_id);
        fits.then_some(())
    }

    /// Every request from before is void.
    fn project_time_base(&mut self, seq: u64) -> Option<()> {
        self.time_base = seq;
        self.requests.values_mut().for_each(|row| row.void_seq = Some(seq));
        Some(())
    }

    /// Compares the entry by which the store says that time went back.
    pub(crate) fn compare_time_base(&mut self, found: u64) {
        let expected = self.time_base;
        if found != expected {
            self.problem(expected, format!("time is counted from entry {found}, the entries say from {expected}"));
        }
    }

    /// Compares what the store counts.
    pub(crate) fn compare_total(&mut self, total: u64) {
        let expected = self.runs.len();
        if usize::try_from(total).ok() != Some(expected) {
            self.problem(self.head.seq, format!("the counter says {total} runs, the entries say {expected}"));
        }
    }

    /// Compares one row of a run; `suffix` is what finds it by the end of its id.
    pub(crate) fn compare_run(&mut self, row: &RunRow, suffix: Option<&str>) {
        let Some(run) = self.runs.get(&row.run_id) else {
            return self.problem(row.seq, format!("runs has {}, which no entry started", row.run_id));
        };
        self.seen += 1;
        if run != row || suffix != Some(row.run_id.suffix()) {
            self.problem(row.seq, format!("the row of {} in runs is not what the entries say", row.run_id));
        }
    }

    /// Tells of runs that were never compared, once all rows were.
    pub(crate) fn miss_runs(&mut self) {
        let missing = u64::try_from(self.runs.len()).unwrap_or(u64::MAX).saturating_sub(self.seen);
        if missing > 0 {
            self.problem(self.head.seq, format!("{missing} runs have no row in runs"));
        }
    }

    /// Compares every row of a request.
    pub(crate) fn compare_requests(&mut self, rows: &[RequestRow]) {
        let mut told = std::mem::take(&mut self.requests);
        for row in rows {
            if told.remove(&row.request).as_ref() != Some(row) {
                self.problem(row.seq, format!("the row of request {} is not what the entries say", row.request));
            }
        }
        for (request, row) in told {
            self.problem(row.seq, format!("request {request} has no row in requests"));
        }
    }

    /// Notes what the database reports about its own damage.
    pub(crate) fn note_damage(&mut self, said: &str) {
        self.problem(self.head.seq, format!("the file is damaged: {said}"));
    }
}
