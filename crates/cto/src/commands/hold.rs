//! `cto hold`: a request that waits, or waits no longer.

use contract::approval::HoldState;
use ledger::RequestStep;

use crate::approvals_view::{Deciding, RecordedDecision, check_reason};
use crate::args::HoldArgs;
use crate::context::Context;
use crate::error::CommandError;

/// Signs and records a hold or its release.
pub(crate) fn record_hold(context: &Context, arguments: &HoldArgs) -> Result<u8, CommandError> {
    let HoldArgs { refuse, release } = arguments;
    let reason = check_reason(&refuse.reason)?;
    let (step, state, word) = match release {
        true => (RequestStep::Released, HoldState::Released, "released"),
        false => (RequestStep::Held, HoldState::Held, "held"),
    };
    let deciding = Deciding::open_request(context, &refuse.request, refuse.key.as_deref(), step)?;
    let hold = deciding.opened.draft_hold(&deciding.key.fingerprint(), state, reason)?;
    let entry = deciding.record_document(step, &hold, false)?;
    let name = deciding.request();
    let next = match release {
        true => format!("cto approve {name}"),
        false => format!("cto hold {name} --release --reason \"...\""),
    };
    RecordedDecision { word, deciding: &deciding, reason, entry, next: &next }.show_decision(context.output)?;
    Ok(0)
}
