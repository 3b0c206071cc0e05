//! A command in the sandbox that engines get, for people who want to look around. No contract is fulfilled and nothing is
//! recorded: what it writes over the folder is gone afterwards.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use contract::case::load_contract;
use contract::decision::{Profile, Shortfall};
use contract::sandbox::{Attempt, Cell};
use contract::{RunId, TaskContract};
use gate::conduct::judge_conduct;
use sandbox::{Access, Applied, Upper, WorkspaceFrom};

use crate::availability;
use crate::clock::RunClock;
use crate::harness::Harness;
use crate::posture::Cells;
use crate::run::{Stopped, canary, suffix};
use crate::supervise::{Setting, exit_code, space};
use crate::work::Work;

/// What to run, and over what.
#[derive(Debug)]
pub struct Look {
    pub argv: Vec<String>,
    /// Shown as the workspace; it is not written to.
    pub folder: PathBuf,
    /// Shown beside it, read-only.
    pub shown: Vec<Shown>,
    /// Whose environment and limits hold.
    pub contract: Option<TaskContract>,
    pub stdin: Option<Vec<u8>>,
    pub wall: Duration,
}

/// Something of the host's, and the name it has among what the harness gives.
#[derive(Debug, Clone)]
pub struct Shown {
    pub host: PathBuf,
    pub name: String,
}

/// What came of it.
#[derive(Debug)]
pub struct Looked {
    pub exit: Option<i32>,
    pub timed_out: bool,
    pub applied: Applied,
    pub cell: Option<Cell>,
    pub attempts: Vec<Attempt>,
    pub limit_hits: Vec<sandbox::LimitKind>,
}

/// Why nothing was run.
#[derive(Debug)]
pub enum LookError {
    Unavailable(Shortfall),
    NotFound(String),
    Failed(String),
}

impl fmt::Display for LookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(shortfall) => f.write_str(&shortfall.text),
            Self::NotFound(program) => write!(f, "`{program}` is not to be found in the sandbox"),
            Self::Failed(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for LookError {}

impl From<Stopped> for LookError {
    fn from(stopped: Stopped) -> Self {
        Self::Failed(stopped.to_string())
    }
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
    let failed = |error: &dyn fmt::Display| LookError::Failed(error.to_string());
    let plain = || load_contract("sandbox", PLAIN.as_bytes(), &|_| Err(String::new()));
    let contract = match &look.contract {
        Some(contract) => contract.clone(),
        None => plain().map_err(|errors| failed(&format!("{errors:?}")))?,
    };
    let clock = RunClock::start().map_err(|error| failed(&error))?;
    let letters = suffix().map_err(|error| failed(&error))?;
    let run_id = RunId::new(&clock.started().compact(), &contract.task_id, &letters).map_err(|error| failed(&error))?;
    let work = Work::make(&harness.home, "look").map_err(|error| failed(&error))?;
    let canary = canary().map_err(|error| failed(&error))?;
    let setting = Setting {
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
    setting: &Setting<'_>,
    look: &Look,
    cancel: &AtomicBool,
    on_line: &mut dyn FnMut(sandbox::Line<'_>),
) -> Result<Looked, LookError> {
    let space = space(&setting.contract.limits);
    let from = WorkspaceFrom::Layers { lower: vec![look.folder.clone()], upper: Upper::Memory(space) };
    let mut quarters = setting.quarters("look", look.folder.clone())?.layered(Vec::new(), from);
    for Shown { host, name } in &look.shown {
        let _ = quarters.show(host, name, Access::ReadOnly);
    }
    let program = look.argv.first().cloned().unwrap_or_default();
    let mut spec = setting.spec(&look.argv, None, &quarters, look.wall).ok_or(LookError::NotFound(program))?;
    spec.stdin = look.stdin.clone();
    let supervise = |error: sandbox::SuperviseError| LookError::Failed(error.to_string());
    let stage = setting.harness.supervisor.prepare().map_err(supervise)?;
    let mut watch = sandbox::Watch { cancel: Some(cancel), stop: None, on_line: Some(on_line), on_tick: None };
    let confined = stage.confine(spec).map_err(supervise)?;
    let before = confined.applied().clone();
    let ended = confined.start(&mut watch).map_err(supervise)?;
    let mut cells = Cells::default();
    cells.add("sandbox", &ended)?;
    let attempts = cells.last().map(|cell| judge_conduct(&cell.name, &cell.seen)).unwrap_or_default();
    Ok(Looked {
        exit: exit_code(&ended),
        timed_out: ended.timed_out,
        cell: cells.last().cloned(),
        attempts,
        limit_hits: ended.limit_hits.clone(),
        applied: ended.applied.unwrap_or(before),
    })
}
