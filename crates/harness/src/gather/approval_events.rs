//! Events about approvals: person, subject and period.

use contract::approval::{Approval, ApprovalInput, Denial, RecordedDocument, RequestFact};
use contract::{Decision, EventKind};
use gate::approval::counted_approvals;
use serde_json::{Value, json};

/// Events about the approval that an admitted run rests on, in their order: who asked, and who approved.
pub(crate) fn granted_events(decision: &Decision) -> Vec<(EventKind, Value)> {
    let Some(ApprovalInput::Found(facts)) = &decision.inputs.approval else { return Vec::new() };
    let (Some(request), Some(counted)) = (&facts.request, counted_approvals(&decision.inputs)) else {
        return Vec::new();
    };
    let mut events = vec![(EventKind::ApprovalRequested, requested_data(request))];
    for approval in counted.approvals {
        events.push((EventKind::ApprovalGranted, granted(approval)));
        if approval.document.break_glass_reason.is_some() {
            events.push((EventKind::ApprovalBreakGlass, broke_glass(approval)));
        }
    }
    events
}

/// Data of `approval.requested`.
pub(crate) fn requested_data(request: &RequestFact) -> Value {
    json!({
        "actor": request.requester_fingerprint,
        "request": request.name,
        "request_digest": request.request_digest,
        "requested_at": request.recorded_at,
    })
}

/// Data of `approval.granted`.
fn granted(approval: &RecordedDocument<Approval>) -> Value {
    let document = &approval.document;
    json!({
        "actor": document.key_fingerprint,
        "approval_digest": approval.sha256,
        "expires_at": document.expires_at,
        "granted_at": document.granted_at,
        "mutation_mode": document.mutation_mode,
        "not_before": document.not_before,
        "recorded_at": approval.recorded_at,
        "request_digest": document.request_digest,
        "scope": document.scope,
    })
}

/// Data of `approval.denied`.
pub(crate) fn denied(denial: &RecordedDocument<Denial>) -> Value {
    let document = &denial.document;
    json!({
        "actor": document.key_fingerprint,
        "denial_digest": denial.sha256,
        "denied_at": document.denied_at,
        "request_digest": document.request_digest,
    })
}

/// Data of the event about an approval that passed over the policy.
fn broke_glass(approval: &RecordedDocument<Approval>) -> Value {
    let document = &approval.document;
    json!({
        "actor": document.key_fingerprint,
        "approval_digest": approval.sha256,
        "request_digest": document.request_digest,
    })
}
