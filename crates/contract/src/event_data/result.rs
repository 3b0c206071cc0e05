//! Data of events about the change, its verification and the end of a run.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::reason::Reason;
use crate::report::{CheckResult, ScanStatus};
use crate::status::Status;

/// Data of `patch.applied`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatchAppliedData {
    pub bytes: usize,
    pub files: usize,
    /// True if the patch makes the same tree as the result.
    pub reproduced: bool,
    pub sha256: Digest,
}

/// Data of `git.diff.checked`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GitDiffCheckedData {
    pub allowed_writes_passed: bool,
    pub changed_files: usize,
    pub forbidden_paths_passed: bool,
    pub result_tree: String,
}

/// Data of `verification.completed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerificationCompletedData {
    /// Number of checks; absent if verification never began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<usize>,
    pub result: CheckResult,
}

/// Data of `secret.scan.completed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SecretScanCompletedData {
    pub files_scanned: u64,
    pub hits: usize,
    pub status: ScanStatus,
}

/// Data of `run.completed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunCompletedData {
    pub backend_exit_code: Option<i32>,
    pub blockers: Vec<Reason>,
    pub status: Status,
}
