//! Failure classes of each stage, each by a run of `fake` that must end as its fixture
//! declares, or as a scene that is not as it should be makes it end.

use std::path::PathBuf;

use contract::{Purpose, Reason, Report, Stage, Status};
use harness::{FAKE, Task};
use ledger::RequestStep;
use serde_json::json;

use super::check::{StageCheck, TrialStop, ended_otherwise, not_refused, not_refused_for};
use super::repository::UnfinishedWork;
use super::trial_home::{TrialHome, TrialRun};
use super::{PASS_CASE, pass_of_rung};
use crate::error::CommandError;

/// Deviation of a scene from a proper one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SceneDeviation {
    /// The case itself declares how it ends.
    AsDeclared,
    /// Unfinished work lies in the repository.
    Dirty,
    /// A person denied the request.
    Denied,
    /// The target's admission names no owner.
    Unowned,
    /// The target's admission does not say that it is noncritical.
    Critical,
    /// Nobody said what became of the run.
    Unanswered,
}

/// One failure class of a stage.
#[derive(Debug)]
pub(super) struct FailureClass {
    /// Name in the specification and in the operator's reports.
    pub(super) name: &'static str,
    case: &'static str,
    scene: SceneDeviation,
}

const fn declared(name: &'static str, case: &'static str) -> FailureClass {
    FailureClass { name, case, scene: SceneDeviation::AsDeclared }
}

const fn spoiled(name: &'static str, scene: SceneDeviation) -> FailureClass {
    FailureClass { name, case: PASS_CASE, scene }
}

const NO_DIFF: FailureClass = declared("no-diff", "fail-no-diff");
const DISALLOWED_FILE: FailureClass = declared("disallowed-file", "fail-disallowed-file");
const FAILED_TESTS: FailureClass = declared("failed-tests", "fail-failed-tests");
const MISSING_EVENT: FailureClass = declared("missing-event", "fail-missing-event");
const PROVIDER_UNAVAILABLE: FailureClass = declared("provider-unavailable", "fail-provider-unavailable");
const ARTIFACT_WRITE_FAILURE: FailureClass = declared("artifact-write-failure", "fail-artifact-write-failure");
const TIMEOUT: FailureClass = declared("timeout", "fail-timeout");
const APPROVAL_DENIED: FailureClass = spoiled("approval-denied", SceneDeviation::Denied);

const STAGE_1: &[FailureClass] = &[PROVIDER_UNAVAILABLE, MISSING_EVENT, ARTIFACT_WRITE_FAILURE];
const STAGE_2: &[FailureClass] = &[
    NO_DIFF,
    DISALLOWED_FILE,
    FAILED_TESTS,
    declared("missing-test-command", "fail-missing-test-command"),
    MISSING_EVENT,
    PROVIDER_UNAVAILABLE,
];
const STAGE_3: &[FailureClass] = &[
    spoiled("dirty-source", SceneDeviation::Dirty),
    declared("dirty-copy-start", "fail-dirty-starting-tree"),
    declared("dirty-copy-end", "fail-dirty-ending-tree"),
    TIMEOUT,
    ARTIFACT_WRITE_FAILURE,
    DISALLOWED_FILE,
    FAILED_TESTS,
    MISSING_EVENT,
];
const STAGE_4: &[FailureClass] = &[
    APPROVAL_DENIED,
    declared("reviewer-reject", "fail-reviewer-reject"),
    TIMEOUT,
    PROVIDER_UNAVAILABLE,
    declared("dirty-ending-tree", "fail-dirty-ending-tree"),
    DISALLOWED_FILE,
];
const STAGE_5: &[FailureClass] = &[
    NO_DIFF,
    APPROVAL_DENIED,
    spoiled("unowned", SceneDeviation::Unowned),
    spoiled("critical", SceneDeviation::Critical),
    DISALLOWED_FILE,
    spoiled("dirty-start", SceneDeviation::Dirty),
    declared("dirty-end", "fail-dirty-ending-tree"),
    FAILED_TESTS,
    TIMEOUT,
    PROVIDER_UNAVAILABLE,
    spoiled("missing-operator-outcome", SceneDeviation::Unanswered),
];

/// Failure classes that a stage adds. Stage 6 inherits those of stage 5.
pub(super) fn classes_of(stage: Stage) -> &'static [FailureClass] {
    match stage.number() {
        1 => STAGE_1,
        2 => STAGE_2,
        3 => STAGE_3,
        4 => STAGE_4,
        5 => STAGE_5,
        _ => &[],
    }
}

impl FailureClass {
    /// Runs it at a stage; gives the check and the report.
    pub(super) fn hold_class(&self, trial: &TrialHome<'_>, stage: Stage) -> Result<(StageCheck, Report), TrialStop> {
        let stage = self.stage_held(stage);
        let task = trial.load_case(self.case, stage, self.name)?;
        if self.scene == SceneDeviation::Unanswered {
            return hold_unanswered(trial, self.name, &task);
        }
        let run = self.run(trial, &task, stage)?;
        let wrong = self.judge(&task, &run.report).or_else(|| left_open(&run));
        Ok((StageCheck::of_report(&run.report, wrong), run.report))
    }

    /// The stage at which it is run. A run of stage 1 starts no engine, so that what an
    /// engine brings about is shown one stage above. A copy of a repository is laid out
    /// from its commit and has nothing unfinished in it: only that of a case can begin
    /// dirty.
    fn stage_held(&self, stage: Stage) -> Stage {
        match self.case {
            "fail-dirty-starting-tree" => Stage::ARTIFICIAL_FIXTURE,
            _ => stage.max(Stage::ARTIFICIAL_FIXTURE),
        }
    }

    fn run(&self, trial: &TrialHome<'_>, task: &Task, stage: Stage) -> Result<TrialRun, TrialStop> {
        let target = self.admit_target(trial, stage)?;
        let ask = trial.ask_run(FAKE, stage, target.as_deref());
        let step = if self.scene == SceneDeviation::Denied { RequestStep::Denied } else { RequestStep::Granted };
        if stage.mutation_mode().needs_approval() {
            trial.decide_on(task, &ask, step)?;
        }
        let place =
            (self.scene == SceneDeviation::Dirty).then(|| trial.make_repository(self.name, self.case)).transpose()?;
        let _unfinished = place.as_deref().map(UnfinishedWork::leave_in).transpose()?;
        trial.run_task(task, &ask)
    }

    /// The target's admission at stage 5, as the scene has it.
    fn admit_target(&self, trial: &TrialHome<'_>, stage: Stage) -> Result<Option<PathBuf>, CommandError> {
        if stage < Stage::OWNED_REPOSITORY {
            return Ok(None);
        }
        let changes = match self.scene {
            SceneDeviation::Unowned => vec![("repository_owner", json!(""))],
            SceneDeviation::Critical => vec![("risk_classification", json!("critical"))],
            _ => Vec::new(),
        };
        trial.admit_target(&trial.make_repository(self.name, self.case)?, &changes).map(Some)
    }

    fn judge(&self, task: &Task, report: &Report) -> Option<String> {
        let reason = match self.scene {
            // An approval is for a clean target and does not fit either.
            SceneDeviation::Dirty => return not_refused_for(report, Reason::DirtyStartingTree),
            SceneDeviation::Denied => Reason::ApprovalDenied,
            SceneDeviation::Unowned => Reason::UnownedRepository,
            SceneDeviation::Critical => Reason::CriticalRepository,
            SceneDeviation::AsDeclared | SceneDeviation::Unanswered => {
                let expect = task.expect.clone().unwrap_or_default();
                let refused = expect.status == Status::Blocked && !report.engine.process_started;
                // A run that cannot be requested lacks its approval as well.
                let mut allowed = expect.reasons;
                allowed.extend(refused.then_some(Reason::ApprovalMissing));
                return ended_otherwise(report, expect.status, &allowed);
            }
        };
        not_refused(report, reason)
    }
}

/// A run that did not pass changed no target and has its whole set of artifacts.
fn left_open(run: &TrialRun) -> Option<String> {
    if let Some(commit) = &run.report.target_commit {
        return Some(format!("a run that did not pass put {commit} into its target"));
    }
    let missing = ["patch.diff", "test.log", "report.json"].into_iter().find(|name| !run.dir.join(name).is_file());
    missing.map(|name| format!("its bundle has no {name}"))
}

/// Checks that a pass of stage 5 earns nothing until the operator's outcome is signed, and
/// does then. The only governed run here, since its weight is the subject; its home is
/// temporary.
fn hold_unanswered(trial: &TrialHome<'_>, name: &str, task: &Task) -> Result<(StageCheck, Report), TrialStop> {
    let stage = Stage::OWNED_REPOSITORY;
    let target = trial.admit_target(&trial.make_repository(name, PASS_CASE)?, &[])?;
    let mut ask = trial.ask_run(FAKE, stage, Some(&target));
    ask.purpose = Purpose::Governed;
    trial.decide_on(task, &ask, RequestStep::Granted)?;
    let report = trial.run_task(task, &ask)?.report;
    if let Some(wrong) = ended_otherwise(&report, Status::Pass, &[]) {
        return Ok((StageCheck::of_report(&report, Some(wrong)), report));
    }
    let before = pass_of_rung(&trial.context, FAKE, stage)?;
    trial.accept(&report)?;
    let after = pass_of_rung(&trial.context, FAKE, stage)?;
    let wrong = match (before.gap, after.gap) {
        (Some("missing_operator_outcome"), None) => None,
        (Some("missing_operator_outcome"), Some(gap)) => Some(format!("with an accepted outcome it still lacks {gap}")),
        (gap, _) => Some(format!("without an outcome its rung lacks {}", gap.unwrap_or("nothing"))),
    };
    Ok((StageCheck::of_report(&report, wrong), report))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_class_of_a_stage_has_its_run() {
        let names = |number: u8| {
            let stage = Stage::try_from(number).unwrap();
            classes_of(stage).iter().map(|class| class.name).collect::<Vec<_>>().join(" ")
        };
        for (stage, expected) in [
            (1, "provider-unavailable missing-event artifact-write-failure"),
            (2, "no-diff disallowed-file failed-tests missing-test-command missing-event provider-unavailable"),
            (
                3,
                "dirty-source dirty-copy-start dirty-copy-end timeout artifact-write-failure disallowed-file failed-tests \
                 missing-event",
            ),
            (4, "approval-denied reviewer-reject timeout provider-unavailable dirty-ending-tree disallowed-file"),
            (
                5,
                "no-diff approval-denied unowned critical disallowed-file dirty-start dirty-end failed-tests timeout \
                 provider-unavailable missing-operator-outcome",
            ),
            (6, ""),
        ] {
            assert_eq!(names(stage), expected, "stage {stage}");
        }
        for class in [STAGE_1, STAGE_2, STAGE_3, STAGE_4, STAGE_5].into_iter().flatten() {
            assert!(fixtures::find(class.case).is_some(), "{}", class.case);
        }
    }
}
