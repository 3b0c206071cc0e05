//! Runs that the ledger calls running: their owners, their progress, and which of them are
//! dead.
//!
//! Within a home a live process holds the lock of its run's folder. Between homes that
//! share a ledger, leases show it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use contract::event::Event;
use contract::{Digest, EventKind, RunId, Stamp};
use evidence::artifact::is_held;
use evidence::names;
use ledger::{EntryKind, FoundRuns, Lease, Ledger, OpenRun, ReadLedgerError, RunRow, RunStatus};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Views;

/// Bytes at the end of a run's events that are read for the last ones.
const TAIL: u64 = 256 << 10;

/// The state of a run that the ledger calls running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    Running,
    /// Its process is gone, or its lease has lapsed. `cto recover` seals it.
    Interrupted,
}

/// The step that a run is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// Gates.
    Deciding,
    Preparing,
    /// The engine works.
    Working,
    Verifying,
    Sealing,
}

/// Events after which a run is at another step; the others say nothing of it.
const PHASES: &[(EventKind, RunPhase)] = &[
    (EventKind::RunStarted, RunPhase::Deciding),
    (EventKind::EligibilityDecided, RunPhase::Preparing),
    (EventKind::EngineStarted, RunPhase::Working),
    (EventKind::EngineExited, RunPhase::Verifying),
    (EventKind::BackendGateBlocked, RunPhase::Sealing),
    (EventKind::VerificationCompleted, RunPhase::Sealing),
    (EventKind::RunCompleted, RunPhase::Sealing),
];

/// A run that was started and not sealed.
#[derive(Debug, Clone, Serialize)]
pub struct LiveRun {
    #[serde(flatten)]
    pub row: RunRow,
    pub state: Liveness,
    pub phase: RunPhase,
    /// `None` for a run of a program that knew no leases.
    pub lease: Option<LeaseView>,
    /// `None` where its folder is not in this home.
    pub last_event: Option<LastEvent>,
}

/// The claim of an instance on a live run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseView {
    pub owner: Digest,
    pub epoch: u64,
    pub until: Stamp,
}

impl From<Lease> for LeaseView {
    fn from(Lease { owner, epoch, until }: Lease) -> Self {
        Self { owner, epoch, until }
    }
}

/// The last event in a live run's chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastEvent {
    pub seq: u64,
    pub time: Stamp,
    #[serde(rename = "type")]
    pub kind: EventKind,
}

/// Names of runs that were started and not sealed, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OpenRunNames {
    pub here: Vec<RunId>,
    /// Those of other homes that share the ledger.
    pub elsewhere: Vec<RunId>,
}

impl Views {
    /// Runs that were started and not sealed, oldest first. `now` tells lapsed leases.
    pub fn list_live(&self, now: Stamp) -> Result<Vec<LiveRun>, ReadLedgerError> {
        let Some(ledger) = self.ledger() else { return Ok(Vec::new()) };
        let open = ledger.runs_open()?.into_iter();
        open.filter_map(|run| self.look_at(ledger, run, now).transpose()).collect()
    }

    /// Runs that the ledger calls running, whatever became of their processes.
    pub fn list_open(&self) -> Result<OpenRunNames, ReadLedgerError> {
        let Some(ledger) = self.ledger() else { return Ok(OpenRunNames::default()) };
        let is_elsewhere = |run: &OpenRun| {
            let here = self.home.shared_as;
            here.is_some_and(|here| run.row.owner.is_some_and(|owner| owner != here))
        };
        let (elsewhere, here): (Vec<_>, Vec<_>) = ledger.runs_open()?.into_iter().partition(is_elsewhere);
        let named = |runs: Vec<OpenRun>| runs.into_iter().map(|run| run.row.run_id).collect();
        Ok(OpenRunNames { here: named(here), elsewhere: named(elsewhere) })
    }

    /// True for a run that the ledger still calls running although its process is gone.
    pub(crate) fn is_interrupted(&self, run_id: &RunId, now: Stamp) -> Result<bool, ReadLedgerError> {
        let Some(ledger) = self.ledger() else { return Ok(false) };
        let lease = ledger.lease(run_id)?;
        Ok(self.liveness(run_id, lease, now) == Liveness::Interrupted && is_open(ledger, run_id)?)
    }

    /// `None` for a run that was sealed meanwhile.
    fn look_at(&self, ledger: &Ledger, run: OpenRun, now: Stamp) -> Result<Option<LiveRun>, ReadLedgerError> {
        let OpenRun { row, lease } = run;
        let state = self.liveness(&row.run_id, lease, now);
        if state == Liveness::Interrupted && !is_open(ledger, &row.run_id)? {
            return Ok(None);
        }
        let events = last_events(&self.home.active.join(row.run_id.as_str())).unwrap_or_default();
        let phase = match phase_of(&events) {
            Some(phase) => phase,
            None => recorded_phase(ledger, &row.run_id)?,
        };
        let last_event = events.last().map(|event| LastEvent { seq: event.seq, time: event.time, kind: event.kind });
        Ok(Some(LiveRun { row, state, phase, lease: lease.map(LeaseView::from), last_event }))
    }

    /// State by the lock if the run's folder is here, and by the lease if it can be in
    /// another home.
    fn liveness(&self, run_id: &RunId, lease: Option<Lease>, now: Stamp) -> Liveness {
        // A run holds its lock until after the ledger knows that it is sealed, also when
        // its folder is in its last place.
        let places = [self.home.active.join(run_id.as_str()), self.home.bundles.bundle_dir(run_id)];
        let is_elsewhere = || {
            let other = lease.filter(|lease| self.home.shared_as.is_some_and(|here| lease.owner != here));
            other.is_some_and(|lease| lease.until > now)
        };
        let held = places.iter().map(|place| is_held(place)).find(|held| !is_missing(held));
        let is_alive = match held {
            // A folder that cannot be looked at says nothing against the ledger's word.
            Some(held) => held.unwrap_or(true),
            None => is_elsewhere(),
        };
        if is_alive { Liveness::Running } else { Liveness::Interrupted }
    }
}

fn is_missing(held: &io::Result<bool>) -> bool {
    held.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// True if the run is still open. Asked again after the folder was read: a run that was
/// sealed in between is not interrupted.
fn is_open(ledger: &Ledger, run_id: &RunId) -> Result<bool, ReadLedgerError> {
    let found = ledger.run_find(run_id.as_str())?;
    Ok(matches!(found, FoundRuns::One(row) if row.status == RunStatus::Running))
}

/// The step by the ledger alone.
fn recorded_phase(ledger: &Ledger, run_id: &RunId) -> Result<RunPhase, ReadLedgerError> {
    let entries = ledger.run_entries(run_id)?;
    let is_working = entries.iter().any(|entry| entry.is_kind(EntryKind::EngineStarting));
    Ok(if is_working { RunPhase::Working } else { RunPhase::Deciding })
}

fn phase_of(events: &[Event]) -> Option<RunPhase> {
    let of = |event: &Event| PHASES.iter().find(|(kind, _)| *kind == event.kind).map(|(_, phase)| *phase);
    events.iter().rev().find_map(of)
}

/// Whole events at the end of a run's chain, in order.
fn last_events(draft: &Path) -> io::Result<Vec<Event>> {
    let folder = untrusted_fs::open_root(draft)?;
    let (file, _) = untrusted_fs::open_regular(&folder, names::EVENTS.as_bytes())?;
    Ok(read_events(&read_tail(file)?))
}

fn read_tail(mut file: File) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A first line that is cut, and a last one that is being written, are no events.
fn read_events(tail: &[u8]) -> Vec<Event> {
    tail.split_inclusive(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}
