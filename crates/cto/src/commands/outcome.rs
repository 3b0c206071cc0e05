//! `cto outcome`: the operator's signed answer to a run.

use std::path::{Path, PathBuf};

use contract::approval::{OutcomeSchema, OutcomeStatement, OutcomeVerdict};
use contract::signer::SignerStanding;
use contract::text::show_controls;
use contract::{Status, canonical_bytes};
use evidence::names;
use evidence::patch::{ChangeMark, patch_stats};
use evidence::verify::VerifiedBundle;
use harness::{
    Harness, LandedChange, People, PersonSignature, RunClock, draft_outcome, find_outcome_problem, record_outcome,
};
use serde_json::json;

use crate::approvals_view::{check_reason, ledger_to_read, not_allowed};
use crate::args::OutcomeArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::signing::OperatorKey;

/// Signs and records the operator's outcome. A run of another home is refused.
pub(crate) fn outcome(context: &Context, arguments: &OutcomeArgs) -> Result<u8, CommandError> {
    let reason = check_reason(&arguments.reason)?;
    let (found, bundle) = context.bind_run(&arguments.run)?;
    if found.signer.is_some() {
        let message = format!("{} was made in another home, whose operator answers for it", found.id);
        return Err(CommandError::blocked_with(message).hint("record the outcome where the run was made"));
    }
    if let Some(problem) = find_outcome_problem(bundle.report()) {
        let suffix = bundle.report().run_id.suffix().to_owned();
        return Err(CommandError::blocked_with(format!("{} has no outcome to give: {problem}", found.id))
            .hint(format!("cto show {suffix}")));
    }
    let harness = context.harness_at(&context.config.place())?;
    let key = allowed_key(context, arguments.key.as_deref())?;
    let verdict = OutcomeVerdict::from(arguments.outcome);
    let statement = draft_outcome(&bundle, verdict, reason, Some(key.fingerprint()))?;
    let bytes = canonical_bytes(&statement)?;
    let (armour, key_fingerprint) = (key.sign_bytes(&bytes, OutcomeSchema::NAMESPACE)?, key.fingerprint());
    let signature = PersonSignature { armour: &armour, key_fingerprint: &key_fingerprint };
    let file = record_outcome(&harness, &statement, Some(signature))?;
    show(context, &bundle, &statement, &file)?;
    Ok(0)
}

/// The key to sign statements about runs with. One that may not is refused before anything
/// is written.
pub(super) fn allowed_key(context: &Context, flag: Option<&Path>) -> Result<OperatorKey, CommandError> {
    let key = OperatorKey::choose_key(context, flag)?;
    let clock = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
    // A clock that was set back does not let a key sign again.
    let latest = ledger_to_read(context)?.map(|ledger| ledger.latest_time()).transpose()?.flatten();
    let now = latest.map_or(clock, |latest| latest.max(clock));
    let people = People::read_lists(&context.config.records)?;
    let standing = people.judge_signing_now(key.key(), OutcomeSchema::NAMESPACE, now);
    match standing {
        SignerStanding::Allowed => Ok(key),
        refused => Err(not_allowed(&key.fingerprint(), refused)),
    }
}

/// Records the unsigned outcome of a flag or a variable, which does not count on the
/// ladder.
pub(super) fn record_unsigned(
    harness: &Harness,
    bundle: &VerifiedBundle,
    verdict: OutcomeVerdict,
) -> Result<PathBuf, CommandError> {
    let statement = draft_outcome(bundle, verdict, "given before the run, and unsigned", None)?;
    Ok(record_outcome(harness, &statement, None)?)
}

/// Commands that take back what a rejected run landed; none where it landed nothing.
fn rollback_of(bundle: &VerifiedBundle, statement: &OutcomeStatement) -> Option<Vec<String>> {
    let landed = LandedChange::read_proof(bundle).ok()?;
    let rejected = statement.operator_outcome == OutcomeVerdict::Rejected;
    let run = statement.run_id.suffix();
    rejected.then(|| vec![format!("cto rollback {run} --reason \"...\""), landed.delete_command()])
}

/// Files of the change that were deleted, or whose kind or permissions are others now.
fn list_marked(bundle: &VerifiedBundle) -> Vec<(String, ChangeMark)> {
    let patch = bundle.read_file(names::PATCH).unwrap_or_default();
    patch_stats(&patch).into_iter().filter_map(|stat| Some((stat.path, stat.mark?))).collect()
}

fn show(
    context: &Context,
    bundle: &VerifiedBundle,
    statement: &OutcomeStatement,
    file: &Path,
) -> Result<(), CommandError> {
    let output = context.output;
    let rollback = rollback_of(bundle, statement).unwrap_or_default();
    let marked = list_marked(bundle);
    if output.json {
        let mut document = json!(statement);
        document["statement"] = json!(file.display().to_string());
        document["rollback"] = json!(rollback);
        let marked = marked.iter().map(|(path, mark)| json!({"mark": mark.words(), "path": path}));
        document["marked_changes"] = marked.collect();
        return output.print_json(&document);
    }
    let (word, run) = (statement.operator_outcome.as_str(), &statement.run_id);
    let status = bundle.report().status;
    if !output.terminal {
        let mut text = format!("{word} {run}\nverdict {status}\nreason {}\n", show_controls(&statement.reason));
        text.push_str(&format!("statement {}\n", show_controls(&file.display().to_string())));
        marked
            .iter()
            .for_each(|(path, mark)| text.push_str(&format!("marked {} {}\n", show_controls(path), mark.words())));
        rollback.iter().for_each(|command| text.push_str(&format!("rollback {}\n", show_controls(command))));
        output.print(&text);
        return Ok(());
    }
    let paint = output.paint;
    let painted = match statement.operator_outcome {
        OutcomeVerdict::Accepted => paint.paint_status(Status::Pass),
        OutcomeVerdict::Rejected => paint.paint_status(Status::Fail),
    };
    let mut text = format!("{painted}  {}  is {word}: {}\n\n", run.suffix(), show_controls(&statement.reason));
    text.push_str(&format!("  {} {}\n", paint.dim("recorded  "), show_controls(&file.display().to_string())));
    for (path, mark) in &marked {
        text.push_str(&format!("  {} {}  {}\n", paint.dim("marked    "), show_controls(path), mark.words()));
    }
    for command in &rollback {
        text.push_str(&format!("  {} {}\n", paint.dim("roll back "), paint.command(&show_controls(command))));
    }
    output.print(&text);
    Ok(())
}
