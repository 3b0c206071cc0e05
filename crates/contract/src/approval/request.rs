//! The request: a record of a plan that changes nothing and allows nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Always, Plan, RequestSchema, render_packet};
use crate::digest::Digest;
use crate::task::ForbiddenAction;
use crate::time::Stamp;

/// Request to approve a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Request for an approval")]
pub struct Request {
    pub schema: RequestSchema,
    /// Digest of `plan`.
    pub request_digest: Digest,
    /// Digest of the text that is made of `plan`.
    pub packet_digest: Digest,
    pub plan: Plan,
    pub approval_granted: Always<false>,
    pub execution_allowed: Always<false>,
    /// Pointers to evidence. The request never holds a copy, which could drift from the
    /// original.
    pub evidence_pointers: Vec<EvidencePointer>,
    /// Actions that stay blocked, also after an approval.
    pub blocked_actions: Vec<ForbiddenAction>,
    /// The one command that leads on.
    pub next_allowed_action: String,
    pub requested_at: Stamp,
}

/// A file of evidence by its path and digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidencePointer {
    /// Below the folder of runs.
    pub path: String,
    pub sha256: Digest,
}

impl Request {
    /// Records a plan under its digest. The request grants nothing: `approval_granted` and
    /// `execution_allowed` are types with the one value false.
    ///
    /// Fails only if the plan cannot be serialised.
    pub fn new(plan: Plan, requested_at: Stamp) -> Result<Self, serde_json::Error> {
        let request_digest = plan.digest()?;
        Ok(Self {
            schema: RequestSchema::V1,
            request_digest,
            packet_digest: Digest::of_bytes(render_packet(&plan)?.as_bytes()),
            approval_granted: Always,
            execution_allowed: Always,
            evidence_pointers: plan.evidence.clone(),
            blocked_actions: ForbiddenAction::ALL.to_vec(),
            next_allowed_action: format!("cto approve {request_digest}"),
            requested_at,
            plan,
        })
    }

    /// True if its digests are those of its plan, its packet and its evidence. False means
    /// that it was edited.
    pub fn is_consistent(&self) -> Result<bool, serde_json::Error> {
        Ok(*self == Self::new(self.plan.clone(), self.requested_at)?)
    }
}
