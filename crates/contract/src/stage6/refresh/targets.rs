//! Targets of the passes as they are now: verified on copies, and read only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::report::{CheckResult, Verification};

/// The verification of each pass, held on a copy of its target's HEAD of now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetValidation {
    pub result: CheckResult,
    pub targets: Vec<RefreshTarget>,
}

/// One target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefreshTarget {
    pub target_repository_path: String,
    /// Its state before anything of it was read; null where it cannot be read.
    pub before: Option<RefreshTargetState>,
    pub after: Option<RefreshTargetState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub validations: Vec<RefreshValidation>,
}

impl RefreshTarget {
    /// True if HEAD, references, files and status are known and the same before and after.
    pub fn is_unchanged(&self) -> bool {
        self.before.is_some() && self.before == self.after
    }
}

/// State of a target, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefreshTargetState {
    pub head: String,
    /// SHA-256 of the names and values of its references.
    pub refs_sha256: String,
    /// SHA-256 of HEAD and of every path, mode and content of its work tree.
    pub sha256: String,
    /// False where git calls its work tree dirty.
    pub clean: bool,
}

/// The verification of one case on HEAD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefreshValidation {
    pub case_id: TaskId,
    /// Commit that it was held on.
    pub head: String,
    pub verification: Verification,
    /// Reason for which it could not be held, or the first fault of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl RefreshValidation {
    /// True if the verification passed on a copy of the target's current state.
    pub fn passed(&self) -> bool {
        self.verification.result == CheckResult::Pass
    }
}

/// Comparison of all targets before and after the refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetReadOnlyStatus {
    /// Every target is as it was before.
    Unchanged,
    Changed,
    /// There is no target, or one cannot be read.
    NotRead,
}
