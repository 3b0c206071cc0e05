//! Documents about other bundles: nothing ran and nothing changed for them, and they name
//! the bundles that they read.

use std::collections::BTreeSet;

use contract::report::OperatorOutcome;
use contract::stage6::comparison::CandidateComparison;
use contract::stage6::refresh::RefreshComparison;
use contract::{CitedBundle, CollectionKind, Decision, Report, Status, from_json};
use serde::de::DeserializeOwned;

use super::checks::{Checks, ProofChecks};
use super::files::Tree;
use crate::names;

/// Checks that the kinds of report and decision agree, and that only a collection names
/// other bundles.
pub(super) fn check_collection(tree: &Tree, report: &Report, decision: &Decision, checks: &mut Checks) {
    let kind = |kind: Option<CollectionKind>| kind.map_or("none", CollectionKind::as_str);
    checks.check_same(names::DECISION, "decision_kind", kind(report.kind), kind(decision.inputs.kind));
    match report.kind {
        None => {
            let holds = report.bundles.is_empty() && report.subject_model.is_none();
            checks.count_check(
                holds,
                names::REPORT,
                "kind",
                "a kind, or no bundles of others",
                "bundles without a kind",
            );
        }
        Some(kind) => check_document(tree, report, kind, checks),
    }
}

fn check_document(tree: &Tree, report: &Report, kind: CollectionKind, checks: &mut Checks) {
    let idle = !report.engine.process_started && report.changed_files.is_empty() && report.target_commit.is_none();
    checks.count_check(idle, names::REPORT, "kind", "a document that started and changed nothing", "a run");
    let cited: BTreeSet<&CitedBundle> = report.bundles.iter().collect();
    let is_once = cited.len() == report.bundles.len();
    checks.count_check(is_once, names::REPORT, "bundles", "each bundle once", "one several times");
    let is_own = report.bundles.iter().any(|bundle| bundle.run_id == report.run_id);
    checks.count_check(!is_own, names::REPORT, "bundles", "bundles of others", "its own");
    match kind {
        CollectionKind::Comparison => check_comparison(tree, report, checks),
        CollectionKind::Refresh => check_refresh(tree, report, checks),
        CollectionKind::Matrix | CollectionKind::Race | CollectionKind::Repeat => {}
    }
    let is_there = tree.files.contains_key(kind.file()) || report.status != Status::Pass;
    checks.count_check(is_there, kind.file(), "present", "the document in a pass", "missing");
}

/// A comparison says what its subjects make, of the engine and the bundles that are signed.
fn check_comparison(tree: &Tree, report: &Report, checks: &mut Checks) {
    let file = CollectionKind::Comparison.file();
    let Some(comparison) = read_document::<CandidateComparison>(tree, file, checks) else { return };
    let candidate = &comparison.candidate;
    checks.check_same(file, "comparison_status", comparison.judged_status(), comparison.status);
    checks.count_check(
        comparison.status == report.status || !report.blockers.is_empty(),
        file,
        "comparison_status",
        comparison.status,
        report.status,
    );
    checks.check_same(file, "candidate", report.backend.as_str(), candidate.engine.as_str());
    let is_same = candidate.source_id == report.engine.source_id && candidate.model == report.subject_model;
    checks.count_check(is_same, file, "candidate", "the signed source and model", "another");
    checks.count_check(comparison.bundles == report.bundles, file, "bundles", "the signed bundles", "others");
    check_comparison_facts(report, &comparison, &mut ProofChecks { file, checks });
}

fn read_document<T: DeserializeOwned>(tree: &Tree, file: &str, checks: &mut Checks) -> Option<T> {
    let read = from_json(tree.content(file)?);
    read.map_err(|error| checks.count_check(false, file, "shape", "its published schema", error)).ok()
}

/// Facts that every comparison has, and those without which it does not pass.
fn check_comparison_facts(report: &Report, comparison: &CandidateComparison, fields: &mut ProofChecks<'_>) {
    fields.check_field("runtime_default_activation", false, comparison.runtime_default_activation);
    fields.check_field("operator_outcome", OperatorOutcome::Pending, comparison.operator_outcome);
    fields.check_field("operator_outcome_required", true, comparison.operator_outcome_required);
    let is_repeated = comparison.repeatability_status == Status::Pass;
    fields.check_field("repeatability_passed", is_repeated, comparison.repeatability_passed);
    fields.holds_in_pass(report, "repeatability_passed", comparison.repeatability_passed);
    let is_enough = comparison.repeatability_count >= comparison.repeatability_required;
    fields.holds_in_pass(report, "repeatability_count", is_enough);
    for row in &comparison.failure_matrix {
        let is_shown = row.bundle.is_some() || row.rationale.is_some();
        fields.holds_in_pass(report, "failure_matrix.covered", row.covered && is_shown);
    }
}

/// A refresh changes nothing; where it passes, every pass was repeated and no target changed.
fn check_refresh(tree: &Tree, report: &Report, checks: &mut Checks) {
    let file = CollectionKind::Refresh.file();
    let Some(refresh) = read_document::<RefreshComparison>(tree, file, checks) else { return };
    checks.count_check(
        refresh.status == report.status || !report.blockers.is_empty(),
        file,
        "refresh_status",
        refresh.status,
        report.status,
    );
    check_refresh_facts(report, &refresh, &mut ProofChecks { file, checks });
}

fn check_refresh_facts(report: &Report, refresh: &RefreshComparison, fields: &mut ProofChecks<'_>) {
    fields.check_field("runtime_default_activation", false, refresh.runtime_default_activation);
    let is_repeated = refresh.repeatability_status == Status::Pass;
    fields.check_field("repeatability_passed", is_repeated, refresh.repeatability_passed);
    let is_enough = refresh.repeatability_count >= refresh.repeatability_required;
    for (field, found) in [
        ("status", refresh.status == Status::Pass),
        ("rejections", refresh.rejections.is_empty()),
        ("repeatability_passed", refresh.repeatability_passed),
        ("repeatability_count", is_enough),
        ("candidate_default_repeatability_eligible", refresh.candidate_default_repeatability_eligible),
        ("target_repository_unchanged", !refresh.target_repository_mutation),
    ] {
        fields.holds_in_pass(report, field, found);
    }
}
