//! Stages that change a repository: the approval that a run used, and the proof of its
//! stage, against decision, report and statement.

use contract::approval::ApprovalInput;
use contract::proof::{
    ActionProof, AdmissionProof, ApprovalAnswer, ApprovalProof, DisposableRepositoryProof, LandedCommit,
    OwnedRepositoryProof, PathProof, ProofSubject,
};
use contract::record::{FoundRecord, target_admission_status};
use contract::report::{ApprovalStatus, CheckResult, OperatorOutcome};
use contract::statement::Predicate;
use contract::{Coverage, Decision, Digest, EventKind, Report, Stage, Status};
use gate::approval::{CountedApprovals, counted_approvals};
use serde::Serialize;
use serde_json::{Value, json};

use super::checks::{Checks, ProofChecks};
use crate::names;

/// Everything that tells of a run's approval and of the repository that it changed.
pub(super) struct GovernedRun<'a> {
    pub(super) report: &'a Report,
    pub(super) decision: &'a Decision,
    pub(super) signed: Option<&'a Predicate>,
    pub(super) events: &'a [EventKind],
    pub(super) disposable: Option<&'a DisposableRepositoryProof>,
    pub(super) owned: Option<&'a OwnedRepositoryProof>,
}

/// Checks the approval and the stage's proof of a run that may change a repository.
pub(super) fn check_governed(run: &GovernedRun<'_>, checks: &mut Checks) {
    let counted = counted_approvals(&run.decision.inputs);
    check_signed(run, counted.as_ref(), checks);
    if run.report.engine.process_started {
        check_used(run, counted.as_ref(), checks);
    }
    check_presence(run, checks);
    if let Some(proof) = run.disposable {
        check_disposable(run, proof, counted.as_ref(), checks);
    }
    if let Some(proof) = run.owned {
        check_owned(run, proof, counted.as_ref(), checks);
    }
}

/// A request or approval that is signed for is the decision's.
fn check_signed(run: &GovernedRun<'_>, counted: Option<&CountedApprovals<'_>>, checks: &mut Checks) {
    let Some(signed) = run.signed else { return };
    let asked = match &run.decision.inputs.approval {
        Some(ApprovalInput::Found(facts)) => facts.request.as_ref().map(|request| request.request_digest),
        Some(ApprovalInput::Deferred) | None => None,
    };
    let approved = counted.and_then(CountedApprovals::approval_digest);
    let used = run.report.engine.process_started && counted.is_some();
    for (check, signed, known) in
        [("signed_request", signed.request_digest, asked), ("signed_approval", signed.approval_digest, approved)]
    {
        let holds = if used { signed == known } else { signed.is_none() || signed == known };
        checks.count_check(holds, names::ATTESTATION, check, tell(known), tell(signed));
    }
}

fn tell(digest: Option<Digest>) -> String {
    digest.map_or_else(|| "none".to_owned(), |digest| digest.to_string())
}

/// Checks that report and events record the use of the approval, and that the coverage
/// lists its gaps. Called if an engine started.
fn check_used(run: &GovernedRun<'_>, counted: Option<&CountedApprovals<'_>>, checks: &mut Checks) {
    let (file, report) = (names::REPORT, run.report);
    for coverage in [Coverage::SoloOperator, Coverage::BreakGlass] {
        let said = counted.is_some_and(|counted| counted.coverage.contains(&coverage));
        let listed = report.coverage.contains(&coverage);
        checks.count_check(said == listed, file, "coverage", format_args!("{}: {said}", coverage.code()), listed);
    }
    let expected = if counted.is_some() { ApprovalStatus::Granted } else { ApprovalStatus::NotRequired };
    same(file, "approval_status", expected, report.approval_status, checks);
    let Some(counted) = counted else { return };
    let glass = counted.coverage.contains(&Coverage::BreakGlass).then_some(EventKind::ApprovalBreakGlass);
    for kind in [EventKind::ApprovalRequested, EventKind::ApprovalGranted].into_iter().chain(glass) {
        let seen = run.events.contains(&kind);
        checks.count_check(seen, names::EVENTS, "approval_event", format_args!("an event {kind}"), "none");
    }
}

fn same(file: &str, check: &str, expected: impl Serialize, found: impl Serialize, checks: &mut Checks) {
    let (expected, found) = (json!(expected), json!(found));
    checks.count_check(expected == found, file, check, &expected, &found);
}

/// A pass of a stage that changes a repository has the proof of that stage.
fn check_presence(run: &GovernedRun<'_>, checks: &mut Checks) {
    let passed = run.report.status == Status::Pass && run.report.kind.is_none();
    let (file, is_there) = match run.report.stage {
        Stage::DISPOSABLE_REPOSITORY => (names::STAGE_4, run.disposable.is_some()),
        stage if stage > Stage::DISPOSABLE_REPOSITORY => (names::owned_proof(stage), run.owned.is_some()),
        _ => return,
    };
    checks.count_check(is_there || !passed, file, "present", "the proof of the stage in a pass", "missing");
}

fn check_disposable(
    run: &GovernedRun<'_>,
    proof: &DisposableRepositoryProof,
    counted: Option<&CountedApprovals<'_>>,
    checks: &mut Checks,
) {
    let report = run.report;
    let mut fields = ProofChecks { file: names::STAGE_4, checks };
    check_subject(report, &proof.subject, &mut fields);
    let said = (&proof.branch_policy, proof.case_process_started, proof.verification, proof.runtime_default_activation);
    check_common(report, said, &mut fields);
    fields.check_field(
        "disposable_repository_dir",
        &report.disposable_repository_dir,
        Some(&proof.disposable_repository_dir),
    );
    check_approval(run, &proof.approval, counted, &mut fields);
    check_paths(report, &proof.paths, &mut fields);
    check_actions(report, &proof.actions, &mut fields);
    fields.holds_in_pass(report, "repository_start_clean", proof.repository_start_clean);
    fields.holds_in_pass(report, "repository_ending_clean", proof.repository_ending_clean);
    fields.holds_in_pass(report, "passed", proof.passed);
    check_landed(report, proof.landed.as_ref(), &proof.repository_head_before, &mut fields);
}

fn check_owned(
    run: &GovernedRun<'_>,
    proof: &OwnedRepositoryProof,
    counted: Option<&CountedApprovals<'_>>,
    checks: &mut Checks,
) {
    let report = run.report;
    let mut fields = ProofChecks { file: names::owned_proof(report.stage), checks };
    check_subject(report, &proof.subject, &mut fields);
    let said = (&proof.branch_policy, proof.case_process_started, proof.verification, proof.runtime_default_activation);
    check_common(report, said, &mut fields);
    check_admission(run.decision, proof, &mut fields);
    check_approval(run, &proof.approval, counted, &mut fields);
    let first = counted.and_then(|counted| counted.approvals.first());
    fields.check_field("approval_digest", first.map(|first| first.sha256), Some(proof.approval_digest));
    fields.check_field(
        "approval_source",
        first.map(|first| &first.document.approval_source),
        Some(&proof.approval_source),
    );
    check_paths(report, &proof.paths, &mut fields);
    check_actions(report, &proof.actions, &mut fields);
    fields.check_field(
        "target_repository_head_before",
        &report.baseline_commit,
        Some(&proof.target_repository_head_before),
    );
    fields.check_field("operator_outcome", OperatorOutcome::Pending, proof.operator_outcome);
    fields.check_field("operator_outcome_required", true, proof.operator_outcome_required);
    fields.check_field(
        "target_commit",
        proof.landed.as_ref().map(|landed| &landed.commit),
        proof.target_commit.as_ref(),
    );
    fields.holds_in_pass(report, "target_repository_start_clean", proof.target_repository_start_clean);
    fields.holds_in_pass(report, "target_repository_ending_clean", proof.target_repository_ending_clean);
    fields.holds_in_pass(report, "passed", proof.passed);
    check_landed(report, proof.landed.as_ref(), &proof.target_repository_head_before, &mut fields);
}

fn check_subject(report: &Report, said: &ProofSubject, fields: &mut ProofChecks<'_>) {
    fields.check_field("run_id", &report.run_id, &said.run_id);
    fields.check_field("task_id", &report.task_id, &said.task_id);
    fields.check_field("work_id", &report.work_id, &said.work_id);
    fields.check_field("stage", report.stage, said.stage);
    fields.check_field("engine", &report.backend, &said.engine);
    fields.check_field("mutation_mode", report.stage.mutation_mode(), said.mutation_mode);
    fields.check_field("allowed_mutation_scope", &report.allowed_mutation_scope, &said.allowed_mutation_scope);
}

/// Branch policy, start of the engine, verification and activation, which both proofs say.
fn check_common(report: &Report, said: (&String, bool, CheckResult, bool), fields: &mut ProofChecks<'_>) {
    let (branch_policy, process_started, verification, activation) = said;
    fields.check_field("branch_policy", &report.branch_policy, branch_policy);
    fields.check_field("case_process_started", report.engine.process_started, process_started);
    fields.check_field("verification", report.verification.result, verification);
    fields.check_field("runtime_default_activation", false, activation);
}

fn check_approval(
    run: &GovernedRun<'_>,
    proof: &ApprovalProof,
    counted: Option<&CountedApprovals<'_>>,
    fields: &mut ProofChecks<'_>,
) {
    let Some(ApprovalInput::Found(facts)) = &run.decision.inputs.approval else {
        fields.check_field("approval", Value::Null, proof);
        return;
    };
    let Some(request) = &facts.request else {
        fields.check_field("approval", Value::Null, proof);
        return;
    };
    // A proof is only written of a run whose engine started.
    fields.check_field("approval.status", ApprovalAnswer::Granted, proof.status);
    fields.check_field("approval.request_digest", request.request_digest, proof.request_digest);
    fields.check_field("approval.packet_digest", request.packet_digest, proof.packet_digest);
    fields.check_field("approval.policy_digest", request.policy_digest, proof.policy_digest);
    let approvals = counted.map_or(&[][..], |counted| &counted.approvals);
    let digests: Vec<Digest> = approvals.iter().map(|approval| approval.sha256).collect();
    fields.check_field("approval.approval_digests", digests, &proof.approval_digests);
    let keys: Vec<&str> = approvals.iter().map(|approval| approval.signature.key_fingerprint.as_str()).collect();
    fields.check_field("approval.approved_by", keys, &proof.approved_by);
    fields.check_field("approval.approval_consumed", run.report.engine.process_started, proof.approval_consumed);
}

fn check_admission(decision: &Decision, proof: &OwnedRepositoryProof, fields: &mut ProofChecks<'_>) {
    let facts = decision.inputs.settings.target_admission.as_ref();
    let Some((facts, FoundRecord::Record { sha256, record, signed_by })) = facts.map(|facts| (facts, &facts.admission))
    else {
        fields.check_field("admission", Value::Null, &proof.admission);
        return;
    };
    fields.check_field("target_repository_path", &facts.path, &proof.target_repository_path);
    let status = target_admission_status(&facts.admission, &facts.path);
    fields.check_field("target_repository_admission_status", status, proof.target_repository_admission_status);
    let known = AdmissionProof {
        sha256: *sha256,
        signed_by: signed_by.clone(),
        repository_owner: record.repository_owner.clone(),
        ownership_evidence: record.ownership_evidence.clone(),
        risk_classification: record.risk_classification.clone(),
        approval_source: record.approval_source.clone(),
        approval_timestamp: record.approval_timestamp.clone(),
        review_trigger: record.review_trigger.clone(),
        allowed_paths: record.allowed_paths.clone(),
        forbidden_paths: record.forbidden_paths.clone(),
    };
    fields.check_field("admission", known, &proof.admission);
}

fn check_paths(report: &Report, proof: &PathProof, fields: &mut ProofChecks<'_>) {
    fields.check_field("allowed_paths_passed", report.allowed_writes_passed, proof.allowed_paths_passed);
    fields.check_field("forbidden_paths_passed", report.forbidden_paths_passed, proof.forbidden_paths_passed);
    fields.check_field("changed_files", &report.changed_files, &proof.changed_files);
}

/// A report tells what recorders saw, and never what they did not see: of a run that did
/// not pass, a proof may say less than the report.
fn check_actions(report: &Report, proof: &ActionProof, fields: &mut ProofChecks<'_>) {
    let attempted = !report.forbidden_actions_attempted.is_empty();
    fields.check_field("no_forbidden_actions", false, attempted && proof.no_forbidden_actions);
    fields.holds_in_pass(report, "no_forbidden_actions", proof.no_forbidden_actions);
    fields.holds_in_pass(report, "no_publication", !proof.public_publication_attempted);
    fields.holds_in_pass(
        report,
        "no_push_merge_deploy_close_pr_open",
        !proof.push_merge_deploy_close_pr_open_attempted,
    );
}

/// A pass that changed something is one commit on the recorded HEAD, with the tree that was
/// verified.
fn check_landed(report: &Report, landed: Option<&LandedCommit>, head: &str, fields: &mut ProofChecks<'_>) {
    let changed = !report.changed_files.is_empty();
    fields.holds_in_pass(report, "landed", landed.is_some() || !changed);
    let Some(landed) = landed else { return };
    fields.check_field("landed.parent", head, &landed.parent);
    fields.check_field("landed.tree", &report.result_tree, Some(&landed.tree));
}

#[cfg(test)]
mod tests;
