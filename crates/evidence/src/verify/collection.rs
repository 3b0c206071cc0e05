//! Documents about other bundles: nothing ran and nothing changed for them, and they name the bundles that they read.

use std::collections::BTreeSet;

use contract::stage6::comparison::CandidateComparison;
use contract::{CitedBundle, CollectionKind, Decision, Report, Status, from_json};

use super::checks::Checks;
use super::files::Tree;
use crate::names;

pub(super) fn check(tree: &Tree, report: &Report, decision: &Decision, checks: &mut Checks) {
    let kind = |kind: Option<CollectionKind>| kind.map_or("none", CollectionKind::as_str);
    checks.same(names::DECISION, "decision_kind", kind(report.kind), kind(decision.inputs.kind));
    match report.kind {
        None => {
            let holds = report.bundles.is_empty() && report.subject_model.is_none();
            checks.check(holds, names::REPORT, "kind", "a kind, or no bundles of others", "bundles without a kind");
        }
        Some(kind) => check_document(tree, report, kind, checks),
    }
}

fn check_document(tree: &Tree, report: &Report, kind: CollectionKind, checks: &mut Checks) {
    let idle = !report.engine.process_started && report.changed_files.is_empty() && report.target_commit.is_none();
    checks.check(idle, names::REPORT, "kind", "a document that started and changed nothing", "a run");
    let cited: BTreeSet<&CitedBundle> = report.bundles.iter().collect();
    let is_once = cited.len() == report.bundles.len();
    checks.check(is_once, names::REPORT, "bundles", "each bundle once", "one several times");
    let is_own = report.bundles.iter().any(|bundle| bundle.run_id == report.run_id);
    checks.check(!is_own, names::REPORT, "bundles", "bundles of others", "its own");
    if kind == CollectionKind::Comparison {
        check_comparison(tree, report, checks);
    }
    let is_there = tree.files.contains_key(kind.file()) || report.status != Status::Pass;
    checks.check(is_there, kind.file(), "present", "the document in a pass", "missing");
}

/// A comparison says what its subjects make, of the engine and the bundles that are signed.
fn check_comparison(tree: &Tree, report: &Report, checks: &mut Checks) {
    let file = CollectionKind::Comparison.file();
    let Some(bytes) = tree.content(file) else { return };
    let comparison: CandidateComparison = match from_json(bytes) {
        Ok(comparison) => comparison,
        Err(error) => {
            checks.check(false, file, "shape", "its published schema", error);
            return;
        }
    };
    let candidate = &comparison.candidate;
    checks.same(file, "comparison_status", comparison.judged_status(), comparison.status);
    checks.check(
        comparison.status == report.status || !report.blockers.is_empty(),
        file,
        "comparison_status",
        comparison.status,
        report.status,
    );
    checks.same(file, "candidate", report.backend.as_str(), candidate.engine.as_str());
    let is_same = candidate.source_id == report.engine.source_id && candidate.model == report.subject_model;
    checks.check(is_same, file, "candidate", "the signed source and model", "another");
    checks.check(comparison.bundles == report.bundles, file, "bundles", "the signed bundles", "others");
    checks.check(!comparison.runtime_default_activation, file, "runtime_default_activation", false, true);
}
