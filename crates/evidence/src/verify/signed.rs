//! Comparison of the signed statement with the report.

use contract::{Report, Statement};

use super::checks::{Checks, UNVERIFIED_PROOFS};
use super::files::Tree;
use super::judge::codes;
use crate::stop::has_defect;
use crate::{names, seal};

/// Checks that each signed fact equals the report's, and that the report has the constants of its stage.
pub(super) fn check_signed(tree: &Tree, report: &Report, statement: &Statement, checks: &mut Checks) {
    let (file, signed) = (names::REPORT, &statement.predicate);
    checks.check_same(file, "signed_run", signed.run_id.as_str(), report.run_id.as_str());
    checks.check_same(file, "signed_task", signed.task_id.as_str(), report.task_id.as_str());
    checks.check_same(file, "signed_verdict", signed.verdict, report.status);
    checks.check_same(file, "signed_stage", signed.stage, report.stage);
    checks.check_same(file, "signed_purpose", signed.purpose.as_str(), report.purpose.as_str());
    checks.check_same(file, "signed_contract", signed.contract_digest, report.contract_digest);
    checks.check_same(file, "signed_decision", signed.decision_id, report.decision_id);
    checks.check_same(file, "signed_started", signed.started_at, report.run_started_at);
    checks.check_same(file, "signed_finished", signed.finished_at, report.run_finished_at);
    checks.count_check(
        signed.blockers == report.blocker_reasons,
        file,
        "signed_blockers",
        codes(&signed.blockers),
        codes(&report.blocker_reasons),
    );
    checks.count_check(signed.coverage == report.coverage, file, "signed_coverage", "the signed coverage", "another");
    checks.count_check(
        signed.result_tree == report.result_tree,
        file,
        "signed_result_tree",
        "the signed tree",
        "another",
    );
    checks.count_check(
        signed.baseline_commit == report.baseline_commit && signed.baseline_tree == report.baseline_tree,
        file,
        "signed_baseline",
        "the signed commit and tree",
        "another",
    );
    let checks_match = seal::signed_checks(report).is_ok_and(|made| made == signed.verification);
    checks.count_check(checks_match, file, "signed_verification", "the signed verification", "another");
    if let Some(patch) = tree.files.get(names::PATCH) {
        checks.check_same(names::PATCH, "signed_patch", signed.patch_sha256, *patch);
    }
    let facts = seal::signed_facts(report);
    checks.count_check(signed.engine == facts.engine, file, "signed_engine", "the signed engine", "another");
    checks.count_check(signed.model == facts.model, file, "signed_model", "the signed model", "another");
    checks.count_check(signed.sandbox == facts.sandbox, file, "signed_sandbox", "the signed sandbox", "another");
    checks.count_check(signed.harness == facts.harness, file, "signed_harness", "the signed harness", "another");
    checks.count_check(
        (signed.request_digest, signed.approval_digest) == (report.request_digest, report.approval_digest),
        file,
        "signed_approval",
        "the signed request and approval",
        "another",
    );
    checks.count_check(
        (&signed.work_id, &signed.target_commit, &signed.disposable_repository_dir)
            == (&report.work_id, &report.target_commit, &report.disposable_repository_dir)
            && signed.target_repository_admission_status == report.target_repository_admission_status,
        file,
        "signed_target",
        "the signed target and commit",
        "another",
    );
    checks.count_check(
        signed.kind == report.kind && signed.bundles == report.bundles && signed.subject_model == report.subject_model,
        file,
        "signed_kind",
        "the signed kind and bundles",
        "another",
    );
    let scope = report.stage.allowed_mutation_scope();
    checks.check_same(file, "allowed_mutation_scope", scope, report.allowed_mutation_scope.as_str());
    let is_inactive = !report.runtime_default_activation || has_defect(UNVERIFIED_PROOFS);
    checks.count_check(is_inactive, file, "runtime_default_activation", false, true);
}
