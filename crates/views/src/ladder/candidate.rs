//! Rungs of every stage; and that of stage 6, which is an accepted comparison and the
//! passes of stage 5 that it asks for.

use std::collections::BTreeSet;

use contract::engine::RungLack;
use contract::stage6::comparison::REPEATABILITY_REQUIRED;
use contract::{CollectionKind, RunId, Stage};
use ledger::{EngineIdentity, Ledger, ReadLedgerError, RunRow, RunStatus};

use super::count::{RunCount, Weighed, weigh_run};
use super::evidence::{BundleState, RunEvidence, RungSource};
use super::gap::RungGap;
use super::listed::ListedEvidence;
use super::other::find_other;
use super::rung::{Rung, RungStatus, Tally, Terms, compute_lower_rung, tally_runs};
use super::terms::RungIdentity;
use super::walk::RungWalk;

/// Runs that a ladder lists of each rung; the explanation of a rung lists all.
const LISTED: usize = 20;

impl RungSource<'_> {
    /// A rung with its newest runs.
    pub fn find_rung(&self, identity: RungIdentity<'_>, stage: Stage) -> Result<Rung, ReadLedgerError> {
        compute_rung(self.ledger, self, identity, stage, Terms::bounded(self.terms.passes_required, LISTED))
    }

    /// A rung with every run since its last demotion.
    pub fn find_whole_rung(&self, identity: RungIdentity<'_>, stage: Stage) -> Result<Rung, ReadLedgerError> {
        compute_rung(self.ledger, self, identity, stage, Terms::whole(self.terms.passes_required))
    }
}

/// The rung of any stage.
pub(super) fn compute_rung(
    ledger: &Ledger,
    evidence: &impl RunEvidence,
    identity: RungIdentity<'_>,
    stage: Stage,
    terms: Terms,
) -> Result<Rung, ReadLedgerError> {
    let evidence = ListedEvidence::of_evidence(evidence);
    match stage {
        Stage::CANDIDATE_DEFAULT => compute_candidate(ledger, &evidence, identity, terms),
        stage => compute_lower_rung(ledger, &evidence, identity, stage, terms),
    }
}

impl RungSource<'_> {
    /// Accepted passes of stage 5 since the last failure, each of a case and a commit that
    /// no newer one has.
    pub fn find_owned_passes(&self, identity: RungIdentity<'_>) -> Result<OwnedPasses, ReadLedgerError> {
        list_owned_passes(self.ledger, self, identity, usize::MAX)
    }
}

/// Accepted passes of stage 5 on different cases and commits.
#[derive(Debug, Default)]
pub struct OwnedPasses {
    /// Newest first.
    pub rows: Vec<RunRow>,
    /// The run whose bundle is gone or does not verify, which ends the list.
    pub spoiled: Option<RunRow>,
    /// Runs without whose bundles there would be others: the passes, failures that a bundle
    /// clears, and a pass that was rejected.
    rests_on: Vec<RunId>,
}

fn list_owned_passes(
    ledger: &Ledger,
    evidence: &impl RunEvidence,
    identity: RungIdentity<'_>,
    most: usize,
) -> Result<OwnedPasses, ReadLedgerError> {
    let wanted = identity.of_engine();
    let mut walk = RungWalk::new(ledger, identity.engine, Stage::OWNED_REPOSITORY, &wanted);
    walk.pass_over_collected();
    let (mut cases, mut commits, mut passes) = (BTreeSet::new(), BTreeSet::new(), OwnedPasses::default());
    while passes.rows.len() < most {
        let Some(row) = walk.next_row()? else { break };
        let weighed = weigh_run(evidence, &row, &wanted)?;
        if let Weighed::For(proven) = &weighed {
            let Some(commit) = proven.target_commit.clone() else { continue };
            if cases.contains(&proven.case_id) || commits.contains(&commit) {
                continue;
            }
            cases.insert(proven.case_id.clone());
            commits.insert(commit);
            passes.rows.push(row.clone());
        }
        if weighed.rests_on_bundle(&row) {
            passes.rests_on.push(row.run_id.clone());
        }
        if let Weighed::Against(lack) = weighed {
            let is_spoiled = matches!(lack, Some(RungLack::BundleMissing | RungLack::BundleDamaged));
            passes.spoiled = is_spoiled.then_some(row);
            break;
        }
    }
    Ok(passes)
}

/// Stage 6 is earned by a comparison that passed and was accepted. Runs at that stage can
/// only take it away: one that did not pass, was rejected or waits for its outcome, until
/// there is a newer comparison or the outcome.
fn compute_candidate(
    ledger: &Ledger,
    evidence: &impl RunEvidence,
    identity: RungIdentity<'_>,
    terms: Terms,
) -> Result<Rung, ReadLedgerError> {
    let (stage, owned) = (Stage::CANDIDATE_DEFAULT, Stage::OWNED_REPOSITORY);
    let below = compute_lower_rung(ledger, evidence, identity, owned, terms)?;
    if below.status != RungStatus::Validated {
        return Ok(Rung::not_started(stage));
    }
    let required = usize::try_from(REPEATABILITY_REQUIRED).unwrap_or(usize::MAX);
    let passes = list_owned_passes(ledger, evidence, identity, required)?;
    if passes.rows.len() < required {
        return Ok(Rung { rests_on: passes.rests_on, ..Rung::blocked_by(stage, RungGap::SecondOwnedPass) });
    }
    let wanted = identity.of_engine();
    let mut walk = RungWalk::new(ledger, identity.engine, stage, &wanted);
    let terms = Terms { required: 1, ..terms };
    let mut tally = Tally::of_terms(terms);
    tally.rests_on.extend(passes.rests_on);
    let mut tally = tally_runs(&mut walk, terms, tally, |tally, row| take_row(tally, evidence, row, &wanted))?;
    if !tally.is_decided() && tally.other.is_none() {
        tally.other = find_other(ledger, evidence, identity, stage)?;
    }
    tally.older |= !tally.is_demoted && walk.next_row()?.is_some();
    let rung = tally.into_rung(stage);
    Ok(match rung.gap {
        Some(RungGap::NoPass) => Rung { status: RungStatus::Blocked, gap: Some(RungGap::NoComparison), ..rung },
        _ => rung,
    })
}

fn take_row(
    tally: &mut Tally,
    evidence: &impl RunEvidence,
    row: &RunRow,
    wanted: &EngineIdentity,
) -> Result<(), ReadLedgerError> {
    let kind = match evidence.look_at_bundle(row)? {
        BundleState::Proven(proven) => proven.kind,
        _ => None,
    };
    let weighed = weigh_run(evidence, row, wanted)?;
    match kind {
        Some(CollectionKind::Comparison) => tally.take_run(row, weighed),
        // A refresh looks at passes again and earns nothing.
        Some(_) => {}
        None => match weighed {
            Weighed::For(_) => {
                let mut listed = weighed.list_row(row);
                listed.counts = RunCount::NotCounted;
                listed.why = Some("a run; a comparison earns the rung".to_owned());
                tally.list_run(listed);
            }
            weighed if row.status == RunStatus::Running => tally.list_run(weighed.list_row(row)),
            weighed => tally.take_run(row, weighed),
        },
    }
    Ok(())
}
