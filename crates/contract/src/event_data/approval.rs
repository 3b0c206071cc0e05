//! Data of events about approvals.

use serde::{Deserialize, Serialize};

use crate::approval::{Approval, Denial, RecordedDocument, RequestFact};
use crate::digest::Digest;
use crate::stage::MutationMode;
use crate::time::Stamp;

/// Part of the program that made a plan or refused an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventAuthor {
    Harness,
    Ledger,
}

/// Data of `approval.requested`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequestedData {
    /// Fingerprint of the requester's key.
    pub actor: String,
    /// Name that commands take.
    pub request: String,
    pub request_digest: Digest,
    pub requested_at: Stamp,
}

impl From<&RequestFact> for ApprovalRequestedData {
    fn from(request: &RequestFact) -> Self {
        Self {
            actor: request.requester_fingerprint.clone(),
            request: request.name.clone(),
            request_digest: request.request_digest,
            requested_at: request.recorded_at,
        }
    }
}

/// Data of `approval.granted`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalGrantedData {
    /// Fingerprint of the approver's key.
    pub actor: String,
    pub approval_digest: Digest,
    pub expires_at: Stamp,
    pub granted_at: Stamp,
    pub mutation_mode: MutationMode,
    pub not_before: Stamp,
    pub recorded_at: Stamp,
    pub request_digest: Digest,
    pub scope: String,
}

impl From<&RecordedDocument<Approval>> for ApprovalGrantedData {
    fn from(approval: &RecordedDocument<Approval>) -> Self {
        let document = &approval.document;
        Self {
            actor: document.key_fingerprint.clone(),
            approval_digest: approval.sha256,
            expires_at: document.expires_at,
            granted_at: document.granted_at,
            mutation_mode: document.mutation_mode,
            not_before: document.not_before,
            recorded_at: approval.recorded_at,
            request_digest: document.request_digest,
            scope: document.scope.clone(),
        }
    }
}

/// Data of `approval.denied`: the ledger's refusal, a signed denial, or neither if none is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDeniedData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<EventAuthor>,
    #[serde(flatten)]
    pub denial: Option<DenialData>,
}

/// Signed denial of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DenialData {
    /// Fingerprint of the key that denied.
    pub actor: String,
    pub denial_digest: Digest,
    pub denied_at: Stamp,
    pub request_digest: Digest,
}

impl From<&RecordedDocument<Denial>> for DenialData {
    fn from(denial: &RecordedDocument<Denial>) -> Self {
        let document = &denial.document;
        Self {
            actor: document.key_fingerprint.clone(),
            denial_digest: denial.sha256,
            denied_at: document.denied_at,
            request_digest: document.request_digest,
        }
    }
}

/// Data of `approval.break_glass`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakGlassData {
    /// Fingerprint of the approver's key.
    pub actor: String,
    pub approval_digest: Digest,
    pub request_digest: Digest,
}

impl From<&RecordedDocument<Approval>> for BreakGlassData {
    fn from(approval: &RecordedDocument<Approval>) -> Self {
        let document = &approval.document;
        Self {
            actor: document.key_fingerprint.clone(),
            approval_digest: approval.sha256,
            request_digest: document.request_digest,
        }
    }
}
