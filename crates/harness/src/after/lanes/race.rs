//! A race: the same contract in lanes, one engine each.

use contract::collection::NO_ENGINE;
use contract::{CollectionKind, Purpose, RunId, Stage, Status, TaskId};
use views::{Lane, LaneComparison};

use super::{cited, collection_name};
use crate::after::collection::{CollectionDocument, CollectionProblem, seal_collection};
use crate::run::about::DocumentSubject;
use crate::run::harness::Harness;
use crate::spine::GovernError;

/// Seals the comparison of a race's lanes in a bundle of its own; gives its run id.
pub fn seal_race(harness: &Harness, task: &TaskId, comparison: &LaneComparison) -> Result<RunId, GovernError> {
    let collection = CollectionDocument {
        name: &collection_name("race", task),
        title: "lanes side by side",
        brief: "Run the same contract with several engines and compare the results.",
        success: "every lane passes",
        engine: NO_ENGINE,
        stage: Stage::GATED_ENGINE,
        purpose: Purpose::Validation,
        subject: DocumentSubject::of_kind(CollectionKind::Race, cited(&comparison.lanes)),
    };
    let problem = not_passed(&comparison.lanes).map(|text| CollectionProblem { reason: comparison.reason(), text });
    let sealed = seal_collection(harness, &collection, comparison, problem)?;
    Ok(sealed.report.run_id)
}

fn not_passed(lanes: &[Lane]) -> Option<String> {
    let engines: Vec<&str> =
        lanes.iter().filter(|lane| lane.status != Status::Pass).map(|lane| lane.engine.as_str()).collect();
    (!engines.is_empty()).then(|| format!("did not pass: {}", engines.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::tests::lanes;
    use super::*;

    #[test]
    fn lanes_that_did_not_pass_are_named() {
        assert_eq!(not_passed(&lanes(&[Status::Pass])), None);
        let some = not_passed(&lanes(&[Status::Fail, Status::Pass, Status::Blocked]));
        assert_eq!(some.as_deref(), Some("did not pass: fake, fake"));
    }
}
