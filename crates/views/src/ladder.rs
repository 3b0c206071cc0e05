//! Rungs of the ladder, computed from sealed bundles each time they are asked for. Nothing is stored and nothing can be set.

use contract::engine::RungFact;
use contract::report::Report;
use contract::{ModelPair, Purpose, Reason, Stage, Status};
use evidence::PublicKey;
use evidence::verify::VerifiedBundle;
use ledger::{Bundles, Ledger, ReadLedgerError, RunFilter, RunRow, RunStatus};
use serde::Serialize;

use crate::Views;
use crate::find::asked_run;

/// Runs that are looked at, newest first; beyond, a rung counts as not started.
const MOST_RUNS: usize = 2000;

/// Statuses that end a rung. Outages, kills and refusals before the start do not.
const COUNTS_AGAINST: &[Reason] =
    &[Reason::Timeout, Reason::LifecycleTimeoutAfterValidPatch, Reason::BudgetExceeded, Reason::ReviewerRejected];

/// The engine, source and model that a rung is proven for.
#[derive(Debug, Clone, Serialize)]
pub struct RungIdentity<'a> {
    pub engine: &'a str,
    pub source_id: &'a str,
    pub pair: Option<&'a ModelPair>,
}

/// Every rung of one engine, source and model, lowest first.
#[derive(Debug, Serialize)]
pub struct LadderView<'a> {
    #[serde(flatten)]
    pub identity: RungIdentity<'a>,
    pub rungs: Vec<RungFact>,
}

/// The bundles that rungs rest on, and the keys that count.
#[derive(Debug, Clone, Copy)]
pub struct RungSource<'a> {
    pub bundles: &'a Bundles,
    pub keys: &'a [PublicKey],
}

impl Views {
    /// The ladder as it stands now.
    pub fn view_ladder<'a>(&self, identity: RungIdentity<'a>) -> Result<LadderView<'a>, ReadLedgerError> {
        let rows = self.ledger().map_or(Ok(Vec::new()), |ledger| list_rung_runs(ledger, identity.engine))?;
        let source = RungSource { bundles: &self.home.bundles, keys: &self.keys };
        let stages = (Stage::GATED_ENGINE.number()..).map_while(|number| Stage::try_from(number).ok());
        let rungs = stages.map(|stage| source.find_rung(&rows, &identity, stage)).collect();
        Ok(LadderView { identity, rungs })
    }
}

/// The runs of an engine that its rungs are computed from, newest first.
pub fn list_rung_runs(ledger: &Ledger, engine: &str) -> Result<Vec<RunRow>, ReadLedgerError> {
    ledger.runs_recent(&RunFilter { engine: Some(engine.to_owned()), ..RunFilter::default() }, MOST_RUNS)
}

impl RungSource<'_> {
    /// The rung at a stage, by the runs of [`list_rung_runs`].
    pub fn find_rung(&self, rows: &[RunRow], identity: &RungIdentity<'_>, stage: Stage) -> RungFact {
        let governed = |row: &&RunRow| row.stage == stage && row.purpose == Purpose::Governed;
        let mut stale = None;
        for row in rows.iter().filter(governed) {
            let run_id = row.run_id.to_string();
            match row.status {
                RunStatus::Running => {}
                // A bundle that is gone or does not verify proves nothing.
                RunStatus::Pass => {
                    if let Some(report) = self.governed_report(row).filter(|report| report.status == Status::Pass) {
                        let Some(why) = other_identity(&report, identity) else {
                            return RungFact::Validated { stage, run_id };
                        };
                        stale = stale.or(Some(RungFact::Stale { stage, run_id, why }));
                    }
                }
                RunStatus::Fail | RunStatus::Blocked if counts_against(row) => {
                    // The failure of another is told by its bundle; one that tells nothing counts against everybody.
                    let other = self.governed_report(row).and_then(|report| other_identity(&report, identity));
                    if other.is_none() {
                        return RungFact::Blocked { stage, run_id };
                    }
                }
                RunStatus::Fail | RunStatus::Blocked => {}
            }
        }
        stale.unwrap_or(RungFact::NotStarted { stage })
    }

    /// The report of a bundle of this home that verifies as the ledger knows it.
    pub fn verified_report(&self, row: &RunRow) -> Option<Report> {
        // An unsealed run proves nothing, whatever lies in the place of its bundle.
        row.attestation_sha256?;
        let bundle = self.bundles.bundle_dir(&row.run_id);
        let bound = VerifiedBundle::verify(&bundle, self.keys, Some(&asked_run(row)));
        bound.ok().map(VerifiedBundle::into_report)
    }

    fn governed_report(&self, row: &RunRow) -> Option<Report> {
        let as_told = |report: &Report| report.stage == row.stage && report.purpose == Purpose::Governed;
        self.verified_report(row).filter(as_told)
    }
}

fn other_identity(report: &Report, identity: &RungIdentity<'_>) -> Option<String> {
    if report.engine.source_id != identity.source_id {
        return Some(format!("another source, {}", report.engine.source_id));
    }
    let proven = report.model.as_ref().and_then(|model| model.requested.as_ref());
    (proven != identity.pair)
        .then(|| format!("another model, {}", proven.map_or_else(|| "none".to_owned(), ToString::to_string)))
}

fn counts_against(row: &RunRow) -> bool {
    match row.status {
        RunStatus::Fail => row.reasons.iter().any(|reason| *reason != Reason::HarnessInterrupted),
        _ => row.reasons.iter().any(|reason| COUNTS_AGAINST.contains(reason)),
    }
}
