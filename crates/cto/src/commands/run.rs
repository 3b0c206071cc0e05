//! `cto run`: a governed run.

use std::path::{Path, PathBuf};

use contract::{Purpose, Report};
use harness::{Quiet, Watch, WatchRun, govern};

use super::INTERRUPTED;
use crate::args::Asked;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;
use crate::progress::Progress;
use crate::run_view;

/// What is to become of the traffic with a model.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) record: bool,
    pub(crate) replay: Option<String>,
}

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
    let shown = contract::text::shown(name);
    Err(CommandError::usage(format!("run `{shown}` kept no model traffic")).hint("cto run TASK --record-model-traffic"))
}

pub(crate) fn run(
    context: &Context,
    asked: &Asked,
    timeout: Option<u64>,
    keep_workspace: bool,
    traffic: &Traffic,
) -> Result<u8, CommandError> {
    let task = context.load_task(&asked.task, asked.repo.as_deref())?;
    let mut ask = context.ask(asked, &task, Purpose::Governed)?;
    ask.timeout_seconds = timeout.into_iter().chain(ask.timeout_seconds).min();
    ask.keep_workspace = keep_workspace;
    ask.model.record = traffic.record;
    ask.model.replay = traffic.replay.as_deref().map(|name| recording(context, name)).transpose()?;
    let harness = context.harness()?;
    let progress = context.output.progress.then(|| Progress::live(context.output, &task, &ask));
    let observer: &dyn WatchRun = progress.as_ref().map_or(&Quiet, |progress| progress);
    let outcome = govern(&harness, &task, &ask, Watch { cancel: &context.cancel, observer });
    if let Some(progress) = &progress {
        progress.clear();
    }
    let outcome = outcome?;
    let report = &outcome.sealed.report;
    result(context.output, report, &outcome.sealed.report_bytes, &outcome.sealed.dir);
    Ok(if outcome.interrupted { INTERRUPTED } else { report.status.exit_code() })
}

/// What a run ends with on stdout; the same when it is played back.
pub(super) fn result(output: Output, report: &Report, report_bytes: &[u8], bundle: &Path) {
    if output.json {
        output.print_json_bytes(report_bytes);
    } else {
        output.print(&run_view::view(output, report, bundle));
    }
}
