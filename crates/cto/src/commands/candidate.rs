//! `cto compare --candidate`: an engine beside the others, for stage 6.

use std::fmt::Write as _;

use contract::stage6::comparison::{CandidateComparison, CandidateLane, ComparedSubject};
use contract::text::show_controls;
use contract::{ModelPair, RunId, Status};
use harness::{Candidate, compare_candidate};
use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;
use crate::ladder_view::{Climber, LadderScene};
use crate::output::{Output, wrap};

/// Width of the column of subjects.
const SUBJECT: usize = 28;

/// Compares an engine with the others by the bundles of this home, and seals the comparison.
pub(crate) fn compare_engine(context: &Context, engine: &str, model: Option<&ModelPair>) -> Result<u8, CommandError> {
    let candidate = choose_candidate(context, engine, model)?;
    let harness = context.harness()?;
    let (comparison, sealed) = compare_candidate(&harness, &candidate)?;
    let run_id = &sealed.report.run_id;
    let output = context.output;
    if output.json {
        let mut document = json!(comparison);
        document["run_id"] = json!(run_id);
        document["bundle"] = json!(sealed.dir.display().to_string());
        output.print_json(&document)?;
    } else if output.terminal {
        output.print(&view(output, &comparison, run_id));
    } else {
        output.print(&lines(&comparison, run_id, &sealed.dir.display().to_string()));
    }
    Ok(sealed.report.status.exit_code())
}

/// The engine as its ladder has it; one that was run with several models is compared with
/// the first, unless one is named.
fn choose_candidate(context: &Context, engine: &str, model: Option<&ModelPair>) -> Result<Candidate, CommandError> {
    let climbers = LadderScene::open_scene(context)?.climbers(Some(engine))?;
    let is_wanted = |climber: &&Climber| model.is_none() || climber.model.as_ref() == model;
    let Some(climber) = climbers.iter().find(is_wanted) else {
        let model = model.map(ToString::to_string).unwrap_or_default();
        return Err(CommandError::usage(format!("{engine} was never run with the model `{}`", show_controls(&model)))
            .hint(format!("cto ladder --engine {engine}")));
    };
    let Some(source_id) = climber.source_id.clone() else {
        return Err(CommandError::blocked_with(format!(
            "{engine} is not admitted and was never run: nothing can be compared"
        ))
        .hint(format!("cto admit source {engine}")));
    };
    Ok(Candidate { engine: engine.to_owned(), source_id, model: climber.model.clone() })
}

/// The next command: that of the first subject that is missing something, or the acceptance.
fn next(comparison: &CandidateComparison, run_id: &RunId) -> String {
    let against = comparison.subjects.iter().find(|one| one.verdict == comparison.status);
    match (comparison.status, against.and_then(|one| one.remedy.clone())) {
        (Status::Pass, _) => {
            format!("cto outcome {} accept --reason \"...\"     the rung does not count without it", run_id.suffix())
        }
        (_, Some(remedy)) => remedy,
        (_, None) => format!("cto show {} -v", run_id.suffix()),
    }
}

fn view(output: Output, comparison: &CandidateComparison, run_id: &RunId) -> String {
    let (paint, status) = (output.paint, comparison.status);
    let candidate = &comparison.candidate;
    let tail = format!("{} beside {} lanes", show_controls(&candidate.engine), comparison.lanes.len() - 1);
    let width = status.as_str().len() + 2 + tail.chars().count();
    let right = format!("{} bundles", comparison.bundles.len());
    let mut out = output.headline(&format!("{}  {tail}", paint.paint_status(status)), width, &right);
    out.push_str("\n\n");
    for one in &comparison.subjects {
        subject(&mut out, output, one);
    }
    out.push('\n');
    for lane in &comparison.lanes {
        lane_row(&mut out, output, lane);
    }
    let _ = writeln!(out, "\n  {}    {}  sealed; no default is activated", paint.dim("bundle"), run_id.suffix());
    let _ = writeln!(out, "\n{}  {}", paint.dim("next"), paint.command(&show_controls(&next(comparison, run_id))));
    out
}

fn subject(out: &mut String, output: Output, one: &ComparedSubject) {
    let paint = output.paint;
    let label = format!("{:<SUBJECT$}", one.subject);
    let label = if one.verdict == Status::Pass { label } else { paint.like(one.verdict, &label) };
    let mark = match one.verdict {
        Status::Pass => paint.tick(),
        Status::Blocked => paint.like(Status::Blocked, "–"),
        Status::Fail => paint.cross(),
    };
    for (index, line) in
        wrap(&show_controls(&one.text), output.width.saturating_sub(SUBJECT + 5).max(30)).iter().enumerate()
    {
        let head = if index == 0 { format!("{mark} {label}") } else { " ".repeat(SUBJECT + 2) };
        let _ = writeln!(out, "  {head} {line}");
    }
}

fn lane_row(out: &mut String, output: Output, lane: &CandidateLane) {
    let paint = output.paint;
    let pad = " ".repeat(8_usize.saturating_sub(lane.status.as_str().len()));
    let text = wrap(&show_controls(&lane.rationale), output.width.saturating_sub(22).max(30));
    for (index, line) in text.iter().enumerate() {
        let head = match index {
            0 => format!("{:<8} {}{pad}", show_controls(&lane.engine), paint.paint_status(lane.status)),
            _ => " ".repeat(17),
        };
        let _ = writeln!(out, "  {head} {line}");
    }
}

fn lines(comparison: &CandidateComparison, run_id: &RunId, bundle: &str) -> String {
    let mut out = format!("{} {run_id}\n", comparison.status);
    let candidate = &comparison.candidate;
    let model = candidate.model.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    let _ = writeln!(
        out,
        "candidate {} {} {}",
        show_controls(&candidate.engine),
        show_controls(&candidate.source_id),
        show_controls(&model)
    );
    for one in &comparison.subjects {
        let fix = one.remedy.as_ref().map(|remedy| format!(" fix: {}", show_controls(remedy))).unwrap_or_default();
        let _ = writeln!(out, "subject {} {} {}{fix}", one.subject, one.verdict, show_controls(&one.text));
    }
    for lane in &comparison.lanes {
        let _ =
            writeln!(out, "lane {} {} {}", show_controls(&lane.engine), lane.status, show_controls(&lane.rationale));
    }
    let _ = writeln!(out, "repeatability {} of {}", comparison.repeatability_count, comparison.repeatability_required);
    let _ = writeln!(out, "runtime_default_activation false");
    let _ = writeln!(out, "bundle {}", show_controls(bundle));
    out
}
