//! `cto reverify`: repeats the verification of a sealed run today.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use contract::TaskContract;
use contract::report::CheckResult;
use contract::reverification::Reverification;
use contract::text::show_controls;
use evidence::verify::VerifiedBundle;
use harness::{Quiet, Reverified, ReverifyError, Task, Watch};
use serde_json::json;

use super::INTERRUPTED;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, duration};
use crate::seek::{BundleFinder, trusted_for_review};

/// Holds the verification of each bundle again and signs the results.
pub(crate) fn reverify_runs(
    context: &Context,
    bundles: &[String],
    contract: Option<&Path>,
) -> Result<u8, CommandError> {
    let contract = contract.map(Task::load_contract).transpose()?;
    let harness = context.harness_at(&context.config.place())?;
    let keys = trusted_for_review(context, &[])?;
    let mut worst = 0;
    let mut documents = Vec::new();
    let mut places = BundleFinder::new(context);
    for name in bundles {
        let found = places.locate(name)?;
        let bound = found.bind_bundle(&keys.keys_of(&found))?;
        let began = Instant::now();
        let done = again(context, &harness, &bound, contract.as_ref());
        let (code, document, text) = match done {
            Ok(done) => {
                let text = view(context.output, &done, began.elapsed());
                (u8::from(!done.reverification.holds), document(&done), text)
            }
            Err(ReverifyError::Interrupted) => return Ok(INTERRUPTED),
            Err(error) if bundles.len() == 1 => return Err(refused(&error)),
            Err(error) => {
                let message = error.to_string();
                (
                    3,
                    json!({"error": message, "path": name}),
                    format!("blocked {} {}\n", show_controls(name), show_controls(&message)),
                )
            }
        };
        worst = worst.max(code);
        documents.push(document);
        if !context.output.json {
            context.output.print(&text);
        }
    }
    if context.output.json {
        match documents.as_slice() {
            [one] if bundles.len() == 1 => context.output.print_json(one)?,
            all => context.output.print_json(&all)?,
        }
    }
    Ok(worst)
}

fn again(
    context: &Context,
    harness: &harness::Harness,
    bundle: &VerifiedBundle,
    contract: Option<&TaskContract>,
) -> Result<Reverified, ReverifyError> {
    let profile = context.default_sandbox();
    harness::reverify_bundle(harness, bundle, contract, profile, Watch { cancel: &context.cancel, observer: &Quiet })
}

fn refused(error: &ReverifyError) -> CommandError {
    let remedy = match error {
        ReverifyError::Redacted => "run the task again without the secret: cto run",
        ReverifyError::NoResult => "choose a run whose engine came to a result: cto runs",
        ReverifyError::NoBaseline(_) => "bring the repository back to where the contract names it, with that commit",
        ReverifyError::AnotherTask { .. } => "give a contract with the task id of the run",
        _ => "cto doctor",
    };
    CommandError::blocked_with(error).hint(remedy)
}

fn document(done: &Reverified) -> serde_json::Value {
    let mut document = json!(done.reverification);
    document["statement"] = json!(done.statement.display().to_string());
    document
}

fn view(output: Output, done: &Reverified, took: Duration) -> String {
    let Reverification { run_id, verdict_then, verdict_now, holds, .. } = &done.reverification;
    if !output.terminal {
        return lines(done);
    }
    let paint = output.paint;
    let sentence = match holds {
        true => format!("{}  the verdict of then holds today", run_id.suffix()),
        false => format!("{}  the verdict was {verdict_then} and is {verdict_now} today", run_id.suffix()),
    };
    let width = verdict_now.as_str().len() + 2 + sentence.chars().count();
    let mut out = output.headline(&format!("{}  {sentence}", paint.paint_status(*verdict_now)), width, &duration(took));
    out.push_str("\n\n");
    for blocker in &done.reverification.blockers {
        let code = paint.like(*verdict_now, &format!("{:<26}", blocker.reason.code()));
        let _ = writeln!(out, "  {code}{}", show_controls(&blocker.text));
    }
    for pass in &done.reverification.verification.passes {
        let _ = writeln!(out, "  {:<10} {}  {}", pass.name, result(pass.result), show_controls(&pass.argv.join(" ")));
    }
    let _ = writeln!(out, "\n  {:<10} {}", "statement", show_controls(&done.statement.display().to_string()));
    out
}

/// The piped form: the first line `<status now> <run_id>`.
fn lines(done: &Reverified) -> String {
    let Reverification { run_id, verdict_then, verdict_now, holds, .. } = &done.reverification;
    let mut out = format!("{verdict_now} {run_id} then={verdict_then} holds={holds}\n");
    for blocker in &done.reverification.blockers {
        let _ = writeln!(out, "reason {} {}", blocker.reason, show_controls(&blocker.text));
    }
    for pass in &done.reverification.verification.passes {
        let exit = pass.exit.map_or("none".to_owned(), |exit| exit.to_string());
        let _ = writeln!(out, "check {} {} exit={exit}", pass.name.replace(' ', "-"), result(pass.result));
    }
    let _ = writeln!(out, "statement {}", show_controls(&done.statement.display().to_string()));
    out
}

const fn result(result: CheckResult) -> &'static str {
    match result {
        CheckResult::Pass => "pass",
        CheckResult::Fail => "fail",
        CheckResult::NotRun => "not run",
    }
}
