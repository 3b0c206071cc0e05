//! The comparison of stage 6 that a refresh carries lanes and failure closure from.

use contract::stage6::comparison::{COMPARISON_TASK, CandidateComparison, ComparisonSubject};
use contract::stage6::refresh::{PriorComparison, RefreshLane};
use contract::{CitedBundle, CollectionKind, Purpose, Stage, Status};
use evidence::verify::VerifiedBundle;
use ledger::{Bundles, EngineIdentity, ReadLedgerError, RunRow, RungPart, RungRuns};
use serde_json::Value;
use views::{RungSource, asked_run};

use super::facts::{CarriedVerdict, DamagedPrior, PriorFacts};
use super::passes::read_json_document;
use crate::after::stage6::newest::find_newest;
use crate::after::stage6::secret_fields::find_secret_fields;

/// The newest comparison of an engine.
#[derive(Debug)]
pub(super) enum NewestComparison {
    Verified(Box<FoundPrior>),
    /// Sealed, and its bundle is gone or does not verify: an older one does not stand in for it.
    Damaged(DamagedPrior),
}

/// A comparison that verifies.
#[derive(Debug)]
pub(super) struct FoundPrior {
    pub(super) facts: PriorFacts,
    seq: u64,
}

impl FoundPrior {
    /// Citation of the comparison's bundle.
    pub(super) fn cite(&self) -> CitedBundle {
        let PriorComparison { run_id, attestation_sha256, .. } = &self.facts.comparison;
        CitedBundle { run_id: run_id.clone(), attestation_sha256: *attestation_sha256 }
    }
}

impl NewestComparison {
    /// The entry of the ledger that started it.
    pub(super) const fn seq(&self) -> u64 {
        match self {
            Self::Verified(found) => found.seq,
            Self::Damaged(damaged) => damaged.seq,
        }
    }

    /// Identity that was compared, if it verifies.
    pub(super) fn into_identity(self) -> Option<EngineIdentity> {
        match self {
            Self::Verified(found) => Some(found.facts.identity),
            Self::Damaged(_) => None,
        }
    }
}

/// Finds the newest comparison of an engine: of one identity, or of any where none is known.
pub(super) fn find_prior(
    source: &RungSource<'_>,
    engine: &str,
    identity: Option<&EngineIdentity>,
) -> Result<Option<NewestComparison>, ReadLedgerError> {
    let stage = Stage::CANDIDATE_DEFAULT;
    let identities = match identity {
        Some(identity) => vec![identity.clone()],
        None => source.ledger.rung_identities(engine, Purpose::Governed, stage)?,
    };
    let mut newest: Option<(RunRow, NewestComparison)> = None;
    for identity in identities {
        let runs = RungRuns { engine, purpose: Purpose::Governed, stage, identity: Some(&identity), of: RungPart::All };
        let read = |row: &RunRow| Some((row.clone(), read_comparison(source, row)?));
        let found = find_newest(source.ledger, &runs, read)?;
        newest = newest.into_iter().chain(found).max_by_key(|(_, found)| found.seq());
    }
    let Some((row, mut newest)) = newest else { return Ok(None) };
    if let NewestComparison::Verified(found) = &mut newest {
        found.facts.outcome = source.find_outcome(&row)?.map(|outcome| outcome.verdict);
    }
    Ok(Some(newest))
}

/// The comparison of a row; none for a row of another kind, or for a comparison that is not expected to be here.
fn read_comparison(source: &RungSource<'_>, row: &RunRow) -> Option<NewestComparison> {
    let dir = source.bundles.bundle_dir(&row.run_id);
    match VerifiedBundle::verify_dir(&dir, source.keys, Some(&asked_run(row))) {
        Ok(bundle) => read_document(&bundle, row).map(|found| NewestComparison::Verified(Box::new(found))),
        Err(error) if is_lost(source, row) => Some(NewestComparison::Damaged(DamagedPrior {
            run_id: row.run_id.clone(),
            seq: row.seq,
            why: error.to_string(),
        })),
        Err(_) => None,
    }
}

/// True if a sealed comparison of this home should have a bundle here.
fn is_lost(source: &RungSource<'_>, row: &RunRow) -> bool {
    let is_elsewhere = source.shared_as.is_some_and(|here| row.owner.is_some_and(|owner| owner != here));
    let is_sealed = row.attestation_sha256.is_some() && row.collected_seq.is_none();
    row.task_id.as_str() == COMPARISON_TASK && is_sealed && !is_elsewhere
}

fn read_document(bundle: &VerifiedBundle, row: &RunRow) -> Option<FoundPrior> {
    let report = bundle.report();
    if report.kind != Some(CollectionKind::Comparison) {
        return None;
    }
    let name = CollectionKind::Comparison.file();
    let raw: Value = read_json_document(bundle, name).ok()?;
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
        outcome: None,
        lanes: lanes.collect(),
        failure_closure: carry(&document, ComparisonSubject::FailureClosure),
        failure_matrix: carry(&document, ComparisonSubject::FailureMatrixCoverage),
        default_activation: document.runtime_default_activation,
        promoted: document.core_promotion_status != contract::decision::NotPromoted::NotPromoted,
        secret_fields: find_secret_fields(&raw, &known),
    };
    Some(FoundPrior { facts, seq: row.seq })
}

/// The verdict on a subject; one that is not there is blocked.
fn carry(document: &CandidateComparison, subject: ComparisonSubject) -> CarriedVerdict {
    match document.subjects.iter().find(|compared| compared.subject == subject) {
        Some(compared) => CarriedVerdict { verdict: compared.verdict, text: compared.text.clone() },
        None => CarriedVerdict { verdict: Status::Blocked, text: format!("it says nothing about {subject}") },
    }
}
