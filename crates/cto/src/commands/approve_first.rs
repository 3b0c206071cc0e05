//! The approval that `cto run` asks for itself, where a person sits at its terminal and
//! nothing else is missing.

use std::io::{self, IsTerminal as _};

use contract::approval::render_packet;
use contract::{Gate, Reason};
use harness::{Ask, Harness, Task};
use ledger::RequestStep;

use super::INTERRUPTED;
use super::approve::{grant, show_approval};
use super::packet::PacketFrame;
use super::request::{AskedRequest, make_request};
use super::sentence::{HeardSentence, hear_sentence};
use crate::approvals_view::{Deciding, find_news, ledger_to_read};
use crate::args::ApproveArgs;
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::output::Output;

/// Refusals that another approval helps against. What a person denied, held or revoked is
/// not asked for again by itself.
const ANOTHER_HELPS: &[Reason] =
    &[Reason::ApprovalMissing, Reason::ApprovalConsumed, Reason::ApprovalMismatch, Reason::ApprovalExpired];

/// True if the run needs an approval and a person can be asked for it.
pub(super) fn is_asked_for(output: Output, ask: &Ask) -> bool {
    ask.stage.mutation_mode().needs_approval() && output.terminal && io::stdin().is_terminal()
}

/// Shows the packet and asks for the sentence, if the approval is all that is missing.
/// Gives the exit code if the person did not approve; none if the run can go on, which then
/// says itself what else is missing.
pub(super) fn approve_first(
    context: &Context,
    harness: &Harness,
    task: &Task,
    ask: &Ask,
) -> Result<Option<u8>, CommandError> {
    let scratch = tempfile::tempdir()?;
    let decision = harness::decide_only(harness, task, ask, scratch.path())?.decision;
    let only_approval = decision.missing_gates == [Gate::Approval];
    if !only_approval || !decision.reasons.iter().all(|reason| ANOTHER_HELPS.contains(reason)) {
        return Ok(None);
    }
    let AskedRequest::Recorded(_, record) = make_request(context, harness, task, ask, None)? else { return Ok(None) };
    let deciding = match Deciding::open_request(context, &record.name(), None, RequestStep::Granted) {
        Ok(deciding) => deciding,
        Err(error) => {
            context.output.error(&error);
            return Ok(None);
        }
    };
    let output = context.output;
    output.print(&render_packet(&deciding.opened.request.plan)?);
    let news = match ledger_to_read(context)? {
        Some(ledger) => find_news(&ledger, &deciding.opened.record)?,
        None => None,
    };
    let around = PacketFrame { opened: &deciding.opened, news: news.as_ref(), consumer: None };
    output.print(&format!("{}\n", around.packet_lines(output)));
    let sentence = match hear_sentence(context, &deciding, None)? {
        HeardSentence::Right(sentence) => sentence,
        HeardSentence::Wrong => return Ok(Some(ErrorKind::Blocked.exit_code())),
        HeardSentence::Interrupted => return Ok(Some(INTERRUPTED)),
    };
    let plain = ApproveArgs::with_request(deciding.request());
    let (approval, entry) = grant(&deciding, sentence, &plain)?;
    show_approval(output, &deciding, &approval, entry)?;
    Ok(None)
}
