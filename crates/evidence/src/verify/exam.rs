//! The verification judged again: from its checks, their exits and their tests, and from
//! the claims beside them.

use contract::report::{CheckResult, Excuse, PassKind, Report, VerificationPass};
use contract::{Coverage, Reason, Status, TaskContract};

use super::checks::Checks;
use crate::names;

/// Judges every pass, their overall result and the claims again.
pub(super) fn check_exam(report: &Report, checks: &mut Checks) {
    check_proof(report, checks);
    for pass in &report.verification.passes {
        check_pass(report, pass, checks);
    }
    check_result(report, checks);
    check_claims(report, checks);
}

/// A pass rests on an exam that passed, and on nothing that failed.
fn check_proof(report: &Report, checks: &mut Checks) {
    let file = names::REPORT;
    let passes = &report.verification.passes;
    let failed = passes.iter().any(|pass| pass.result == CheckResult::Fail);
    let holds = report.status != Status::Pass || !failed;
    checks.count_check(holds, file, "verification", "no failed check in a pass", "one failed");
    let proven = report.status != Status::Pass
        || report.stage.number() == 1
        || report.kind.is_some()
        || report.coverage.contains(&Coverage::NoVerification)
        || passes.iter().any(|pass| pass.kind == proving(report) && pass.result == CheckResult::Pass);
    checks.count_check(proven, file, "verification", "an exam that passed, or a reason why there is none", "neither");
}

/// Kind of check that a pass relies on. A baseline without any test leaves only the patch's
/// own tests, and the coverage says so.
pub(super) fn proving(report: &Report) -> PassKind {
    let examined = report.verification.passes.iter().any(|pass| pass.kind == PassKind::Exam);
    match !examined && report.coverage.contains(&Coverage::TestsNotCompared) {
        true => PassKind::Change,
        false => PassKind::Exam,
    }
}

/// True if tests failed and each of them is excused, by a code in the coverage too.
fn is_excused(report: &Report, pass: &VerificationPass) -> bool {
    let tests = &pass.tests.failed;
    let covered = |excuse: Excuse| {
        let code = match excuse {
            Excuse::KnownFailure => Coverage::KnownFailures,
            Excuse::Flaky => Coverage::FlakyTests,
        };
        report.coverage.contains(&code)
    };
    let counted = pass.tests.result.map_or(0, |counts| counts.failed);
    counted > 0 && counted == tests.len() as u64 && tests.iter().all(|test| test.excused.is_some_and(covered))
}

/// Checks one pass. A command that holds ended with 0, in time, without a failed test, and
/// ran every test of the baseline; one that ended with 0 and did not is
/// `verification_weakened`.
fn check_pass(report: &Report, pass: &VerificationPass, checks: &mut Checks) {
    if !matches!(pass.kind, PassKind::Exam | PassKind::Change) {
        return;
    }
    let (file, name) = (names::REPORT, pass.name.as_str());
    let held = pass.result == CheckResult::Pass;
    let ended_well = pass.exit == Some(0) && !pass.timed_out;
    let excused = is_excused(report, pass);
    let exit_holds = ended_well || excused && pass.exit.is_some() && !pass.timed_out;
    checks.count_check(!held || exit_holds, file, "verification", "exit 0 where a check passed", name);
    let failed = pass.tests.result.is_some_and(|tests| tests.failed > 0);
    checks.count_check(
        !(held && failed) || excused,
        file,
        "verification_tests",
        "no failed test where a check passed",
        name,
    );
    let told = report.blocker_reasons.contains(&Reason::VerificationFailed);
    let expected = "verification_failed among the blockers";
    checks.count_check(!(ended_well && failed) || told, file, "verification_tests", expected, name);
    let weak = is_weak(pass);
    checks.count_check(
        !(held && weak),
        file,
        "verification_tests",
        "every test of the baseline where a check passed",
        name,
    );
    let told = report.blocker_reasons.contains(&Reason::VerificationWeakened);
    let expected = "verification_weakened among the blockers";
    checks.count_check(!(ended_well && weak) || told, file, "verification_tests", expected, name);
}

fn is_weak(pass: &VerificationPass) -> bool {
    let tests = &pass.tests;
    let none = tests.result.is_some_and(|tests| tests.executed == 0);
    none || !tests.missing.is_empty() || !tests.newly_skipped.is_empty()
}

/// Controls hold when an altered exam failed: of the contract's patch one of the commands,
/// of our own tests each.
pub(super) fn check_controls(report: &Report, contract: &TaskContract, checks: &mut Checks) {
    let controls: Vec<&VerificationPass> =
        report.verification.passes.iter().filter(|pass| pass.kind == PassKind::Control).collect();
    let failed = |pass: &VerificationPass| pass.tests.result.is_some_and(|tests| tests.failed > 0);
    let refused = |pass: &VerificationPass| pass.exit.is_some_and(|exit| exit != 0 || failed(pass)) && !pass.timed_out;
    let held = |pass: &VerificationPass| pass.result == CheckResult::Pass;
    let holds = match contract.control_patch {
        Some(_) => !controls.first().is_some_and(|first| held(first)) || controls.iter().any(|pass| refused(pass)),
        None => controls.iter().all(|pass| !held(pass) || refused(pass)),
    };
    let expected = "an altered exam that failed where the control holds";
    checks.count_check(holds, names::REPORT, "verification", expected, "one passed");
}

/// A failure is excused only where the contract declares it, or asks for repetitions.
pub(super) fn check_excuses(report: &Report, contract: &TaskContract, checks: &mut Checks) {
    let tests = report.verification.passes.iter().flat_map(|pass| &pass.tests.failed);
    let unfounded = tests.filter_map(|test| test.excused).any(|excuse| match excuse {
        Excuse::KnownFailure => contract.may_stay_red.is_empty(),
        Excuse::Flaky => contract.flaky_retries() == 0,
    });
    let expected = "failures that the contract excuses";
    checks.count_check(!unfounded, names::REPORT, "verification_tests", expected, "others");
}

fn check_result(report: &Report, checks: &mut Checks) {
    let file = names::REPORT;
    let passes = &report.verification.passes;
    let result = match passes.as_slice() {
        [] => CheckResult::NotRun,
        [..] if passes.iter().all(|pass| pass.result == CheckResult::Pass) => CheckResult::Pass,
        _ => CheckResult::Fail,
    };
    let as_passes = report.verification.result == result;
    checks.count_check(as_passes, file, "verification_result", "what the checks make", "another result");
    let tests = (result != CheckResult::NotRun).then_some(result == CheckResult::Pass);
    checks.count_check(report.tests_passed == tests, file, "tests_passed", "what the checks make", "another result");
}

/// Checks that a contradicted structured claim blocks the run.
fn check_claims(report: &Report, checks: &mut Checks) {
    let lie = report.claims.iter().find(|judged| judged.blocks());
    let listed = report.blocker_reasons.contains(&Reason::ClaimContradicted);
    let expected = "claim_contradicted among the blockers exactly where a claim is contradicted";
    let found = lie.map_or("no contradicted claim", |judged| judged.claim.found_in.as_str());
    checks.count_check(lie.is_some() == listed, names::REPORT, "claims", expected, found);
}
