//! Statements of people about a sealed run: its outcome, its rollback. Each refers to the
//! bundle's attestation by digest; the bundle itself is never touched.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OutcomeSchema, RollbackSchema};
use crate::digest::Digest;
use crate::id::{RunId, TaskId, WorkId};
use crate::time::Stamp;

/// The operator's answer to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeVerdict {
    Accepted,
    Rejected,
}

impl OutcomeVerdict {
    /// Reads `accepted`, `rejected`, `accept` or `reject`.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "accepted" | "accept" => Some(Self::Accepted),
            "rejected" | "reject" => Some(Self::Rejected),
            _ => None,
        }
    }

    /// Spelling in statements and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
        }
    }
}

/// Origin of an outcome. Only a signed one counts for the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeSource {
    /// Signed with the operator's key.
    Operator,
    /// Set by a variable of the environment, without a signature.
    Environment,
}

/// Verdict of an operator on the work of a sealed run. It counts on the ladder only if the
/// signing key was allowed when the ledger recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Operator outcome of a run")]
pub struct OutcomeStatement {
    pub schema: OutcomeSchema,
    /// SHA-256 of `attestation.dsse.json`.
    pub attestation_sha256: Digest,
    pub run_id: RunId,
    pub task_id: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<WorkId>,
    pub operator_outcome: OutcomeVerdict,
    pub reason: String,
    pub source: OutcomeSource,
    /// Key of the signature; absent if the statement is unsigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_fingerprint: Option<String>,
    pub recorded_at: Stamp,
}

/// Way in which a change was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RollbackAct {
    /// The branch still pointed at the run's commit and was deleted.
    BranchDeleted,
    /// A commit that reverts it.
    Reverted { commit: String },
}

/// Signed note that the commit of a run was taken back. The bundle and its verdict stay as
/// they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Rollback of a run")]
pub struct RollbackStatement {
    pub schema: RollbackSchema,
    /// SHA-256 of `attestation.dsse.json`.
    pub attestation_sha256: Digest,
    pub run_id: RunId,
    pub task_id: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<WorkId>,
    pub repository: String,
    pub branch: String,
    /// Commit of the run.
    pub commit: String,
    pub act: RollbackAct,
    pub reason: String,
    pub key_fingerprint: String,
    pub recorded_at: Stamp,
}
