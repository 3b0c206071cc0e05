//! `cto refresh`: real passes of stage 5 looked at again, read only.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use contract::CollectionKind;
use contract::report::OperatorOutcome;
use contract::stage6::refresh::{RefreshComparison, RefreshRejection, SubjectVerdict};
use contract::text::show_controls;
use harness::{Quiet, RefreshAsk, RefreshError, Refreshed, Watch};
use serde_json::json;

use super::INTERRUPTED;
use crate::args::RefreshArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, duration};

/// Examines passes of stage 5 again and seals the result.
pub(crate) fn refresh(context: &Context, arguments: &RefreshArgs) -> Result<u8, CommandError> {
    if let Some(engine) = &arguments.engine {
        context.known_engine(engine)?;
    }
    let harness = context.harness()?;
    let profile = context.default_sandbox();
    let ask = RefreshAsk { engine: arguments.engine.as_deref(), runs: &arguments.runs, profile };
    let began = Instant::now();
    let done = match harness::refresh(&harness, ask, Watch { cancel: &context.cancel, observer: &Quiet }) {
        Ok(done) => done,
        Err(RefreshError::Interrupted) => return Ok(INTERRUPTED),
        Err(error) => return Err(refused(error)),
    };
    let path = harness.home.bundles().bundle_dir(&done.run_id).join(CollectionKind::Refresh.file());
    let path = path.display().to_string();
    let output = context.output;
    if output.json {
        output.print_json(&document(&done, &path)?)?;
    } else if output.terminal {
        output.print(&show(output, &done, &path, began.elapsed()));
    } else {
        output.print(&lines(&done, &path));
    }
    Ok(done.status.exit_code())
}

fn refused(error: RefreshError) -> CommandError {
    match error {
        RefreshError::Ledger(error) => error.into(),
        RefreshError::Seal(error) => error.into(),
        RefreshError::Unknown(_) | RefreshError::Ambiguous { .. } => CommandError::usage(&error).hint("cto runs"),
        RefreshError::Twice(_) => CommandError::usage(&error).hint("name each run once"),
        RefreshError::Unsealed(_) => CommandError::blocked_with(&error).hint("cto status"),
        RefreshError::Halted(_) => CommandError::blocked_with(&error).hint("cto resume"),
        RefreshError::NoLedger => CommandError::blocked_with(&error).hint("cto ledger verify"),
        RefreshError::Clock(_) | RefreshError::Failed(_) | RefreshError::Interrupted => {
            CommandError::blocked_with(&error).hint("cto doctor")
        }
    }
}

/// The document itself, with the keys of every validator and the place that it is sealed in.
fn document(done: &Refreshed, path: &str) -> Result<serde_json::Value, CommandError> {
    let comparison = &done.comparison;
    let errors = &comparison.rejections;
    let mut document = serde_json::to_value(comparison)?;
    document["ok"] = json!(errors.is_empty());
    document["checked"] = json!(comparison.subjects.len());
    document["errors"] = json!(errors);
    document["run_id"] = json!(done.run_id);
    document["document"] = json!(path);
    document["bundles"] = json!(done.bundles);
    Ok(document)
}

const fn outcome_word(outcome: OperatorOutcome) -> &'static str {
    match outcome {
        OperatorOutcome::Pending => "pending",
        OperatorOutcome::Accepted => "accepted",
        OperatorOutcome::Rejected => "rejected",
    }
}

fn repeats(comparison: &RefreshComparison) -> String {
    format!("{} of {}", comparison.repeatability_count, comparison.repeatability_required)
}

// Writing to a String cannot fail, so the results of `write!` below are dropped.

fn show(output: Output, done: &Refreshed, path: &str, took: Duration) -> String {
    let (paint, comparison) = (output.paint, &done.comparison);
    let tail =
        format!("{}  {} accepted passes of stage 5, read only", show_controls(&comparison.engine), repeats(comparison));
    let width = comparison.status.as_str().len() + 2 + tail.chars().count();
    let mut out =
        output.headline(&format!("{}  {tail}", paint.paint_status(comparison.status)), width, &duration(took));
    out.push_str("\n\n");
    for SubjectVerdict { subject, verdict, text } in &comparison.subjects {
        let word = paint.like(*verdict, &format!("{:<8}", verdict.as_str()));
        let _ = writeln!(out, "  {:<20} {word} {}", subject.words(), show_controls(text));
    }
    out.push('\n');
    for pass in &comparison.real_stage5_passes {
        let commit = pass.target_commit.as_deref().map_or("-", |commit| commit.get(..12).unwrap_or(commit));
        let _ = writeln!(
            out,
            "  {} {}  {}  commit {commit}  {}",
            paint.dim("pass      "),
            pass.run_id,
            pass.case_id,
            outcome_word(pass.operator_outcome)
        );
    }
    for lane in &comparison.lanes {
        let word = paint.like(lane.status, &format!("{:<8}", lane.status.as_str()));
        let label = paint.dim("lane      ");
        let _ = writeln!(out, "  {label} {:<8} {word} {}", show_controls(&lane.engine), show_controls(&lane.rationale));
    }
    let _ = writeln!(out, "  {} {}", paint.dim("document  "), show_controls(path));
    for RefreshRejection { fault, text, remedy, .. } in &comparison.rejections {
        let code = paint.like(fault.status(), &format!("{:<26}", fault.code()));
        let _ = writeln!(
            out,
            "\n  {code}{}\n  {:26}{} {}",
            show_controls(text),
            "",
            paint.arrow(),
            paint.command(&show_controls(remedy))
        );
    }
    out
}

/// The piped form: the first line `<status> <run_id>`.
fn lines(done: &Refreshed, path: &str) -> String {
    let comparison = &done.comparison;
    let mut out = format!("{} {}\n", comparison.status, done.run_id);
    let _ = writeln!(
        out,
        "engine {} repeatability={} required={} repeatability_status={} eligible={}",
        show_controls(&comparison.engine),
        comparison.repeatability_count,
        comparison.repeatability_required,
        comparison.repeatability_status,
        comparison.candidate_default_repeatability_eligible
    );
    for SubjectVerdict { subject, verdict, text } in &comparison.subjects {
        let _ = writeln!(out, "subject {} {verdict} {}", subject.as_str(), show_controls(text));
    }
    for pass in &comparison.real_stage5_passes {
        let (commit, outcome) = (pass.target_commit.as_deref().unwrap_or("-"), outcome_word(pass.operator_outcome));
        let _ = writeln!(out, "pass {} case={} commit={commit} outcome={outcome}", pass.run_id, pass.case_id);
    }
    for lane in &comparison.lanes {
        let _ =
            writeln!(out, "lane {} {} {}", show_controls(&lane.engine), lane.status, show_controls(&lane.rationale));
    }
    for RefreshRejection { fault, text, remedy, .. } in &comparison.rejections {
        let _ = writeln!(out, "reason {} {}\nnext {}", fault.code(), show_controls(text), show_controls(remedy));
    }
    let _ = writeln!(out, "document {}", show_controls(path));
    out
}
