//! `cto environment suggest --try`: each environment that could be right, tried in the
//! sandbox by the repository's own tests.

use std::fs;
use std::path::Path;

use contract::case::FakeSteps;
use contract::report::{PassKind, TestCounts};
use contract::task::SourceClassification;
use contract::text::show_controls;
use contract::{Purpose, Report, Stage, Status};
use evidence::names;
use harness::{Ask, FAKE, Harness, Task, list_unloaded};
use serde::Serialize;
use serde_json::json;
use suggest::{ContractDraft, ContractWords, EnvironmentVariant, VariantSearch};

use super::environment::{machine_tools, no_draft};
use super::{INTERRUPTED, new};
use crate::context::Context;
use crate::error::CommandError;
use crate::live::RunDisplay;

/// Most lines that name what an environment lacks.
const MOST_LACKS: usize = 5;

/// Result of trying one environment.
#[derive(Debug, Serialize)]
struct TriedEnvironment {
    environment: &'static str,
    /// Line of the failure before it that chose it.
    because: Option<String>,
    works: bool,
    /// Cause of a failure, in the words of the run that tried it.
    why: Option<String>,
    /// Tests that ran.
    tests: u64,
    passed: u64,
    /// Lines in which runners say what cannot be loaded; the first of many.
    not_loaded: Vec<String>,
    /// True if nothing failed, so that no other environment could do better.
    #[serde(skip)]
    is_green: bool,
}

/// Tries environments until the tests pass in one: setup, build and exam of the committed
/// tree, in a temporary home. Of red ones, keeps the one in which most tests pass.
pub(super) fn try_environments(context: &Context, dir: &Path) -> Result<u8, CommandError> {
    context.refuse_when_halted()?;
    let repository = std::path::absolute(dir)?;
    let drafted = new::draft(context, &repository)?;
    if !drafted.has_checks() {
        let message = "cto finds no test command in the repository, so it cannot try a draft";
        return Err(CommandError::blocked_with(message).hint("cto environment suggest     without --try"));
    }
    let scratch = tempfile::tempdir()?;
    let harness = context.harness_at(&scratch.path().to_owned().into())?;
    let mut search =
        VariantSearch::new(&repository, &machine_tools(context)).map_err(|error| no_draft(&repository, &error))?;
    let mut variants: Vec<EnvironmentVariant> = Vec::new();
    let mut tried: Vec<TriedEnvironment> = Vec::new();
    let mut next = Some(search.first_variant());
    while let Some(variant) = next {
        context.output.print_note(&format!("trying {}\n", variant.label));
        if let Some(because) = &variant.because {
            context.output.print_note(&format!("  since it says: {}\n", show_controls(because)));
        }
        let whole = drafted.clone().in_environment(variant.draft.clone());
        let Some((result, said)) = try_one(context, &harness, &variant, &whole, &repository)? else {
            return Ok(INTERRUPTED);
        };
        if let Some(why) = &result.why {
            context.output.print_note(&format!("  {}\n", show_controls(why)));
        }
        next = if result.is_green { None } else { search.next_variant(&said) };
        tried.push(result);
        variants.push(variant);
    }
    match pick_environment(&tried) {
        Some(at) => tell(context, &tried, variants[at].draft.as_ref()),
        None => fail(context, &tried),
    }
}

/// Place of the environment to keep: the first green one, else the first of those in which
/// most tests pass. None if no environment works.
fn pick_environment(tried: &[TriedEnvironment]) -> Option<usize> {
    let working = tried.iter().enumerate().filter(|(_, row)| row.works);
    // The last of equal maxima is taken, and the first is wanted.
    working.rev().max_by_key(|(_, row)| (row.is_green, row.passed)).map(|(at, _)| at)
}

/// Holds the exam of the baseline as a run does, with an engine that changes nothing. Gives
/// the output of setup and tests too. None if a signal ended it.
fn try_one(
    context: &Context,
    harness: &Harness,
    variant: &EnvironmentVariant,
    drafted: &ContractDraft,
    repository: &Path,
) -> Result<Option<(TriedEnvironment, String)>, CommandError> {
    let words =
        ContractWords { task_id: "environment", brief: "Change nothing.", allowed_paths: &[], repository: None };
    let mut task = Task::from_text("the draft", &drafted.yaml(&words), repository)?;
    task.fake = Some(FakeSteps::default());
    task.contract.diff_required = false;
    task.contract.source_owner = Some("whoever asks".to_owned());
    task.contract.source_classification = Some(SourceClassification::OwnedLocal);
    if task.contract.allowed_paths.is_empty() {
        task.contract.allowed_paths = vec!["nothing".to_owned()];
    }
    // The commit, so that work that is not committed is in nobody's way.
    let ask = Ask {
        stage: Stage::COPIED_REPOSITORY,
        at: Some("HEAD".to_owned()),
        ..context.plain_ask(FAKE, &task, Purpose::Validation)?
    };
    let display = RunDisplay::titled(context.output, format!("trying {}", variant.label), &context.cancel);
    let outcome = display.watch_run(harness, &task, &ask, &context.cancel)?;
    if outcome.interrupted {
        return Ok(None);
    }
    let read = |name: &str| fs::read(outcome.sealed.dir.join(name)).unwrap_or_default();
    let (setup, log) = (read(names::SETUP_LOG), read(names::TEST_LOG));
    let said = [&setup[..], b"\n", &log].concat();
    let result = judge(variant, &outcome.sealed.report, list_unloaded(&log));
    Ok(Some((result, String::from_utf8_lossy(&said).into_owned())))
}

/// An environment works if the tests run in it and everything that they need loads; red
/// tests are the repository's own affair.
fn judge(variant: &EnvironmentVariant, report: &Report, unloaded: Vec<String>) -> TriedEnvironment {
    // A control adds a test of its own.
    let held = report.verification.passes.iter().filter(|pass| pass.kind != PassKind::Control);
    let counts: Vec<TestCounts> = held.filter_map(|pass| pass.tests.result).collect();
    let tests = counts.iter().map(|counts| counts.executed).max().unwrap_or_default();
    let passed = counts.iter().map(|counts| counts.passed).max().unwrap_or_default();
    let is_green = report.blockers.is_empty();
    // Green tests may print such words, and mean something else.
    let not_loaded = if is_green { Vec::new() } else { unloaded };
    let works = is_green || tests > 0 && not_loaded.is_empty();
    let first = report.blockers.first().filter(|_| !works).map(|blocker| blocker.text.clone());
    let why = match not_loaded.first() {
        Some(_) if tests > 0 => {
            let lines = not_loaded.iter().take(2).cloned().collect::<Vec<_>>().join("; ");
            Some(format!("some modules that the tests need do not load: {lines}"))
        }
        _ => first,
    };
    let not_loaded = not_loaded.into_iter().take(MOST_LACKS).collect();
    let (environment, because) = (variant.label, variant.because.clone());
    TriedEnvironment { environment, because, works, why, tests, passed, not_loaded, is_green }
}

fn tell(
    context: &Context,
    tried: &[TriedEnvironment],
    draft: Option<&suggest::EnvironmentDraft>,
) -> Result<u8, CommandError> {
    let output = context.output;
    let document = draft.map_or_else(|| json!({"environment": {}}), suggest::EnvironmentDraft::document);
    if output.json {
        output.print_json(&json!({"draft": document, "tried": tried}))?;
        return Ok(0);
    }
    for row in tried {
        let end = match row.works {
            true if row.passed < row.tests => format!("works, {} of {} tests pass", row.passed, row.tests),
            true => format!("works, {} tests ran", row.tests),
            false => "does not work".to_owned(),
        };
        let because = row.because.as_ref().map(|line| format!(" (it said: {})", show_controls(line)));
        output.print(&format!("# Tried: {}: {end}{}\n", row.environment, because.unwrap_or_default()));
    }
    output.print(&draft.map_or_else(|| "environment: {}\n".to_owned(), suggest::EnvironmentDraft::yaml));
    Ok(0)
}

fn fail(context: &Context, tried: &[TriedEnvironment]) -> Result<u8, CommandError> {
    if context.output.json {
        context.output.print_json(&json!({"draft": null, "tried": tried}))?;
        return Ok(Status::Blocked.exit_code());
    }
    let why = find_closest(tried).and_then(|row| row.why.as_deref()).unwrap_or("no test ran");
    let count = tried.len();
    let message = format!("the tests run in none of {count} environments; the closest says: {}", show_controls(why));
    Err(CommandError::blocked_with(message).hint("cto environment suggest     and write the rest by hand"))
}

/// The environment that got furthest. Of equal ones, the last that a failure chose: it has what the failures before it asked for.
fn find_closest(tried: &[TriedEnvironment]) -> Option<&TriedEnvironment> {
    tried.iter().max_by_key(|row| (row.passed, row.tests, row.because.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(works: bool, is_green: bool, passed: u64) -> TriedEnvironment {
        TriedEnvironment {
            environment: "e",
            because: None,
            works,
            why: None,
            tests: 9,
            passed,
            not_loaded: Vec::new(),
            is_green,
        }
    }

    #[test]
    fn the_closest_is_the_last_that_a_failure_chose() {
        let chosen = |environment: &'static str, passed: u64| TriedEnvironment {
            environment,
            because: Some("a line".to_owned()),
            ..tried(false, false, passed)
        };
        let guessed = || tried(false, false, 0);
        let rows = [
            (vec![guessed(), chosen("first", 0), chosen("second", 0), guessed()], Some("second")),
            (vec![guessed(), chosen("first", 2), chosen("second", 0)], Some("first")),
            (vec![guessed()], Some("e")),
            (Vec::new(), None),
        ];
        for (rows, closest) in rows {
            assert_eq!(find_closest(&rows).map(|row| row.environment), closest, "{rows:?}");
        }
    }

    #[test]
    fn the_environment_with_most_passing_tests_is_kept() {
        let rows = [
            (vec![tried(true, false, 1), tried(true, false, 8), tried(true, false, 8)], Some(1)),
            (vec![tried(false, false, 9), tried(true, false, 1)], Some(1)),
            (vec![tried(true, false, 8), tried(true, true, 0)], Some(1)),
            (vec![tried(false, false, 9)], None),
            (Vec::new(), None),
        ];
        for (rows, kept) in rows {
            assert_eq!(pick_environment(&rows), kept, "{rows:?}");
        }
    }
}
