//! Checking a ledger: the chain is computed again from the first entry, and so is every row of `runs` and of `requests`.

use std::collections::BTreeMap;

use contract::{Digest, RunId};
use rusqlite::{Transaction, TransactionBehavior};
use serde::Serialize;

use crate::Ledger;
use crate::collect::Collection;
use crate::entry::{self, Entry, Position, StoredEntry};
use crate::kind::{EntryKind, KindRole};
use crate::request::{self, RequestIntent, RequestRow, UnusableRequest, request_of};
use crate::runs::{self, ReadLedgerError, RunRow};
use crate::schema::WITH_REQUESTS;
use crate::write::{RunIntent, RunSeal};

/// As much as SQLite is asked to tell of a damaged file.
const MOST_TOLD: u32 = 20;

/// The column of `suffix` in a row of `runs`, which is no part of [`RunRow`].
const SUFFIX: usize = 2;

/// What checking found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerCheck {
    pub entries: u64,
    pub problems: Vec<LedgerProblem>,
    pub head: Position,
}

/// Something that does not add up at or after this entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerProblem {
    pub seq: u64,
    pub what: String,
}

impl LedgerCheck {
    pub fn is_intact(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Ledger {
    /// Reads the whole ledger as of one moment. A cut tail shows only against a [`Position`] recorded elsewhere, or
    /// where rows of `runs` speak of entries that are gone.
    pub fn verify(&self) -> Result<LedgerCheck, ReadLedgerError> {
        let snapshot = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
        let mut replay = Replay::new();
        let sql = format!("SELECT {} FROM entries ORDER BY seq", entry::COLUMNS);
        let mut statement = snapshot.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match entry::from_row(row) {
                Ok(stored) => replay.take(stored),
                Err(error) => replay.skip(row.get(0)?, &error),
            }
        }
        self.compare_runs(&mut replay)?;
        self.compare_requests(&mut replay)?;
        self.check_indexes(&mut replay)?;
        Ok(LedgerCheck { entries: replay.entries, problems: replay.problems, head: replay.head })
    }

    /// Entries and rows were read in order; what finds one of them by name is looked at by SQLite itself.
    fn check_indexes(&self, replay: &mut Replay) -> Result<(), ReadLedgerError> {
        let mut statement = self.connection.prepare(&format!("PRAGMA integrity_check({MOST_TOLD})"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let said: String = row.get(0)?;
            if said != "ok" {
                replay.problem(replay.head.seq, format!("the file is damaged: {said}"));
            }
        }
        Ok(())
    }

    fn compare_requests(&self, replay: &mut Replay) -> Result<(), ReadLedgerError> {
        if self.version < WITH_REQUESTS {
            return Ok(());
        }
        let mut told = std::mem::take(&mut replay.requests);
        for row in request::each(&self.connection)? {
            if told.remove(&row.request).as_ref() != Some(&row) {
                replay.problem(row.seq, format!("the row of request {} is not what the entries say", row.request));
            }
        }
        for (request, row) in told {
            replay.problem(row.seq, format!("request {request} has no row in requests"));
        }
        Ok(())
    }

    fn compare_runs(&self, replay: &mut Replay) -> Result<(), ReadLedgerError> {
        let total = runs::total(&self.connection)?;
        let expected = replay.runs.len();
        if usize::try_from(total).ok() != Some(expected) {
            replay.problem(replay.head.seq, format!("the counter says {total} runs, the entries say {expected}"));
        }
        let sql = format!("SELECT {} FROM runs ORDER BY seq", self.columns());
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let seq = row.get(0)?;
            let suffix: Option<String> = row.get(SUFFIX).ok();
            match runs::from_row(row) {
                Ok(run) => replay.compare(&run, suffix.as_deref()),
                Err(error) => replay.problem(seq, format!("the row in runs cannot be read: {error}")),
            }
        }
        replay.missing_rows();
        Ok(())
    }
}

/// The state of a ledger as its entries tell it.
struct Replay {
    entries: u64,
    head: Position,
    runs: BTreeMap<RunId, RunRow>,
    requests: BTreeMap<Digest, RequestRow>,
    /// The hash of the last entry as it stands there, which need not be a digest.
    last: String,
    seen: u64,
    problems: Vec<LedgerProblem>,
}

impl Replay {
    fn new() -> Replay {
        Replay {
            entries: 0,
            head: Position::GENESIS,
            last: Digest::ZERO.to_string(),
            runs: BTreeMap::new(),
            requests: BTreeMap::new(),
            seen: 0,
            problems: Vec::new(),
        }
    }

    fn problem(&mut self, seq: u64, what: impl Into<String>) {
        self.problems.push(LedgerProblem { seq, what: what.into() });
    }

    fn skip(&mut self, seq: u64, error: &rusqlite::Error) {
        self.entries += 1;
        self.head.seq = seq;
        self.problem(seq, format!("the entry cannot be read: {error}"));
    }

    fn take(&mut self, stored: StoredEntry) {
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
        match stored.parse() {
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
            EntryKind::ApprovalRequested => self.project_requested(entry),
            kind if kind.role() == KindRole::Request => self.project_request_step(kind, entry),
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

    fn project_collected(&self, entry: Entry) -> Option<()> {
        let collection: Collection = serde_json::from_value(entry.body).ok()?;
        let run = self.runs.get(&RunId::try_from(entry.run_id?).ok()?)?;
        (run.attestation_sha256 == Some(collection.attestation_sha256)).then_some(())
    }

    fn project_requested(&mut self, entry: Entry) -> Option<()> {
        let intent: RequestIntent = serde_json::from_value(entry.body).ok()?;
        let row = RequestRow::requested(entry.seq, entry.time.parse().ok()?, intent);
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

    fn compare(&mut self, row: &RunRow, suffix: Option<&str>) {
        let Some(run) = self.runs.get(&row.run_id) else {
            return self.problem(row.seq, format!("runs has {}, which no entry started", row.run_id));
        };
        self.seen += 1;
        if run != row || suffix != Some(row.run_id.suffix()) {
            self.problem(row.seq, format!("the row of {} in runs is not what the entries say", row.run_id));
        }
    }

    fn missing_rows(&mut self) {
        let missing = u64::try_from(self.runs.len()).unwrap_or(u64::MAX).saturating_sub(self.seen);
        if missing > 0 {
            self.problem(self.head.seq, format!("{missing} runs have no row in runs"));
        }
    }
}
