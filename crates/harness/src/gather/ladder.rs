//! Rungs of the ladder, computed from sealed bundles each time they are asked for. Nothing is stored and nothing can be set.

use contract::engine::{EngineSetting, RungFact};
use contract::report::Report;
use contract::{ModelPair, Purpose, Reason, Stage, Status};
use evidence::verify::VerifiedBundle;
use ledger::{Found, RunFilter, RunRow, RunStatus};

use crate::home::bound::asked_run;
use crate::run::harness::Harness;

/// Runs that are looked at, newest first; beyond, a rung counts as not started.
const MOST_RUNS: usize = 2000;

/// Statuses that end a rung. Outages, kills and refusals before the start do not.
const COUNTS_AGAINST: &[Reason] =
    &[Reason::Timeout, Reason::LifecycleTimeoutAfterValidPatch, Reason::BudgetExceeded, Reason::ReviewerRejected];

/// How the rung below a stage stands for this engine, source and pair; none below the first.
pub(crate) fn below(
    harness: &Harness,
    engine: &str,
    source_id: &str,
    pair: Option<&ModelPair>,
    stage: Stage,
) -> Option<RungFact> {
    let below = Stage::try_from(stage.number().checked_sub(1)?).ok()?;
    Some(rung(harness, engine, source_id, pair, below))
}

/// The report of the run that the rung below rests on.
pub(crate) fn proof(harness: &Harness, engine: &EngineSetting) -> Option<Report> {
    let Some(RungFact::Validated { run_id, .. }) = &engine.below else { return None };
    let Ok(Found::One(row)) = harness.ledger().run_find(run_id) else { return None };
    bound_report(harness, &row)
}

fn rung(harness: &Harness, engine: &str, source_id: &str, pair: Option<&ModelPair>, stage: Stage) -> RungFact {
    let filter = RunFilter { engine: Some(engine.to_owned()), ..RunFilter::default() };
    let rows = harness.ledger().runs_recent(&filter, MOST_RUNS).unwrap_or_default();
    let governed = |row: &&RunRow| row.stage == stage && row.purpose == Purpose::Governed;
    let mut stale = None;
    for row in rows.iter().filter(governed) {
        match row.status {
            RunStatus::Running => {}
            // A bundle that is gone or does not verify proves nothing.
            RunStatus::Pass => {
                if let Some(report) = report(harness, row).filter(|report| report.status == Status::Pass) {
                    let Some(why) = other_identity(&report, source_id, pair) else {
                        return RungFact::Validated { stage, run_id: row.run_id.to_string() };
                    };
                    stale = stale.or(Some(RungFact::Stale { stage, run_id: row.run_id.to_string(), why }));
                }
            }
            RunStatus::Fail | RunStatus::Blocked if counts_against(row) => {
                // The failure of another is told by its bundle; one that tells nothing counts against everybody.
                let other = report(harness, row).and_then(|report| other_identity(&report, source_id, pair));
                if other.is_none() {
                    return RungFact::Blocked { stage, run_id: row.run_id.to_string() };
                }
            }
            RunStatus::Fail | RunStatus::Blocked => {}
        }
    }
    stale.unwrap_or(RungFact::NotStarted { stage })
}

/// The report of a bundle that verifies, as the ledger knows it.
fn report(harness: &Harness, row: &RunRow) -> Option<Report> {
    let as_told = |report: &Report| report.stage == row.stage && report.purpose == Purpose::Governed;
    bound_report(harness, row).filter(as_told)
}

fn bound_report(harness: &Harness, row: &RunRow) -> Option<Report> {
    // An unsealed run proves nothing, whatever lies in the place of its bundle.
    row.attestation_sha256?;
    let bundle = harness.home.bundles().bundle_dir(&row.run_id);
    let bound = VerifiedBundle::verify(&bundle, &[harness.key.public()], Some(&asked_run(row)));
    bound.ok().map(VerifiedBundle::into_report)
}

fn other_identity(report: &Report, source_id: &str, pair: Option<&ModelPair>) -> Option<String> {
    if report.engine.source_id != source_id {
        return Some(format!("another source, {}", report.engine.source_id));
    }
    let proven = report.model.as_ref().and_then(|model| model.requested.as_ref());
    (proven != pair)
        .then(|| format!("another model, {}", proven.map_or_else(|| "none".to_owned(), ToString::to_string)))
}

fn counts_against(row: &RunRow) -> bool {
    match row.status {
        RunStatus::Fail => row.reasons.iter().any(|reason| *reason != Reason::HarnessInterrupted),
        _ => row.reasons.iter().any(|reason| COUNTS_AGAINST.contains(reason)),
    }
}
