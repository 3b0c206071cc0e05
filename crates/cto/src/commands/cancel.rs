//! `cto cancel`: takes a run out of the queue, or stops it where it runs.

use harness::{Home, RunClock, ask_run_to_stop};
use ledger::CancelledTurn;
use serde_json::json;
use views::QueueView;

use crate::context::Context;
use crate::error::CommandError;

/// Takes a run out of the queue, or asks its worker to stop it.
pub(crate) fn cancel(context: &Context, name: &str) -> Result<u8, CommandError> {
    let home = Home::create_folders(&context.config.place())?;
    let ledger = home.ledger()?;
    let run_id = QueueView::of_ledger(&ledger).find_queued(name)?.run_id;
    let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
    let outcome =
        ledger.queue_cancelled(&run_id, now, &json!({})).map_err(|error| CommandError::blocked_with(&error))?;
    let word = match outcome {
        CancelledTurn::Cancelled => "cancelled",
        CancelledTurn::Stopping | CancelledTurn::Before => "stopping",
        CancelledTurn::Over => {
            let text = format!("{run_id} has ended; there is nothing to cancel");
            return Err(CommandError::blocked_with(text).hint(format!("cto show {}", run_id.suffix())));
        }
    };
    // A run of this home is asked at once; that of another finds it with the next renewal of its lease.
    if word == "stopping" && home.active_run(&run_id).is_dir() {
        ask_run_to_stop(&home, &run_id)
            .map_err(|error| CommandError::blocked_with(format!("{run_id} cannot be asked to stop: {error}")))?;
    }
    let output = context.output;
    if output.json {
        let asked_before = outcome == CancelledTurn::Before;
        return output.print_json(&json!({"asked_before": asked_before, "run_id": run_id, "state": word})).map(|()| 0);
    }
    output.print(&format!("{word} {run_id}\n"));
    if word == "stopping" {
        output.print_note(&format!("it is sealed as interrupted; follow it: cto watch {}\n", run_id.suffix()));
    }
    Ok(0)
}
