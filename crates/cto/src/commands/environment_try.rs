//! `cto environment suggest --try`: each environment that could be right, tried in the
//! sandbox by the repository's own tests.

use std::path::Path;

use contract::case::FakeSteps;
use contract::report::PassKind;
use contract::task::SourceClassification;
use contract::text::show_controls;
use contract::{Purpose, Report, Stage};
use harness::{Ask, FAKE, Harness, Quiet, Task, Watch, govern};
use serde::Serialize;
use serde_json::json;
use suggest::{ContractDraft, ContractWords, EnvironmentVariant};

use super::{INTERRUPTED, new};
use crate::context::Context;
use crate::error::CommandError;

/// Result of trying one environment.
#[derive(Debug, Serialize)]
struct TriedEnvironment {
    environment: &'static str,
    works: bool,
    /// Cause of a failure, in the words of the run that tried it.
    why: Option<String>,
    /// Tests that ran.
    tests: u64,
}

/// Tries environments until one works: setup, build and exam of the committed tree, in a
/// temporary home.
pub(super) fn try_environments(context: &Context, dir: &Path) -> Result<u8, CommandError> {
    context.refuse_when_halted()?;
    let repository = std::path::absolute(dir)?;
    let drafted = new::draft(context, &repository)?;
    if !drafted.has_checks() {
        let message = "nothing in the repository says how it is tested, so that there is nothing to try it by";
        return Err(CommandError::blocked_with(message).hint("cto environment suggest     without --try"));
    }
    let scratch = tempfile::tempdir()?;
    let harness = context.harness_at(&scratch.path().to_owned().into())?;
    let mut tried = Vec::new();
    for EnvironmentVariant { label, draft } in drafted.variants() {
        context.output.print_note(&format!("trying {label}\n"));
        let whole = drafted.clone().in_environment(draft.clone());
        let Some(report) = try_one(context, &harness, &whole, &repository)? else { return Ok(INTERRUPTED) };
        let result = judge(label, &report);
        let works = result.works;
        if let Some(why) = &result.why {
            context.output.print_note(&format!("  {}\n", show_controls(why)));
        }
        tried.push(result);
        if works {
            return tell(context, &tried, draft.as_ref());
        }
    }
    fail(context, &tried)
}

/// Holds the exam of the baseline as a run does, with an engine that changes nothing. None
/// if a signal ended it.
fn try_one(
    context: &Context,
    harness: &Harness,
    drafted: &ContractDraft,
    repository: &Path,
) -> Result<Option<Report>, CommandError> {
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
    let outcome = govern(harness, &task, &ask, Watch { cancel: &context.cancel, observer: &Quiet })?;
    Ok((!outcome.interrupted).then_some(outcome.sealed.report))
}

/// An environment works if the tests run in it; red tests are the repository's own affair.
fn judge(environment: &'static str, report: &Report) -> TriedEnvironment {
    // A control adds a test of its own.
    let held = report.verification.passes.iter().filter(|pass| pass.kind != PassKind::Control);
    let tests = held.map(|pass| pass.tests.result.as_ref().map_or(0, |counts| counts.executed));
    let tests = tests.max().unwrap_or_default();
    let works = report.blockers.is_empty() || tests > 0;
    let why = report.blockers.first().filter(|_| !works).map(|blocker| blocker.text.clone());
    TriedEnvironment { environment, works, why, tests }
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
            true => format!("works, {} tests ran", row.tests),
            false => "does not work".to_owned(),
        };
        output.print(&format!("# Tried: {}: {end}\n", row.environment));
    }
    output.print(&draft.map_or_else(|| "environment: {}\n".to_owned(), suggest::EnvironmentDraft::yaml));
    Ok(0)
}

fn fail(context: &Context, tried: &[TriedEnvironment]) -> Result<u8, CommandError> {
    if context.output.json {
        context.output.print_json(&json!({"draft": null, "tried": tried}))?;
    }
    let last = tried.iter().rev().find_map(|row| row.why.as_deref()).unwrap_or("no test ran");
    let count = tried.len();
    let message = format!("the tests ran in none of {count} environments; the last says: {}", show_controls(last));
    Err(CommandError::blocked_with(message).hint("cto environment suggest     and write the rest by hand"))
}
