//! A run that has started: its id, its lock, its intent in the ledger and its growing bundle.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use contract::event_data::GateBlockedData;
use contract::report::CheckResult;
use contract::start_detail::{DocumentDetail, StartDetail};
use contract::statement::SignedLedger;
use contract::{
    CollectionKind, Coverage, Digest, EventData, EventKind, Gate, Reason, RunId, Stamp, TaskContract, TaskId,
    canonical_bytes,
};
use evidence::{Draft, WriteArtifactError, stop};
use ledger::{RunIntent, RunStarted};
use sandbox::SandboxStage;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::home::ask::Ask;
use crate::home::cause::ErrorCause;
use crate::home::clock::RunClock;
use crate::home::host;
use crate::home::layout::OpenHomeError;
use crate::home::replay::{self, StepNote};
use crate::home::reserve::Reserve;
use crate::home::task::Task;
use crate::home::token::{canary, random_suffix};
use crate::home::watch::{LiveFact, Step, StepReport, StepState, Watch};
use crate::run::about::DocumentSubject;
use crate::run::confinement::RunConfinement;
use crate::run::evidence_store::{CheckEvidenceError, check_evidence};
use crate::run::halt::Halted;
use crate::run::harness::Harness;
use crate::run::lease::{ClaimedTurn, HeldLease};
use crate::run::notes::StepNotes;
use crate::run::sandboxes::Sandboxes;
use crate::run::scan::{ContractSecret, allowances, censor, secret_in};
use crate::run::standing::RunStanding;
use crate::run::supervise::SupervisionTerms;

/// Reason why a run did not start. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum OpenRunError {
    #[error(transparent)]
    Clock(crate::home::clock::ReadClockError),
    #[error("cannot start a run in {0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Home(OpenHomeError),
    #[error(transparent)]
    Ledger(ledger::AppendEntryError),
    #[error(transparent)]
    ReadLedger(ledger::ReadLedgerError),
    #[error("cannot encode the contract: {0}")]
    Encode(#[source] serde_json::Error),
    /// The contract contains a secret, which would get into every bundle.
    #[error(
        "`{}` of the contract looks like a secret ({}), and a contract is kept in every bundle",
        contract::text::show_controls(&.0.field), .0.rule
    )]
    Secret(ContractSecret),
    #[error(transparent)]
    Evidence(CheckEvidenceError),
}

/// Reason why a started run could not go on. It is sealed all the same, as interrupted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    #[error("interrupted by a signal")]
    Cancelled,
    #[error("stopped by `cto halt`{}", .0.because())]
    Halted(Halted),
    #[error(transparent)]
    Write(#[from] WriteArtifactError),
    #[error(transparent)]
    Tree(#[from] tree::TreeError),
    #[error("{0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Supervise(#[from] sandbox::SuperviseError),
    #[error(transparent)]
    Ledger(#[from] ledger::AppendEntryError),
    #[error("{0}")]
    Encode(#[from] serde_json::Error),
    #[error(transparent)]
    Seal(#[from] evidence::seal::SealBundleError),
    #[error(transparent)]
    Globs(#[from] contract::paths::ParseGlobError),
    /// The run that this one is compared with.
    #[error("the fake engine's run could not be held: {0}")]
    Baseline(#[source] ErrorCause),
    #[error("the approval cannot be looked for: {0}")]
    Approval(#[source] ErrorCause),
    /// The object store cannot be asked.
    #[error(transparent)]
    Evidence(#[from] ledger::UseObjectError),
    /// The sealed bundle cannot be handed in.
    #[error(transparent)]
    Share(#[from] ledger::ShareBundleError),
    /// The epoch no longer holds, or was checked too long ago for the next step.
    #[error("the lease has ended, or may have ended, before a step that cannot be undone")]
    LeaseDeadline,
    /// The ledger cannot be asked for more time.
    #[error("the lease cannot be renewed: {0}")]
    Lease(#[source] ErrorCause),
    /// A state that the steps before exclude: a fault of the harness's own.
    #[error("a fault of the harness: {0}")]
    Impossible(&'static str),
}

/// The file on a run in progress: id, lock, clock, intent and growing bundle, and the reasons against the run. It moves from
/// step to step; the holder of it holds the run's lock. Bundle and reasons are types with methods of their own.
pub(crate) struct RunFile<'a> {
    harness: &'a Harness,
    task: &'a Task,
    ask: &'a Ask,
    /// Set where the bundle is a document about others and no run.
    document: Option<DocumentSubject>,
    watch: Watch<'a>,
    clock: RunClock,
    /// None for a run of a program that knew no leases.
    lease: Option<HeldLease>,
    ledger_at_start: SignedLedger,
    contract_digest: Digest,
    pub(crate) draft: Draft,
    /// Everything short-lived: the engine's copy, private homes, the harness's own object store, verification trees.
    work: PathBuf,
    /// Given back when the run is sealed.
    reserve: Option<Reserve>,
    pub(crate) standing: RunStanding,
    confinement: RunConfinement,
    notes: StepNotes,
}

/// The parts of a run that another process began and this one seals.
pub(crate) struct RunRemains<'a> {
    pub(crate) harness: &'a Harness,
    pub(crate) task: &'a Task,
    pub(crate) ask: &'a Ask,
    pub(crate) document: Option<DocumentSubject>,
    pub(crate) watch: Watch<'a>,
    pub(crate) clock: RunClock,
    pub(crate) lease: Option<HeldLease>,
    pub(crate) ledger_at_start: SignedLedger,
    pub(crate) draft: Draft,
}

/// Linux's file system in memory.
const MEMORY: &str = "/dev/shm";

/// A place in memory for the run of this mark.
pub(crate) fn memory_path(mark: &str) -> PathBuf {
    Path::new(MEMORY).join(format!("cto-{mark}"))
}

fn is_memory(path: &Path) -> bool {
    /// The kernel's number for tmpfs.
    const TMPFS: rustix::fs::FsWord = 0x0102_1994;
    rustix::fs::statfs(path).is_ok_and(|stat| stat.f_type == TMPFS)
}

/// Tries at a run id; two runs of one task in one second rarely share four random letters.
const ID_TRIES: usize = 64;

impl<'a> RunFile<'a> {
    /// Takes an id and its lock, then writes the intent; from there on the run is accounted for, whatever happens.
    pub(crate) fn open_run(
        harness: &'a Harness,
        task: &'a Task,
        ask: &'a Ask,
        watch: Watch<'a>,
        turn: Option<&ClaimedTurn>,
    ) -> Result<Self, OpenRunError> {
        Self::open_for(harness, task, ask, watch, None, turn)
    }

    /// Opens the file of a document about other bundles in the same way.
    pub(crate) fn open_document(
        harness: &'a Harness,
        task: &'a Task,
        ask: &'a Ask,
        watch: Watch<'a>,
        document: DocumentSubject,
    ) -> Result<Self, OpenRunError> {
        Self::open_for(harness, task, ask, watch, Some(document), None)
    }

    fn open_for(
        harness: &'a Harness,
        task: &'a Task,
        ask: &'a Ask,
        watch: Watch<'a>,
        document: Option<DocumentSubject>,
        turn: Option<&ClaimedTurn>,
    ) -> Result<Self, OpenRunError> {
        let clock = RunClock::start_clock().map_err(OpenRunError::Clock)?;
        check_evidence(harness, ask.stage).map_err(OpenRunError::Evidence)?;
        let contract_digest = accept_contract(&task.contract)?;
        let canary = canary().map_err(|error| OpenRunError::Io("random numbers".into(), error))?;
        let (run_id, dir, lock) = match turn {
            Some(turn) => claim_given(harness, &turn.run_id)?,
            None => claim(harness, task, document.as_ref().map(|document| document.kind), &clock)?,
        };
        stop::pass_place("run.claimed");
        let reserve = Reserve::take_space(&harness.home, &run_id).map_err(|error| {
            let _ = fs::remove_dir(&dir);
            OpenRunError::Io(harness.home.root().to_owned(), error)
        })?;
        stop::pass_place("run.reserved");
        let lease_until = harness.lease_end().map_err(OpenRunError::Clock)?;
        let ledger = harness.ledger();
        let before = ledger.head().map_err(OpenRunError::ReadLedger)?;
        let lease = HeldLease::first(harness, turn);
        let intent = RunIntent {
            task_id: task.contract.task_id.clone(),
            engine: ask.engine.clone(),
            stage: ask.stage,
            purpose: ask.purpose,
            owner: Some(lease.owner),
            epoch: turn.map(|turn| turn.epoch),
            detail: json!(intent_detail(task, ask, document.as_ref())),
        };
        let run = run_id.clone();
        let started = RunStarted { run_id: run, time: clock.started(), lease_until: Some(lease_until), intent };
        if let Err(error) = ledger.run_started(&started) {
            let _ = fs::remove_dir(&dir);
            return Err(OpenRunError::Ledger(error));
        }
        stop::pass_place("run.intended");
        let work = harness.home.work_run(&run_id);
        let ledger_at_start = SignedLedger { id: ledger.ledger_id().to_owned(), head: before.hash, seq: before.seq };
        drop(ledger);
        let mut draft = Draft::begin_draft(dir, run_id, lock, clock.started(), censor(&canary))
            .map_err(|error| OpenRunError::Io(harness.home.active().join(error.name), error.error))?;
        draft.censor_mut().allow(allowances(&task.contract));
        watch.observer.live(&LiveFact::Opened { run_id: draft.run_id().clone() });
        let mut standing = RunStanding::default();
        if turn.is_some() && harness.home.shares_ledger() {
            standing.cover(Coverage::SingleWorkerEvidence);
        }
        Ok(Self {
            harness,
            task,
            ask,
            document,
            watch,
            clock,
            lease: Some(lease),
            ledger_at_start,
            contract_digest,
            draft,
            work,
            reserve: Some(reserve),
            standing,
            confinement: RunConfinement::with_canary(canary),
            notes: StepNotes::default(),
        })
    }

    /// Opens the file of a run whose program died. Nothing is started for it any more.
    pub(crate) fn of_remains(remains: RunRemains<'a>) -> Result<Self, serde_json::Error> {
        let RunRemains { harness, task, ask, document, watch, clock, lease, ledger_at_start, draft } = remains;
        Ok(Self {
            contract_digest: task.contract.digest()?,
            work: harness.home.work_run(draft.run_id()),
            harness,
            task,
            ask,
            document,
            watch,
            clock,
            lease,
            ledger_at_start,
            draft,
            reserve: None,
            standing: RunStanding::default(),
            confinement: RunConfinement::with_canary(String::new()),
            notes: StepNotes::default(),
        })
    }

    /// The home and the tools that the run works with.
    pub(crate) fn harness(&self) -> &'a Harness {
        self.harness
    }

    /// The task that is worked on.
    pub(crate) fn task(&self) -> &'a Task {
        self.task
    }

    /// The wish that began it: engine, stage, sandbox and limits.
    pub(crate) fn ask(&self) -> &'a Ask {
        self.ask
    }

    /// Subject of a document about other bundles; none of a run.
    pub(crate) fn document(&self) -> Option<&DocumentSubject> {
        self.document.as_ref()
    }

    /// Observer and cancellation signal.
    pub(crate) fn watch(&self) -> Watch<'a> {
        self.watch
    }

    /// The run's own time.
    pub(crate) fn clock(&self) -> RunClock {
        self.clock
    }

    /// The claim on the run; none where its program knew no leases.
    pub(crate) fn lease(&self) -> Option<HeldLease> {
        self.lease
    }

    /// The ledger as it was before the run.
    pub(crate) fn ledger_at_start(&self) -> &SignedLedger {
        &self.ledger_at_start
    }

    /// Digest of the contract.
    pub(crate) fn contract_digest(&self) -> Digest {
        self.contract_digest
    }

    /// Folder of everything short-lived.
    pub(crate) fn work(&self) -> &Path {
        &self.work
    }

    /// Gives back the space that was kept for the seal.
    pub(crate) fn release_reserve(&mut self) {
        self.reserve = None;
    }

    /// Confinement of what the run starts.
    pub(crate) fn confinement(&self) -> &RunConfinement {
        &self.confinement
    }

    /// The same, to change it.
    pub(crate) fn confinement_mut(&mut self) -> &mut RunConfinement {
        &mut self.confinement
    }

    /// Record of the run's sandboxes.
    pub(crate) fn sandboxes(&self) -> &Sandboxes {
        self.confinement.sandboxes()
    }

    /// The same, to add to it.
    pub(crate) fn sandboxes_mut(&mut self) -> &mut Sandboxes {
        self.confinement.sandboxes_mut()
    }

    /// Findings that the steps have noted so far.
    pub(crate) fn notes(&self) -> &StepNotes {
        &self.notes
    }

    /// The same, to add to them.
    pub(crate) fn notes_mut(&mut self) -> &mut StepNotes {
        &mut self.notes
    }

    /// Id of the run.
    pub(crate) fn id(&self) -> &RunId {
        self.draft.run_id()
    }

    /// Adds an event that carries the reasons it is the event of.
    pub(crate) fn add_event(&mut self, data: &EventData) -> Result<(), WriteArtifactError> {
        let carried = self.standing.carried_by(data.kind());
        self.draft.add_event_data(self.clock.now(), data, carried)
    }

    /// Event of a gate that refuses; true if the engine ran before.
    pub(crate) fn blocked_data(&self, gate: Gate, executed: bool, reason: Option<Reason>) -> EventData {
        EventData::BackendGateBlocked(GateBlockedData {
            backend: self.ask.engine.clone(),
            case_executed: executed,
            engine_executed: executed,
            gate,
            mutation_mode: self.task.contract.mutation_mode,
            reason,
        })
    }

    /// Adds an event of this kind to a document about other bundles, where nothing was checked.
    pub(crate) fn add_unchecked(&mut self, kind: EventKind) -> Result<(), WriteArtifactError> {
        let mut carried = self.standing.carried_by(kind);
        carried.insert("result".to_owned(), json!(CheckResult::NotRun));
        self.draft.add_event(self.clock.now(), kind, Value::Object(carried))
    }

    /// Appends to the trace, with the run's own time.
    pub(crate) fn add_trace(&mut self, step: &str, data: Value) -> Result<(), WriteArtifactError> {
        self.draft.add_trace(self.clock.now(), step, data)
    }

    /// Writes an artifact; each name can be written once.
    pub(crate) fn write_artifact(&mut self, name: &str, bytes: &[u8]) -> Result<(), WriteArtifactError> {
        self.draft.write_artifact(name, bytes, self.clock.now())
    }

    /// A document as it may be written down. To be asked before anything is judged or digested that others judge again.
    pub(crate) fn clean<T: Serialize + DeserializeOwned>(&mut self, file: &str, document: T) -> Result<T, Stopped> {
        Ok(self.draft.censor_mut().censor_document(file, &document)?.unwrap_or(document))
    }

    /// A marker in `backend/` that other tools look for.
    pub(crate) fn marker(&mut self, name: &str, text: &str) -> Result<(), WriteArtifactError> {
        self.write_artifact(&format!("backend/{name}"), format!("{text}\n").as_bytes())
    }

    /// Reports a step to observers and records the report.
    pub(crate) fn step(&mut self, step: Step, state: StepState, detail: &str) -> Result<(), WriteArtifactError> {
        let now = self.clock.now();
        let note = StepNote { step, state, detail: detail.to_owned() };
        self.draft.add_trace(now, replay::STEP, json!(note))?;
        self.watch.observer.step(&StepReport::new(step, state, detail, self.clock.started(), now));
        Ok(())
    }

    /// The surroundings of what this run starts.
    pub(crate) fn setting(&self) -> SupervisionTerms<'_> {
        SupervisionTerms {
            harness: self.harness,
            contract: &self.task.contract,
            run_id: self.id(),
            work: &self.work,
            profile: self.ask.sandbox,
            canary: self.confinement.canary(),
        }
    }

    /// Makes a folder of the run's work area.
    pub(crate) fn work_dir(&self, name: &str) -> Result<PathBuf, Stopped> {
        self.setting().dir(name)
    }

    /// Starts the stages of engine and verification ahead of their use: they are ready by the time the programs to run are
    /// known.
    pub(crate) fn prepare_stages(&mut self) -> Result<(), Stopped> {
        Ok(self.confinement.prepare_stages(self.harness, self.ask.sandbox)?)
    }

    /// Runs a program in a stage that is ready, or in a new one.
    pub(crate) fn take_stage(&mut self) -> Result<SandboxStage, Stopped> {
        Ok(self.confinement.take_stage(self.harness, self.ask.sandbox)?)
    }

    /// Makes the work area. A small case that is not to be kept works in memory, where there is such a place, and its
    /// entry under `work/` is a link to it: what lives for milliseconds need not reach a disk.
    pub(crate) fn make_work(&mut self) -> Result<(), Stopped> {
        let memory = memory_path(&self.id().mark());
        let is_small = self.task.is_small() && self.ask.stage < contract::Stage::OWNED_REPOSITORY;
        let wanted = is_small && !self.ask.keep_workspace && is_memory(Path::new(MEMORY));
        if wanted && DirBuilder::new().mode(0o700).create(&memory).is_ok() {
            symlink(&memory, &self.work).map_err(|error| Stopped::Io(self.work.clone(), error))?;
            self.work = memory;
        }
        self.work_dir("").map(drop)
    }

    /// Stops if somebody wants the run to end.
    pub(crate) fn check_cancelled(&self) -> Result<(), Stopped> {
        if self.watch.cancelled() { Err(Stopped::Cancelled) } else { Ok(()) }
    }
}

/// Facts that a recovery needs if the run dies.
fn intent_detail(task: &Task, ask: &Ask, document: Option<&DocumentSubject>) -> StartDetail {
    let document = document.map(|subject| DocumentDetail { bundles: subject.bundles.clone(), kind: subject.kind });
    StartDetail {
        contract: task.contract.clone(),
        document,
        host: host::describe_host(),
        pid: std::process::id(),
        sandbox: ask.sandbox,
    }
}

fn claim(
    harness: &Harness,
    task: &Task,
    kind: Option<CollectionKind>,
    clock: &RunClock,
) -> Result<(RunId, PathBuf, fs::File), OpenRunError> {
    use io::ErrorKind::{AlreadyExists, NotFound, WouldBlock};
    let active = harness.home.active();
    let mut last = io::Error::from(AlreadyExists);
    for attempt in 0..ID_TRIES {
        let run_id = name_run(&clock.started().compact(), &task.contract.task_id, kind, attempt)
            .map_err(|error| OpenRunError::Io(active.clone(), error))?;
        if harness.home.bundles().has_bundle(&run_id) {
            continue;
        }
        let dir = harness.home.active_run(&run_id);
        match Draft::claim_folder(&dir) {
            Ok(lock) if lock.metadata().is_ok_and(|folder| folder.nlink() > 0) => return Ok((run_id, dir, lock)),
            // A recovery that looked between the making and the locking took it for a dead run's and removes it.
            Ok(_) => {}
            Err(error) if matches!(error.kind(), AlreadyExists | WouldBlock | NotFound) => last = error,
            Err(error) => return Err(OpenRunError::Io(active, error)),
        }
    }
    Err(OpenRunError::Io(active, last))
}

/// Takes the folder of a run that was named when it was submitted.
fn claim_given(harness: &Harness, run_id: &RunId) -> Result<(RunId, PathBuf, fs::File), OpenRunError> {
    let dir = harness.home.active_run(run_id);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    if !harness.home.bundles().has_bundle(run_id) {
        for _ in 0..ID_TRIES {
            match Draft::claim_folder(&dir) {
                Ok(lock) if lock.metadata().is_ok_and(|folder| folder.nlink() > 0) => {
                    return Ok((run_id.clone(), dir, lock));
                }
                // A recovery took it for a dead run's and removes it.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
    }
    Err(OpenRunError::Io(dir, last))
}

/// The digest of a contract that may be written down: one that holds a secret is refused.
pub fn accept_contract(contract: &TaskContract) -> Result<Digest, OpenRunError> {
    let bytes = canonical_bytes(contract).map_err(OpenRunError::Encode)?;
    match secret_in(&bytes).map_err(OpenRunError::Encode)? {
        Some(secret) => Err(OpenRunError::Secret(secret)),
        None => Ok(Digest::of_bytes(&bytes)),
    }
}

/// The name of a run that is to be queued.
pub fn name_queued_run(time: Stamp, task: &TaskId) -> io::Result<RunId> {
    name_run(&time.compact(), task, None, 0)
}

/// The name to try: a refresh is named after its time alone unless somebody took that name, everything else has a suffix.
fn name_run(time: &str, task: &TaskId, kind: Option<CollectionKind>, attempt: usize) -> io::Result<RunId> {
    let named = match kind {
        Some(CollectionKind::Refresh) if attempt == 0 => RunId::without_suffix(time, task),
        _ => RunId::new(time, task, &random_suffix()?),
    };
    named.map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_has_a_suffix_only_where_its_name_is_taken() {
        let (time, task) = ("20261118T060000Z", TaskId::try_from("stage6-real-governed-refresh".to_owned()).unwrap());
        let named = |kind, attempt| name_run(time, &task, kind, attempt).unwrap().to_string();
        let plain = "20261118T060000Z-stage6-real-governed-refresh";
        assert_eq!(named(Some(CollectionKind::Refresh), 0), plain);
        for (kind, attempt) in [(Some(CollectionKind::Refresh), 1), (Some(CollectionKind::Comparison), 0), (None, 0)] {
            let name = named(kind, attempt);
            assert_eq!(name.strip_prefix(plain).map(str::len), Some("-abcd".len()), "{name}");
        }
    }

    /// No input reaches one: the types of the steps before exclude them. What would be sealed must blame nobody's signal.
    #[test]
    fn an_impossible_state_is_called_a_fault_of_the_harness() {
        let stopped = Stopped::Impossible("an admission names another run");
        assert_eq!(stopped.to_string(), "a fault of the harness: an admission names another run");
        assert_ne!(stopped.to_string(), Stopped::Cancelled.to_string());
    }
}
