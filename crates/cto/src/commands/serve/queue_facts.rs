//! The queue for the console: rows, leases and late steps of the ledger as it is.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::{Digest, Stamp, Status};
use harness::RunClock;
use hermes::{LateStepFacts, QueueFacts, QueuedFacts, WorkerFacts};
use ledger::{Entry, EntryKind, Ledger, QueueState, QueuedRun, RunStatus};
use views::{QueueRow, QueueView};

use crate::commands::queue::ledger_of;
use crate::context::Context;
use crate::error::CommandError;

/// Rows that a page shows.
const MOST_ROWS: usize = 200;
/// Late steps that a page shows.
const MOST_LATE: usize = 20;
/// Age of a late step that is still shown.
const LATE_SINCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Queue, workers and late steps.
pub(super) fn gather_queue(context: &Context) -> Result<QueueFacts, CommandError> {
    let Some(ledger) = ledger_of(context)? else { return Ok(QueueFacts::default()) };
    let now = ledger.store_time(RunClock::start_clock().map_err(CommandError::blocked_with)?.started())?;
    let active = ledger.queue_runs(false, usize::MAX)?;
    let count = |state: QueueState| active.iter().filter(|run| run.state == state).count() as u64;
    let rows = QueueView::of_ledger(&ledger).list_queued(true, MOST_ROWS)?;
    Ok(QueueFacts {
        waiting: count(QueueState::Queued),
        claimed: count(QueueState::Claimed),
        started: count(QueueState::Started),
        lapsed: active.iter().filter(|run| has_lapsed(run, now)).count() as u64,
        workers: list_workers(&active),
        runs: rows.iter().map(|row| describe_run(row, now)).collect(),
        late: list_late(&ledger, now)?,
    })
}

fn has_lapsed(run: &QueuedRun, now: Stamp) -> bool {
    run.lease_until.is_some_and(|until| until <= now)
}

fn list_workers(active: &[QueuedRun]) -> Vec<WorkerFacts> {
    let mut homes: BTreeMap<Digest, WorkerFacts> = BTreeMap::new();
    for (run, home) in active.iter().filter_map(|run| Some((run, run.owner?))) {
        let empty = WorkerFacts { home: home.to_string(), runs: 0, lease_until: run.lease_until };
        let worker = homes.entry(home).or_insert(empty);
        worker.runs += 1;
        worker.lease_until = worker.lease_until.into_iter().chain(run.lease_until).min();
    }
    homes.into_values().collect()
}

fn describe_run(row: &QueueRow, now: Stamp) -> QueuedFacts {
    let QueueRow { run, status } = row;
    QueuedFacts {
        run_id: run.run_id.to_string(),
        task_id: run.task_id.to_string(),
        engine: run.engine.clone(),
        stage: run.stage.number(),
        state: run.state.as_str().to_owned(),
        status: status.and_then(verdict_of),
        epoch: run.epoch,
        priority: run.priority,
        labels: run.labels.clone(),
        after: run.after.as_ref().map(ToString::to_string),
        not_before: run.not_before,
        home: run.owner.map(|owner| owner.to_string()),
        lease_until: run.lease_until,
        has_lapsed: has_lapsed(run, now),
        is_stopping: run.stopping,
        submitted_at: run.submitted_at,
    }
}

fn verdict_of(status: RunStatus) -> Option<Status> {
    match status {
        RunStatus::Running => None,
        RunStatus::Pass => Some(Status::Pass),
        RunStatus::Fail => Some(Status::Fail),
        RunStatus::Blocked => Some(Status::Blocked),
    }
}

/// The newest first.
fn list_late(ledger: &Ledger, now: Stamp) -> Result<Vec<LateStepFacts>, CommandError> {
    let since = u64::try_from(now.unix_seconds()).map(Duration::from_secs).unwrap_or_default();
    let since = Stamp::from_unix(since.saturating_sub(LATE_SINCE));
    let entries = ledger.entries_of(&[EntryKind::LateRefused], since)?;
    let text = |entry: &Entry, name: &str| entry.body[name].as_str().unwrap_or_default().to_owned();
    let describe = |entry: &Entry| LateStepFacts {
        run_id: text(entry, "run_id"),
        epoch: entry.body["epoch"].as_u64().unwrap_or_default(),
        step: entry.body["detail"]["step"].as_str().unwrap_or_default().to_owned(),
        time: entry.time.clone(),
    };
    Ok(entries.iter().rev().take(MOST_LATE).map(describe).collect())
}
