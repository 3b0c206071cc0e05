//! `cto run --continue RUN`: the task of a sealed run, with its patch as the beginning.
//! Contract, exam and baseline stay those of that run; of its logs and of what its blind
//! checks said nothing is taken over.

use std::path::PathBuf;

use contract::{Coverage, Report, Stage, TaskContract};
use evidence::names;
use evidence::verify::VerifiedBundle;
use harness::{ContinuedRun, Task, TreeOrigin};

use crate::context::Context;
use crate::error::CommandError;

/// Task of a sealed run, with its patch as the beginning. Refuses runs that cannot be
/// continued.
pub(crate) fn load_continued(context: &Context, reference: &str) -> Result<Task, CommandError> {
    let (_found, bundle) = context.bind_run(reference)?;
    let report = bundle.report();
    let refuse = |message: &str| {
        let run = report.run_id.suffix();
        CommandError::blocked_with(format!("run {run} cannot be continued: {message}")).hint(format!("cto show {run}"))
    };
    if report.kind.is_some() {
        return Err(refuse("it is a document about other runs"));
    }
    if report.coverage.contains(&Coverage::PatchRedacted) {
        return Err(refuse("its patch is redacted"));
    }
    let Some(baseline_commit) = report.baseline_commit.clone() else {
        return Err(refuse("it never came to a baseline"));
    };
    let patch = bundle.read_file(names::PATCH)?;
    if patch.is_empty() {
        return Err(refuse("its patch is empty"));
    }
    let (engine, stage) = (report.backend.clone(), report.stage);
    let (run_id, is_from_commit) = (report.run_id.clone(), report.source_at.is_some());
    let continued = ContinuedRun { run_id, baseline_commit, patch, engine, stage, is_from_commit };
    let task = task_of(context, report, read_contract(&bundle)?)?;
    let task = task.ok_or_else(|| refuse("its case has changed or is missing"))?;
    Ok(Task { continued: Some(continued), ..task })
}

/// The resolved contract, byte for byte as the run was held under it.
fn read_contract(bundle: &VerifiedBundle) -> Result<TaskContract, CommandError> {
    let bytes = bundle.read_file(names::CONTRACT)?;
    serde_json::from_slice(&bytes).map_err(|error| CommandError::fail(format!("its contract cannot be read: {error}")))
}

/// The task as it was: on the repository that the contract names, or a case that is still
/// the same. None if the case is not.
fn task_of(context: &Context, report: &Report, contract: TaskContract) -> Result<Option<Task>, CommandError> {
    let named = match report.stage >= Stage::OWNED_REPOSITORY {
        true => contract.target_repository.clone().map(|path| TreeOrigin::Target(PathBuf::from(path))),
        false => contract.source_repository.clone().map(|path| TreeOrigin::Repository(PathBuf::from(path))),
    };
    if let Some(origin) = named {
        return Ok(Some(Task::from_contract(contract, origin)));
    }
    let Ok(task) = context.load_task(report.case_id.as_str(), None) else { return Ok(None) };
    let is_same = task.contract.digest()? == contract.digest()?;
    Ok(is_same.then_some(task))
}
