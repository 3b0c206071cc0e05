//! The gate of an engine, which setup opens with a yes for that very stage.

use contract::Stage;

use super::MakeContext;
use super::consent::Consent;
use crate::args::SetupArgs;
use crate::commands::engine::open_gate;
use crate::context::Context;
use crate::error::CommandError;

/// Asks before setup closes a gate that is open for a later stage than it leads to, before
/// anything is made.
pub(super) fn agree_to_lower(context: &Context, arguments: &SetupArgs, consent: &Consent) -> Result<(), CommandError> {
    let SetupArgs { engine, stage: wanted, .. } = arguments;
    let Some(open) = find_open_stage(context, engine).filter(|open| open.number() > *wanted) else { return Ok(()) };
    let question =
        format!("The gate of {engine} is open for stage {open}. Close it, and open it up to stage {wanted} instead?");
    let refusal = format!("the gate of {engine} is open for stage {open}, and --yes never closes a gate");
    consent.require_in_person(&question, &refusal, &format!("cto engine enable {engine} --stage {wanted}"))
}

/// Opens the gate for a stage with a yes, unless it is open for it.
pub(super) fn open_agreed(
    context: MakeContext<'_>,
    engine: &str,
    stage: Stage,
    consent: &Consent,
    question: &str,
) -> Result<(), CommandError> {
    if is_open(&context()?, engine, stage) {
        return Ok(());
    }
    consent.require(question, &format!("cto engine enable {engine} --stage {stage}"))?;
    let _file = open_gate(&context()?, engine, stage)?;
    if is_open(&context()?, engine, stage) {
        return Ok(());
    }
    let message = format!("the gate of {engine} stays shut: a variable of the environment says otherwise");
    Err(CommandError::blocked_with(message).hint(format!("cto engine probe {engine} --stage {stage}")))
}

fn is_open(context: &Context, engine: &str, stage: Stage) -> bool {
    let found = context.config.engines.find_engine(engine);
    found.is_some_and(|found| gate::engine::is_open(engine, &found.config.gate, stage))
}

/// The latest stage that the gate is open for.
fn find_open_stage(context: &Context, engine: &str) -> Option<Stage> {
    let mut stages = (1..=6).rev().filter_map(|number| Stage::try_from(number).ok());
    stages.find(|stage| is_open(context, engine, *stage))
}
