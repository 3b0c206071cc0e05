//! The task contract: as a person writes it ([`TaskFile`]) and resolved ([`TaskContract`]).
//!
//! Resolution writes every default out and reads the files a contract names; the digest of
//! the resolved form is the contract's identity and is never resolved again.

mod exit_code;
mod file;
mod resolve;
mod retry;

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::{Digest, canonical_digest};
use crate::exam::{Ecosystem, exam_sets};
use crate::id::{TaskId, WorkId};
use crate::paths::{ParseGlobError, PathRules, PathSet};
use crate::stage::{MutationMode, Stage};

pub use exit_code::hidden_exit_code;
pub(crate) use file::require_keys;
pub use file::{BlindFile, CommandFile, EnvironmentFile, ExamFile, FullCommand, LimitsFile, PlacedFile, TaskFile};
pub use resolve::{ReadBeside, title_of};
pub use retry::RetryRule;

/// Harm that a mistake could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(title = "risk class")]
pub enum RiskClass {
    Low,
    Medium,
    High,
    Critical,
}

/// Action that no engine can take. Naming one states the intent and lets an attempt be
/// reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(title = "forbidden action")]
pub enum ForbiddenAction {
    Push,
    Merge,
    Deploy,
    Close,
    PrOpen,
    IssueClose,
    PublicPublication,
    CredentialChange,
    VendorSourceMutation,
    CortexCoreMutation,
}

impl ForbiddenAction {
    /// Every value, in order.
    pub const ALL: &'static [Self] = &[
        Self::Push,
        Self::Merge,
        Self::Deploy,
        Self::Close,
        Self::PrOpen,
        Self::IssueClose,
        Self::PublicPublication,
        Self::CredentialChange,
        Self::VendorSourceMutation,
        Self::CortexCoreMutation,
    ];

    /// Spelling in contracts and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Merge => "merge",
            Self::Deploy => "deploy",
            Self::Close => "close",
            Self::PrOpen => "pr_open",
            Self::IssueClose => "issue_close",
            Self::PublicPublication => "public_publication",
            Self::CredentialChange => "credential_change",
            Self::VendorSourceMutation => "vendor_source_mutation",
            Self::CortexCoreMutation => "cortex_core_mutation",
        }
    }
}

/// Classification of the source repository. The only value: other sources cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(title = "source classification")]
pub enum SourceClassification {
    OwnedLocal,
}

/// The version of the contract's own format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "contract version")]
pub enum ContractVersion {
    #[default]
    #[serde(rename = "1")]
    One,
}

/// Requirements of the repository to build and test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Environment {
    pub mounts: Vec<Mount>,
    /// Directories put before the system's on PATH.
    pub path: Vec<String>,
    /// Never a secret.
    pub variables: BTreeMap<String, String>,
    /// Makes dependencies: once on the baseline, and again where a judged tree differs in
    /// what it may see.
    pub setup: Vec<Command>,
    /// All that setup may see of the tree; the whole tree where there are none.
    pub setup_inputs: Vec<String>,
    pub setup_network: Vec<String>,
    /// Makes what is under test, on every judged tree. Written out only where there is any,
    /// like the key below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<Command>,
    /// True if setup may use the network on `setup_inputs` that a patch changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub setup_network_for_patch: bool,
}

/// Folder of the operator's machine that the sandbox shows read-only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    pub source: String,
    /// Without one the source appears at its own path, or below `/opt/cto` where the
    /// sandbox has something of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A command, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    #[schemars(length(min = 1))]
    pub argv: Vec<String>,
    #[serde(default)]
    pub shell: bool,
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: u64,
    #[serde(default)]
    pub cwd: Option<String>,
}

fn default_timeout() -> u64 {
    300
}

/// Resolved blind check. It holds only a digest of the expected output, so that no artifact
/// reveals the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlindCheck {
    pub argv: Vec<String>,
    pub stdin: String,
    pub expect_exit: u8,
    pub expect_stdout_sha256: Option<Digest>,
    pub timeout_seconds: u64,
}

impl BlindCheck {
    /// True if it compares output that a program cannot produce without computing it. Empty
    /// output does not count.
    pub fn compares_output(&self) -> bool {
        self.expect_stdout_sha256.is_some_and(|expected| expected != Digest::of_bytes(b""))
    }
}

/// Patch file of a contract, read and pinned by digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchContent {
    pub file: String,
    pub sha256: Digest,
    pub text: String,
}

/// File of a contract, read and pinned by digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileContent {
    pub path: String,
    pub sha256: Digest,
    pub base64: String,
}

impl FileContent {
    /// Decoded content; none if the text is not valid base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        base64::engine::general_purpose::STANDARD.decode(&self.base64).ok()
    }
}

/// A value in the shape of a secret that one file of the patch may hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretAllowance {
    /// The rule that finds it.
    #[schemars(length(min = 1, max = 40))]
    pub rule: String,
    /// One file, literally; no glob.
    #[schemars(length(min = 1))]
    pub path: String,
    /// The SHA-256 of the value without its line breaks, as `cto scan` prints it.
    pub value_sha256: Digest,
    /// Reason why it is no secret.
    #[schemars(length(min = 1, max = 500))]
    pub reason: String,
}

/// Resolved limits of a run. A limit without a default stays absent and is then not
/// enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub wall_seconds: u64,
    pub memory_bytes: u64,
    pub processes: u64,
    pub disk_bytes: u64,
    pub output_bytes: u64,
    pub model_requests: Option<u64>,
    pub model_tokens: Option<u64>,
    pub money_micros: Option<u64>,
}

/// A contract with every default written out; its canonical digest is its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Resolved task contract")]
pub struct TaskContract {
    pub schema_version: ContractVersion,
    pub task_id: TaskId,
    pub title: String,
    pub brief: String,
    pub target_repository: Option<String>,
    pub source_repository: Option<String>,
    pub source_owner: Option<String>,
    pub source_classification: Option<SourceClassification>,
    pub authority_basis: Option<String>,
    pub risk_class: RiskClass,
    pub allowed_paths: Vec<String>,
    pub forbidden_paths: Vec<String>,
    pub protected_paths: Vec<String>,
    pub exam_may_change: Vec<String>,
    pub tests_may_go: Vec<String>,
    pub forbidden_actions: Vec<ForbiddenAction>,
    pub mutation_mode: MutationMode,
    pub approval_required: bool,
    pub diff_required: bool,
    pub verification_commands: Vec<Command>,
    pub no_test_rationale: Option<String>,
    pub blind_checks: Vec<BlindCheck>,
    pub control_patch: Option<PatchContent>,
    pub verification_files: Vec<FileContent>,
    pub environment: Environment,
    pub success_criteria: Vec<String>,
    pub rollback_expectation: Option<String>,
    pub limits: Limits,
    pub branch_policy: String,
    pub evidence_expectations: Vec<String>,
    /// Written out only where there are any, like every key below, so that the digests of
    /// other contracts stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_pass: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_stay_red: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky_retries: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_allowances: Vec<SecretAllowance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<WorkId>,
}

/// Repetitions of a test that fails only with the patch, where the contract says nothing.
const FLAKY_RETRIES: u8 = 2;

impl TaskContract {
    /// Repetitions on each tree of a test that passed in the baseline and fails with the patch.
    pub fn flaky_retries(&self) -> u8 {
        self.flaky_retries.unwrap_or(FLAKY_RETRIES)
    }

    /// SHA-256 over the RFC 8785 bytes: the contract's identity.
    ///
    /// Fails only if the contract cannot be serialised.
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        canonical_digest(self)
    }

    /// True if a run at this stage needs an approval: from `sandbox-repo` upward always,
    /// below where the contract asks for one. A contract with a higher `mutation_mode` asks
    /// for none below: that mode is a ceiling, and the stage's mode counts.
    pub fn needs_approval_at(&self, stage: Stage) -> bool {
        let asks = self.approval_required && !self.mutation_mode.needs_approval();
        asks || stage.mutation_mode().needs_approval()
    }

    /// The paths of this contract, with the default exam set of these ecosystems.
    pub fn path_rules(&self, ecosystems: &[Ecosystem]) -> Result<PathRules, ParseGlobError> {
        Ok(PathRules {
            allowed: PathSet::rooted(&self.allowed_paths)?,
            forbidden: PathSet::any_depth(&self.forbidden_paths)?,
            exam: exam_sets(ecosystems)?,
            protected: PathSet::any_depth(&self.protected_paths)?,
            released: PathSet::any_depth(&self.exam_may_change)?,
            released_by_name: BTreeSet::new(),
        })
    }
}
