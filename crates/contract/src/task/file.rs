//! A contract as a person writes it. The JSON Schema derived from these types is both
//! published and enforced.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ContractVersion, ForbiddenAction, Mount, RetryRule, RiskClass, SecretAllowance, SourceClassification};
use crate::digest::Digest;
use crate::id::{TaskId, WorkId};
use crate::stage::MutationMode;

/// A task contract as a person writes it, in YAML or JSON.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Task contract", transform = require_keys)]
pub struct TaskFile {
    /// Always "1".
    pub schema_version: ContractVersion,
    #[schemars(with = "TaskId")]
    pub task_id: String,
    /// The first line of the brief is the default.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub title: Option<String>,
    /// Text for the engine.
    #[schemars(length(min = 1, max = 65536))]
    pub brief: String,
    #[serde(default)]
    pub target_repository: Option<String>,
    #[serde(default)]
    pub source_repository: Option<String>,
    #[serde(default)]
    pub source_owner: Option<String>,
    #[serde(default)]
    pub source_classification: Option<SourceClassification>,
    /// The record that this task rests on.
    #[serde(default)]
    pub authority_basis: Option<String>,
    pub risk_class: RiskClass,
    /// Globs that may change. Without any, the decision is a refusal.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub allowed_paths: Vec<String>,
    /// Globs that must not change, at any depth unless they begin with `/`.
    #[serde(default)]
    pub forbidden_paths: Vec<String>,
    /// Globs added to the exam set.
    #[serde(default)]
    pub protected_paths: Vec<String>,
    /// Globs released from the exam set.
    #[serde(default)]
    pub exam_may_change: Vec<String>,
    /// Names of tests that may disappear.
    #[serde(default)]
    pub tests_may_go: Vec<String>,
    /// All ten unless some are named. An empty list is a refusal.
    #[serde(default)]
    pub forbidden_actions: Option<Vec<ForbiddenAction>>,
    /// Default: `copied-fixture`, a copy of the repository and nothing else.
    #[serde(default)]
    pub mutation_mode: Option<MutationMode>,
    #[serde(default)]
    pub approval_required: Option<bool>,
    #[serde(default)]
    pub diff_required: Option<bool>,
    #[serde(default)]
    pub verification_commands: Vec<CommandFile>,
    /// Reason for having no verification. Such a run never counts on the ladder.
    #[serde(default)]
    pub no_test_rationale: Option<String>,
    #[serde(default)]
    pub blind_checks: Vec<BlindFile>,
    /// A patch beside the contract that alters the exam so that it must fail.
    #[serde(default)]
    pub control_patch: Option<String>,
    /// Files beside the contract that are laid on top of the exam.
    #[serde(default)]
    pub verification_files: Vec<ExamFile>,
    #[serde(default)]
    pub environment: EnvironmentFile,
    #[serde(default)]
    pub success_criteria: Vec<String>,
    #[serde(default)]
    pub rollback_expectation: Option<String>,
    #[serde(default)]
    pub limits: LimitsFile,
    /// Name pattern of the result branch, or `current`.
    #[serde(default)]
    pub branch_policy: Option<String>,
    /// Extra artifacts that must exist for a pass.
    #[serde(default)]
    pub evidence_expectations: Vec<String>,
    /// Tests that must be red or absent before the change and green after it: identities,
    /// or patterns with `*`.
    #[serde(default)]
    #[schemars(inner(length(min = 1, max = 1000)))]
    pub must_pass: Vec<String>,
    /// Tests that fail in the baseline and may go on failing: identities, or patterns with `*`.
    #[serde(default)]
    #[schemars(inner(length(min = 1, max = 1000)))]
    pub may_stay_red: Vec<String>,
    /// Number of times that a test is repeated on both trees if it passed in the baseline
    /// and fails with the patch; default: 2.
    #[serde(default)]
    #[schemars(range(min = 0, max = 20))]
    pub flaky_retries: Option<u8>,
    /// Repetition of a queued run that ended before its patch could be judged; stages 1 to 3.
    #[serde(default)]
    pub retry: Option<RetryRule>,
    /// Values in the shape of a secret that the patch may hold.
    #[serde(default)]
    pub secret_allowances: Vec<SecretAllowance>,
    /// Item of the workboard that the task belongs to.
    #[serde(default)]
    pub work_id: Option<WorkId>,
}

/// The keys a contract must have; absence of the allowed paths is a refusal, not an error
/// (`x-cto-absent`).
pub(crate) fn require_keys(schema: &mut schemars::Schema) {
    let required = ["schema_version", "task_id", "brief", "risk_class", "allowed_paths"];
    schema.insert("required".into(), required.as_slice().into());
}

/// Needs of the repository to build and test.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Environment")]
pub struct EnvironmentFile {
    pub mounts: Vec<Mount>,
    /// Directories put before the system's on PATH.
    pub path: Vec<String>,
    /// Never a secret.
    pub variables: BTreeMap<String, String>,
    /// Makes dependencies.
    pub setup: Vec<CommandFile>,
    /// Globs of all that setup may see of the tree; the whole tree where there are none.
    pub setup_inputs: Vec<String>,
    /// Hosts that setup alone may reach. Needs `setup_inputs`.
    pub setup_network: Vec<String>,
    /// True if setup may use the network on `setup_inputs` that a patch changed.
    pub setup_network_for_patch: bool,
    /// Makes what is under test, on every judged tree.
    pub build: Vec<CommandFile>,
}

/// A command of the exam: words, or an argv array, or an object.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandFile {
    Words(String),
    Argv(#[schemars(length(min = 1))] Vec<String>),
    Full(FullCommand),
}

/// Command with its options; either `argv` or `command` must be given.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FullCommand {
    #[serde(default)]
    pub argv: Option<Vec<String>>,
    /// Split by shell words, never run through a shell unless `shell: true`.
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub shell: bool,
    #[serde(default)]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: Option<u64>,
    #[serde(default)]
    pub cwd: Option<String>,
}

/// Blind check as written. Expected output is given as text or as digest, and neither
/// reaches the engine.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlindFile {
    #[schemars(length(min = 1))]
    pub argv: Vec<String>,
    #[serde(default)]
    pub stdin: String,
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub expect_exit: u8,
    #[serde(default)]
    pub expect_stdout: Option<String>,
    #[serde(default)]
    pub expect_stdout_sha256: Option<Digest>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: Option<u64>,
}

/// A file beside the contract, and where it lies in the exam.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExamFile {
    Same(String),
    Placed(PlacedFile),
}

/// File of the contract's folder and the path at which it is placed in the tree.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacedFile {
    pub file: String,
    pub path: String,
}

/// Limits as written. Absent ones get the defaults when the contract is resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsFile {
    #[schemars(range(min = 1, max = 604800))]
    pub wall_seconds: Option<u64>,
    #[schemars(range(min = 1048576))]
    pub memory_bytes: Option<u64>,
    #[schemars(range(min = 1))]
    pub processes: Option<u64>,
    #[schemars(range(min = 1))]
    pub disk_bytes: Option<u64>,
    #[schemars(range(min = 1))]
    pub output_bytes: Option<u64>,
    pub model_requests: Option<u64>,
    pub model_tokens: Option<u64>,
    pub money_micros: Option<u64>,
}
