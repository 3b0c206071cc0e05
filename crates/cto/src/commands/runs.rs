//! `cto runs`: the runs in the ledger, newest first.

use std::fmt::Write as _;

use contract::text::show_controls;
use contract::{Stamp, Status, TaskId};
use harness::RunClock;
use jiff::tz::TimeZone;
use ledger::{RunStatus, SealedReason};
use views::{ImportedRun, RunAnswer, RunPage, RunQuery, RunSummary};

use crate::approvals_view::PAST_POLICY;
use crate::args::{RunsArgs, StatusFilter};
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, duration_text};
use crate::seek::trusted_for_review;

/// Below this width the time of a run is left out.
const NARROW: usize = 80;

/// Lists the runs that pass the filters.
pub(crate) fn list_runs(context: &Context, wanted: &RunsArgs) -> Result<u8, CommandError> {
    let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
    let words = RunQuery::parse_words(&wanted.words.join(" "), now).map_err(|error| {
        CommandError::usage(error.to_string()).hint("cto runs engine:pi status:fail reason:claim_contradicted since:7d")
    })?;
    let task = wanted.task.clone().map(TaskId::try_from).transpose().map_err(CommandError::usage)?;
    let query = RunQuery {
        status: wanted.status.map(status).or(words.status),
        engine: wanted.engine.clone().or(words.engine),
        task_id: task.or(words.task_id),
        since: wanted.since.as_deref().map(since).transpose()?.or(words.since),
        limit: wanted.limit as usize,
        ..words
    };
    if wanted.imported {
        return imported(context, &query);
    }
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

/// Runs of other people: id, verdict, task, engine, stage, time, signer. A bundle that does
/// not verify has no verdict.
fn imported(context: &Context, query: &RunQuery) -> Result<u8, CommandError> {
    let (views, now) = context.look()?;
    let views = views.trusting_keys(trusted_for_review(context, &[])?.keys);
    let is_wanted = |run: &ImportedRun| {
        let Some(report) = &run.report else { return query.status.is_none() };
        query.status.is_none_or(|status| status.as_str() == report.status.as_str())
            && query.engine.as_ref().is_none_or(|engine| *engine == report.backend)
            && query.task_id.as_ref().is_none_or(|task| *task == report.task_id)
            && query.since.is_none_or(|since| report.run_started_at >= since)
            && query.reason.is_none_or(|reason| report.blocker_reasons.contains(&reason))
            && query.stage.is_none_or(|stage| report.stage == stage)
            && query.model.is_none()
            && query.digest.is_none()
    };
    let runs = views.list_imported(now)?.into_iter().filter(is_wanted).take(query.limit);
    let output = context.output;
    let mut text = String::new();
    for run in runs {
        let ImportedRun { run_id, signer, report, problem } = &run;
        let Some(report) = report else {
            let problem = show_controls(problem.as_deref().unwrap_or_default());
            if output.json {
                output.print_json(&run)?;
            }
            text.push_str(&format!("{run_id} does-not-verify {problem}\n"));
            continue;
        };
        if output.json {
            output.print_json(&serde_json::json!({
                "engine": report.backend, "reasons": report.blocker_reasons, "run_id": run_id, "signer": signer,
                "stage": report.stage, "started_at": report.run_started_at, "status": report.status, "task_id": report.task_id,
            }))?;
        }
        let id = if output.terminal { run_id.suffix() } else { run_id.as_str() };
        let status = if output.terminal { output.paint.paint_status(report.status) } else { report.status.to_string() };
        let when = if output.terminal { local(report.run_started_at) } else { report.run_started_at.to_string() };
        let (task, engine, signer) =
            (&report.task_id, show_controls(&report.backend), signer.as_deref().unwrap_or("-"));
        text.push_str(&format!("{id} {status} {task} {engine} {} {when} {signer}\n", report.stage));
    }
    if !output.json {
        if text.is_empty() {
            output.print_note("no imported run matches\n");
        }
        output.print(&text);
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

/// `today`, a date (both local), an age, or a full RFC 3339 time.
fn since(text: &str) -> Result<Stamp, CommandError> {
    let wrong = || {
        CommandError::usage(format!("`{}` is not a time", show_controls(text)))
            .hint("--since today, --since 2d, --since 2026-11-15, or an RFC 3339 time")
    };
    let start =
        |date: jiff::civil::Date| date.to_zoned(TimeZone::system()).map(|zoned| zoned.timestamp()).map_err(|_| wrong());
    let moment = if let Ok(age) = crate::args::parse_age(text) {
        let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started().timestamp();
        let span = jiff::SignedDuration::try_from(age.span).map_err(|_| wrong())?;
        now.checked_sub(span).map_err(|_| wrong())?
    } else if text == "today" {
        let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started().timestamp();
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
        [one] => one.to_string(),
        [first, more @ ..] => format!("{first} +{}", more.len()),
    };
    let why = match run.collected {
        Some(_) => format!("{why} collected").trim_start().to_owned(),
        None => why,
    };
    match (run.break_glass, why.as_str()) {
        (false, _) => why,
        (true, "") => PAST_POLICY.to_owned(),
        (true, why) => format!("{PAST_POLICY}, {why}"),
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
    let glass = if run.break_glass { " break_glass=true" } else { "" };
    format!(
        "{} {} {} {} {} {took} {} {why}{gone}{said}{kind}{glass}\n",
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
    let is_narrow = output.width < NARROW;
    // What the other columns leave, and no more than a name needs.
    let width = output.width.saturating_sub(if is_narrow { 37 } else { 53 }).clamp(16, 30);
    let mut out = format!(
        "{}\n",
        paint.dim(&format!(
            "{:<5} {:<8} {:<width$} {:<7} {:<5} {:>7}{}",
            "run",
            "verdict",
            "task",
            "engine",
            "stage",
            "time",
            if is_narrow { "" } else { "  when          why" }
        ))
    );
    for run in runs {
        let row = &run.row;
        let painted = match row.status {
            RunStatus::Running if run.interrupted => paint.like(Status::Blocked, verdict(run)),
            RunStatus::Running => paint.running(),
            RunStatus::Pass => paint.paint_status(Status::Pass),
            RunStatus::Fail => paint.paint_status(Status::Fail),
            RunStatus::Blocked => paint.paint_status(Status::Blocked),
        };
        let pad = " ".repeat(8_usize.saturating_sub(verdict(run).len()));
        let took = row.duration_ms.map_or("–".to_owned(), duration_text);
        let task = cut(row.task_id.as_str(), width);
        let when = if is_narrow { String::new() } else { format!("  {:<12}", local(row.started_at)) };
        let source = match run.kind {
            None => format!("{:<7} {:<5}", row.engine, row.stage),
            Some(kind) => format!("{kind:<13}"),
        };
        let why = why(run);
        let taken = 15 + width + 1 + 13 + 8 + when.chars().count() + 2 + why.chars().count();
        let (beside, below) = if taken <= output.width { (why.as_str(), "") } else { ("", why.as_str()) };
        let line =
            format!("{:<5} {painted}{pad} {task:<width$} {source} {took:>7}{when}  {beside}", row.run_id.suffix());
        // The colour is put in after the line is laid out: it takes no columns.
        let mark = |text: &str| match run.break_glass {
            true => text.replacen(PAST_POLICY, &paint.break_glass(PAST_POLICY), 1),
            false => text.to_owned(),
        };
        let _ = writeln!(out, "{}", mark(line.trim_end()));
        if !below.is_empty() {
            let _ = writeln!(out, "      {}", mark(&output.hang(6, below)));
        }
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

/// Codes of reasons on one line; a dash without any.
pub(crate) fn codes(reasons: &[SealedReason]) -> String {
    match reasons {
        [] => "-".to_owned(),
        reasons => reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}
