//! Passes of stage 5 as a refresh repeats them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{RunId, TaskId, WorkId};
use crate::proof::ApprovalProof;
use crate::report::OperatorOutcome;

/// One pass. Approval and changed files are copied from its proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RealOwnedPass {
    pub case_id: TaskId,
    pub run_id: RunId,
    pub work_id: Option<WorkId>,
    /// Path of `report.json`, relative to the home.
    pub report: String,
    /// Path of `stage5-owned-repo-proof.json`, relative to the home.
    pub proof: String,
    pub target_commit: Option<String>,
    pub changed_files: Vec<String>,
    pub approval_source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_digest: Option<Digest>,
    /// Absent where the proof cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalProof>,
    /// Taken from the signed outcome alone; `pending` without one.
    pub operator_outcome: OperatorOutcome,
    /// SHA-256 of the signed outcome.
    pub operator_outcome_sha256: Option<Digest>,
    /// SHA-256 of the bundle's attestation; absent where the bundle does not verify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attestation_sha256: Option<Digest>,
}
