//! Proof of a rung for another identity, which makes the rung stale.

use std::collections::BTreeSet;

use contract::{Purpose, Stage};
use ledger::{EngineIdentity, Ledger, ReadLedgerError, RunRow, RungPart};

use super::count::{Weighed, weigh_run};
use super::evidence::RunEvidence;
use super::gap::RungGap;
use super::terms::{RungIdentity, is_identified, known_identities};
use super::walk::{PAGE, WalkLane};

/// The newest pass of the engine at a stage under another identity. An identity proves
/// nothing where evidence that is newer than its newest pass is gone: its own rung is
/// blocked, and no further run of it is looked at.
pub(super) fn find_other(
    ledger: &Ledger,
    evidence: &impl RunEvidence,
    identity: RungIdentity<'_>,
    stage: Stage,
) -> Result<Option<RungGap>, ReadLedgerError> {
    let wanted = identity.of_engine();
    let mut search = OtherSearch { ledger, evidence, wanted: &wanted, lost: BTreeSet::new() };
    let newest = ledger.stage_passes(identity.engine, Purpose::Governed, stage, PAGE)?;
    let is_all = newest.len() < PAGE;
    for row in &newest {
        if let Some(gap) = search.look_at(row)? {
            return Ok(Some(gap));
        }
    }
    if is_all { Ok(None) } else { search.look_at_each(identity.engine, stage) }
}

struct OtherSearch<'a, E> {
    ledger: &'a Ledger,
    evidence: &'a E,
    wanted: &'a EngineIdentity,
    /// Identities whose evidence is gone; `None` represents runs without a known identity.
    lost: BTreeSet<Option<EngineIdentity>>,
}

impl<E: RunEvidence> OtherSearch<'_, E> {
    /// Gap that a pass makes if it proves the rung for another identity.
    fn look_at(&mut self, row: &RunRow) -> Result<Option<RungGap>, ReadLedgerError> {
        let is_wanted = row.identity.as_ref() == Some(self.wanted);
        let is_known = row.identity.as_ref().is_none_or(is_identified);
        if is_wanted || !is_known || self.lost.contains(&row.identity) {
            return Ok(None);
        }
        match weigh_run(self.evidence, row, self.wanted)? {
            Weighed::Other(proven_for, why) => {
                Ok(Some(RungGap::OtherIdentity { run_id: row.run_id.clone(), proven_for, why }))
            }
            Weighed::Against(_) => {
                self.lost.insert(row.identity.clone());
                Ok(None)
            }
            Weighed::For(_) | Weighed::Waiting | Weighed::Uncountersigned | Weighed::Nothing(_) => Ok(None),
        }
    }

    /// Every identity on its own: one with very many runs does not hide the others.
    fn look_at_each(&mut self, engine: &str, stage: Stage) -> Result<Option<RungGap>, ReadLedgerError> {
        let known = known_identities(self.ledger, engine, stage)?.into_iter().map(Some);
        let mut newest = None;
        for identity in known.chain([None]).filter(|identity| identity.as_ref() != Some(self.wanted)) {
            let mut lane = WalkLane::new(engine, stage, identity.as_ref(), RungPart::Passes);
            while !self.lost.contains(&identity)
                && let Some(row) = lane.next_row(self.ledger)?
            {
                if let Some(gap) = self.look_at(&row)? {
                    let is_newer = newest.as_ref().is_none_or(|(seq, _)| *seq < row.seq);
                    newest = if is_newer { Some((row.seq, gap)) } else { newest };
                    break;
                }
            }
        }
        Ok(newest.map(|(_, gap)| gap))
    }
}
