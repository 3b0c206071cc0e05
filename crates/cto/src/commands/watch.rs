//! `cto watch`: follows a queued run to its end, or the queue until it is empty.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use contract::RunId;
use ledger::{Ledger, QueueState, QueuedRun};

use super::INTERRUPTED;
use super::queue::{find_queued, ledger_of, row_document, status_of};
use crate::context::Context;
use crate::error::CommandError;

const LOOK: Duration = Duration::from_millis(200);

/// Runs of the queue that are followed at once.
const MOST_FOLLOWED: usize = 10_000;

/// Follows one queued run to its end, or the queue until it is empty.
pub(crate) fn watch(context: &Context, name: Option<&str>) -> Result<u8, CommandError> {
    let ledger = ledger_of(context)?;
    match (ledger, name) {
        (Some(ledger), Some(name)) => watch_run(context, &ledger, &find_queued(&ledger, name)?.run_id),
        (Some(ledger), None) => watch_all(context, &ledger),
        (None, Some(_)) => Err(CommandError::usage("nothing was ever submitted here").hint("cto submit TASK")),
        (None, None) => Ok(0),
    }
}

/// Follows one run; the exit code is the run's.
fn watch_run(context: &Context, ledger: &Ledger, run_id: &RunId) -> Result<u8, CommandError> {
    let mut told = None;
    loop {
        let gone = || CommandError::blocked_with(format!("{run_id} is in the queue no longer"));
        let row = ledger.queue_run(run_id)?.ok_or_else(gone)?;
        let state = (row.state, row.epoch, row.stopping);
        if told != Some(state) {
            tell(context, ledger, &row)?;
            told = Some(state);
        }
        match row.state {
            QueueState::Sealed => return Ok(exit_code(status_of(ledger, &row)?)),
            QueueState::Cancelled => return Ok(exit_code(None)),
            _ if context.cancel.load(Ordering::Relaxed) => return Ok(INTERRUPTED),
            _ => std::thread::sleep(LOOK),
        }
    }
}

/// As the run's own command would have ended; 3 for one that never ran.
fn exit_code(status: Option<&str>) -> u8 {
    match status {
        Some("pass") => 0,
        Some("fail") => 1,
        _ => 3,
    }
}

fn watch_all(context: &Context, ledger: &Ledger) -> Result<u8, CommandError> {
    let mut told: BTreeMap<RunId, (QueueState, u64)> = BTreeMap::new();
    loop {
        let rows = ledger.queue_runs(false, MOST_FOLLOWED)?;
        for row in &rows {
            if told.insert(row.run_id.clone(), (row.state, row.epoch)) != Some((row.state, row.epoch)) {
                tell(context, ledger, row)?;
            }
        }
        let ended: Vec<RunId> = told.keys().filter(|id| !rows.iter().any(|row| row.run_id == **id)).cloned().collect();
        for run_id in ended {
            told.remove(&run_id);
            if let Some(row) = ledger.queue_run(&run_id)? {
                tell(context, ledger, &row)?;
            }
        }
        if rows.is_empty() {
            return Ok(0);
        }
        if context.cancel.load(Ordering::Relaxed) {
            return Ok(INTERRUPTED);
        }
        std::thread::sleep(LOOK);
    }
}

fn tell(context: &Context, ledger: &Ledger, row: &QueuedRun) -> Result<(), CommandError> {
    let output = context.output;
    if output.json {
        return output.print_json(&row_document(ledger, row)?);
    }
    let state = if row.stopping && row.state == QueueState::Started { "stopping" } else { row.state.as_str() };
    let word = status_of(ledger, row)?.unwrap_or(state);
    output.print(&format!("{word} {}\n", row.run_id));
    Ok(())
}
