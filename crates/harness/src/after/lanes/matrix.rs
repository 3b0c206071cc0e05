//! A matrix: cases, each compared with the end that it declares.

use contract::case::Expect;
use contract::{CitedBundle, CollectionKind, Digest, Purpose, Reason, Report, RunId, Stage, Status};
use schemars::JsonSchema;
use serde::Serialize;

use crate::after::collection::{CollectionDocument, CollectionProblem, seal_collection};
use crate::home::ask::Ask;
use crate::home::task::Task;
use crate::home::watch::Watch;
use crate::run::about::DocumentSubject;
use crate::run::harness::Harness;
use crate::spine::{GovernError, govern};

/// `matrix.json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Matrix")]
pub struct Matrix {
    pub schema_version: String,
    pub status: Status,
    pub engine: String,
    pub cases: Vec<MatrixRow>,
    pub runtime_default_activation: bool,
}

/// One case.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Row")]
pub struct MatrixRow {
    pub case_id: String,
    pub run_id: String,
    pub status: Status,
    pub reasons: Vec<Reason>,
    pub expected_status: Status,
    pub expected_reasons: Vec<Reason>,
    pub as_declared: bool,
    pub duration_ms: u64,
    /// SHA-256 of the bundle's attestation.
    pub attestation_sha256: Digest,
}

impl Matrix {
    /// Matrix of cases; it passes only if every case ended as declared.
    pub fn of_cases(engine: &str, cases: Vec<MatrixRow>) -> Self {
        let all = cases.iter().all(|row| row.as_declared);
        Self {
            schema_version: "1.0".to_owned(),
            status: if all { Status::Pass } else { Status::Fail },
            engine: engine.to_owned(),
            cases,
            runtime_default_activation: false,
        }
    }

    /// The bundles of its cases.
    fn cited(&self) -> Vec<CitedBundle> {
        let cite = |row: &MatrixRow| {
            let run_id = RunId::try_from(row.run_id.clone()).ok()?;
            Some(CitedBundle { run_id, attestation_sha256: row.attestation_sha256 })
        };
        self.cases.iter().filter_map(cite).collect()
    }

    fn problem(&self) -> Option<CollectionProblem> {
        let wrong: Vec<&str> =
            self.cases.iter().filter(|row| !row.as_declared).map(|row| row.case_id.as_str()).collect();
        let text = format!("did not end as declared: {}", wrong.join(", "));
        (!wrong.is_empty()).then_some(CollectionProblem { reason: Reason::VerificationFailed, text })
    }
}

/// Runs a case and compares its end with the declared one; none when a signal ended it.
pub fn run_case(
    harness: &Harness,
    id: &str,
    task: &Task,
    ask: &Ask,
    watch: Watch<'_>,
) -> Result<Option<(MatrixRow, Report)>, GovernError> {
    let outcome = govern(harness, task, ask, watch)?;
    if outcome.interrupted {
        return Ok(None);
    }
    let report = outcome.sealed.report;
    let expect = task.expect.clone().unwrap_or_default();
    let row = MatrixRow {
        case_id: id.to_owned(),
        run_id: report.run_id.to_string(),
        status: report.status,
        as_declared: is_as_declared(&expect, report.status, &report.blocker_reasons),
        reasons: report.blocker_reasons.clone(),
        expected_status: expect.status,
        expected_reasons: expect.reasons,
        duration_ms: report.duration_ms,
        attestation_sha256: outcome.sealed.attestation_sha256,
    };
    Ok(Some((row, report)))
}

/// The same status and the same reasons, whatever their order.
fn is_as_declared(expect: &Expect, status: Status, reasons: &[Reason]) -> bool {
    let sorted = |reasons: &[Reason]| {
        let mut reasons = reasons.to_vec();
        reasons.sort();
        reasons
    };
    expect.status == status && sorted(&expect.reasons) == sorted(reasons)
}

/// Seals a matrix in a bundle of its own; gives its run id.
pub fn seal_matrix(harness: &Harness, matrix: &Matrix) -> Result<RunId, GovernError> {
    let collection = CollectionDocument {
        name: &format!("run-all-{}", matrix.engine),
        title: "every case",
        brief: "Run every case and compare its end with what it declares.",
        success: "every case ends as it declares",
        engine: &matrix.engine,
        stage: Stage::GATED_ENGINE,
        purpose: Purpose::Validation,
        subject: DocumentSubject::of_kind(CollectionKind::Matrix, matrix.cited()),
    };
    let sealed = seal_collection(harness, &collection, matrix, matrix.problem())?;
    Ok(sealed.report.run_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_ends_as_declared_whatever_the_order_of_its_reasons() {
        use Reason::{ProviderUnavailable, VerificationFailed};
        let expect = Expect { status: Status::Fail, reasons: vec![VerificationFailed, ProviderUnavailable] };
        for (status, reasons, expected) in [
            (Status::Fail, &[ProviderUnavailable, VerificationFailed][..], true),
            (Status::Fail, &[VerificationFailed], false),
            (Status::Fail, &[VerificationFailed, VerificationFailed], false),
            (Status::Blocked, &[VerificationFailed, ProviderUnavailable], false),
        ] {
            assert_eq!(is_as_declared(&expect, status, reasons), expected, "{status} {reasons:?}");
        }
    }

    #[test]
    fn a_matrix_fails_by_the_cases_that_ended_otherwise() {
        let row = |case_id: &str, as_declared| MatrixRow {
            case_id: case_id.to_owned(),
            run_id: String::new(),
            status: Status::Pass,
            reasons: Vec::new(),
            expected_status: Status::Pass,
            expected_reasons: Vec::new(),
            as_declared,
            duration_ms: 0,
            attestation_sha256: Digest::of_bytes(b""),
        };
        let good = Matrix::of_cases("fake", vec![row("a", true)]);
        assert!(good.status == Status::Pass && good.problem().is_none());
        let bad = Matrix::of_cases("fake", vec![row("a", true), row("b", false), row("c", false)]);
        let CollectionProblem { reason, text } = bad.problem().unwrap();
        assert_eq!((bad.status, reason), (Status::Fail, Reason::VerificationFailed));
        assert_eq!(text, "did not end as declared: b, c");
    }
}
