//! `cto queue`: runs that wait, and runs that workers have.

use contract::text::show_controls;
use contract::{RunId, Stamp};
use harness::RunClock;
use ledger::{FoundRuns, Ledger, OpenLedgerError, QueueState, QueuedRun};
use serde_json::{Value, json};

use crate::args::QueueArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::nearest::did_you_mean;
use crate::output::Output;

/// Runs among which a name is looked for.
const MOST_NAMED: usize = 100_000;

/// Lists waiting and claimed runs; with `--all` those that ended too.
pub(crate) fn queue(context: &Context, arguments: &QueueArgs) -> Result<u8, CommandError> {
    let Some(ledger) = ledger_of(context)? else { return Ok(0) };
    let rows = ledger.queue_runs(arguments.all, arguments.limit as usize)?;
    let output = context.output;
    if output.json {
        rows.iter().try_for_each(|row| output.print_json(&row_document(&ledger, row)?))?;
    } else if output.terminal {
        let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
        output.print(&rows.iter().map(|row| aligned(output, row, now)).collect::<String>());
    } else {
        output.print(&rows.iter().map(line).collect::<String>());
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

/// A row, and the status of its run once that is sealed.
pub(super) fn row_document(ledger: &Ledger, row: &QueuedRun) -> Result<Value, CommandError> {
    let mut document = serde_json::to_value(row)?;
    document["status"] = json!(status_of(ledger, row)?);
    Ok(document)
}

/// `pass`, `fail` or `blocked`, of a run that is sealed.
pub(super) fn status_of(ledger: &Ledger, row: &QueuedRun) -> Result<Option<&'static str>, CommandError> {
    if row.state != QueueState::Sealed {
        return Ok(None);
    }
    match ledger.run_find(row.run_id.as_str())? {
        FoundRuns::One(run) => Ok(Some(run.status.as_str())),
        _ => Ok(None),
    }
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

/// A run of the queue by id, suffix, a unique beginning of either, or `@`, the last that was submitted.
pub(super) fn find_queued(ledger: &Ledger, name: &str) -> Result<QueuedRun, CommandError> {
    let rows = ledger.queue_runs(true, MOST_NAMED)?;
    let unknown = || {
        let known = rows.iter().flat_map(|row| [row.run_id.as_str(), row.run_id.suffix()]);
        let text = format!("there is no run `{}` in the queue{}", show_controls(name), did_you_mean(name, known));
        CommandError::usage(text).hint("cto queue --all")
    };
    if name == "@" {
        return rows.iter().max_by_key(|row| row.seq).cloned().ok_or_else(unknown);
    }
    let is_whole = |row: &&QueuedRun| row.run_id.as_str() == name || row.run_id.suffix() == name;
    let begins = |row: &&QueuedRun| row.run_id.as_str().starts_with(name) || row.run_id.suffix().starts_with(name);
    let mut found: Vec<&QueuedRun> = rows.iter().filter(is_whole).collect();
    if found.is_empty() && !name.is_empty() {
        found = rows.iter().filter(begins).collect();
    }
    match found.as_slice() {
        [row] => Ok((*row).clone()),
        [] => Err(unknown()),
        many => {
            let ids: Vec<&str> = many.iter().take(5).map(|row| row.run_id.as_str()).collect();
            Err(CommandError::usage(format!("`{}` could be {}", show_controls(name), ids.join(", ")))
                .hint("cto queue --all"))
        }
    }
}

/// A run of the queue or of the ledger.
pub(super) fn find_any_run(ledger: &Ledger, name: &str) -> Result<RunId, CommandError> {
    match (find_queued(ledger, name), ledger.run_find(name)?) {
        (Ok(row), _) => Ok(row.run_id),
        (Err(_), FoundRuns::One(run)) => Ok(run.run_id),
        (Err(error), _) => Err(error),
    }
}
