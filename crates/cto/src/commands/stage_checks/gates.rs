//! Gates of an engine: shut, open for no stage, open for another one. No engine may start,
//! and every engine takes the same way.

use contract::engine::{GateSaid, GateSpeaker};
use contract::{Reason, Stage};
use harness::{EngineConfig, Engines};

use super::PASS_CASE;
use super::check::{NamedCheck, StageCheck, TrialStop, not_refused_for};
use super::trial_home::TrialHome;
use crate::context::Context;
use crate::error::CommandError;

/// The engine of the operator's configuration with a gate of our choosing.
fn gated(context: &Context, engine: &str, gate: Vec<GateSaid>) -> Engines {
    let known = context.config.engines.configured.get(engine);
    let definition = known.and_then(|config| config.definition.clone());
    let config = EngineConfig { gate, definition, ..EngineConfig::default() };
    Engines { configured: [(engine.to_owned(), config)].into() }
}

/// Opened gate, for a stage or for none.
fn opened(stage: Option<Stage>) -> Vec<GateSaid> {
    vec![GateSaid { by: GateSpeaker::Environment, allowed: Some(true), stage }]
}

/// An engine without its gate, and without the gate of the stage: refused, with nothing
/// started.
pub(super) fn check_gates(
    trial: &mut TrialHome<'_>,
    context: &Context,
    engine: &str,
    stage: Stage,
) -> Result<Vec<NamedCheck>, TrialStop> {
    let below = stage.number().checked_sub(1).and_then(|below| Stage::try_from(below).ok());
    // Stage 1 needs the gate alone, which opens nothing above it.
    let wanted = stage.max(Stage::ARTIFICIAL_FIXTURE);
    let rows = [("gate_missing", stage, Vec::new()), ("stage_gate_missing", wanted, opened(below))];
    let mut checks = Vec::new();
    for (name, stage, gate) in rows {
        trial.context.config.engines = gated(context, engine, gate);
        checks.push((name.to_owned(), refuse_one(trial, engine, stage)?));
    }
    Ok(checks)
}

/// Every engine of the registry meets the same gate on the same way.
pub(super) fn check_dispatch(trial: &mut TrialHome<'_>, context: &Context) -> Result<NamedCheck, TrialStop> {
    let mut last = StageCheck::fact(Some("the registry has no engine with a gate".to_owned()));
    for engine in context.config.engines.ids() {
        trial.context.config.engines = gated(context, &engine, Vec::new());
        last = refuse_one(trial, &engine, Stage::ARTIFICIAL_FIXTURE)?;
        if !last.passed {
            last.why = last.why.map(|why| format!("{engine}: {why}"));
            break;
        }
    }
    Ok(("one_dispatch_path".to_owned(), last))
}

fn refuse_one(trial: &TrialHome<'_>, engine: &str, stage: Stage) -> Result<StageCheck, TrialStop> {
    let task = trial.load_case(PASS_CASE, stage, "gates")?;
    let target = target_of(trial, stage)?;
    let run = trial.run_task(&task, &trial.ask_run(engine, stage, target.as_deref()))?;
    let missing = ["patch.diff", "test.log"].into_iter().find(|name| !run.dir.join(name).is_file());
    let wrong = not_refused_for(&run.report, Reason::GateMissing).or(missing.map(|name| format!("it has no {name}")));
    Ok(StageCheck::of_report(&run.report, wrong))
}

/// The admission that a run of the stage names.
fn target_of(trial: &TrialHome<'_>, stage: Stage) -> Result<Option<std::path::PathBuf>, CommandError> {
    if stage < Stage::OWNED_REPOSITORY {
        return Ok(None);
    }
    trial.admit_target(&trial.make_repository("gates", PASS_CASE)?, &[]).map(Some)
}
