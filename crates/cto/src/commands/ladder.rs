//! `cto ladder`: how far each engine is proven, and what is missing.

use std::fmt::Write as _;
use std::path::Path;

use contract::text::show_controls;
use contract::{Stage, Status};
use serde_json::json;
use views::{LadderView, Rung, RungRun, RungStatus, draw_ladder};

use crate::args::{LadderArgs, LadderCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::ladder_view::{Climber, LadderScene};
use crate::output::{Output, Paint, count_text};

/// Width of the column with the names of the stages.
const NAMES: usize = 29;
/// Width of the column of one ladder.
const COLUMN: usize = 13;
/// Widest column with the names of ladders.
pub(super) const LABELS: usize = 22;
/// Narrower terminals get one block a ladder.
const NARROW: usize = 80;

/// A ladder and whose it is.
struct Climbed {
    climber: Climber,
    ladder: LadderView,
}

/// Prints the ladders, or explains one rung.
pub(crate) fn ladder(context: &Context, arguments: &LadderArgs) -> Result<u8, CommandError> {
    let scene = LadderScene::open_scene(context)?;
    if let Some(LadderCommand::Explain { stage, engine }) = &arguments.command {
        let stage = Stage::try_from(*stage).map_err(CommandError::usage)?;
        return explain(context.output, &scene, stage, engine.as_deref());
    }
    let climbed: Vec<Climbed> = scene
        .climbers(arguments.engine.as_deref())?
        .into_iter()
        .map(|climber| Ok(Climbed { ladder: scene.ladder(&climber)?, climber }))
        .collect::<Result<_, CommandError>>()?;
    if let Some(file) = &arguments.svg {
        return draw(context.output, &climbed, file);
    }
    let output = context.output;
    if output.json {
        let rungs: Vec<_> = climbed
            .iter()
            .flat_map(|one| one.ladder.rungs.iter().map(|rung| scene.rung_document(&one.climber, rung)))
            .collect();
        output.print_json(&json!({
            "passes_required": context.config.passes_required,
            "rungs": rungs,
            "runtime_default_activation": false,
            "verified_bundles": scene.views.count_proven(),
        }))?;
    } else if output.terminal {
        output.print(&show(output, &scene, &climbed));
    } else {
        let lines = climbed.iter().flat_map(|one| one.ladder.rungs.iter().map(|rung| rung_line(&one.climber, rung)));
        output.print(&lines.collect::<String>());
    }
    Ok(0)
}

/// Writes the picture; an existing file is replaced.
fn draw(output: Output, climbed: &[Climbed], file: &Path) -> Result<u8, CommandError> {
    let ladders: Vec<LadderView> = climbed.iter().map(|one| one.ladder.clone()).collect();
    let svg = draw_ladder(&ladders);
    if file == Path::new("-") {
        output.print(&svg);
        return Ok(0);
    }
    let name = show_controls(&file.display().to_string());
    std::fs::write(file, svg).map_err(|error| CommandError::usage(format!("cannot write {name}: {error}")))?;
    if output.json {
        output.print_json(&json!({"runtime_default_activation": false, "svg": file.display().to_string()}))?;
    } else {
        output.print(&format!("drawn {name}\n"));
    }
    Ok(0)
}

/// One rung on a pipe.
pub(super) fn rung_line(climber: &Climber, rung: &Rung) -> String {
    let model = climber.model.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    let source = climber.source_id.as_deref().unwrap_or("-");
    let more = match (rung.status, &rung.gap) {
        (RungStatus::Validated, _) => format!(" bundles={}", rung.bundles.len()),
        (RungStatus::Stale, Some(gap)) => format!(" proof_for={}", gap.proven_for().unwrap_or("-")),
        (RungStatus::Blocked, Some(gap)) => {
            let run = gap.run_id().map_or_else(String::new, |run| format!(" run={run}"));
            format!(" missing={}{run}", gap.code())
        }
        _ => String::new(),
    };
    format!(
        "{} {} {} {} {}{}\n",
        climber.engine,
        show_controls(source),
        show_controls(&model),
        rung.stage,
        rung.status.as_str(),
        show_controls(&more)
    )
}

fn show(output: Output, scene: &LadderScene<'_>, climbed: &[Climbed]) -> String {
    let left =
        format!("computed from {}", count_text(scene.views.count_proven(), "verified bundle", "verified bundles"));
    let mut text = format!("{}\n\n", output.headline(&left, left.chars().count(), "no engine is a default"));
    let is_wide = output.width >= NARROW && NAMES + COLUMN * climbed.len() <= output.width + 1;
    text.push_str(&if is_wide { table(output.paint, climbed) } else { blocks(output.paint, climbed) });
    let labels = climbed.iter().map(|one| one.climber.label().chars().count()).max().unwrap_or(0).min(LABELS);
    let missing: String = climbed.iter().filter_map(|one| next_rung(output, scene, one, labels)).collect();
    if !missing.is_empty() {
        let _ = write!(text, "\nmissing for the next rung\n{missing}");
    }
    text
}

/// The highest rung on top, one column a ladder.
fn table(paint: Paint, climbed: &[Climbed]) -> String {
    let head = |words: Vec<String>| {
        let cells: String = words.iter().map(|word| format!("{:<COLUMN$}", cut_text(word, COLUMN - 1))).collect();
        format!("{:NAMES$}{}\n", "", cells.trim_end())
    };
    let mut text = head(climbed.iter().map(|one| one.climber.engine.clone()).collect());
    text.push_str(&head(climbed.iter().map(|one| model_name(&one.climber)).collect()));
    for stage in stages_down() {
        let name = format!("  {stage} {}", stage.name());
        let cells: Vec<String> =
            climbed.iter().filter_map(|one| rung_at(one, stage)).map(|rung| paint_rung(paint, rung)).collect();
        let _ = writeln!(text, "{name:<NAMES$}{}", cells.concat().trim_end());
    }
    text
}

fn blocks(paint: Paint, climbed: &[Climbed]) -> String {
    let block = |one: &Climbed| {
        let rows: String = stages_down()
            .filter_map(|stage| rung_at(one, stage))
            .map(|rung| format!("  {} {:<25} {}\n", rung.stage, rung.stage.name(), paint_rung(paint, rung).trim_end()))
            .collect();
        format!("{}\n{rows}", one.climber.label())
    };
    climbed.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn stages_down() -> impl Iterator<Item = Stage> {
    (1..=6).rev().filter_map(|number| Stage::try_from(number).ok())
}

fn rung_at(one: &Climbed, stage: Stage) -> Option<&Rung> {
    one.ladder.rungs.iter().find(|rung| rung.stage == stage)
}

fn paint_rung(paint: Paint, rung: &Rung) -> String {
    let pad = " ".repeat(COLUMN.saturating_sub(rung.status.words().len()));
    format!("{}{pad}", painted(paint, rung.status))
}

/// The state in its colour.
pub(super) fn painted(paint: Paint, status: RungStatus) -> String {
    let words = status.words();
    match status {
        RungStatus::Validated => paint.like(Status::Pass, words),
        RungStatus::Blocked => paint.like(Status::Blocked, words),
        RungStatus::Stale => paint.stale(words),
        RungStatus::NotStarted => paint.dim(words),
    }
}

fn model_name(climber: &Climber) -> String {
    climber.model.as_ref().map_or_else(|| "-".to_owned(), |pair| show_controls(&pair.model))
}

/// Text cut to a width in characters, with an ellipsis.
pub(super) fn cut_text(text: &str, width: usize) -> String {
    if text.chars().count() <= width { text.to_owned() } else { text.chars().take(width - 1).chain(['…']).collect() }
}

/// The lowest rung that is not validated, with what it lacks and the command that mends it.
fn next_rung(output: Output, scene: &LadderScene<'_>, one: &Climbed, labels: usize) -> Option<String> {
    let rung = one.ladder.next_rung()?;
    let missing = show_controls(&rung.gap.as_ref()?.sentence());
    let remedy = show_controls(&scene.rung_remedy(&one.climber, rung)?);
    let label = cut_text(&one.climber.label(), labels);
    let indent = if output.width < NARROW { 4 } else { labels + 7 };
    let head = match output.width < NARROW {
        true => format!("  {label}  {}\n    ", rung.stage),
        false => format!("  {label:<labels$}  {}  ", rung.stage),
    };
    Some(format!("{head}{}\n{}", output.hang(indent, &missing), output.command_line(indent, &remedy)))
}

fn explain(output: Output, scene: &LadderScene<'_>, stage: Stage, engine: Option<&str>) -> Result<u8, CommandError> {
    let climbers = scene.climbers(engine)?;
    let rungs: Vec<Rung> = climbers.iter().map(|climber| scene.whole_rung(climber, stage)).collect::<Result<_, _>>()?;
    if output.json {
        let rungs: Vec<_> =
            climbers.iter().zip(&rungs).map(|(climber, rung)| scene.rung_document(climber, rung)).collect();
        output.print_json(&json!({"rungs": rungs, "runtime_default_activation": false, "stage": stage}))?;
        return Ok(0);
    }
    let mut text = String::new();
    for (climber, rung) in climbers.iter().zip(&rungs) {
        text.push_str(&match output.terminal {
            true => explained(output, scene, climber, rung),
            false => explained_plainly(scene, climber, rung),
        });
    }
    output.print(&text);
    Ok(0)
}

/// Width of the column with the words before each fact of a rung, and of everything before
/// the reason of a run.
const FACTS: usize = 13;
const RUN_FACTS: usize = 42;

fn explained(output: Output, scene: &LadderScene<'_>, climber: &Climber, rung: &Rung) -> String {
    let paint = output.paint;
    let source = show_controls(climber.source_id.as_deref().unwrap_or("no source"));
    let head = format!("{}, stage {} {}, {source}", climber.label(), rung.stage, rung.stage.name());
    let indent = rung.status.words().chars().count() + 2;
    let mut text = format!("{}  {}\n", painted(paint, rung.status), output.hang(indent, &head));
    for proof in &rung.bundles {
        let _ = writeln!(text, "  proven by  {}", proof.run_id);
    }
    if let Some(gap) = &rung.gap {
        let code = gap.reason().map_or_else(String::new, |reason| format!(" ({})", reason.code()));
        let sentence = format!("{}{code}", show_controls(&gap.sentence()));
        let _ = writeln!(text, "  missing    {}", output.hang(FACTS, &sentence));
    }
    for run in &rung.runs {
        text.push_str(&explained_run(output, run));
    }
    if let Some(remedy) = scene.rung_remedy(climber, rung) {
        text.push_str(&output.command_line(2, &show_controls(&remedy)));
    }
    text.push('\n');
    text
}

/// One run, with the words that say why on the same line where they fit.
fn explained_run(output: Output, run: &RungRun) -> String {
    let facts = format!("  run        {:<6} {:<8} {}", run.run_id.suffix(), run.status.as_str(), run.counts.as_str());
    let Some(why) = run.why.as_deref().map(show_controls) else { return format!("{facts}\n") };
    let beside = format!("{facts:<RUN_FACTS$}");
    if beside.chars().count() + why.chars().count() <= output.width {
        return format!("{beside}{}\n", output.paint.dim(&why));
    }
    format!("{facts}\n{}{}\n", " ".repeat(FACTS), output.paint.dim(&output.hang(FACTS, &why)))
}

fn explained_plainly(scene: &LadderScene<'_>, climber: &Climber, rung: &Rung) -> String {
    let mut text = rung_line(climber, rung);
    for proof in &rung.bundles {
        let _ = writeln!(text, "proven_by {}", proof.run_id);
    }
    if let Some(gap) = &rung.gap {
        let _ = writeln!(text, "missing {} {}", gap.code(), show_controls(&gap.sentence()));
    }
    for run in &rung.runs {
        let why = run.why.as_deref().map_or_else(String::new, |why| format!(" {}", show_controls(why)));
        let _ = writeln!(text, "run {} {} {}{why}", run.run_id, run.status.as_str(), run.counts.as_str());
    }
    if let Some(remedy) = scene.rung_remedy(climber, rung) {
        let _ = writeln!(text, "next {}", show_controls(&remedy));
    }
    text
}
