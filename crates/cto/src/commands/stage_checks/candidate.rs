//! Stage 6: a comparison that the operator accepted, read from the operator's own home; and
//! the refusals without one.

use contract::stage6::comparison::{COMPARISON_TASK, CandidateComparison};
use contract::stage6::refresh::{REFRESH_TASK, RefreshComparison};
use contract::{CollectionKind, Reason, Report, RunId, Stage, Status, TaskId};
use evidence::verify::VerifiedBundle;
use harness::FAKE;
use ledger::TaskRuns;
use views::{BindRunError, FindRunError, FoundRun};

use super::check::{NamedCheck, StageCheck, TrialStop, not_refused_for};
use super::classes::classes_of;
use super::earned::{EarnedRung, pass_of_rung};
use super::trial_home::TrialHome;
use super::{PASS_CASE, read_document};
use crate::context::Context;
use crate::error::CommandError;
use crate::seek::trusted;

/// Names of the checks that rest on the operator's own home.
pub(in crate::commands) const CANDIDATE_CHECKS: [&str; 2] = ["case_lane_passes", "candidate_default_comparison"];

/// A candidate-default run without the rung: refused, with nothing started.
pub(super) fn refuse_unearned(trial: &TrialHome<'_>) -> Result<StageCheck, TrialStop> {
    let task = trial.load_case(PASS_CASE, Stage::CANDIDATE_DEFAULT, "unearned")?;
    let target = trial.admit_target(&trial.make_repository("unearned", PASS_CASE)?, &[])?;
    let report = trial.run_task(&task, &trial.ask_run(FAKE, Stage::CANDIDATE_DEFAULT, Some(&target)))?.report;
    Ok(StageCheck::of_report(&report, not_refused_for(&report, Reason::StageNotEarned)))
}

/// The engine's lane, and the comparison that the operator accepted.
pub(super) fn check_candidate(context: &Context, engine: &str) -> Result<Vec<NamedCheck>, CommandError> {
    let owned = pass_of_rung(context, engine, Stage::OWNED_REPOSITORY)?;
    let rung = pass_of_rung(context, engine, Stage::CANDIDATE_DEFAULT)?;
    let compared = match (&rung.gap, rung.bundles.first()) {
        (None, Some((_, dir))) => Some(read_document(&dir.join(CollectionKind::Comparison.file()))?),
        _ => None,
    };
    let newest = if compared.is_none() { NewestComparison::find_newest(context, engine) } else { None };
    let lane = match (&compared, &newest) {
        _ if owned.gap.is_some() => owned.check_earned(),
        (Some(comparison), _) => StageCheck::fact(judge_lane(comparison, engine)),
        (None, Some(newest)) => newest.check_lane(engine),
        (None, None) => rung.check_earned(),
    };
    let comparison = match (&compared, &newest) {
        (Some(comparison), _) => StageCheck::fact(judge_comparison(comparison)),
        (None, Some(newest)) if newest.failed_rung(&rung) => StageCheck::fact(judge_comparison(&newest.document)),
        (None, _) => rung.check_earned(),
    };
    Ok(vec![(format!("{engine}_lane_passes"), lane), ("candidate_default_comparison".to_owned(), comparison)])
}

/// The newest comparison of an engine, where none counts.
struct NewestComparison {
    run_id: RunId,
    status: Status,
    document: CandidateComparison,
}

impl NewestComparison {
    /// None if it is not there or does not verify.
    fn find_newest(context: &Context, engine: &str) -> Option<Self> {
        let (found, bound) = find_newest(context, engine, COMPARISON_TASK, CollectionKind::Comparison).ok()??.ok()?;
        let bound = bound.ok()?;
        let Report { run_id, status, .. } = bound.report();
        let document = read_document(&found.bundle.join(CollectionKind::Comparison.file())).ok()?;
        Some(Self { run_id: run_id.clone(), status: *status, document })
    }

    /// The engine's lane in it.
    fn check_lane(&self, engine: &str) -> StageCheck {
        match (judge_lane(&self.document, engine), self.status) {
            (Some(wrong), Status::Blocked) => StageCheck::blocked_by(wrong),
            (wrong, _) => StageCheck::fact(wrong),
        }
    }

    /// True if it is the one that took the rung away because it failed.
    fn failed_rung(&self, rung: &EarnedRung) -> bool {
        self.status == Status::Fail && rung.blamed.as_ref() == Some(&self.run_id)
    }
}

/// A run of the operator's home, and its bundle if that verifies; or the reason why no bundle is here.
type FoundDocument = Result<(FoundRun, Result<VerifiedBundle, BindRunError>), FindRunError>;

/// The newest sealed document of an engine; none without one.
fn find_newest(
    context: &Context,
    engine: &str,
    task: &str,
    kind: CollectionKind,
) -> Result<Option<FoundDocument>, CommandError> {
    let (views, now) = context.look_only()?;
    let task_id = TaskId::try_from(task.to_owned()).map_err(CommandError::fail)?;
    let asked = TaskRuns { task_id: &task_id, engine: Some(engine) };
    let Some(run) = views.find_document(asked, kind, now)?.filter(|run| run.collected.is_none()) else {
        return Ok(None);
    };
    let found = match views.find_run(run.row.run_id.as_str(), now) {
        Err(error @ (FindRunError::Gone { .. } | FindRunError::Elsewhere(_))) => return Ok(Some(Err(error))),
        found => found?,
    };
    let bound = found.bind_bundle(&trusted(context, &[])?.keys_of(&found));
    Ok(Some(Ok((found, bound))))
}

fn judge_lane(comparison: &CandidateComparison, engine: &str) -> Option<String> {
    let lane = comparison.lanes.iter().find(|lane| lane.engine == engine && lane.candidate);
    match lane {
        Some(lane) if lane.status == Status::Pass => None,
        Some(lane) => Some(format!("its lane is {}: {}", lane.status, lane.rationale)),
        None => Some(format!("the comparison has no lane of `{engine}`")),
    }
}

fn judge_comparison(comparison: &CandidateComparison) -> Option<String> {
    let against = comparison.subjects.iter().find(|subject| subject.verdict != Status::Pass);
    match against {
        _ if comparison.runtime_default_activation => Some("it says that a default was activated".to_owned()),
        Some(subject) => Some(format!("{} is {}: {}", subject.subject, subject.verdict, subject.text)),
        None if comparison.status != Status::Pass => Some(format!("it is {}", comparison.status)),
        None => None,
    }
}

/// Every failure class of stage 5 was held and closes; stage 6 adds none of its own.
pub(in crate::commands) fn close_failures(owned: &[NamedCheck]) -> StageCheck {
    for class in classes_of(Stage::OWNED_REPOSITORY) {
        let Some((name, check)) = owned.iter().find(|(name, _)| name == class.name) else {
            let held = owned.iter().find_map(|(_, check)| check.missing.clone());
            return StageCheck::blocked_by(held.unwrap_or_else(|| format!("{} was not held at stage 5", class.name)));
        };
        if let Some(problem) = check.problem() {
            let text = format!("{name}: {problem}");
            return if check.verdict() == Status::Fail {
                StageCheck::fact(Some(text))
            } else {
                StageCheck::blocked_by(text)
            };
        }
    }
    StageCheck::fact(None)
}

/// The newest real governed refresh of an engine in the operator's home, as it was sealed.
pub(in crate::commands) fn check_refresh(context: &Context, engine: &str) -> Result<StageCheck, CommandError> {
    let none =
        || StageCheck::blocked_by(format!("there is no real governed refresh of `{engine}` in this home; cto refresh"));
    if !context.config.home.is_dir() {
        return Ok(none());
    }
    let found = find_newest(context, engine, REFRESH_TASK, CollectionKind::Refresh)?;
    let (found, bound) = match found {
        None => return Ok(none()),
        Some(Err(absent)) => return Ok(StageCheck::blocked_by(format!("{absent}; restore it from a backup"))),
        Some(Ok(found)) => found,
    };
    let bound = bound?;
    let wrong = (bound.report().kind != Some(CollectionKind::Refresh)).then(|| format!("{} is no refresh", found.id));
    let refresh: RefreshComparison = read_document(&found.bundle.join(CollectionKind::Refresh.file()))?;
    let check = StageCheck::of_report(bound.report(), wrong.or_else(|| judge_refresh(&refresh)));
    let against = refresh.rejections.first().filter(|_| refresh.status == Status::Blocked);
    Ok(match against {
        Some(rejection) => {
            StageCheck { missing: Some(format!("{}; {}", rejection.text, rejection.remedy)), why: None, ..check }
        }
        None => check,
    })
}

fn judge_refresh(refresh: &RefreshComparison) -> Option<String> {
    match refresh.rejections.first() {
        _ if refresh.runtime_default_activation => Some("it says that a default was activated".to_owned()),
        Some(rejection) => Some(format!("{}: {}", rejection.fault.code(), rejection.text)),
        None if refresh.status != Status::Pass => Some(format!("it is {}", refresh.status)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use contract::status::NotPromoted;
    use serde_json::{Value, json};

    use super::*;

    /// A change of a document that holds, and a part of the sentence that is then said; none where it holds still.
    type DocumentRow = (&'static str, fn(&mut Value), Option<&'static str>);

    fn read<T: serde::de::DeserializeOwned>(good: &Value, change: fn(&mut Value)) -> T {
        let mut changed = good.clone();
        change(&mut changed);
        serde_json::from_value(changed).unwrap()
    }

    fn comparison() -> Value {
        let lane = |engine: &str, candidate: bool| json!({"engine": engine, "candidate": candidate, "status": "pass", "rationale": "all hold", "bundles": []});
        json!({
            "schema_version": "1.0", "comparison_type": "stage6-candidate-default", "status": "pass", "stage": 6,
            "mutation_mode": "candidate-default", "allowed_mutation_scope": "s",
            "candidate": {"engine": "case", "source_id": "case@1", "model": null, "bundle_schema": "1"},
            "subjects": [{"subject": "report_shape", "verdict": "pass", "text": "holds"}],
            "lanes": [lane("case", true), lane("fake", false)], "source_admission_freshness": "current",
            "failure_matrix": [], "stage5_passes": [], "repeatability_required": 2, "repeatability_count": 2,
            "repeatability_status": "pass", "repeatability_passed": true, "operator_outcome": "pending",
            "operator_outcome_required": true, "bundles": [], "runtime_default_activation": false,
            "core_promotion_status": json!(NotPromoted::NotPromoted),
        })
    }

    #[test]
    fn a_lane_holds_only_if_it_is_the_candidates_and_passed() {
        let rows: [DocumentRow; 4] = [
            ("the control", |_| {}, None),
            ("it failed", |it| it["lanes"][0]["status"] = json!("fail"), Some("its lane is fail: all hold")),
            ("another candidate", |it| it["lanes"][0]["candidate"] = json!(false), Some("no lane of `case`")),
            ("another engine", |it| it["lanes"][0]["engine"] = json!("codex"), Some("no lane of `case`")),
        ];
        for (what, change, said) in rows {
            check_said(what, judge_lane(&read(&comparison(), change), "case"), said);
        }
    }

    #[test]
    fn a_comparison_holds_only_if_nothing_speaks_against_it() {
        let rows: [DocumentRow; 4] = [
            ("the control", |_| {}, None),
            ("a subject", |it| it["subjects"][0]["verdict"] = json!("blocked"), Some("report_shape is blocked: holds")),
            ("its status", |it| it["status"] = json!("fail"), Some("it is fail")),
            ("an activation", |it| it["runtime_default_activation"] = json!(true), Some("a default was activated")),
        ];
        for (what, change, said) in rows {
            check_said(what, judge_comparison(&read(&comparison(), change)), said);
        }
    }

    #[test]
    fn a_refresh_holds_only_if_nothing_rejects_it() {
        let good = json!({
            "schema_version": "1.0", "refresh_type": "stage6-real-governed-read-only", "status": "pass", "engine": "case",
            "source_id": "case@1", "subjects": [], "rejections": [], "lanes": [], "prior_comparison_path": null,
            "real_stage5_passes": [], "real_stage5_pass_report": null, "real_stage5_proof": null,
            "repeat_stage5_pass_report": null, "repeat_stage5_proof": null, "repeatability_required": 2,
            "repeatability_count": 2, "repeatability_status": "pass", "repeatability_passed": true,
            "candidate_default_repeatability_eligible": true, "source_admission_freshness": "current",
            "target_validation": {"result": "pass", "targets": []}, "target_read_only_status": "unchanged",
            "target_repository_mutation": false, "runtime_default_activation": false,
            "core_promotion_status": json!(NotPromoted::NotPromoted),
        });
        let rows: [DocumentRow; 4] = [
            ("the control", |_| {}, None),
            (
                "a rejection",
                |it| it["rejections"] = json!([{"fault": "failed_fact", "text": "red", "remedy": "mend it"}]),
                Some("failed_fact: red"),
            ),
            ("its status", |it| it["status"] = json!("blocked"), Some("it is blocked")),
            ("an activation", |it| it["runtime_default_activation"] = json!(true), Some("a default was activated")),
        ];
        for (what, change, said) in rows {
            check_said(what, judge_refresh(&read(&good, change)), said);
        }
    }

    fn check_said(what: &str, found: Option<String>, said: Option<&str>) {
        assert_eq!(found.is_some(), said.is_some(), "{what}: {found:?}");
        assert!(found.unwrap_or_default().contains(said.unwrap_or_default()), "{what}");
    }
}
