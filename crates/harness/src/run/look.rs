//! A command in the sandbox that engines get, for people who want to look around. No
//! contract is fulfilled and nothing is recorded; its writes over the folder are discarded.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use contract::case::load_contract;
use contract::decision::{Profile, Shortfall};
use contract::sandbox::{Attempt, SandboxRecord};
use contract::{RunId, TaskContract};
use gate::conduct::judge_conduct;
use sandbox::{Access, Applied, Upper, WorkspaceFrom};

use crate::home::cause::ErrorCause;
use crate::home::clock::RunClock;
use crate::home::scratch::Work;
use crate::home::token::{canary, random_suffix};
use crate::run::availability;
use crate::run::file::Stopped;
use crate::run::harness::Harness;
use crate::run::sandboxes::SandboxRecords;
use crate::run::supervise::{SupervisionTerms, exit_code, space};

/// Command to run, and the folder to run it over.
#[derive(Debug)]
pub struct Look {
    pub argv: Vec<String>,
    /// Shown as the workspace; it is not written to.
    pub folder: PathBuf,
    /// Shown beside it, read-only.
    pub shown: Vec<Shown>,
    /// Whose environment and limits hold.
    pub contract: Option<TaskContract>,
    /// Standard input; none means `/dev/null`.
    pub stdin: Option<Vec<u8>>,
    /// Time limit of the command.
    pub wall: Duration,
}

/// Something of the host's, and the name it has among what the harness gives.
#[derive(Debug, Clone)]
pub struct Shown {
    pub host: PathBuf,
    pub name: String,
}

/// Result of the command and the observations of its sandbox.
#[derive(Debug)]
pub struct Looked {
    pub exit: Option<i32>,
    pub timed_out: bool,
    /// Confinement that was in force.
    pub applied: Applied,
    pub cell: Option<SandboxRecord>,
    /// Attempts that the recorders saw, judged.
    pub attempts: Vec<Attempt>,
    /// Limits that are known to have been hit.
    pub limit_hits: Vec<sandbox::LimitKind>,
}

/// Reason why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("{}", .0.text)]
    Unavailable(Shortfall),
    #[error("`{0}` is not to be found in the sandbox")]
    NotFound(String),
    #[error("{0}")]
    Failed(#[source] ErrorCause),
}

impl From<Stopped> for LookError {
    fn from(stopped: Stopped) -> Self {
        keep_cause(stopped)
    }
}

fn keep_cause(error: impl Into<ErrorCause>) -> LookError {
    LookError::Failed(error.into())
}

/// The limits and the empty environment of a contract that says nothing.
const PLAIN: &str = "schema_version: \"1\"\ntask_id: sandbox\ntitle: Look around\nbrief: Look around.\nrisk_class: low\n\
    allowed_paths: []\nforbidden_actions: [push]\nmutation_mode: none\nno_test_rationale: nothing is changed\n";

/// Runs it to its end; `on_line` gets its output as it comes.
pub fn look_around(
    harness: &Harness,
    look: &Look,
    cancel: &AtomicBool,
    on_line: &mut dyn FnMut(sandbox::Line<'_>),
) -> Result<Looked, LookError> {
    if let (_, Some(shortfall)) = availability::profiles(harness, Profile::Strict) {
        return Err(LookError::Unavailable(shortfall));
    }
    let plain = || load_contract("sandbox", PLAIN.as_bytes(), &|_| Err(String::new()));
    let contract = match &look.contract {
        Some(contract) => contract.clone(),
        None => plain().map_err(|errors| keep_cause(format!("{errors:?}")))?,
    };
    let clock = RunClock::start_clock().map_err(keep_cause)?;
    let letters = random_suffix().map_err(keep_cause)?;
    let run_id = RunId::new(&clock.started().compact(), &contract.task_id, &letters).map_err(keep_cause)?;
    let work = Work::make_area(&harness.home, "look").map_err(keep_cause)?;
    let canary = canary().map_err(keep_cause)?;
    let setting = SupervisionTerms {
        harness,
        contract: &contract,
        run_id: &run_id,
        work: work.path(),
        profile: Profile::Strict,
        canary: &canary,
    };
    run(&setting, look, cancel, on_line)
}

fn run(
    setting: &SupervisionTerms<'_>,
    look: &Look,
    cancel: &AtomicBool,
    on_line: &mut dyn FnMut(sandbox::Line<'_>),
) -> Result<Looked, LookError> {
    let space = space(&setting.contract.limits);
    let from = WorkspaceFrom::Layers { lower: vec![look.folder.clone()], upper: Upper::Memory(space) };
    let mut program_view = setting.make_mounts("look", look.folder.clone())?.with_layers(Vec::new(), from);
    for Shown { host, name } in &look.shown {
        let _ = program_view.show_path(host, name, Access::ReadOnly);
    }
    let program = look.argv.first().cloned().unwrap_or_default();
    let mut spec = setting.spec(&look.argv, None, &program_view, look.wall).ok_or(LookError::NotFound(program))?;
    spec.stdin = look.stdin.clone();
    let stage = setting.harness.supervisor.prepare().map_err(keep_cause)?;
    let mut watch =
        sandbox::SupervisorWatch { cancel: Some(cancel), stop: None, on_line: Some(on_line), on_tick: None };
    let confined = stage.confine_spec(spec).map_err(keep_cause)?;
    let before = confined.applied().clone();
    let ended = confined.start_program(&mut watch).map_err(keep_cause)?;
    let mut records = SandboxRecords::default();
    records.add_sandbox("sandbox", &ended);
    let attempts = records.last().map(|cell| judge_conduct(&cell.name, &cell.seen)).unwrap_or_default();
    Ok(Looked {
        exit: exit_code(&ended),
        timed_out: ended.timed_out,
        cell: records.last().cloned(),
        attempts,
        limit_hits: ended.limit_hits,
        applied: ended.applied.unwrap_or(before),
    })
}
