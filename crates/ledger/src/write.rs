//! Appending: every write is one change of the store, so that the head an entry is chained to is still the head when it
//! is committed, and an entry and its row in `runs` are there together or not at all.

use std::error::Error;

use contract::{Digest, RunId, Stamp, canonical_text};
use serde_json::Value;

use crate::entry::{Hashed, Position};
use crate::fault::{FaultKind, StoreFault};
use crate::kind::{EntryKind, KindRole};
use crate::queue::QueueRefusal;
use crate::replay::sets_time_back;
use crate::request::ApprovalUse;
use crate::request_row::UnusableRequest;
use crate::runs::{Lease, LeaseRenewal, RunIntent, RunRow, RunSeal};
use crate::store::{Ledger, LedgerChange};

/// A run that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStarted {
    pub run_id: RunId,
    pub time: Stamp,
    /// The end of the owner's first lease.
    pub lease_until: Option<Stamp>,
    pub intent: RunIntent,
}

/// A run whose bundle is in its final place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSealed {
    pub run_id: RunId,
    /// Time of the entry; the run itself finished at `finished_at`.
    pub time: Stamp,
    /// The lease under which it was sealed; an older one is refused.
    pub epoch: Option<u64>,
    pub seal: RunSeal,
}

impl Ledger {
    /// Appends an entry of a kind that has no method of its own. A person's statement is dated no earlier than the ledger is.
    pub fn append(
        &self,
        kind: EntryKind,
        run_id: Option<&RunId>,
        time: Stamp,
        body: &Value,
    ) -> Result<Position, AppendEntryError> {
        if matches!(kind.role(), KindRole::Life | KindRole::Request | KindRole::Queue) || sets_time_back(kind, body) {
            return Err(AppendEntryError::ReservedKind { kind });
        }
        self.store.change_once(|change| {
            let time = if is_judged_by_time(kind) { change.date_entry(time)? } else { time };
            let position = change.push_entry(kind, run_id, time, body)?;
            if kind == EntryKind::OutcomeRecorded
                && let Some(run) = run_id.map(|run_id| change.store.read_run(run_id)).transpose()?.flatten()
            {
                change.put_run(&run.answered(position.seq, body))?;
            }
            Ok(position)
        })
    }

    /// Records a run that is about to begin. Its place in the chain is what the run's evidence is tied to.
    pub fn run_started(&self, run: &RunStarted) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(&run.intent)?;
        if let Some(position) = self.store.start_run(run, &body)? {
            return Ok(position);
        }
        self.store.change_once(|change| {
            if change.store.read_run(&run.run_id)?.is_some() {
                return Err(AppendEntryError::AlreadyStarted { run_id: run.run_id.clone() });
            }
            change.start_queued(&run.run_id, run.intent.epoch, run.time)?;
            let position = change.push_entry(EntryKind::RunStarted, Some(&run.run_id), run.time, &body)?;
            change.put_run(&RunRow::started(position.seq, &run.run_id, run.time, &run.intent))?;
            if let (Some(owner), Some(until)) = (run.intent.owner, run.lease_until) {
                let epoch = run.intent.epoch.unwrap_or(FIRST_EPOCH);
                change.put_lease(&run.run_id, &Lease { owner, epoch, until })?;
            }
            change.count_run()?;
            Ok(position)
        })
    }

    /// Records, before it happens, that the engine process is started; where the run rests on an approval, that is used up in the
    /// same transaction. Under an epoch that no longer holds nothing is recorded, and nothing used up.
    pub fn engine_starting(
        &self,
        run_id: &RunId,
        lease: Option<LeaseRenewal>,
        time: Stamp,
        body: &Value,
        approval: Option<&ApprovalUse>,
    ) -> Result<Position, AppendEntryError> {
        self.store.change_once(|change| {
            let run = change.started_run(run_id)?;
            if let Some(recorded) = run.attestation_sha256 {
                return Err(AppendEntryError::AlreadySealed { run_id: run.run_id, recorded });
            }
            change.check_epoch(run_id, lease.map(|lease| lease.epoch))?;
            if let Some(lease) = lease
                && !change.renew_lease(run_id, lease.epoch, lease.until)?
            {
                return Err(AppendEntryError::LeaseGone { run_id: run_id.clone(), epoch: lease.epoch });
            }
            if let Some(used) = approval {
                change.use_up(used, run_id, time)?;
            }
            change.push_entry(EntryKind::EngineStarting, Some(run_id), time, body)
        })
    }

    /// Records a sealed bundle, and then queues its repetition where one is asked for. Saying the same again changes nothing and gives the
    /// first entry's place.
    pub fn run_sealed(&self, sealed: &RunSealed) -> Result<Position, AppendEntryError> {
        let position = self.record_seal(sealed)?;
        // The seal stands, whatever becomes of a repetition.
        let _ = self.repeat_sealed(sealed);
        Ok(position)
    }

    fn record_seal(&self, sealed: &RunSealed) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(&sealed.seal)?;
        self.store.change_once(|change| {
            let run = change.started_run(&sealed.run_id)?;
            if let Some(recorded) = run.attestation_sha256 {
                if recorded != sealed.seal.attestation_sha256 {
                    return Err(AppendEntryError::AlreadySealed { run_id: run.run_id, recorded });
                }
                return change.position_of(run.sealed_seq);
            }
            change.check_epoch(&run.run_id, sealed.epoch)?;
            let position = change.push_entry(EntryKind::EvidenceSealed, Some(&run.run_id), sealed.time, &body)?;
            change.seal_queued(&run.run_id)?;
            change.remove_lease(&run.run_id)?;
            change.put_run(&run.sealed(position.seq, &sealed.seal))?;
            Ok(position)
        })
    }
}

/// True of entries with a person's signature, whose key is judged at the time of the entry.
fn is_judged_by_time(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::OutcomeRecorded | EntryKind::ChangeRolledBack)
}

impl LedgerChange<'_> {
    /// Appends an entry, chained to the head.
    pub(crate) fn push_entry(
        &self,
        kind: EntryKind,
        run_id: Option<&RunId>,
        time: Stamp,
        body: &Value,
    ) -> Result<Position, AppendEntryError> {
        let last = self.store.read_head()?;
        let seq = last.seq + 1;
        let (prev, time, kind) = (last.hash.to_string(), time.to_string(), kind.name());
        let run_id = run_id.map(RunId::as_str);
        let body = canonical_text(body)?;
        let hashed = Hashed { seq, time: &time, kind, run_id, body: &body, prev: &prev };
        let hash = hashed.hash()?;
        self.insert_entry(&hashed, hash)?;
        Ok(Position { seq, hash })
    }

    /// Refuses a step of a live run under another epoch than that of its lease.
    fn check_epoch(&self, run_id: &RunId, epoch: Option<u64>) -> Result<(), AppendEntryError> {
        let lost =
            |held| AppendEntryError::LeaseLost { run_id: run_id.clone(), epoch: epoch.unwrap_or_default(), held };
        Lease::check_epoch(self.store.read_lease(run_id)?, epoch).map_err(lost)
    }

    /// Row of a run; an error if it was never started.
    pub(crate) fn started_run(&self, run_id: &RunId) -> Result<RunRow, AppendEntryError> {
        let run = self.store.read_run(run_id)?;
        run.ok_or_else(|| AppendEntryError::NotStarted { run_id: run_id.to_owned() })
    }

    /// The place of the entry that a row names.
    pub(crate) fn position_of(&self, seq: Option<u64>) -> Result<Position, AppendEntryError> {
        let position = seq.map(|seq| self.store.read_position(seq)).transpose()?.flatten();
        Ok(position.ok_or_else(StoreFault::no_entry)?)
    }
}

/// The epoch of the instance that starts a run, where it was not in the queue.
pub const FIRST_EPOCH: u64 = 1;

/// Reason why nothing was appended.
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
    #[error("run {run_id} has no lease {epoch} any more")]
    LeaseGone { run_id: RunId, epoch: u64 },
    /// The run is of the queue, and is not to be started under this epoch.
    #[error("run {run_id} is not to be started here: {why}")]
    TurnRefused {
        run_id: RunId,
        #[source]
        why: QueueRefusal,
    },
    /// The request for approval can take no further step, or cannot be used.
    #[error("request {request} cannot be used: {why}")]
    RequestUnusable {
        request: Digest,
        #[source]
        why: UnusableRequest,
    },
    /// Time goes back only where an entry is dated ahead.
    #[error("no entry of the ledger is dated after {now}")]
    TimeNotAhead { latest: Option<Stamp>, now: Stamp },
    /// An entry does not hold, so that nothing can be made of the entries.
    #[error("the chain does not hold at entry {seq}: {what}")]
    BrokenChain { seq: u64, what: String },
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
    /// Another program brought the ledger forward while this one had it open.
    #[error("cannot append to the ledger: a newer program has brought it to format {found}; use that program")]
    NewerVersion { found: i32 },
    /// The database failed, by its own word.
    #[error("cannot append to the ledger: {0}")]
    Store(#[source] Box<dyn Error + Send + Sync>),
}

impl From<StoreFault> for AppendEntryError {
    fn from(fault: StoreFault) -> Self {
        match fault.kind {
            FaultKind::Busy => Self::Busy,
            FaultKind::Full => Self::Full,
            FaultKind::ReadOnly => Self::ReadOnly,
            FaultKind::Newer(found) => Self::NewerVersion { found },
            FaultKind::Other => Self::Store(fault.cause),
        }
    }
}
