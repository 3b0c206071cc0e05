//! `cto rollback`: a landed change, taken back.

use std::path::PathBuf;

use contract::approval::{OutcomeSchema, RollbackAct, RollbackStatement};
use contract::canonical_bytes;
use contract::text::show_controls;
use harness::{Harness, LandedChange, PersonSignature, RollBackError, draft_rollback, record_rollback, roll_back};
use serde_json::json;

use super::outcome::allowed_key;
use crate::approvals_view::check_reason;
use crate::args::RollbackArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::signing::OperatorKey;

/// Takes a landed change back and records the signed statement.
pub(crate) fn rollback(context: &Context, arguments: &RollbackArgs) -> Result<u8, CommandError> {
    let reason = check_reason(&arguments.reason)?;
    let refused = |error: RollBackError| {
        let remedy = error.error_remedy(&arguments.run);
        CommandError::blocked_with(error).hint(show_controls(&remedy))
    };
    let (found, bundle) = context.bind_run(&arguments.run)?;
    if found.signer.is_some() {
        let message = format!("{} was made in another home: its path may name another repository here", found.id);
        return Err(CommandError::blocked_with(message).hint("roll it back where the run was made"));
    }
    let landed = LandedChange::read_proof(&bundle).map_err(refused)?;
    let harness = context.harness_at(&context.config.place())?;
    // Before the repository is touched: a rollback that nobody may sign is none.
    let key = allowed_key(context, arguments.key.as_deref())?;
    let done = roll_back(&harness, &landed, arguments.revert).map_err(refused)?;
    let repository = landed.repository.display().to_string();
    let statement = draft_rollback(&bundle, &repository, done.act.clone(), reason, key.fingerprint())?;
    let file = sign_rollback(&harness, &key, &statement).map_err(|error| {
        let run = statement.run_id.suffix();
        let revert = if arguments.revert { " --revert" } else { "" };
        let message = format!("{}, and no statement says so yet: {}", describe_act(&statement), error.message);
        CommandError { message, ..error }
            .hint(format!("type it again to sign it: cto rollback {run}{revert} --reason \"...\""))
    })?;
    let output = context.output;
    if output.json {
        let mut document = json!(statement);
        document["statement"] = json!(file.display().to_string());
        output.print_json(&document)?;
        return Ok(0);
    }
    let (run, what) = (&statement.run_id, describe_act(&statement));
    if output.terminal {
        let paint = output.paint;
        let mut text = format!("{}  is rolled back: {what}\n\n", run.suffix());
        text.push_str(&format!("  {} {}\n", paint.dim("in        "), show_controls(&repository)));
        text.push_str(&format!("  {} {}\n", paint.dim("recorded  "), show_controls(&file.display().to_string())));
        output.print(&text);
    } else {
        let (repository, file) = (show_controls(&repository), show_controls(&file.display().to_string()));
        output.print(&format!("rolled-back {run}\nact {what}\nrepository {repository}\nstatement {file}\n"));
    }
    Ok(0)
}

/// Signs the statement about a rollback and records it. Gives its file.
fn sign_rollback(harness: &Harness, key: &OperatorKey, statement: &RollbackStatement) -> Result<PathBuf, CommandError> {
    let (armour, key_fingerprint) =
        (key.sign_bytes(&canonical_bytes(statement)?, OutcomeSchema::NAMESPACE)?, key.fingerprint());
    let signature = PersonSignature { armour: &armour, key_fingerprint: &key_fingerprint };
    Ok(record_rollback(harness, statement, signature)?)
}

fn describe_act(statement: &RollbackStatement) -> String {
    let branch = show_controls(&statement.branch);
    match &statement.act {
        RollbackAct::BranchDeleted => format!("branch {branch} deleted"),
        RollbackAct::Reverted { commit } => format!("branch {branch} reverted by {commit}"),
    }
}
