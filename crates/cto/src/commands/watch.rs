//! `cto watch`: follows a queued run to its end, or the queue until it is empty.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use contract::RunId;
use ledger::{QueueState, RunStatus};
use views::{QueueRow, QueueView};

use super::INTERRUPTED;
use super::queue::ledger_of;
use crate::context::Context;
use crate::error::CommandError;

const LOOK: Duration = Duration::from_millis(200);

/// Runs of the queue that are followed at once.
const MOST_FOLLOWED: usize = 10_000;

/// Follows one queued run to its end, or the queue until it is empty.
pub(crate) fn watch(context: &Context, name: Option<&str>) -> Result<u8, CommandError> {
    let ledger = ledger_of(context)?;
    match (ledger.as_ref().map(QueueView::of_ledger), name) {
        (Some(queue), Some(name)) => watch_run(context, queue, &queue.find_queued(name)?.run_id),
        (Some(queue), None) => watch_all(context, queue),
        (None, Some(_)) => Err(CommandError::usage("nothing was ever submitted here").hint("cto submit TASK")),
        (None, None) => Ok(0),
    }
}

/// Follows one run; the exit code is the run's.
fn watch_run(context: &Context, queue: QueueView<'_>, run_id: &RunId) -> Result<u8, CommandError> {
    let mut told = None;
    loop {
        let gone = || CommandError::blocked_with(format!("{run_id} is in the queue no longer"));
        let row = queue.view_queued(run_id)?.ok_or_else(gone)?;
        let state = (row.run.state, row.run.epoch, row.run.stopping);
        if told != Some(state) {
            tell(context, &row)?;
            told = Some(state);
        }
        match row.run.state {
            QueueState::Sealed => return Ok(exit_code(row.status)),
            QueueState::Cancelled => return Ok(exit_code(None)),
            _ if context.cancel.load(Ordering::Relaxed) => return Ok(INTERRUPTED),
            _ => std::thread::sleep(LOOK),
        }
    }
}

/// As the run's own command would have ended; 3 for one that never ran.
fn exit_code(status: Option<RunStatus>) -> u8 {
    match status {
        Some(RunStatus::Pass) => 0,
        Some(RunStatus::Fail) => 1,
        _ => 3,
    }
}

fn watch_all(context: &Context, queue: QueueView<'_>) -> Result<u8, CommandError> {
    let mut told: BTreeMap<RunId, (QueueState, u64)> = BTreeMap::new();
    loop {
        let rows = queue.list_queued(false, MOST_FOLLOWED)?;
        for row in &rows {
            let state = (row.run.state, row.run.epoch);
            if told.insert(row.run.run_id.clone(), state) != Some(state) {
                tell(context, row)?;
            }
        }
        let is_listed = |id: &RunId| rows.iter().any(|row| row.run.run_id == *id);
        let ended: Vec<RunId> = told.keys().filter(|id| !is_listed(id)).cloned().collect();
        for run_id in ended {
            told.remove(&run_id);
            if let Some(row) = queue.view_queued(&run_id)? {
                tell(context, &row)?;
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

fn tell(context: &Context, row: &QueueRow) -> Result<(), CommandError> {
    let output = context.output;
    if output.json {
        return output.print_json(row);
    }
    let QueueRow { run, status } = row;
    let state = if run.stopping && run.state == QueueState::Started { "stopping" } else { run.state.as_str() };
    let word = status.map_or(state, RunStatus::as_str);
    output.print(&format!("{word} {}\n", run.run_id));
    Ok(())
}
