//! `cto runs`: the runs in the ledger, newest first.

use std::fmt::Write as _;

use contract::text::shown;
use contract::{Reason, Stamp, Status, TaskId};
use harness::RunClock;
use jiff::tz::TimeZone;
use ledger::RunStatus;
use views::{RunAnswer, RunPage, RunQuery, RunSummary};

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
    let query = RunQuery {
        status: wanted.status.map(status),
        engine: wanted.engine.clone(),
        task_id: wanted.task.clone().map(TaskId::try_from).transpose().map_err(CommandError::usage)?,
        since: wanted.since.as_deref().map(since).transpose()?,
        limit: wanted.limit as usize,
        ..RunQuery::default()
    };
    let (views, now) = context.look()?;
    let page = views.list_runs(&query, now)?;
    let output = context.output;
    if output.json {
        page.runs.iter().try_for_each(|run| output.print_json(run))?;
    } else if output.terminal {
        output.print(&table(output, &page));
    } else {
        output.print(&page.runs.iter().map(line).collect::<String>());
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
fn since(text: &str) -> Result<Stamp, CommandError> {
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
    moment.to_string().parse::<Stamp>().map_err(|_| wrong())
}

fn why(run: &RunSummary) -> String {
    let why = match run.row.reasons.as_slice() {
        _ if run.interrupted => "not sealed yet: cto recover".to_owned(),
        [] => run.answer.as_ref().map_or_else(String::new, describe_answer),
        [one] => one.code().to_owned(),
        [first, more @ ..] => format!("{} +{}", first.code(), more.len()),
    };
    match run.collected {
        Some(_) => format!("{why} collected").trim_start().to_owned(),
        None => why,
    }
}

/// The operator's answer in a table.
fn describe_answer(answer: &RunAnswer) -> String {
    match answer.operator_outcome {
        None => "outcome not recorded".to_owned(),
        Some(_) => answer.word(),
    }
}

/// The status, or that the run is dead and not sealed.
fn verdict(run: &RunSummary) -> &'static str {
    if run.interrupted { "interrupted" } else { run.row.status.as_str() }
}

fn line(run: &RunSummary) -> String {
    let row = &run.row;
    let took = row.duration_ms.map_or("-".to_owned(), |ms| format!("{ms}ms"));
    let why = codes(&row.reasons);
    let gone = run.collected.as_ref().map(|gone| format!(" collected={}", gone.time)).unwrap_or_default();
    let said =
        run.answer.as_ref().map(|answer| format!(" outcome={}", answer.word().replace(", ", ",").replace(' ', "-")));
    let said = said.unwrap_or_default();
    let kind = run.kind.map(|kind| format!(" kind={kind}")).unwrap_or_default();
    format!(
        "{} {} {} {} {} {took} {} {why}{gone}{said}{kind}\n",
        row.run_id,
        verdict(run),
        row.task_id,
        row.engine,
        row.stage,
        row.started_at
    )
}

fn table(output: Output, page: &RunPage) -> String {
    let RunPage { runs, total, .. } = page;
    if runs.is_empty() {
        return if *total == 0 {
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
    for run in runs {
        let row = &run.row;
        let painted = match row.status {
            RunStatus::Running if run.interrupted => paint.like(Status::Blocked, verdict(run)),
            RunStatus::Running => paint.running(),
            RunStatus::Pass => paint.status(Status::Pass),
            RunStatus::Fail => paint.status(Status::Fail),
            RunStatus::Blocked => paint.status(Status::Blocked),
        };
        let pad = " ".repeat(8_usize.saturating_sub(verdict(run).len()));
        let took = row.duration_ms.map_or("–".to_owned(), millis);
        let task = cut(row.task_id.as_str(), 30);
        let when = local(row.started_at);
        let source = match run.kind {
            None => format!("{:<7} {:<5}", row.engine, row.stage),
            Some(kind) => format!("{kind:<13}"),
        };
        let _ = writeln!(
            out,
            "{:<5} {painted}{pad} {task:<30} {source} {took:>7}  {when:<12}  {}",
            row.run_id.suffix(),
            why(run)
        );
    }
    let _ = writeln!(out, "\n{}", paint.dim(&format!("{} of {total} runs", runs.len())));
    out
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width { text.to_owned() } else { text.chars().take(width - 1).chain(['…']).collect() }
}

fn local(time: Stamp) -> String {
    time.timestamp().to_zoned(TimeZone::system()).strftime("%d %b %H:%M").to_string()
}

/// Codes of reasons on one line; a dash where there is none.
pub(crate) fn codes(reasons: &[Reason]) -> String {
    match reasons {
        [] => "-".to_owned(),
        reasons => reasons.iter().map(|reason| reason.code()).collect::<Vec<_>>().join(","),
    }
}
