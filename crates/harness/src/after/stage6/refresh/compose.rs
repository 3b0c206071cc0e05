//! The document of a judged refresh.

use contract::Status;
use contract::decision::NotPromoted;
use contract::report::CheckResult;
use contract::stage6::comparison::REPEATABILITY_REQUIRED;
use contract::stage6::refresh::{
    RefreshComparison, RefreshLane, RefreshSubject, RefreshTarget, RefreshType, TargetReadOnlyStatus, TargetValidation,
};

use super::facts::PassFacts;
use super::judge::JudgedRefresh;
use crate::home::engines::FAKE;

/// Version of the document's shape.
const SCHEMA_VERSION: &str = "1.0";
/// Lanes beside the engine's own.
const LANES: [&str; 3] = [FAKE, "codex", "pi"];

/// Writes down what was judged.
pub(super) fn compose_refresh(judged: JudgedRefresh) -> RefreshComparison {
    let JudgedRefresh { engine, passes, prior, targets, freshness, repeats, findings } = judged;
    let identity = passes.iter().find_map(PassFacts::verified).map(|facts| facts.identity.clone());
    let (status, rejections) = (findings.status(), findings.rejections());
    let repeatability_status = match repeats >= REPEATABILITY_REQUIRED {
        true => Status::Pass,
        false => {
            let of_pass = |run| passes.iter().any(|pass| Some(&pass.row.run_id) == run);
            let failed = rejections.iter().filter(|it| it.fault.status() == Status::Fail);
            let is_failed = failed.map(|it| it.run_id.as_ref()).any(of_pass);
            if is_failed { Status::Fail } else { Status::Blocked }
        }
    };
    let is_known = |subject: RefreshSubject| match subject {
        RefreshSubject::TargetValidation | RefreshSubject::TargetReadOnlyStatus => !targets.is_empty(),
        RefreshSubject::FailureClosure | RefreshSubject::FailureMatrixCoverageCarryForward => prior.is_some(),
        _ => !passes.is_empty(),
    };
    let subjects = RefreshSubject::ALL.map(|subject| findings.verdict(subject, is_known(subject)));
    let rows: Vec<_> = passes.into_iter().map(|pass| pass.row).collect();
    let file = |at: usize| rows.get(at).map(|row| (row.report.clone(), row.proof.clone())).unzip();
    let ((first_report, first_proof), (second_report, second_proof)) = (file(0), file(1));
    RefreshComparison {
        schema_version: SCHEMA_VERSION.to_owned(),
        refresh_type: RefreshType::ReadOnly,
        status,
        source_id: identity.as_ref().map(|identity| identity.source_id.clone()),
        model: identity.and_then(|identity| identity.model),
        subjects: subjects.to_vec(),
        rejections,
        lanes: prior.as_ref().map_or_else(|| blocked_lanes(&engine), |prior| prior.lanes.clone()),
        prior_comparison_path: prior.as_ref().map(|prior| prior.path.clone()),
        prior_comparison: prior.map(|prior| prior.comparison),
        real_stage5_passes: rows,
        real_stage5_pass_report: first_report,
        real_stage5_proof: first_proof,
        repeat_stage5_pass_report: second_report,
        repeat_stage5_proof: second_proof,
        repeatability_required: REPEATABILITY_REQUIRED,
        repeatability_count: repeats,
        repeatability_status,
        repeatability_passed: repeatability_status == Status::Pass,
        candidate_default_repeatability_eligible: status == Status::Pass,
        source_admission_freshness: freshness,
        target_read_only_status: read_only_status(&targets),
        target_repository_mutation: read_only_status(&targets) == TargetReadOnlyStatus::Changed,
        target_validation: TargetValidation { result: validation_result(&targets), targets },
        runtime_default_activation: false,
        core_promotion_status: NotPromoted::NotPromoted,
        engine,
    }
}

/// Lanes of a refresh that has no comparison to carry any from.
fn blocked_lanes(engine: &str) -> Vec<RefreshLane> {
    let lane = |name: &str| RefreshLane {
        engine: name.to_owned(),
        status: Status::Blocked,
        rationale: format!("no comparison of stage 6 for {engine} tells of it"),
    };
    let others = LANES.into_iter().filter(|name| *name != engine);
    [engine].into_iter().chain(others).map(lane).collect()
}

fn read_only_status(targets: &[RefreshTarget]) -> TargetReadOnlyStatus {
    let is_unread = |target: &RefreshTarget| target.before.is_none() || target.after.is_none();
    match targets {
        [] => TargetReadOnlyStatus::NotRead,
        all if all.iter().any(|target| !is_unread(target) && !target.is_unchanged()) => TargetReadOnlyStatus::Changed,
        all if all.iter().any(is_unread) => TargetReadOnlyStatus::NotRead,
        _ => TargetReadOnlyStatus::Unchanged,
    }
}

fn validation_result(targets: &[RefreshTarget]) -> CheckResult {
    let mut results = targets.iter().flat_map(|target| &target.validations).peekable();
    if results.peek().is_none() {
        return CheckResult::NotRun;
    }
    let is_read = targets.iter().all(|target| target.problem.is_none());
    if is_read && results.all(contract::stage6::refresh::RefreshValidation::passed) {
        CheckResult::Pass
    } else {
        CheckResult::Fail
    }
}
