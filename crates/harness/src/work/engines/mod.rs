//! Engines: one seam for all. An engine is given a laid-out copy and private places, is supervised, and is trusted in
//! nothing: what it prints is raw material under `backend/`.

mod case;
mod consume;
mod ending;
mod engine_call;
mod fake;
mod follow;
mod git;
mod given;
mod idle;
mod linger;
mod log;
mod order;
mod output;
mod ran;
mod state;

pub(crate) use case::RUNTIME_PROVIDER;
pub(crate) use ending::judge_again;
pub(crate) use given::SearchedPlaces;
pub(crate) use ran::EngineRun;

use std::borrow::Cow;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread::Scope;

use contract::decision::Profile;
use contract::event_data::{
    ApprovalDeniedData, EngineStartedData, EventAuthor, PlanUpdatedData, SandboxAppliedData, WorkspacePreparedData,
};
use contract::sandbox::{ENGINE_CELL, Posture, RecorderState};
use contract::text::show_controls;
use contract::{Coverage, Decision, EventData, Gate, Reason, TaskBounds};
use evidence::{names, stop};
use gate::Admission;
use gate::conduct::{GitState, judge_conduct, judge_git_changes};
use sandbox::{ConfineFailure, Confined, Ended, SandboxStage, Spec, SuperviseError};
use serde_json::json;

use crate::gather::approval_events::granted_events;
use crate::gather::decide::{AdmittedRun, Preparation};
use crate::gather::protected::look_at_roots;
use crate::gather::target::Target;
use crate::home::watch::{LiveFact, Step, StepState};
use crate::judge::copy::Copy;
use crate::judge::environment;
use crate::run::engine_intent::EngineIntent;
use crate::run::file::{RunFile, Stopped};
use crate::run::observation::find_blindness;
use crate::run::posture;
use crate::run::sandboxes::SandboxRecords;
use crate::run::supervise::wall_limit;
use crate::work::claims;
use consume::record_start;
use ending::has_protocol;
use follow::{record_end, supervise_engine};
use linger::Linger;
use order::order;

/// A copy that an engine may work in, with its sandbox built and probed: the gates passed.
pub(crate) struct EngineWorkspace<'a> {
    run: RunFile<'a>,
    admission: Admission,
    preparation: Preparation,
    engine: EngineRun,
    copy: Copy,
    state: PathBuf,
    git: GitState,
    layers: Option<Layered>,
    cell: Ready,
}

/// A workspace of layers: where its changes go, and what setup put beneath them.
pub(crate) struct Layered {
    pub(crate) changes: OwnedFd,
    pub(crate) layers: Vec<PathBuf>,
}

impl Layered {
    /// The directory of the changes, as long as this is held.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/.", self.changes.as_raw_fd()))
    }
}

/// Reason why a run that its decision admits goes no further, from the place that knows. Every text about it is made from this.
#[derive(Debug)]
pub(crate) struct Blocked {
    /// The gate that would have refused, had it been known before.
    pub(crate) gate: Gate,
    pub(crate) reason: Reason,
    pub(crate) why: String,
}

/// A run that goes no further, whatever was found out before. Its engine was not started.
pub(crate) struct BlockedRun<'a> {
    run: RunFile<'a>,
    admission: Admission,
    preparation: Preparation,
    engine: EngineRun,
    blocked: Blocked,
}

impl<'a> BlockedRun<'a> {
    /// Parts for the next step.
    pub(crate) fn into_parts(self) -> (RunFile<'a>, Admission, Preparation, EngineRun, Blocked) {
        (self.run, self.admission, self.preparation, self.engine, self.blocked)
    }
}

/// Result of preparing.
pub(crate) enum Prepared<'a> {
    Ready(Box<EngineWorkspace<'a>>),
    Blocked(Box<BlockedRun<'a>>),
}

/// Result of starting the engine.
pub(crate) enum Attempted<'a> {
    Worked(Box<Worked<'a>>),
    /// The approval could not be used any more.
    Blocked(Box<BlockedRun<'a>>),
}

/// A copy in which an engine has worked and whose processes are dead.
pub(crate) struct Worked<'a> {
    run: RunFile<'a>,
    admission: Admission,
    preparation: Preparation,
    engine: EngineRun,
    place: WorkedIn,
}

/// The copy, and where the changes of an engine lie if not in it.
pub(crate) struct WorkedIn {
    pub(crate) copy: Copy,
    pub(crate) layers: Option<Layered>,
}

impl<'a> Worked<'a> {
    /// Parts for the next step.
    pub(crate) fn into_parts(self) -> (RunFile<'a>, Admission, Preparation, EngineRun, WorkedIn) {
        (self.run, self.admission, self.preparation, self.engine, self.place)
    }
}

/// An engine that has not started.
enum Ready {
    Open(SandboxStage, Box<Spec>),
    Confined(Box<Confined>),
}

impl Ready {
    fn build(stage: SandboxStage, spec: Spec) -> Result<Self, SuperviseError> {
        if spec.confinement.is_none() {
            return Ok(Self::Open(stage, Box::new(spec)));
        }
        stage.confine_spec(spec).map(|confined| Self::Confined(Box::new(confined)))
    }

    /// Walls of the sandbox; none where it has none.
    fn posture(&self) -> Option<&Posture> {
        match self {
            Self::Open(..) => None,
            Self::Confined(confined) => Some(&confined.applied().posture),
        }
    }

    /// Recorders of the sandbox.
    fn recorders(&self) -> &[RecorderState] {
        self.posture().map_or(&[], |posture| &posture.recorders)
    }

    /// Directory that takes the changes of a workspace of layers.
    fn take_upper(&mut self) -> Option<OwnedFd> {
        match self {
            Self::Open(..) => None,
            Self::Confined(confined) => confined.take_upper(),
        }
    }

    /// The socket that listens inside, where there is to be one.
    fn take_listener(&mut self) -> Option<TcpListener> {
        match self {
            Self::Open(..) => None,
            Self::Confined(confined) => confined.take_listener(),
        }
    }

    fn start(self, watch: &mut sandbox::SupervisorWatch<'_>) -> Result<Ended, SuperviseError> {
        match self {
            Self::Open(stage, spec) => stage.run_program(&spec, watch),
            Self::Confined(confined) => confined.start_program(watch),
        }
    }
}

impl<'a> AdmittedRun<'a> {
    /// Announces the copy and the plan and builds the sandbox. Only an admitted run has one.
    pub(crate) fn prepare_engine(self, target: Target) -> Result<Prepared<'a>, Stopped> {
        let (run, preparation, admission) = self.into_parts();
        let Some(copy) = target.copy else { return Err(Stopped::Impossible("an admitted run has no copy")) };
        let mut building = Building { run, admission, preparation, engine: EngineRun::default() };
        building.preparation.protect(look_at_roots(&building.run)?);
        let state = building.run.work_dir("engine/state")?;
        match building.build(&copy, &state)? {
            Err(blocked) => Ok(Prepared::Blocked(building.block(blocked, Step::Workspace)?)),
            Ok((cell, layers)) => {
                let Building { run, admission, preparation, engine } = building;
                let git = git::state(&copy.root, None);
                let workspace = EngineWorkspace { run, admission, preparation, engine, copy, state, git, layers, cell };
                Ok(Prepared::Ready(Box::new(workspace)))
            }
        }
    }
}

/// An admitted run whose engine's sandbox is being built.
struct Building<'a> {
    run: RunFile<'a>,
    admission: Admission,
    preparation: Preparation,
    engine: EngineRun,
}

impl<'a> Building<'a> {
    fn build(&mut self, copy: &Copy, state: &Path) -> Result<Result<(Ready, Option<Layered>), Blocked>, Stopped> {
        self.run.step(Step::Workspace, StepState::Began, "")?;
        let files = self.announce(copy)?;
        self.run.add_trace("admitted", json!({"decision_id": self.admission.decision().decision_id}))?;
        stop::pass_place("workspace.announced");
        let layers = environment::layers_of_engine(&self.run, self.preparation.layer(), copy)?;
        let decision = self.admission.decision();
        let spec = match order(&mut self.run, &mut self.engine, &self.preparation, decision, copy, &layers, state)? {
            Ok(spec) => spec,
            Err(blocked) => return Ok(Err(blocked)),
        };
        let stage = self.run.take_stage()?;
        let mut cell = match Ready::build(stage, spec) {
            Ok(cell) => cell,
            Err(error) => return self.refuse_unbuilt(error),
        };
        // Before anything is used up: what nobody observes could not land.
        if let Some(why) = find_blindness(self.run.ask().stage, cell.recorders()) {
            return Ok(Err(Blocked::unconfined(why)));
        }
        if let Err(why) = self.serve_model(&mut cell) {
            return Ok(Err(Blocked::unconfined(why)));
        }
        let layers = cell.take_upper().map(|changes| Layered { changes, layers });
        self.announce_sandbox(&cell)?;
        let decision = self.admission.decision();
        let commit = baseline_commit(decision).unwrap_or_default();
        let noun = if files == 1 { "file" } else { "files" };
        let detail = format!("{files} {noun} from baseline {}", commit.get(..7).unwrap_or(commit));
        self.run.step(Step::Workspace, StepState::Ended, &detail)?;
        Ok(Ok((cell, layers)))
    }

    /// Judges a sandbox that could not be built. Ctrl-C at a terminal reaches the supervising stage too: what is lost by it says
    /// nothing about the sandbox.
    fn refuse_unbuilt<T>(&mut self, error: SuperviseError) -> Result<Result<T, Blocked>, Stopped> {
        self.run.check_cancelled()?;
        let SuperviseError::ConfineProgram { failure, probes } = error else { return Err(error.into()) };
        let open: Vec<_> = probes.iter().filter(|probe| !probe.refused).map(|probe| &probe.name).collect();
        self.run.add_trace("sandbox.failed", json!({"failure": failure, "open": open}))?;
        Ok(Err(Blocked::of_sandbox(self.run.ask().sandbox, &failure)))
    }

    /// Hands the socket inside the engine's network to the bridge, where the engine needs a model.
    fn serve_model(&mut self, cell: &mut Ready) -> Result<(), String> {
        let Some(link) = self.preparation.model_mut().link_mut() else { return Ok(()) };
        let listener = cell.take_listener().ok_or("the sandbox has no listener for the bridge")?;
        link.serve_listener(listener)
    }

    fn announce(&mut self, copy: &Copy) -> Result<usize, Stopped> {
        let run = &mut self.run;
        let files = copy.baseline.listing.0.len();
        let contract = &run.task().contract;
        let bounds = TaskBounds::of_contract(contract, self.admission.decision());
        let plan = PlanUpdatedData {
            admitted_paths: bounds.within,
            allowed_paths: bounds.allowed,
            by: EventAuthor::Harness,
            commands: contract.verification_commands.clone(),
            forbidden_paths: bounds.forbidden,
            limits: contract.limits.clone(),
        };
        let prepared = WorkspacePreparedData {
            baseline_commit: baseline_commit(self.admission.decision()).map(str::to_owned),
            baseline_tree: copy.baseline.tree.to_string(),
            files,
        };
        run.add_event(&EventData::WorkspacePrepared(prepared))?;
        run.add_event(&EventData::PlanUpdated(Box::new(plan)))?;
        for data in granted_events(self.admission.decision()) {
            run.add_event(&data)?;
        }
        if !copy.absent.is_empty() {
            run.standing.cover(Coverage::ContentNotInGit);
        }
        Ok(files)
    }

    fn announce_sandbox(&mut self, cell: &Ready) -> Result<(), Stopped> {
        let run = &mut self.run;
        let refused = match cell {
            Ready::Open(..) => 0,
            Ready::Confined(confined) => confined.applied().posture.probes.len(),
        };
        run.confinement_mut().note_posture(cell.posture().cloned());
        let profile = run.ask().sandbox;
        let applied = SandboxAppliedData { asked: profile, probes_refused: refused, profile };
        run.add_event(&EventData::SandboxApplied(applied))?;
        run.note_found(&self.engine);
        Ok(())
    }

    /// Ends a run before its engine starts, at this step.
    fn block(mut self, blocked: Blocked, at: Step) -> Result<Box<BlockedRun<'a>>, Stopped> {
        let run = &mut self.run;
        let Blocked { gate, reason, why } = &blocked;
        run.standing.block_run(*reason, show_controls(why), names::TRACE);
        if *reason == Reason::ApprovalDenied {
            let denied = ApprovalDeniedData { by: Some(EventAuthor::Ledger), denial: None };
            run.add_event(&EventData::ApprovalDenied(denied))?;
        }
        run.add_event(&run.blocked_data(*gate, false, Some(*reason)))?;
        run.step(at, StepState::Refused, reason.code())?;
        run.note_found(&self.engine);
        let Self { run, admission, preparation, engine } = self;
        Ok(Box::new(BlockedRun { run, admission, preparation, engine, blocked }))
    }
}

fn baseline_commit(decision: &Decision) -> Option<&str> {
    decision.inputs.target.as_ref()?.baseline_commit.as_deref()
}

impl Blocked {
    fn unconfined(why: String) -> Self {
        Self { gate: Gate::SandboxAvailable, reason: Reason::SandboxUnavailable, why }
    }

    /// Refusal for a sandbox that could not be built.
    fn of_sandbox(asked: Profile, failure: &ConfineFailure) -> Self {
        Self::unconfined(format!("sandbox profile `{asked}` could not be built: {}", failure.text))
    }

    /// Reason for an engine that would have to be given a repository.
    fn of_target(why: String) -> Self {
        Self { gate: Gate::TargetAdmission, reason: Reason::TargetNotAdmitted, why }
    }

    /// Refusal for a configuration with another model than the admitted one.
    fn of_other_model(why: String) -> Self {
        Self { gate: Gate::ModelDecisionAndAdmission, reason: Reason::ModelNotAdmitted, why }
    }
}

impl<'a> EngineWorkspace<'a> {
    /// Runs the engine to its end, or to the end of its time. Its start uses up the approval that the run rests on.
    pub(crate) fn work(self) -> Result<Attempted<'a>, Stopped> {
        // What the home remembers of the use is on the disk before anything is made of the engine's work.
        std::thread::scope(|beside| self.work_beside(beside))
    }

    fn work_beside<'scope>(self, beside: &'scope Scope<'scope, 'a>) -> Result<Attempted<'a>, Stopped> {
        let Self { mut run, admission, mut preparation, mut engine, copy, state, git, layers, cell } = self;
        run.check_cancelled()?;
        run.step(Step::Engine, StepState::Began, "")?;
        let inputs = &admission.decision().inputs;
        let intent = serde_json::to_value(EngineIntent {
            argv_sha256: engine.argv_sha256(),
            engine: Cow::Borrowed(&run.ask().engine),
            inputs: Some(Cow::Borrowed(inputs)),
        })?;
        stop::pass_place("engine.intending");
        let began = run.clock().elapsed();
        if let Err(blocked) = record_start(&run, &intent, admission.decision(), preparation.approval(), beside)? {
            drop(cell);
            // The sandbox stood ready, as its event says, and nothing came back from it.
            run.confinement_mut().keep_lost_posture();
            preparation.model_mut().close_bridge(&mut run)?;
            let building = Building { run, admission, preparation, engine };
            return Ok(Attempted::Blocked(building.block(blocked, Step::Engine)?));
        }
        if preparation.approval().is_some() {
            let took = run.clock().elapsed().saturating_sub(began);
            run.add_trace("approval.used", json!({"micros": took.as_micros()}))?;
        }
        stop::pass_place("engine.intended");
        run.standing.note_engine_started();
        let seconds = wall_limit(&run).as_secs();
        let started = EngineStartedData { engine: run.ask().engine.clone(), wall_seconds: seconds };
        run.add_event(&EventData::EngineStarted(started))?;
        stop::pass_place("engine.starting");
        let started = LiveFact::ProgramStarted { name: run.ask().engine.clone(), limit: wall_limit(&run), began: None };
        run.watch().observer.live(&started);
        let linger = Linger::for_engine(&run, preparation.equipped(), &copy, layers.as_ref())?;
        let places = vec![layers.as_ref().map_or_else(|| copy.root.clone(), Layered::path)];
        let (ended, settled) = supervise_engine(&mut run, &mut preparation, cell, linger.as_ref(), places)?;
        engine.end.ended_by_harness = settled.map(str::to_owned);
        stop::pass_place("engine.ended");
        preparation.model_mut().close_bridge(&mut run)?;
        regain(layers.as_ref().map(|layers| layers.changes.as_fd()), &[&copy.root, &state]);
        let equipped = preparation.equipped();
        let log = if has_protocol(equipped) { log::read_logs(&copy, layers.as_ref()) } else { Vec::new() };
        record_end(&mut run, &mut engine, equipped, &ended, &log)?;
        conduct(&mut run, &ended, &git, &git::state(&copy.root, layers.as_ref()))?;
        state::collect_output(&mut run, equipped, &ended, &log, &state)?;
        engine.claims = claims::hear_claims(&run, equipped, &ended, &log);
        run.note_found(&engine);
        stop::pass_place("engine.collected");
        if !ended.cancelled {
            let exit = engine.exit().map_or_else(|| "did not start".to_owned(), |code| format!("exit {code}"));
            run.step(Step::Engine, StepState::Ended, &exit)?;
        }
        let place = WorkedIn { copy, layers };
        Ok(Attempted::Worked(Box::new(Worked { run, admission, preparation, engine, place })))
    }
}

/// Lets the harness into the directories that an engine was given, whatever it made of their modes: those are no part of a
/// result. What cannot be regained is refused when it is read.
fn regain(changes: Option<BorrowedFd<'_>>, roots: &[&Path]) {
    changes.into_iter().for_each(|dir| drop(untrusted_fs::grant_owner_of(dir)));
    roots.iter().for_each(|root| drop(untrusted_fs::grant_owner(root)));
}

/// Records the recorders' observations of the engine, and the changes to its repository's
/// configuration.
fn conduct(run: &mut RunFile<'_>, ended: &Ended, before: &GitState, after: &GitState) -> Result<(), Stopped> {
    let mut records = SandboxRecords::default();
    records.add_sandbox(ENGINE_CELL, ended);
    run.add_sandbox_records(records)?;
    let engine = run.sandboxes().records().last().filter(|cell| cell.name == ENGINE_CELL);
    let mut attempts = engine.map(|cell| judge_conduct(&cell.name, &cell.seen)).unwrap_or_default();
    attempts.extend(judge_git_changes(ENGINE_CELL, before, after));
    posture::hold_against(run, attempts)
}

#[cfg(test)]
mod tests {
    use sandbox::ConfineStep;

    use super::*;
    use crate::tests::two_sided;

    #[test]
    fn a_sandbox_that_cannot_be_built_starts_nothing() {
        let failure = ConfineFailure { step: ConfineStep::Landlock, errno: None, text: "no Landlock".to_owned() };
        let blocked = Blocked::of_sandbox(Profile::Strict, &failure);
        assert_eq!((blocked.gate, blocked.reason), (Gate::SandboxAvailable, Reason::SandboxUnavailable));
        assert_eq!(blocked.why, "sandbox profile `strict` could not be built: no Landlock");
        two_sided(Reason::SandboxUnavailable, blocked.reason, Blocked::of_target(String::new()).reason);
    }
}
