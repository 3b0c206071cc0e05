//! Record of a run's sandboxes: the confinement of each, the attempts in it, and its
//! environment.

use contract::decision::Profile;
use contract::sandbox::{
    Attempt, EnvironmentRecord, LimitBy, LimitKind, MountDigest, Posture, RecorderKind, RecorderState, SandboxRecord,
    SetupRecord,
};
use contract::{Coverage, Event, EventData};
use evidence::{names, stop};
use sandbox::Ended;
use serde::{Deserialize, Serialize};

use crate::run::file::{RunFile, Stopped};
use crate::run::notes::{NotedStep, StepFindings};

/// Sandboxes in the order in which they ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SandboxRecords {
    postures: Vec<Posture>,
    cells: Vec<SandboxRecord>,
}

impl SandboxRecords {
    /// Records one sandbox. A program without a sandbox leaves no record.
    pub(crate) fn add_sandbox(&mut self, name: &str, ended: &Ended) {
        let Some(applied) = &ended.applied else { return };
        let mut posture = applied.posture.clone();
        if stop::has_defect("recorder_blind") {
            posture.recorders.iter_mut().for_each(|state| state.missing = Some("a defect was planted".to_owned()));
        }
        let posture = self.place_posture(&posture);
        let (ids, seen) = (applied.ids, applied.seen.clone());
        self.cells.push(SandboxRecord {
            name: name.to_owned(),
            posture,
            ids,
            limit_hits: ended.limit_hits.clone(),
            seen,
        });
    }

    /// Index of the posture in the list, which holds each different one once.
    fn place_posture(&mut self, posture: &Posture) -> usize {
        let known = self.postures.iter().position(|known| known == posture);
        known.unwrap_or_else(|| {
            self.postures.push(posture.clone());
            self.postures.len() - 1
        })
    }

    /// Adds the sandboxes of another step; equal postures are kept once.
    pub(crate) fn add_all(&mut self, more: Self) {
        for mut cell in more.cells {
            let Some(posture) = more.postures.get(cell.posture) else { continue };
            cell.posture = self.place_posture(posture);
            self.cells.push(cell);
        }
    }

    /// The sandbox that ended last.
    pub(crate) fn last(&self) -> Option<&SandboxRecord> {
        self.cells.last()
    }

    fn is_recorder_missing(&self) -> bool {
        self.postures.iter().flat_map(|posture| &posture.recorders).any(|recorder| recorder.missing.is_some())
    }

    fn is_by_rlimit(&self) -> bool {
        let mut limits = self.postures.iter().flat_map(|posture| &posture.limits);
        limits.any(|limit| limit.kind == LimitKind::Memory && limit.by == LimitBy::Rlimit)
    }

    fn sees_executions(&self) -> bool {
        let sees = |posture: &Posture| {
            let runs = |state: &RecorderState| state.recorder == RecorderKind::Executions && state.missing.is_none();
            posture.recorders.iter().any(runs)
        };
        // A sandbox that returned no record may have tried anything.
        !self.cells.is_empty() && self.postures.iter().all(sees)
    }
}

/// Record of all sandboxes of one run.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sandboxes {
    /// The profile that the events of a dead run name; for a live run, the recorded sandboxes have
    /// it.
    applied: Option<Profile>,
    cells: SandboxRecords,
    attempts: Vec<Attempt>,
    environment: EnvironmentRecord,
}

impl StepFindings for Sandboxes {
    const STEP: NotedStep = NotedStep::Sandboxes;
}

impl Sandboxes {
    /// The profile everything that ran was under.
    pub(crate) fn applied(&self) -> Profile {
        let measured = if self.cells.postures.is_empty() { Profile::None } else { Profile::Strict };
        self.applied.unwrap_or(measured)
    }

    /// Different postures, each once.
    pub(crate) fn postures(&self) -> &[Posture] {
        &self.cells.postures
    }

    /// Sandboxes in the order of their start.
    pub(crate) fn records(&self) -> &[SandboxRecord] {
        &self.cells.cells
    }

    /// Attempts that were judged so far.
    pub(crate) fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Adds judged attempts.
    pub(crate) fn add_attempts(&mut self, attempts: Vec<Attempt>) {
        self.attempts.extend(attempts);
    }

    /// Record of the contract's environment.
    pub(crate) fn environment(&self) -> &EnvironmentRecord {
        &self.environment
    }

    /// Records the digests of the contract's mounts.
    pub(crate) fn note_mounts(&mut self, mounts: Vec<MountDigest>) {
        self.environment.mounts = mounts;
    }

    /// Adds setups that ran.
    pub(crate) fn add_setup(&mut self, setup: impl IntoIterator<Item = SetupRecord>) {
        self.environment.setup.extend(setup);
    }

    /// Keeps the posture of a sandbox that nothing came back from.
    pub(crate) fn add_lost(&mut self, posture: Posture) {
        if self.cells.postures.is_empty() {
            self.cells.postures.push(posture);
        }
    }

    /// Takes over an event's facts about them, which no note may contradict.
    pub(crate) fn restore_event(&mut self, event: &Event) {
        if let Some(EventData::SandboxApplied(applied)) = event.read_data() {
            self.applied = Some(applied.profile);
        }
    }

    /// Coverage of a run that was confined in this way.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = Coverage> {
        let cells = &self.cells;
        let gaps = [
            (Coverage::SandboxNone, self.applied() == Profile::None),
            (Coverage::ActionsNotObserved, !cells.sees_executions()),
            (Coverage::LimitsByRlimit, cells.postures.is_empty() || cells.is_by_rlimit()),
            (Coverage::RecorderMissing, cells.is_recorder_missing()),
            (Coverage::RecorderFull, cells.cells.iter().any(|cell| cell.seen.is_full())),
        ];
        gaps.into_iter().filter(|(_, gap)| *gap).map(|(coverage, _)| coverage)
    }
}

impl RunFile<'_> {
    /// Adds sandboxes, with what their recorders noted as it may be kept. Judged only
    /// afterwards, so that it can be judged again.
    pub(crate) fn add_sandbox_records(&mut self, records: SandboxRecords) -> Result<(), Stopped> {
        let kept = &mut self.sandboxes_mut().cells;
        kept.add_all(records);
        let cells = std::mem::take(&mut kept.cells);
        self.sandboxes_mut().cells.cells = self.clean(names::SANDBOX, cells)?;
        Ok(())
    }
}
