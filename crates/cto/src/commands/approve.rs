//! `cto approve`: one person's signed yes to one request, for one run.

use std::time::Duration;

use contract::Status;
use contract::approval::Approval;
use contract::text::show_controls;
use harness::ApprovalWish;
use ledger::{Position, RequestStep};
use serde_json::json;

use super::INTERRUPTED;
use super::sentence::{HeardSentence, hear_sentence};
use crate::approvals_view::{Deciding, age_text, run_command, seconds_until};
use crate::args::ApproveArgs;
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::output::Output;

/// Hears the sentence, signs the approval and records it.
pub(crate) fn approve_request(context: &Context, arguments: &ApproveArgs) -> Result<u8, CommandError> {
    let deciding = Deciding::open_request(context, &arguments.request, arguments.key.as_deref(), RequestStep::Granted)?;
    let output = context.output;
    if arguments.break_glass && !deciding.opened.terms.break_glass {
        return Err(harness::RecordDecisionError::NoBreakGlass.into());
    }
    let sentence = match hear_sentence(context, &deciding, arguments.sentence.as_deref())? {
        HeardSentence::Right(sentence) => sentence,
        HeardSentence::Wrong => return Ok(ErrorKind::Blocked.exit_code()),
        HeardSentence::Interrupted => return Ok(INTERRUPTED),
    };
    let approval = grant(&deciding, sentence, arguments)?;
    show_approval(output, &deciding, &approval.0, approval.1)?;
    Ok(0)
}

/// Signs and records the approval.
pub(super) fn grant(
    deciding: &Deciding,
    sentence: String,
    arguments: &ApproveArgs,
) -> Result<(Approval, Position), CommandError> {
    let now = deciding.opened.now;
    let wish = ApprovalWish {
        sentence,
        key_fingerprint: deciding.key.fingerprint(),
        approval_source: deciding.signer(),
        signed_via: deciding.key.signed_via(),
        not_before: arguments.not_before,
        expires_at: arguments.expires.or(arguments.ttl.map(|seconds| now.after(Duration::from_secs(seconds)))),
        break_glass_reason: arguments.reason.clone(),
    };
    let approval = deciding.opened.draft_approval(wish)?;
    let entry = deciding.record_document(RequestStep::Granted, &approval, arguments.break_glass)?;
    Ok((approval, entry))
}

/// Shows what was signed and what comes next.
pub(super) fn show_approval(
    output: Output,
    deciding: &Deciding,
    approval: &Approval,
    entry: Position,
) -> Result<(), CommandError> {
    let opened = &deciding.opened;
    let (name, id) = (deciding.request(), format!("apr-{}", entry.seq));
    let (signer, key) = (deciding.signer(), deciding.key.fingerprint());
    let counted = opened.counted.keys.len() + 1;
    let required = usize::from(opened.terms.approvals_required);
    let is_enough = counted >= required || approval.break_glass_reason.is_some();
    let next = match is_enough {
        true => run_command(&opened.record).unwrap_or_else(|| "cto approvals".to_owned()),
        false => format!("cto approve {name}     by another key"),
    };
    if output.json {
        return output.print_json(&json!({
            "actor": signer, "approval_consumed": false, "approval_id": id, "approvals": counted,
            "approvals_required": required, "break_glass": approval.break_glass_reason.is_some(),
            "expires_at": approval.expires_at, "key": key, "key_unprotected": deciding.key.is_unprotected(),
            "mutation_mode": approval.mutation_mode, "next_allowed_action": next, "not_before": approval.not_before,
            "packet_digest": approval.packet_digest, "request": name, "request_digest": approval.request_digest,
            "signed_via": approval.signed_via, "status": "granted",
        }));
    }
    if !output.terminal {
        let glass = if approval.break_glass_reason.is_some() { "break_glass true\n" } else { "" };
        output.print(&format!(
            "granted {name}\napproval {id}\n{glass}request_digest {}\npacket_digest {}\nactor {}\nkey {key}\nnot_before {}\nexpires_at {}\napprovals {counted} of {required}\nnext {next}\n",
            approval.request_digest, approval.packet_digest, show_controls(&signer), approval.not_before, approval.expires_at
        ));
        return Ok(());
    }
    let paint = output.paint;
    let until = age_text(seconds_until(opened.now, approval.expires_at));
    let word = match approval.break_glass_reason {
        Some(_) => paint.break_glass("signed past the policy"),
        None => paint.like(Status::Pass, "signed"),
    };
    output.print(&format!(
        "{word}   approval {id}   {} {key}   expires {} ({until})   single use\n",
        show_controls(&signer),
        approval.expires_at
    ));
    if deciding.key.is_unprotected() {
        output.print(&format!("{}\n", paint.dim("the key has no passphrase; a bundle that rests on it says so")));
    }
    if !is_enough {
        output.print(&format!("{counted} of {required} approvals: another key has to approve as well\n"));
    }
    output.print(&format!("\n{}  {}\n", paint.dim("next"), paint.command(&next)));
    Ok(())
}
