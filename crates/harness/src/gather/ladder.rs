//! Rungs of the ladder as facts for the gates.

use contract::engine::{EngineSetting, RungFact};
use contract::report::Report;
use contract::signer::SignerStanding;
use contract::{ModelPair, Stage};
use ledger::FoundRuns;
use views::{RungIdentity, RungSource, RungTerms, VerifyMemo, WorkerKeys, verify_run};

use crate::gather::people::People;
use crate::run::harness::Harness;

/// The rung that a stage rests on, for this engine, source and pair; none below the first.
pub(crate) fn rung_below(
    harness: &Harness,
    engine: &str,
    source_id: &str,
    pair: Option<&ModelPair>,
    stage: Stage,
) -> Option<RungFact> {
    let rung = rests_on(stage)?;
    let not_started = RungFact::NotStarted { stage: rung };
    let found = ask_rungs(harness, |source| source.find_fact(RungIdentity { engine, source_id, pair }, rung));
    Some(found.and_then(Result::ok).unwrap_or(not_started))
}

/// The rung that a stage rests on: the one below, and at stage 6 its own, which a
/// comparison earns.
fn rests_on(stage: Stage) -> Option<Stage> {
    match stage {
        Stage::CANDIDATE_DEFAULT => Some(stage),
        stage => Stage::try_from(stage.number().checked_sub(1)?).ok(),
    }
}

/// Asks the rungs of this home; none where nothing was ever recorded.
pub(crate) fn ask_rungs<T>(harness: &Harness, ask: impl FnOnce(&RungSource<'_>) -> T) -> Option<T> {
    // Without its list of keys nobody may sign, and no outcome counts.
    let people = People::read_lists(&harness.records).ok();
    let standing = |key: &_, namespace: &str, at| {
        people.as_ref().map_or(SignerStanding::NotListed, |people| people.judge_key(key, namespace, at))
    };
    // A connection of its own: bundles are verified in between, and other runs do not wait
    // for that.
    let Ok(Some(ledger)) = harness.home.ledger_to_read() else { return None };
    let workers = WorkerKeys::read_keys(&ledger, &standing).ok()?;
    let (memo, keys) = (VerifyMemo::default(), [harness.key.public()]);
    let source = RungSource {
        ledger: &ledger,
        bundles: harness.home.bundles(),
        keys: &keys,
        memo: &memo,
        shared_as: harness.home.shares_ledger().then(|| harness.home.instance().ok()).flatten(),
        terms: RungTerms { passes_required: harness.passes_required, standing: &standing, workers: &workers },
    };
    Some(ask(&source))
}

/// The report of the run that the rung below rests on.
pub(crate) fn proof(harness: &Harness, engine: &EngineSetting) -> Option<Report> {
    let Some(RungFact::Validated { run_id, .. }) = &engine.below else { return None };
    let Ok(FoundRuns::One(row)) = harness.ledger().run_find(run_id) else { return None };
    verify_run(harness.home.bundles(), &[harness.key.public()], &row)
}
