//! `cto stop`: ends one run that goes on. It is sealed as interrupted, as after Ctrl-C.

use contract::RunId;
use contract::text::show_controls;
use harness::{Home, RunClock, ask_run_to_stop};
use hermes::{OperatorAct, OperatorActKind};
use ledger::EntryKind;
use serde_json::json;
use views::{FindRunError, Views};

use crate::context::Context;
use crate::error::CommandError;
use crate::seek::suggest_run;

/// Asks one live run to end.
pub(crate) fn ask_to_stop(context: &Context, reference: &str) -> Result<u8, CommandError> {
    let (run_id, is_first) = stop_run(context, reference)?;
    let act = OperatorAct {
        act: OperatorActKind::Stop,
        subject: run_id.to_string(),
        session: "terminal".to_owned(),
        allowed: true,
        text: "done".to_owned(),
    };
    record_act(context, &act)?;
    let (output, name) = (context.output, run_id.suffix());
    if output.json {
        return output.print_json(&json!({"asked_before": !is_first, "run_id": run_id, "stopping": true})).map(|()| 0);
    }
    output.print(&format!("stopping {run_id}\n"));
    output.print_note(&format!("it is sealed as interrupted; see it: cto show {name}\n"));
    Ok(0)
}

/// Asks a run of this home to end. Returns its id, and false if that was asked before.
pub(super) fn stop_run(context: &Context, reference: &str) -> Result<(RunId, bool), CommandError> {
    let (views, now) = context.look_only()?;
    let run_id = find_running(&views, reference, now)?;
    let home = Home::existing(&context.config.place())?;
    if !home.active_run(&run_id).is_dir() {
        return Err(CommandError::blocked_with(format!("{run_id} runs in another home that shares this ledger"))
            .hint("say it in that home"));
    }
    let is_first = ask_run_to_stop(&home, &run_id)
        .map_err(|error| CommandError::blocked_with(format!("{run_id} cannot be asked to stop: {error}")))?;
    Ok((run_id, is_first))
}

fn find_running(views: &Views, reference: &str, now: contract::Stamp) -> Result<RunId, CommandError> {
    match views.find_run(reference, now) {
        Err(FindRunError::Running(run_id)) => Ok(run_id),
        Err(FindRunError::Interrupted(run_id)) => {
            Err(CommandError::blocked_with(format!("the process of {run_id} is gone already")).hint("cto recover"))
        }
        Ok(_) | Err(FindRunError::Collected(_)) => {
            let text = format!("`{}` has ended; there is nothing to stop", show_controls(reference));
            Err(CommandError::blocked_with(text).hint(format!("cto show {}", show_controls(reference))))
        }
        Err(error) => Err(suggest_run(views, now, error)),
    }
}

/// Writes an act into the ledger. A home without any record has no ledger, and does not get
/// one for this.
pub(super) fn record_act(context: &Context, act: &OperatorAct) -> Result<(), CommandError> {
    let home = match Home::existing(&context.config.place()) {
        Ok(home) => home,
        Err(harness::OpenHomeError::Missing(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
    let body = serde_json::to_value(act)?;
    home.ledger()?
        .append(EntryKind::OperatorActed, None, now, &body)
        .map_err(|error| CommandError::blocked_with(&error))?;
    Ok(())
}
