//! A repetition: the same task again and again.

use contract::{CollectionKind, Digest, Purpose, Reason, RunId, Stage, Status, TaskId};
use schemars::JsonSchema;
use serde::Serialize;
use views::{Lane, join_statuses};

use super::measure::RepeatMeasures;
use super::{cited, collection_name};
use crate::after::collection::{CollectionDocument, CollectionProblem, seal_collection};
use crate::run::about::DocumentSubject;
use crate::run::harness::Harness;
use crate::spine::GovernError;

/// `repeat.json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Repetition")]
pub struct Repetition {
    pub schema_version: String,
    /// `fail` if a run failed, else `blocked` if one was blocked.
    pub status: Status,
    pub task_id: TaskId,
    pub engine: String,
    pub contract_digest: Option<Digest>,
    pub times: u64,
    pub measured: RepeatMeasures,
    pub runs: Vec<Lane>,
    pub runtime_default_activation: bool,
}

impl Repetition {
    /// Repetition of one task. The contract's digest is that of the first run.
    pub fn of_runs(task_id: TaskId, engine: String, runs: Vec<Lane>) -> Self {
        Self {
            schema_version: "1.0".to_owned(),
            status: join_statuses(&runs),
            task_id,
            engine,
            contract_digest: runs.first().and_then(|lane| lane.contract_digest),
            times: runs.len() as u64,
            measured: RepeatMeasures::of_lanes(&runs),
            runs,
            runtime_default_activation: false,
        }
    }

    fn problem(&self) -> Option<CollectionProblem> {
        let others = self.runs.iter().filter(|lane| lane.status != Status::Pass).count();
        let text = format!("{others} of {} runs did not pass", self.times);
        (others > 0).then_some(CollectionProblem { reason: Reason::VerificationFailed, text })
    }
}

/// Seals a repetition in a bundle of its own; gives its run id.
pub fn seal_repetition(harness: &Harness, repetition: &Repetition) -> Result<RunId, GovernError> {
    let collection = CollectionDocument {
        name: &collection_name("repeat", &repetition.task_id),
        title: "one task again and again",
        brief: "Run the same contract with the same engine several times and measure how often it passes.",
        success: "every run passes",
        engine: &repetition.engine,
        stage: Stage::GATED_ENGINE,
        purpose: Purpose::Validation,
        subject: DocumentSubject::of_kind(CollectionKind::Repeat, cited(&repetition.runs)),
    };
    let sealed = seal_collection(harness, &collection, repetition, repetition.problem())?;
    Ok(sealed.report.run_id)
}

#[cfg(test)]
mod tests {
    use super::super::tests::lanes;
    use super::*;

    #[test]
    fn a_repetition_fails_by_the_runs_that_did_not_pass() {
        let of = |statuses: &[Status]| {
            let problem =
                Repetition::of_runs(TaskId::try_from("t".to_owned()).unwrap(), "fake".to_owned(), lanes(statuses))
                    .problem();
            problem.map(|CollectionProblem { reason, text }| (reason, text))
        };
        assert_eq!(of(&[Status::Pass, Status::Pass]), None);
        let expected = (Reason::VerificationFailed, "2 of 3 runs did not pass".to_owned());
        assert_eq!(of(&[Status::Pass, Status::Blocked, Status::Fail]), Some(expected));
    }
}
