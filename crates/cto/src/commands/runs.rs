//! `cto runs`: the runs in the ledger, newest first.

use std::fmt::Write as _;

use contract::text::shown;
use contract::{Stamp, Status};
use harness::RunClock;
use jiff::tz::TimeZone;
use ledger::{RunFilter, RunRow, RunStatus};

use crate::args::StatusFilter;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, millis};

/// The filters as typed.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) status: Option<StatusFilter>,
    pub(crate) engine: Option<String>,
    pub(crate) task: Option<String>,
    pub(crate) since: Option<String>,
    pub(crate) limit: u32,
}

pub(crate) fn runs(context: &Context, wanted: &Wanted) -> Result<u8, CommandError> {
    let filter = RunFilter {
        status: wanted.status.map(status),
        engine: wanted.engine.clone(),
        task_id: wanted.task.clone(),
        since: wanted.since.as_deref().map(since).transpose()?,
    };
    let home = context.home_to_look()?;
    let ledger = match &home {
        Some(home) => context.ledger(home)?,
        None => None,
    };
    let (rows, total) = match &ledger {
        Some(ledger) => (ledger.runs_recent(&filter, wanted.limit as usize)?, ledger.runs_total()?),
        None => (Vec::new(), 0),
    };
    let output = context.output;
    if output.json {
        for row in &rows {
            output.print_json(row)?;
        }
    } else if output.terminal {
        output.print(&table(output, &rows, total));
    } else {
        output.print(&rows.iter().map(line).collect::<String>());
    }
    Ok(0)
}

fn status(filter: StatusFilter) -> RunStatus {
    match filter {
        StatusFilter::Running => RunStatus::Running,
        StatusFilter::Pass => RunStatus::Pass,
        StatusFilter::Fail => RunStatus::Fail,
        StatusFilter::Blocked => RunStatus::Blocked,
    }
}

/// `today`, a date (both local), or a full RFC 3339 time.
fn since(text: &str) -> Result<String, CommandError> {
    let wrong = || {
        CommandError::usage(format!("`{}` is not a time", shown(text)))
            .hint("--since today, --since 2026-11-15, or an RFC 3339 time")
    };
    let start =
        |date: jiff::civil::Date| date.to_zoned(TimeZone::system()).map(|zoned| zoned.timestamp()).map_err(|_| wrong());
    let moment = if text == "today" {
        let now = RunClock::start().map_err(CommandError::blocked)?.started().timestamp();
        start(now.to_zoned(TimeZone::system()).date())?
    } else if let Ok(date) = text.parse::<jiff::civil::Date>()
        && !text.contains('T')
    {
        start(date)?
    } else {
        text.parse::<jiff::Timestamp>().map_err(|_| wrong())?
    };
    Stamp::try_from(moment.to_string()).map(|stamp| stamp.to_string()).map_err(|_| wrong())
}

fn why(row: &RunRow) -> String {
    match row.reasons.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first, more @ ..] => format!("{first} +{}", more.len()),
    }
}

fn line(row: &RunRow) -> String {
    let took = row.duration_ms.map_or("-".to_owned(), |ms| format!("{ms}ms"));
    let why = if row.reasons.is_empty() { "-".to_owned() } else { row.reasons.join(",") };
    format!(
        "{} {} {} {} {} {took} {} {why}\n",
        row.run_id,
        row.status.as_str(),
        shown(&row.task_id),
        row.engine,
        row.stage,
        row.started_at
    )
}

fn table(output: Output, rows: &[RunRow], total: u64) -> String {
    if rows.is_empty() {
        return if total == 0 {
            "no run yet   cto demo shows one\n".to_owned()
        } else {
            format!("no run matches   {total} runs are in the ledger\n")
        };
    }
    let paint = output.paint;
    let mut out = format!(
        "{}\n",
        paint.dim(&format!(
            "{:<5} {:<8} {:<30} {:<7} {:<5} {:>7}  {:<12}  why",
            "run", "verdict", "task", "engine", "stage", "time", "when"
        ))
    );
    for row in rows {
        let verdict = match row.status {
            RunStatus::Running => paint.running(),
            RunStatus::Pass => paint.status(Status::Pass),
            RunStatus::Fail => paint.status(Status::Fail),
            RunStatus::Blocked => paint.status(Status::Blocked),
        };
        let pad = " ".repeat(8_usize.saturating_sub(row.status.as_str().len()));
        let took = row.duration_ms.map_or("–".to_owned(), millis);
        let task = cut(&shown(&row.task_id), 30);
        let when = local(&row.started_at);
        let _ = writeln!(
            out,
            "{:<5} {verdict}{pad} {task:<30} {:<7} {:<5} {took:>7}  {when:<12}  {}",
            row.suffix(),
            row.engine,
            row.stage,
            why(row)
        );
    }
    let _ = writeln!(out, "\n{}", paint.dim(&format!("{} of {total} runs", rows.len())));
    out
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width { text.to_owned() } else { text.chars().take(width - 1).chain(['…']).collect() }
}

fn local(time: &str) -> String {
    let zoned = time.parse::<jiff::Timestamp>().map(|moment| moment.to_zoned(TimeZone::system()));
    zoned.map_or_else(|_| shown(time), |zoned| zoned.strftime("%d %b %H:%M").to_string())
}
