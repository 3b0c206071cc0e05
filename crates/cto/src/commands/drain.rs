//! `cto drain`: asks the workers of this home to take nothing new and to end after their runs.

use std::sync::atomic::Ordering;
use std::time::Duration;

use harness::{DrainingWorker, Home};
use serde_json::json;

use super::INTERRUPTED;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::count_text;

/// Pause between two looks at workers that drain.
const LOOK: Duration = Duration::from_millis(100);

/// Asks the workers of this home to drain; with `wait` also waits for their end.
pub(crate) fn drain(context: &Context, wait: bool) -> Result<u8, CommandError> {
    // A home without a ledger or with a set kill switch can have workers too.
    let workers = match context.home_as_it_is()? {
        Some(home) => ask_workers(&home)?,
        None => Vec::new(),
    };
    let mut left: Vec<&DrainingWorker> = workers.iter().collect();
    while wait && !left.is_empty() {
        left.retain(|worker| !worker.has_ended().unwrap_or(false));
        if context.cancel.load(Ordering::Relaxed) {
            break;
        }
        if !left.is_empty() {
            std::thread::sleep(LOOK);
        }
    }
    tell(context, workers.len(), left.len())?;
    Ok(if wait && !left.is_empty() { INTERRUPTED } else { 0 })
}

fn ask_workers(home: &Home) -> Result<Vec<DrainingWorker>, CommandError> {
    let failed = |error| CommandError::blocked_with(format!("the workers of this home cannot be asked: {error}"));
    home.drain_workers().map_err(failed)
}

fn tell(context: &Context, workers: usize, left: usize) -> Result<(), CommandError> {
    let output = context.output;
    let state = if left == 0 { "drained" } else { "draining" };
    if output.json {
        return output.print_json(&json!({"left": left, "state": state, "workers": workers}));
    }
    output.print(&match workers {
        0 => "drained no worker of this home runs\n".to_owned(),
        _ => format!("{state} {}, {left} left\n", count_text(workers, "worker", "workers")),
    });
    Ok(())
}
