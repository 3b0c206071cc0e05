//! Rungs of the ladder, computed from sealed bundles each time they are asked for. Nothing
//! is stored and nothing can be set.
//!
//! The ledger finds the runs of a rung by engine, stage and identity; the bundle of each
//! that matters is verified and must say the same. `evidence.rs` looks at bundles and
//! outcomes, `listed.rs` lists bundles where there are very many outages, `count.rs` says what one run counts for, `walk.rs` reads the runs of a rung,
//! newest first, `rung.rs` computes it, `candidate.rs` computes that of stage 6, `other.rs`
//! looks for proof of another identity, `workers.rs` reads the keys and countersignatures of a fleet, `rest.rs` lists the bundles that rungs rest on,
//! `picture.rs` draws a ladder.

mod candidate;
mod count;
mod evidence;
mod gap;
mod listed;
mod other;
mod picture;
mod rest;
mod rung;
mod terms;
mod walk;
mod workers;

#[cfg(test)]
mod tests;

use contract::engine::RungFact;
use contract::{FIXTURE_SET, ModelPair, Purpose, Stage};
use ledger::{EngineIdentity, IdentifiedRun, Ledger, ReadLedgerError, RungPart};
use serde::Serialize;

pub use candidate::OwnedPasses;
pub use count::{RunCount, RungRun};
pub use evidence::{CountedOutcome, ProvenRun, RungSource, verify_run};
pub use gap::RungGap;
pub use picture::draw_ladder;
pub use rung::{Rung, RungProof, RungStatus};
pub use terms::{RungIdentity, RungTerms, bundle_schema};
use walk::WalkLane;
pub use workers::{WorkerKey, WorkerKeys};

use crate::Views;

/// Every rung of one engine, source and model, lowest first.
#[derive(Debug, Clone, Serialize)]
pub struct LadderView {
    pub engine: String,
    /// Absent where the engine is neither admitted nor was ever run.
    pub source_id: Option<String>,
    pub model: Option<ModelPair>,
    pub fixture_set: &'static str,
    pub bundle_schema: &'static str,
    pub rungs: Vec<Rung>,
}

impl LadderView {
    /// The ladder of an engine of which no source is known.
    pub fn unknown(engine: &str, model: Option<ModelPair>) -> Self {
        let rungs = stages().map(|stage| match stage {
            Stage::GATED_ENGINE => Rung::blocked_by(stage, RungGap::SourceUnknown),
            stage => Rung::not_started(stage),
        });
        Self { source_id: None, ..Self::of(engine, "", model, rungs.collect()) }
    }

    fn of(engine: &str, source_id: &str, model: Option<ModelPair>, rungs: Vec<Rung>) -> Self {
        Self {
            engine: engine.to_owned(),
            source_id: Some(source_id.to_owned()),
            model,
            fixture_set: FIXTURE_SET,
            bundle_schema: bundle_schema(),
            rungs,
        }
    }

    /// The lowest rung that is not validated.
    pub fn next_rung(&self) -> Option<&Rung> {
        self.rungs.iter().find(|rung| rung.status != RungStatus::Validated)
    }
}

/// Every stage, lowest first.
pub(crate) fn stages() -> impl Iterator<Item = Stage> {
    (Stage::GATED_ENGINE.number()..).map_while(|number| Stage::try_from(number).ok())
}

impl Views {
    /// The ladder of one identity as it stands now.
    pub fn view_ladder(&self, identity: RungIdentity<'_>, terms: RungTerms<'_>) -> Result<LadderView, ReadLedgerError> {
        let (engine, model) = (identity.engine, identity.pair.cloned());
        let rungs = match self.rung_source(terms) {
            Some(source) => stages().map(|stage| source.find_rung(identity, stage)).collect::<Result<_, _>>()?,
            None => stages().map(Rung::not_started).collect(),
        };
        Ok(LadderView::of(engine, identity.source_id, model, rungs))
    }

    /// One rung with every run since its last demotion.
    pub fn explain_rung(
        &self,
        identity: RungIdentity<'_>,
        stage: Stage,
        terms: RungTerms<'_>,
    ) -> Result<Rung, ReadLedgerError> {
        match self.rung_source(terms) {
            Some(source) => source.find_whole_rung(identity, stage),
            None => Ok(Rung::not_started(stage)),
        }
    }

    /// The newest governed run of an engine with each model, by the ledger's word.
    pub fn list_models(&self, engine: &str) -> Result<Vec<IdentifiedRun>, ReadLedgerError> {
        self.ledger().map_or_else(|| Ok(Vec::new()), |ledger| ledger.engine_models(engine, Purpose::Governed))
    }

    /// The identity of an engine whose runs were all recorded by programs that knew none, by a bundle.
    pub fn find_older_identity(&self, engine: &str) -> Result<Option<EngineIdentity>, ReadLedgerError> {
        self.ledger().map_or_else(|| Ok(None), |ledger| self.proven_identity(ledger, engine))
    }

    /// The identity of a run that an older program recorded without one, by its bundle.
    fn proven_identity(&self, ledger: &Ledger, engine: &str) -> Result<Option<EngineIdentity>, ReadLedgerError> {
        for stage in stages() {
            let mut older = WalkLane::new(engine, stage, None, RungPart::Weighty);
            while let Some(row) = older.next_row(ledger)? {
                if let Some(report) = verify_run(&self.home.bundles, &self.keys, &row) {
                    return Ok(Some(ProvenRun::of_report(&report).identity));
                }
            }
        }
        Ok(None)
    }

    /// Governed passes from stage 5 on of which nobody has signed an outcome, newest first. A comparison of stage 6 is one of them; a
    /// refresh, which has purpose `validation` and waits for nobody, is not.
    pub fn list_unanswered(&self, limit: usize) -> Result<Vec<ledger::RunRow>, ReadLedgerError> {
        self.ledger().map_or_else(|| Ok(Vec::new()), |ledger| ledger.runs_unanswered(limit))
    }

    /// Workers that the ledger's records admit, as `judge` counts the signers of those.
    pub fn read_workers(&self, judge: workers::JudgeSigner<'_>) -> Result<WorkerKeys, ReadLedgerError> {
        self.ledger().map_or_else(|| Ok(WorkerKeys::default()), |ledger| WorkerKeys::read_keys(ledger, judge))
    }

    /// Bundles that were verified for rungs in this process.
    pub fn count_proven(&self) -> usize {
        self.memo.count_proven()
    }

    fn rung_source<'a>(&'a self, terms: RungTerms<'a>) -> Option<RungSource<'a>> {
        let (bundles, keys, memo) = (&self.home.bundles, self.keys.as_slice(), self.memo.as_ref());
        self.ledger().map(|ledger| RungSource { ledger, bundles, keys, memo, shared_as: self.home.shared_as, terms })
    }
}

impl RungSource<'_> {
    /// The rung at a stage, as a fact for the gates.
    pub fn find_fact(&self, identity: RungIdentity<'_>, stage: Stage) -> Result<RungFact, ReadLedgerError> {
        Ok(self.find_rung(identity, stage)?.into_fact())
    }
}
