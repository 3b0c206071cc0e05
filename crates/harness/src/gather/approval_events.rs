//! Events about approvals: person, subject and period.

use contract::approval::{ApprovalInput, Denial, RecordedDocument, RequestFact};
use contract::event_data::ApprovalDeniedData;
use contract::{Decision, EventData};
use gate::approval::counted_approvals;

/// Events about the approval that an admitted run rests on, in their order: who asked, and who approved.
pub(crate) fn granted_events(decision: &Decision) -> Vec<EventData> {
    let Some(ApprovalInput::Found(facts)) = &decision.inputs.approval else { return Vec::new() };
    let (Some(request), Some(counted)) = (&facts.request, counted_approvals(&decision.inputs)) else {
        return Vec::new();
    };
    let mut events = vec![requested_event(request)];
    for approval in counted.approvals {
        events.push(EventData::ApprovalGranted(Box::new(approval.into())));
        if approval.document.break_glass_reason.is_some() {
            events.push(EventData::ApprovalBreakGlass(approval.into()));
        }
    }
    events
}

/// Event about the request for an approval.
pub(crate) fn requested_event(request: &RequestFact) -> EventData {
    EventData::ApprovalRequested(request.into())
}

/// Event about a denial, if one is known.
pub(crate) fn denied_event(denial: Option<&RecordedDocument<Denial>>) -> EventData {
    EventData::ApprovalDenied(ApprovalDeniedData { by: None, denial: denial.map(Into::into) })
}

/// True if both are about the same approval; events without one are alike.
pub(crate) fn has_same_approval(one: &EventData, other: &EventData) -> bool {
    let digest = |data: &EventData| match data {
        EventData::ApprovalGranted(granted) => Some(granted.approval_digest),
        EventData::ApprovalBreakGlass(broken) => Some(broken.approval_digest),
        _ => None,
    };
    one.kind() == other.kind() && digest(one) == digest(other)
}
