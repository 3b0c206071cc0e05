//! Rungs of the ladder as facts for the gates.

use contract::engine::{EngineSetting, RungFact};
use contract::report::Report;
use contract::{ModelPair, Stage};
use ledger::Found;
use views::{RungIdentity, RungSource, list_rung_runs};

use crate::run::harness::Harness;

/// The rung below a stage for this engine, source and pair; none below the first.
pub(crate) fn below(
    harness: &Harness,
    engine: &str,
    source_id: &str,
    pair: Option<&ModelPair>,
    stage: Stage,
) -> Option<RungFact> {
    let below = Stage::try_from(stage.number().checked_sub(1)?).ok()?;
    let rows = list_rung_runs(&harness.ledger(), engine).unwrap_or_default();
    let identity = RungIdentity { engine, source_id, pair };
    let (bundles, keys) = (harness.home.bundles(), [harness.key.public()]);
    Some(RungSource { bundles, keys: &keys }.find_rung(&rows, &identity, below))
}

/// The report of the run that the rung below rests on.
pub(crate) fn proof(harness: &Harness, engine: &EngineSetting) -> Option<Report> {
    let Some(RungFact::Validated { run_id, .. }) = &engine.below else { return None };
    let Ok(Found::One(row)) = harness.ledger().run_find(run_id) else { return None };
    let (bundles, keys) = (harness.home.bundles(), [harness.key.public()]);
    RungSource { bundles, keys: &keys }.verified_report(&row)
}
