//! The steps of a recorded run, as they were reported while it went on.

use std::io;
use std::path::PathBuf;

use contract::{Report, Stamp};
use evidence::names;
use evidence::verify::VerifiedBundle;
use serde::{Deserialize, Serialize};

use crate::home::watch::{Step, StepReport, StepState};

/// The trace's word for a step.
pub(crate) const STEP: &str = "step";

/// Trace of an interrupted run, from before a recovery sealed it.
const INTERRUPTED: &str = "backend/recovered/trace.jsonl";

/// A trace beyond this is not ours.
const LARGEST: u64 = 64 << 20;
/// More steps than any run has.
const MOST: usize = 10_000;

/// Reason why there are no steps to show.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {error}")]
pub struct ReadStepsError {
    path: PathBuf,
    #[source]
    error: io::Error,
}

#[derive(Deserialize)]
struct Line {
    step: String,
    time: Stamp,
    data: serde_json::Value,
}

/// Report of a step, as the trace has it.
#[derive(Serialize, Deserialize)]
pub(crate) struct StepNote {
    pub(crate) step: Step,
    pub(crate) state: StepState,
    pub(crate) detail: String,
}

/// Last step: sealing ends when the bundle is closed, so it comes from the report and not
/// from the trace.
pub(crate) fn sealed(report: &Report) -> StepReport {
    let detail = format!("{} files", report.artifact_paths.len());
    StepReport::new(Step::Seal, StepState::Ended, &detail, report.run_started_at, report.run_finished_at)
}

/// The steps of a bundle, in order; empty where it was made before steps were recorded.
pub fn recorded_steps(bundle: &VerifiedBundle) -> Result<Vec<StepReport>, ReadStepsError> {
    let report = bundle.report();
    if let Some(trace) = read(bundle, INTERRUPTED)? {
        return Ok(steps(&trace, report));
    }
    let trace = read(bundle, names::TRACE)?.unwrap_or_default();
    let mut steps = steps(&trace, report);
    if !steps.is_empty() {
        steps.push(sealed(report));
    }
    Ok(steps)
}

fn read(bundle: &VerifiedBundle, name: &str) -> Result<Option<Vec<u8>>, ReadStepsError> {
    match bundle.read_within(name, LARGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ReadStepsError { path: bundle.dir().join(name), error }),
    }
}

/// A run that was killed may have left half a line; what is no step is passed over.
fn steps(trace: &[u8], report: &Report) -> Vec<StepReport> {
    let told = trace.split(|byte| *byte == b'\n').filter_map(|line| read_step(line, report.run_started_at));
    told.take(MOST).collect()
}

/// The step that a line of a trace tells; none if it tells something else.
pub(crate) fn read_step(line: &[u8], started: Stamp) -> Option<StepReport> {
    let line: Line = serde_json::from_slice(line).ok()?;
    if line.step != STEP {
        return None;
    }
    let StepNote { step, state, detail } = serde_json::from_value(line.data).ok()?;
    Some(StepReport::new(step, state, &detail, started, line.time))
}
