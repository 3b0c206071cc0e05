//! `cto run`: a governed run.

use std::path::{Path, PathBuf};

use contract::approval::OutcomeVerdict;
use contract::{Purpose, Report, Stage, Status};
use harness::Harness;

use super::{INTERRUPTED, approve_first};
use crate::args::RunArgs;
use crate::config::operator_outcome;
use crate::context::Context;
use crate::error::CommandError;
use crate::live::RunDisplay;
use crate::output::Output;
use crate::run_view;

/// A recording by its file, or by the run that made it.
fn recording(context: &Context, name: &str) -> Result<PathBuf, CommandError> {
    let file = PathBuf::from(name);
    if file.is_file() {
        return Ok(file);
    }
    let (_found, bound) = context.bind_run(name)?;
    let file = bound.dir().join("backend/model-traffic.jsonl");
    if file.is_file() {
        return Ok(file);
    }
    let shown = contract::text::show_controls(name);
    Err(CommandError::usage(format!("run `{shown}` kept no model traffic")).hint("cto run TASK --record-model-traffic"))
}

/// Records what a flag or a variable says about a run that passed and changed a repository; read only after its verification.
fn record_answer(
    context: &Context,
    harness: &Harness,
    typed: Option<OutcomeVerdict>,
    report: &Report,
) -> Result<(), CommandError> {
    if report.status != Status::Pass || report.stage < Stage::OWNED_REPOSITORY {
        return Ok(());
    }
    let Some(verdict) = typed.map(Ok).or_else(|| said_outcome(&report.backend).transpose()).transpose()? else {
        return Ok(());
    };
    let (_found, bundle) = context.bind_run(report.run_id.as_str())?;
    let file = super::outcome::record_unsigned(harness, &bundle, verdict)?;
    let (word, run) = (verdict.as_str(), report.run_id.suffix());
    let note = format!("{word}, unsigned, in {}; it counts when you sign it: cto outcome {run} ...\n", file.display());
    context.output.print_note(&contract::text::shown_lines(&note));
    Ok(())
}

/// The variable of an engine that says what to answer.
fn said_outcome(engine: &str) -> Result<Option<OutcomeVerdict>, CommandError> {
    let Some((name, word)) = operator_outcome(engine) else { return Ok(None) };
    let wrong = || {
        let message = format!("{name} is neither accepted, rejected, accept nor reject");
        CommandError::usage(message).hint("the run is sealed; record its outcome with cto outcome")
    };
    OutcomeVerdict::from_word(&word).map(Some).ok_or_else(wrong)
}

/// Runs a task and prints its end.
pub(crate) fn run_task(context: &Context, arguments: &RunArgs) -> Result<u8, CommandError> {
    let RunArgs { asked, timeout, .. } = arguments;
    let task = context.load_asked(asked)?;
    let mut ask = context.build_ask(asked, &task, Purpose::Governed)?;
    ask.timeout_seconds = timeout.iter().copied().chain(ask.timeout_seconds).min();
    ask.request_command = asked.words("request", &task, ask.stage, *timeout);
    ask.keep_workspace = arguments.keep_workspace;
    ask.model.record = arguments.record_model_traffic;
    ask.model.replay = arguments.replay_model_traffic.as_deref().map(|name| recording(context, name)).transpose()?;
    let harness = context.harness()?;
    if approve_first::is_asked_for(context.output, &ask)
        && let Some(code) = approve_first::approve_first(context, &harness, &task, &ask)?
    {
        return Ok(code);
    }
    let display = RunDisplay::of_run(context.output, &task, &ask, &context.cancel);
    let outcome = display.watch_run(&harness, &task, &ask, &context.cancel)?;
    let report = &outcome.sealed.report;
    result(context.output, report, &outcome.sealed.report_bytes, &outcome.sealed.dir, &asked.task_words());
    record_answer(context, &harness, arguments.outcome.map(Into::into), report)?;
    Ok(if outcome.interrupted { INTERRUPTED } else { report.status.exit_code() })
}

/// Prints the end of a run; a replay prints the same.
pub(super) fn result(output: Output, report: &Report, report_bytes: &[u8], bundle: &Path, task: &str) {
    if output.json {
        output.print_json_bytes(report_bytes);
    } else {
        output.print(&run_view::run_view(output, report, bundle, task));
    }
}
