//! The comparison of stage 6 that a refresh carries lanes and failure closure from.

use contract::stage6::comparison::{CandidateComparison, ComparisonSubject};
use contract::stage6::refresh::{PriorComparison, RefreshLane};
use contract::{CitedBundle, CollectionKind, Purpose, Stage, Stamp, Status};
use evidence::PublicKey;
use evidence::verify::VerifiedBundle;
use ledger::{Bundles, EngineIdentity, Ledger, ReadLedgerError, RunRow, RungPart, RungRuns};
use serde_json::Value;
use views::asked_run;

use super::facts::{CarriedVerdict, PriorFacts};
use super::passes::read;
use crate::after::stage6::newest::find_newest;
use crate::after::stage6::secret_fields::find_secret_fields;

/// A comparison that verifies, and the time at which it was made.
#[derive(Debug)]
pub(super) struct FoundPrior {
    pub(super) facts: PriorFacts,
    pub(super) engine: String,
    pub(super) started_at: Stamp,
}

impl FoundPrior {
    /// Citation of the comparison's bundle.
    pub(super) fn cite(&self) -> CitedBundle {
        let PriorComparison { run_id, attestation_sha256, .. } = &self.facts.comparison;
        CitedBundle { run_id: run_id.clone(), attestation_sha256: *attestation_sha256 }
    }
}

/// Finds the newest comparison of an engine, whatever its identity.
pub(super) fn find_prior(
    ledger: &Ledger,
    bundles: &Bundles,
    keys: &[PublicKey],
    engine: &str,
) -> Result<Option<FoundPrior>, ReadLedgerError> {
    let stage = Stage::CANDIDATE_DEFAULT;
    let mut newest: Option<FoundPrior> = None;
    for identity in ledger.rung_identities(engine, Purpose::Governed, stage)? {
        let runs = RungRuns { engine, purpose: Purpose::Governed, stage, identity: Some(&identity), of: RungPart::All };
        let found = find_newest(ledger, &runs, |row| read_comparison(bundles, keys, row))?;
        newest = match (newest, found) {
            (Some(known), Some(found)) if found.started_at > known.started_at => Some(found),
            (Some(known), _) => Some(known),
            (None, found) => found,
        };
    }
    Ok(newest)
}

fn read_comparison(bundles: &Bundles, keys: &[PublicKey], row: &RunRow) -> Option<FoundPrior> {
    let dir = bundles.bundle_dir(&row.run_id);
    let bundle = VerifiedBundle::verify(&dir, keys, Some(&asked_run(row))).ok()?;
    let report = bundle.report();
    if report.kind != Some(CollectionKind::Comparison) {
        return None;
    }
    let name = CollectionKind::Comparison.file();
    let raw: Value = read(&dir, name).ok()?;
    let document: CandidateComparison = serde_json::from_value(raw.clone()).ok()?;
    let known = serde_json::to_value(&document).ok()?;
    let lanes = document.lanes.iter().map(|lane| RefreshLane {
        engine: lane.engine.clone(),
        status: lane.status,
        rationale: lane.rationale.clone(),
    });
    let facts = PriorFacts {
        path: format!("{}/{name}", Bundles::bundle_name(&row.run_id)),
        comparison: PriorComparison {
            run_id: row.run_id.clone(),
            attestation_sha256: bundle.attestation_sha256(),
            status: report.status,
        },
        identity: EngineIdentity {
            source_id: document.candidate.source_id.clone(),
            model: document.candidate.model.clone(),
        },
        lanes: lanes.collect(),
        failure_closure: carry(&document, ComparisonSubject::FailureClosure),
        failure_matrix: carry(&document, ComparisonSubject::FailureMatrixCoverage),
        default_activation: document.runtime_default_activation,
        promoted: document.core_promotion_status != contract::decision::NotPromoted::NotPromoted,
        secret_fields: find_secret_fields(&raw, &known),
    };
    Some(FoundPrior { facts, engine: row.engine.clone(), started_at: row.started_at })
}

/// The verdict on a subject; one that is not there is blocked.
fn carry(document: &CandidateComparison, subject: ComparisonSubject) -> CarriedVerdict {
    match document.subjects.iter().find(|compared| compared.subject == subject) {
        Some(compared) => CarriedVerdict { verdict: compared.verdict, text: compared.text.clone() },
        None => CarriedVerdict { verdict: Status::Blocked, text: format!("it says nothing about {subject}") },
    }
}
