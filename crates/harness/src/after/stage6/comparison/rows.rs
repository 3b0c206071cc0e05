//! Rows of a comparison's document that repeat what was read.

use contract::report::OperatorOutcome;
use contract::stage6::comparison::{ComparedPass, FailureRow};
use evidence::names;
use ledger::Bundles;

use super::facts::{BundleFacts, MatrixFact, OwnedPass};

/// Row about one expected failure.
pub(super) fn failure_row(row: &MatrixFact) -> FailureRow {
    FailureRow {
        fixture: row.fixture.to_owned(),
        reason: row.reason,
        covered: row.bundle.is_some() || row.rationale.is_some(),
        bundle: row.bundle.clone(),
        rationale: row.rationale.filter(|_| row.bundle.is_none()).map(str::to_owned),
    }
}

/// Row about one pass of stage 5.
pub(super) fn compared_pass(pass: &OwnedPass) -> ComparedPass {
    let BundleFacts { cited, case_id, target_commit, changed_files, .. } = pass.bundle.clone();
    let folder = Bundles::bundle_name(&cited.run_id);
    ComparedPass {
        run_id: cited.run_id,
        case_id,
        attestation_sha256: cited.attestation_sha256,
        report: format!("{folder}/{}", names::REPORT),
        proof: format!("{folder}/{}", names::STAGE_5),
        target_commit,
        changed_files,
        approval_source: pass.proof.as_ref().map(|proof| proof.approval_source.clone()),
        approval_digest: pass.proof.as_ref().map(|proof| proof.approval_digest),
        operator_outcome: OperatorOutcome::Accepted,
    }
}
