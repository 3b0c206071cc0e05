//! `cto queue`: runs that wait, and runs that workers have.

use contract::Stamp;
use contract::text::show_controls;
use harness::RunClock;
use ledger::{Ledger, OpenLedgerError, QueueState, QueuedRun};
use views::{FindQueuedError, QueueView};

use crate::args::QueueArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::nearest::did_you_mean;
use crate::output::Output;

/// Lists waiting and claimed runs; with `--all` those that ended too.
pub(crate) fn queue(context: &Context, arguments: &QueueArgs) -> Result<u8, CommandError> {
    let Some(ledger) = ledger_of(context)? else { return Ok(0) };
    let rows = QueueView::of_ledger(&ledger).list_queued(arguments.all, arguments.limit as usize)?;
    let output = context.output;
    if output.json {
        rows.iter().try_for_each(|row| output.print_json(row))?;
    } else if output.terminal {
        let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
        output.print(&rows.iter().map(|row| aligned(output, &row.run, now)).collect::<String>());
    } else {
        output.print(&rows.iter().map(|row| line(&row.run)).collect::<String>());
    }
    Ok(0)
}

/// The ledger, as it is; `None` where nothing was ever recorded. One that homes share is there before the home is.
pub(super) fn ledger_of(context: &Context) -> Result<Option<Ledger>, CommandError> {
    if let Some(place) = &context.config.store.ledger {
        return match Ledger::open_place_read_only(place) {
            Err(OpenLedgerError::Missing { .. }) => Ok(None),
            opened => Ok(Some(opened.map_err(harness::OpenHomeError::Ledger)?)),
        };
    }
    let Some(home) = context.home_as_it_is()? else { return Ok(None) };
    Ok(home.ledger_to_read()?)
}

/// Id, state, task, engine, stage, priority, epoch.
fn line(row: &QueuedRun) -> String {
    let QueuedRun { run_id, state, task_id, stage, priority, epoch, .. } = row;
    format!("{run_id} {} {task_id} {} {stage} {priority} {epoch}\n", state.as_str(), show_controls(&row.engine))
}

fn aligned(output: Output, row: &QueuedRun, now: Stamp) -> String {
    let state = format!("{:<9}", row.state.as_str());
    let state = if row.state == QueueState::Started { output.paint.like_running(&state) } else { state };
    let more = match row {
        QueuedRun { stopping: true, state: QueueState::Started, .. } => "stopping".to_owned(),
        QueuedRun { lease_until: Some(until), .. } if *until <= now => "its lease has lapsed".to_owned(),
        QueuedRun { after: Some(after), state: QueueState::Queued, .. } => format!("after {}", after.suffix()),
        _ => String::new(),
    };
    let (task, engine) = (show_controls(row.task_id.as_str()), show_controls(&row.engine));
    let words = format!("{:<5} {state} {task:<28} {engine:<10} {:>4}  {}", row.run_id.suffix(), row.priority, more);
    format!("{}\n", words.trim_end())
}

impl From<FindQueuedError> for CommandError {
    fn from(error: FindQueuedError) -> Self {
        match error {
            FindQueuedError::Ledger(error) => error.into(),
            FindQueuedError::Unknown { name, known } => {
                let meant = did_you_mean(&name, known.iter().map(String::as_str));
                let unknown = FindQueuedError::Unknown { name, known };
                Self::usage(format!("{unknown}{meant}")).hint("cto queue --all")
            }
            error => Self::usage(error.to_string()).hint("cto queue --all"),
        }
    }
}
