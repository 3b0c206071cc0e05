//! Bundles that rungs rest on: with one of them gone, a rung would read otherwise.

use std::collections::BTreeSet;

use contract::{RunId, Stage};
use ledger::{EngineIdentity, Ledger, ReadLedgerError, RungPart};

use super::candidate::compute_rung;
use super::evidence::{BundleState, RunEvidence, RungSource};
use super::rung::Terms;
use super::stages;
use super::terms::{RungIdentity, known_identities};
use super::walk::WalkLane;

/// An identity under which no engine runs: it finds the proof that every later one is compared
/// with.
const NOBODY: &str = "";

impl RungSource<'_> {
    /// Runs of an engine whose bundles must stay for its rungs to stay as they are,
    /// whatever it was or will be run as.
    pub fn find_resting(&self, engine: &str) -> Result<BTreeSet<RunId>, ReadLedgerError> {
        find_resting(self.ledger, self, engine, self.terms.passes_required)
    }
}

/// Runs whose bundles support a rung of the engine; retention must keep them.
pub(super) fn find_resting(
    ledger: &Ledger,
    evidence: &impl RunEvidence,
    engine: &str,
    required: u32,
) -> Result<BTreeSet<RunId>, ReadLedgerError> {
    let mut resting = BTreeSet::new();
    for stage in stages() {
        let mut identities = identities_at(ledger, evidence, engine, stage)?;
        if stage == Stage::CANDIDATE_DEFAULT {
            // Its rung rests on passes of stage 5 before anything is compared.
            identities.extend(identities_at(ledger, evidence, engine, Stage::OWNED_REPOSITORY)?);
        }
        for known in identities {
            let identity = RungIdentity { engine, source_id: &known.source_id, pair: known.model.as_ref() };
            let rung = compute_rung(ledger, evidence, identity, stage, Terms::bounded(required, 0))?;
            resting.extend(
                rung.gap.as_ref().filter(|gap| gap.proven_for().is_some()).and_then(|gap| gap.run_id().cloned()),
            );
            resting.extend(rung.rests_on);
        }
    }
    // What people have still to answer may yet be proof.
    resting.extend(ledger.runs_unanswered(usize::MAX)?.into_iter().map(|row| row.run_id));
    Ok(resting)
}

/// Identities that the ledger has, those that bundles of older programs prove, and one that
/// matches no run.
fn identities_at(
    ledger: &Ledger,
    evidence: &impl RunEvidence,
    engine: &str,
    stage: Stage,
) -> Result<BTreeSet<EngineIdentity>, ReadLedgerError> {
    let mut found: BTreeSet<EngineIdentity> = known_identities(ledger, engine, stage)?.into_iter().collect();
    found.insert(EngineIdentity { source_id: NOBODY.to_owned(), model: None });
    let mut lane = WalkLane::new(engine, stage, None, RungPart::Weighty);
    while let Some(row) = lane.next_row(ledger)? {
        if row.attestation_sha256.is_some()
            && let BundleState::Proven(proven) = evidence.look_at_bundle(&row)?
        {
            found.insert(proven.identity.clone());
        }
    }
    Ok(found)
}
