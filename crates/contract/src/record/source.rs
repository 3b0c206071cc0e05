//! The admission of an engine's source: the program to the byte, its call and identity, its
//! licence, and the person who admits it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::identity_check::IdentityCheck;
use crate::record::target::read_date_or_time;
use crate::stage::{MutationMode, Stage};
use crate::time::{Stamp, read_written_stamp};

/// State of the licence review. It limits the stages that the engine can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LicenseStatus {
    Resolved,
    Unresolved,
}

/// `admissions/source/<engine>.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Engine source admission")]
pub struct SourceAdmission {
    pub engine: String,
    /// `admitted`; any other word admits nothing.
    pub status: String,
    /// `<engine>@<pin>+<first 12 of the tree digest>`.
    pub source_id: String,
    #[serde(default)]
    pub source_url: String,
    /// A commit; a branch is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_commit: Option<String>,
    /// A tag or version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_source_id: Option<String>,
    pub license_note: String,
    pub license_status: LicenseStatus,
    /// Lets an unresolved licence be used at stages 3 and 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal_use_note: Option<String>,
    pub retrieval_date: String,
    pub retrieval_command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity_reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_date: Option<String>,
    /// Name to version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub toolchain: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_command: Option<String>,
    /// Path from which the program was taken. Information only: runs use the copy in the
    /// harness's home.
    pub executable_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package_name: Option<String>,
    /// The executable below its tree.
    pub executable: String,
    pub executable_sha256: Digest,
    /// Digest of the sorted manifest of the package.
    pub source_tree_sha256: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter_sha256: Option<Digest>,
    pub identity_check: IdentityCheck,
    /// The arguments as the engine's definition has them.
    pub command_shape: Vec<String>,
    /// Empty means planning only.
    pub allowed_execution_modes: Vec<MutationMode>,
    #[serde(default)]
    pub protected_source_boundary: String,
    pub approval_source: String,
    pub approval_timestamp: String,
    pub review_trigger: String,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_written_stamp")]
    pub expires_at: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_stage: Option<Stage>,
}

/// Places that anybody can write to and that are empty after the next start.
const TEMPORARY: &[&str] = &["/tmp/", "/var/tmp/", "/dev/shm/", "/run/"];

/// True for paths below temporary folders, from which nothing may be admitted because it
/// may vanish or be replaced.
pub fn is_temporary(path: &str) -> bool {
    TEMPORARY.iter().any(|folder| path.starts_with(folder))
}

/// Names of branches, which mean another thing tomorrow.
const BRANCHES: &[&str] = &["main", "master", "trunk", "develop", "dev", "head", "latest", "nightly"];

impl SourceAdmission {
    /// Status of a record that admits.
    pub const ADMITTED: &str = "admitted";

    /// Errors that the schema cannot express. A record with any of them counts as invalid.
    pub fn problems(&self) -> Vec<String> {
        let required = [
            ("engine", &self.engine),
            ("status", &self.status),
            ("source_id", &self.source_id),
            ("license_note", &self.license_note),
            ("retrieval_date", &self.retrieval_date),
            ("retrieval_command", &self.retrieval_command),
            ("executable_path", &self.executable_path),
            ("executable", &self.executable),
            ("approval_source", &self.approval_source),
            ("review_trigger", &self.review_trigger),
        ];
        let empty = required.iter().filter(|(_, value)| value.trim().is_empty());
        let mut problems: Vec<String> = empty.map(|(name, _)| format!("`{name}` is empty")).collect();
        problems.extend(self.pin_problem());
        if read_date_or_time(&self.approval_timestamp).is_none() {
            problems.push("`approval_timestamp` is neither a date nor a time with an offset".to_owned());
        }
        if is_temporary(&self.executable_path) {
            problems.push("`executable_path` lies in a temporary directory".to_owned());
        }
        if self.command_shape.is_empty() {
            problems.push("`command_shape` is empty".to_owned());
        }
        problems
    }

    fn pin_problem(&self) -> Option<String> {
        let is_branch = |pin: &str| BRANCHES.contains(&pin.to_ascii_lowercase().as_str());
        match (&self.pinned_commit, &self.version) {
            (None, None) => Some("neither `pinned_commit` nor `version` is set".to_owned()),
            (Some(commit), _) if commit.len() < 40 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Some("`pinned_commit` is not a whole commit id".to_owned())
            }
            (None, Some(version)) if is_branch(version) || version.trim().is_empty() => {
                Some("`version` is a branch; name a tag or a version".to_owned())
            }
            _ => None,
        }
    }
}
