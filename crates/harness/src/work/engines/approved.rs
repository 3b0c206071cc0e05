//! Events about the approval that an admitted run rests on.

use contract::approval::ApprovalInput;
use contract::{Decision, EventKind};
use gate::approval::counted_approvals;

use crate::gather::approval_events;
use crate::run::file::{RunFile, Stopped};

/// Says who asked and who approved, after the plan was announced.
pub(super) fn announce_approval(run: &mut RunFile<'_>, decision: &Decision) -> Result<(), Stopped> {
    let Some(ApprovalInput::Found(facts)) = &decision.inputs.approval else { return Ok(()) };
    let (Some(request), Some(counted)) = (&facts.request, counted_approvals(&decision.inputs)) else { return Ok(()) };
    run.event(EventKind::ApprovalRequested, approval_events::requested(request))?;
    for approval in counted.approvals {
        run.event(EventKind::ApprovalGranted, approval_events::granted(approval))?;
        if approval.document.break_glass_reason.is_some() {
            run.event(EventKind::ApprovalBreakGlass, approval_events::broke_glass(approval))?;
        }
    }
    Ok(())
}
