//! Engines: one seam for all. An engine is given a laid-out copy and private places, is supervised, and is believed in
//! nothing: what it prints is raw material under `backend/`.

mod admit;
mod case;
mod ending;
mod equip;
mod fake;
mod follow;
mod git;
mod identity;
mod idle;
mod kept;
mod linger;
mod locate;
mod log;
mod order;
mod outfit;
mod output;
mod registry;
mod state;

pub use admit::draft_source;
pub(crate) use case::{CASE, RUNTIME_PROVIDER};
pub(crate) use ending::judge_again;
pub(crate) use equip::{Equipment, Equipped, equip};
pub use equip::{check_source, find_engine, list_sources};
pub use registry::{Engine, EngineConfig, Engines, FAKE, is_built_in};

use std::net::TcpListener;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use contract::text::shown;
use contract::{Coverage, EventKind, Gate, Reason};
use evidence::{names, stop};
use gate::conduct::{GitState, judge_conduct, judge_git_changes};
use sandbox::{Confined, Ended, Spec, Stage, SuperviseError};
use serde_json::json;

use crate::decide::AdmittedRun;
use crate::environment;
use crate::posture;
use crate::run::{Run, Stopped};
use crate::supervise::wall;
use crate::target::{Copy, Target};
use crate::watch::{Step, StepState};
use ending::has_protocol;
use follow::{record_end, supervise};
use linger::Linger;
use order::order;

/// The engine's cell in `sandbox.json`.
const ENGINE: &str = "engine";

/// A copy that an engine may work in, with its sandbox built and probed: the gates passed.
pub(crate) struct Workspace<'a> {
    run: Run<'a>,
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

/// Reason why a run that its decision admits goes no further, from the place that knows. Everything that is said of it is made from
/// this.
#[derive(Debug)]
pub(crate) struct Blocked {
    /// The gate that would have refused, had it been known before.
    pub(crate) gate: Gate,
    pub(crate) reason: Reason,
    pub(crate) why: String,
}

/// A run that goes no further, whatever was found out before. Its engine was not started.
pub(crate) struct BlockedRun<'a> {
    run: Run<'a>,
    blocked: Blocked,
}

impl<'a> BlockedRun<'a> {
    pub(crate) fn into_parts(self) -> (Run<'a>, Blocked) {
        (self.run, self.blocked)
    }
}

/// What preparing comes to.
pub(crate) enum Prepared<'a> {
    Ready(Box<Workspace<'a>>),
    Blocked(Box<BlockedRun<'a>>),
}

/// A copy in which an engine has worked and whose processes are dead.
pub(crate) struct Worked<'a> {
    pub(crate) run: Run<'a>,
    pub(crate) copy: Copy,
    pub(crate) layers: Option<Layered>,
}

/// An engine that has not started.
enum Ready {
    Open(Stage, Box<Spec>),
    Confined(Box<Confined>),
}

impl Ready {
    fn build(stage: Stage, spec: Spec) -> Result<Self, SuperviseError> {
        if spec.confinement.is_none() {
            return Ok(Self::Open(stage, Box::new(spec)));
        }
        stage.confine(spec).map(|confined| Self::Confined(Box::new(confined)))
    }

    /// Where the changes of a workspace of layers go.
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

    fn start(self, watch: &mut sandbox::Watch<'_>) -> Result<Ended, SuperviseError> {
        match self {
            Self::Open(stage, spec) => stage.run(&spec, watch),
            Self::Confined(confined) => confined.start(watch),
        }
    }
}

impl<'a> AdmittedRun<'a> {
    /// Announces the copy and the plan and builds the sandbox. Only an admitted run has one.
    pub(crate) fn prepare(self, target: Target) -> Result<Prepared<'a>, Stopped> {
        let (mut run, admission) = self.into_parts();
        let Some(copy) = target.copy else { return Err(Stopped::Impossible("an admitted run has no copy")) };
        run.step(Step::Workspace, StepState::Began, "")?;
        let files = announce(&mut run, &copy)?;
        run.trace("admitted", json!({"decision_id": admission.decision().decision_id}))?;
        stop::here("workspace.announced");
        let layers = environment::layers_of_engine(&run, &copy)?;
        let state = run.work_dir("engine/state")?;
        let spec = match order(&mut run, &copy, &layers, &state)? {
            Ok(spec) => spec,
            Err(blocked) => return block(run, blocked),
        };
        let stage = run.take_stage()?;
        let mut cell = match Ready::build(stage, spec) {
            Ok(cell) => cell,
            Err(SuperviseError::ConfineProgram { failure, probes }) => {
                let open: Vec<_> = probes.iter().filter(|probe| !probe.refused).map(|probe| &probe.name).collect();
                run.trace("sandbox.failed", json!({"failure": failure, "open": open}))?;
                let why = format!("sandbox profile `{}` could not be built: {}", run.ask.sandbox, failure.text);
                return block(run, Blocked::unconfined(why));
            }
            Err(error) => return Err(error.into()),
        };
        if let Err(why) = serve_model(&mut run, &mut cell) {
            return block(run, Blocked::unconfined(why));
        }
        let layers = cell.take_upper().map(|changes| Layered { changes, layers });
        let refused = match &cell {
            Ready::Open(..) => 0,
            Ready::Confined(confined) => confined.applied().probes.len(),
        };
        let applied = json!({"asked": run.ask.sandbox, "probes_refused": refused, "profile": run.ask.sandbox});
        run.posture = match &cell {
            Ready::Open(..) => None,
            Ready::Confined(confined) => Some(posture::posture(confined.applied())?),
        };
        run.event(EventKind::SandboxApplied, applied)?;
        run.note_findings();
        let commit = run.findings.baseline_commit.clone().unwrap_or_default();
        let detail = format!("{files} files from baseline {}", commit.get(..7).unwrap_or(&commit));
        run.step(Step::Workspace, StepState::Ended, &detail)?;
        let git = git::state(&copy.root, None);
        Ok(Prepared::Ready(Box::new(Workspace { run, copy, state, git, layers, cell })))
    }
}

/// Hands the socket inside the engine's network to the bridge, where the engine needs a model.
fn serve_model(run: &mut Run<'_>, cell: &mut Ready) -> Result<(), String> {
    let Some(link) = &mut run.link else { return Ok(()) };
    let listener = cell.take_listener().ok_or("the sandbox has no listener for the bridge")?;
    link.serve(listener)
}

fn announce(run: &mut Run<'_>, copy: &Copy) -> Result<usize, Stopped> {
    let files = copy.baseline.listing.0.len();
    let contract = &run.task.contract;
    let plan = json!({
        "allowed_paths": contract.allowed_paths,
        "by": "harness",
        "commands": contract.verification_commands,
        "forbidden_paths": contract.forbidden_paths,
        "limits": contract.limits,
    });
    let prepared = json!({"baseline_commit": run.findings.baseline_commit, "baseline_tree": copy.baseline.tree.to_string(), "files": files});
    run.event(EventKind::WorkspacePrepared, prepared)?;
    run.event(EventKind::PlanUpdated, plan)?;
    if !copy.absent.is_empty() {
        run.findings.coverage.insert(Coverage::ContentNotInGit);
    }
    Ok(files)
}

impl Blocked {
    fn unconfined(why: String) -> Self {
        Self { gate: Gate::SandboxAvailable, reason: Reason::SandboxUnavailable, why }
    }
}

/// Ends a run before its engine starts.
fn block(mut run: Run<'_>, blocked: Blocked) -> Result<Prepared<'_>, Stopped> {
    let Blocked { gate, reason, why } = &blocked;
    run.findings.block(*reason, shown(why), names::TRACE);
    let data = json!({
        "backend": run.ask.engine,
        "case_executed": false,
        "engine_executed": false,
        "gate": gate,
        "mutation_mode": run.task.contract.mutation_mode,
        "reason": reason,
    });
    run.event(EventKind::BackendGateBlocked, data)?;
    run.step(Step::Workspace, StepState::Refused, reason.code())?;
    run.note_findings();
    Ok(Prepared::Blocked(Box::new(BlockedRun { run, blocked })))
}

impl<'a> Workspace<'a> {
    /// Runs the engine to its end, or to the end of its time.
    pub(crate) fn work(self) -> Result<Worked<'a>, Stopped> {
        let Self { mut run, copy, state, git, layers, cell } = self;
        run.check_cancelled()?;
        run.step(Step::Engine, StepState::Began, "")?;
        let inputs = run.findings.decision.as_ref().map(|decision| &decision.inputs);
        let intent =
            json!({"argv_sha256": run.findings.engine.argv_sha256, "engine": run.ask.engine, "inputs": inputs});
        stop::here("engine.intending");
        run.harness.ledger().engine_starting(run.id(), run.clock.now(), &intent)?;
        stop::here("engine.intended");
        run.findings.engine.started = true;
        let seconds = wall(&run).as_secs();
        run.event(EventKind::EngineStarted, json!({"engine": run.ask.engine, "wall_seconds": seconds}))?;
        stop::here("engine.starting");
        let linger = Linger::of(&run, &copy, layers.as_ref())?;
        let places = vec![layers.as_ref().map_or_else(|| copy.root.clone(), Layered::path)];
        let (ended, settled) = supervise(&mut run, cell, linger.as_ref(), places)?;
        run.findings.engine.ended_by_harness = settled.map(str::to_owned);
        stop::here("engine.ended");
        run.close_link()?;
        regain(layers.as_ref().map(|layers| layers.changes.as_fd()), &[&copy.root, &state]);
        let log = if has_protocol(&run) { log::read(&copy, layers.as_ref()) } else { Vec::new() };
        record_end(&mut run, &ended, &log)?;
        conduct(&mut run, &ended, &git, &git::state(&copy.root, layers.as_ref()))?;
        state::collect(&mut run, &ended, &log, &state)?;
        run.note_findings();
        stop::here("engine.collected");
        if !ended.cancelled {
            let exit =
                run.findings.engine.exit.map_or_else(|| "did not start".to_owned(), |code| format!("exit {code}"));
            run.step(Step::Engine, StepState::Ended, &exit)?;
        }
        Ok(Worked { run, copy, layers })
    }
}

/// Lets the harness into the directories that an engine was given, whatever it made of their modes: those are no part of a
/// result. What cannot be regained is refused when it is read.
fn regain(changes: Option<BorrowedFd<'_>>, roots: &[&Path]) {
    changes.into_iter().for_each(|dir| drop(untrusted_fs::grant_owner_of(dir)));
    roots.iter().for_each(|root| drop(untrusted_fs::grant_owner(root)));
}

/// What the recorders saw of the engine, and what it made of its repository's configuration.
fn conduct(run: &mut Run<'_>, ended: &Ended, before: &GitState, after: &GitState) -> Result<(), Stopped> {
    run.findings.cells.add(ENGINE, ended)?;
    run.clean_cells()?;
    let mut attempts = run.findings.cells.last().map(|cell| judge_conduct(&cell.name, &cell.seen)).unwrap_or_default();
    attempts.extend(judge_git_changes(ENGINE, before, after));
    posture::hold_against(run, attempts)
}
