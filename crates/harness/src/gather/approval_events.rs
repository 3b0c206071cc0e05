//! Data of the events about approvals: person, subject and period.

use contract::approval::{Approval, Denial, RecordedDocument, RequestFact};
use serde_json::{Value, json};

/// Data of `approval.requested`.
pub(crate) fn requested(request: &RequestFact) -> Value {
    json!({
        "actor": request.requester_fingerprint,
        "request": request.name,
        "request_digest": request.request_digest,
        "requested_at": request.recorded_at,
    })
}

/// Data of `approval.granted`.
pub(crate) fn granted(approval: &RecordedDocument<Approval>) -> Value {
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
pub(crate) fn broke_glass(approval: &RecordedDocument<Approval>) -> Value {
    let document = &approval.document;
    json!({
        "actor": document.key_fingerprint,
        "approval_digest": approval.sha256,
        "request_digest": document.request_digest,
    })
}
