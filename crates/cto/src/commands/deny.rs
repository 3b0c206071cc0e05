//! `cto deny`, `cto revoke`: a signed no, for good.

use ledger::RequestStep;

use crate::approvals_view::{Deciding, RecordedDecision, check_reason};
use crate::args::RefuseArgs;
use crate::context::Context;
use crate::error::CommandError;

/// Signs and records a denial.
pub(crate) fn deny_request(context: &Context, arguments: &RefuseArgs) -> Result<u8, CommandError> {
    let reason = check_reason(&arguments.reason)?;
    let deciding = Deciding::open_request(context, &arguments.request, arguments.key.as_deref(), RequestStep::Denied)?;
    let denial = deciding.opened.draft_denial(&deciding.key.fingerprint(), reason)?;
    let entry = deciding.record_document(RequestStep::Denied, &denial, false)?;
    let next = deciding.opened.record.command.as_deref().unwrap_or("cto approvals");
    RecordedDecision { word: "denied", deciding: &deciding, reason, entry, next }.show_decision(context.output)?;
    Ok(0)
}

/// Signs and records a revocation of an approval.
pub(crate) fn revoke(context: &Context, arguments: &RefuseArgs) -> Result<u8, CommandError> {
    let reason = check_reason(&arguments.reason)?;
    let deciding = Deciding::open_request(context, &arguments.request, arguments.key.as_deref(), RequestStep::Revoked)?;
    let revocation = deciding.opened.draft_revocation(&deciding.key.fingerprint(), reason)?;
    let entry = deciding.record_document(RequestStep::Revoked, &revocation, false)?;
    let next = deciding.opened.record.command.as_deref().unwrap_or("cto approvals");
    RecordedDecision { word: "revoked", deciding: &deciding, reason, entry, next }.show_decision(context.output)?;
    Ok(0)
}
