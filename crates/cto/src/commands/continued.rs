//! `cto run --continue RUN`: the task of a sealed run, with its patch as the beginning. Contract, exam and baseline stay those of that
//! run; of its logs and of what its blind checks said nothing is taken over.

use std::fs;
use std::path::PathBuf;

use contract::{Coverage, Report, Stage, TaskContract};
use evidence::names;
use evidence::verify::VerifiedBundle;
use harness::{ContinuedRun, Origin, Task};

use crate::context::Context;
use crate::error::CommandError;

pub(crate) fn load_continued(context: &Context, reference: &str) -> Result<Task, CommandError> {
    let (_found, bundle) = context.bind_run(reference)?;
    let report = bundle.report();
    let refuse = |message: &str| {
        let run = report.run_id.suffix();
        CommandError::blocked(format!("run {run} cannot be gone on from: {message}")).hint(format!("cto show {run}"))
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
    let patch = fs::read(bundle.dir().join(names::PATCH))?;
    if patch.is_empty() {
        return Err(refuse("its patch is empty"));
    }
    let contract = read_contract(&bundle)?;
    let origin = origin_of(context, report, &contract)?.ok_or_else(|| refuse("its case is not here as it was then"))?;
    let (engine, stage) = (report.backend.clone(), report.stage);
    let continued = ContinuedRun { run_id: report.run_id.clone(), baseline_commit, patch, engine, stage };
    Ok(Task::continuing(contract, origin, continued))
}

/// The resolved contract, byte for byte as the run was held under it.
fn read_contract(bundle: &VerifiedBundle) -> Result<TaskContract, CommandError> {
    let bytes = fs::read(bundle.dir().join(names::CONTRACT))?;
    serde_json::from_slice(&bytes).map_err(|error| CommandError::fail(format!("its contract cannot be read: {error}")))
}

/// Place that the baseline comes from: the repository that the contract names, or the files of a case that is still the same.
fn origin_of(context: &Context, report: &Report, contract: &TaskContract) -> Result<Option<Origin>, CommandError> {
    if report.stage >= Stage::OWNED_REPOSITORY {
        return Ok(contract.target_repository.clone().map(|path| Origin::Target(PathBuf::from(path))));
    }
    if let Some(path) = &contract.source_repository {
        return Ok(Some(Origin::Repository(PathBuf::from(path))));
    }
    let Ok(task) = context.load_task(report.case_id.as_str(), None) else { return Ok(None) };
    let is_same = task.contract.digest()? == contract.digest()?;
    Ok(is_same.then_some(task.origin))
}
