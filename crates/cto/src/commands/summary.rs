//! `cto summary`: the control summary, printed or written; and `cto validate summary`,
//! which checks one.

use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::text::show_controls;
use harness::{People, Policies};
use serde_json::json;
use views::{
    ClimberFacts, ControlSummary, RequestRules, SUMMARY_FILE, SummaryFacts, SummaryProblem, VerifyMemo, check_summary,
};

use super::stage_checks::{NamedCheck, StageCheck};
use crate::args::SummaryArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::ladder_view::LadderScene;
use crate::output::{Output, count_text};

/// Folder of the home for documents that belong to no single matrix.
const MATRIX_FOLDER: &str = "matrix";

/// Prints the control summary, and writes it if asked to.
pub(crate) fn summary(context: &Context, arguments: &SummaryArgs) -> Result<u8, CommandError> {
    let summary = compose_summary(context, None)?;
    let bytes = summary.to_bytes()?;
    let output = context.output;
    let written = if arguments.write { Some(write_summary(context, &bytes)?) } else { None };
    if output.json {
        output.print_bytes(&bytes);
    } else {
        output.print(&show(output, &summary, written.as_deref()));
    }
    Ok(0)
}

/// The summary of the home as it is. Nothing is recovered, sealed or written. A server gives
/// the results of verification that it has with the same keys.
pub(crate) fn compose_summary(
    context: &Context,
    memo: Option<Arc<VerifyMemo>>,
) -> Result<ControlSummary, CommandError> {
    let scene = LadderScene::open_scene(context)?;
    let scene = match memo {
        Some(memo) => scene.sharing_memo(memo),
        None => scene,
    };
    let mut climbers = Vec::new();
    for climber in scene.climbers(None)? {
        let ladder = scene.ladder(&climber)?;
        let remedies = ladder.rungs.iter().map(|rung| scene.rung_remedy(&climber, rung)).collect();
        climbers.push(ClimberFacts { ladder, remedies });
    }
    let people = People::read_lists(&context.config.records)?;
    let policies = Policies::read_files(&context.config.records)?;
    let rules = RequestRules {
        standing: &|key, namespace, at| people.judge_key(key, namespace, at),
        terms: &|stage, target| policies.terms(stage, target),
    };
    let halted = harness::halted(&context.config.home).map(|halted| halted.to_string());
    let facts = SummaryFacts { climbers, rules: &rules, halted, now: scene.now };
    Ok(scene.views.compose_summary(&facts)?)
}

/// Puts the document into its place, whole or not at all.
fn write_summary(context: &Context, bytes: &[u8]) -> Result<PathBuf, CommandError> {
    let Some(_) = context.home_as_it_is()? else {
        return Err(CommandError::usage("there is no home to write the summary into").hint("cto demo"));
    };
    let folder = context.config.home.join(MATRIX_FOLDER);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    let path = folder.join(SUMMARY_FILE);
    file.persist(&path)
        .map_err(|error| CommandError::blocked_with(format!("cannot write {}: {error}", path.display())))?;
    Ok(path)
}

fn show(output: Output, summary: &ControlSummary, written: Option<&Path>) -> String {
    let mut lines = vec![
        format!("health {}", summary.health.status),
        format!("next_operator_action {}", summary.next_operator_action),
        format!("approval_granted {}", summary.approval_granted),
        format!("execution_allowed {}", summary.execution_allowed),
        format!("approval_reason {}", summary.approval_reason),
        format!("repeatability {} {}", summary.repeatability_status, summary.repeatability_count),
        format!("runtime_default_activation {}", summary.runtime_default_activation),
    ];
    lines.extend(
        summary.blocked_lanes.iter().map(|lane| {
            format!("lane {} stage {} {}: {}", lane.engine, lane.stage, lane.status.words(), lane.rationale)
        }),
    );
    lines.extend(written.map(|path| format!("written {}", path.display())));
    let line = |line: &String| match (output.terminal, line.split_once(' ')) {
        (true, Some((label, text))) => {
            format!("{} {}\n", output.paint.dim(&format!("{label:<26}")), show_controls(text))
        }
        _ => format!("{}\n", show_controls(line)),
    };
    lines.iter().map(line).collect()
}

/// Checks a summary: the one of a file, else the current one.
pub(crate) fn validate_summary(context: &Context, file: Option<&Path>) -> Result<u8, CommandError> {
    let bytes = match file {
        Some(file) => fs::read(file).map_err(|error| {
            CommandError::usage(format!("cannot read {}: {error}", show_controls(&file.display().to_string())))
                .hint("cto summary --write")
        })?,
        None => compose_summary(context, None)?.to_bytes()?,
    };
    let (checked, errors) = check_summary(&bytes);
    let output = context.output;
    let is_ok = errors.is_empty();
    if output.json {
        output.print_json(&json!({"checked": checked, "errors": errors, "ok": is_ok}))?;
    } else {
        let word = if is_ok { "pass" } else { "fail" };
        output.print(&format!("{word} summary {}\n", count_text(checked, "check", "checks")));
        errors.iter().for_each(|error| output.print(&format!("{}\n", problem_text(error))));
    }
    Ok(u8::from(!is_ok))
}

fn problem_text(problem: &SummaryProblem) -> String {
    format!("{}: {}", problem.check, show_controls(&problem.text))
}

/// The checks of `cto health`: the summary of this home holds, and is written where other
/// tools look for it.
pub(super) fn check_contract(context: &Context) -> Result<Vec<NamedCheck>, CommandError> {
    if !context.config.home.is_dir() {
        // There is no place that a tool could look at, and nothing that a console could show.
        let missing = format!("there is no home at {}; cto run r1-string-slugify", context.config.home.display());
        return Ok(vec![("summary_written".to_owned(), StageCheck::blocked_by(missing))]);
    }
    let bytes = compose_summary(context, None)?.to_bytes()?;
    let (_, errors) = check_summary(&bytes);
    let contract = StageCheck::fact(errors.first().map(problem_text));
    let mut checks = vec![("summary_contract".to_owned(), contract)];
    let written = write_summary(context, &bytes);
    checks.push(("summary_written".to_owned(), StageCheck::fact(written.err().map(|error| error.message))));
    checks.extend(super::hermes::check_routes(context)?);
    Ok(checks)
}
