//! What a taken patch is called: its branch and its commit message.

use contract::report::{CheckResult, PassKind};
use contract::text::shown;
use contract::{Coverage, Digest, Report, TaskContract};
use evidence::render::{counts_text, verdict_sentence};
use std::fmt::Write as _;
use tree::BranchName;

use super::TakeError;

/// The pattern where the contract wants the branch that is checked out: taking never moves one.
const PATTERN: &str = "cto/<task>/<request>";
/// Longer subjects are cut: git's own lists show no more.
const SUBJECT: usize = 100;

/// The contract's branch policy with its places filled in.
pub(super) fn default_branch(report: &Report, contract: &TaskContract) -> Result<BranchName, TakeError> {
    let policy = contract.branch_policy.as_str();
    let pattern = if policy == "current" { PATTERN } else { policy };
    let suffix = report.run_id.suffix();
    let name = pattern.replace("<request>", suffix).replace("<run>", suffix).replace("<task>", report.task_id.as_str());
    BranchName::parse(&name).map_err(|problem| TakeError::Policy { name, problem })
}

/// Title, verdict, what was verified, what was not, and where the proof is. Writing to a String cannot fail.
pub(super) fn message(report: &Report, patch: Digest) -> String {
    let mut out = format!("{}\n\n{}\n\n", subject(report), verdict_sentence(report));
    for kind in [PassKind::Exam, PassKind::Change, PassKind::Control, PassKind::Blind] {
        let passes = || report.verification.passes.iter().filter(|pass| pass.kind == kind);
        if passes().next().is_some() {
            let held = passes().filter(|pass| pass.result == CheckResult::Pass).count();
            let _ = writeln!(out, "- {}: {held} of {} held, on {}", kind.as_str(), passes().count(), kind.ran_on());
        }
    }
    if let Some(tests) = report.verification.exam_tests() {
        let _ = writeln!(out, "- tests: {}", counts_text(Some(tests)));
    }
    let unproven: Vec<&str> = report.coverage.iter().map(|coverage: &Coverage| coverage.code()).collect();
    let unproven = if unproven.is_empty() { "nothing".to_owned() } else { unproven.join(", ") };
    let _ = writeln!(out, "- not proven: {unproven}");
    let _ = write!(out, "\nCto-Run: {}\nCto-Contract: {}\nCto-Patch: {patch}\n", report.run_id, report.contract_digest);
    out
}

fn subject(report: &Report) -> String {
    let title = shown(report.title.trim());
    let cut: String = title.chars().take(SUBJECT).collect();
    if cut.trim().is_empty() { report.task_id.to_string() } else { cut.trim().to_owned() }
}
