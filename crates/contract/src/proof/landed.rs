//! The proofs of stages 4 and 5: the changed repository, its approval, and its state
//! afterwards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SourceState;
use crate::digest::Digest;
use crate::id::{RunId, TaskId, WorkId};
use crate::model::AdmissionStatus;
use crate::report::{CheckResult, OperatorOutcome};
use crate::stage::{MutationMode, Stage};
use crate::task::ForbiddenAction;
use crate::time::Stamp;

/// The run that a proof is about, and how far it might reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProofSubject {
    pub schema_version: String,
    pub run_id: RunId,
    pub task_id: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<WorkId>,
    pub stage: Stage,
    pub engine: String,
    pub mutation_mode: MutationMode,
    pub allowed_mutation_scope: String,
}

/// `stage4-disposable-sandbox-proof.json`: a repository that was made for the run, the
/// approval for changing it, and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Disposable repository")]
pub struct DisposableRepositoryProof {
    #[serde(flatten)]
    pub subject: ProofSubject,
    pub disposable_repository_dir: String,
    /// Owner of the repository, and the reason why it is theirs.
    pub ownership: String,
    pub creation_source: CreationSource,
    /// Time at which the repository goes, or the reason for which it stays.
    pub disposal_note: String,
    /// Policy that was recorded before the engine started.
    pub branch_policy: String,
    pub approval: ApprovalProof,
    /// File of the same bundle; absent for the fake engine, which others are compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_target_proof: Option<String>,
    #[serde(flatten)]
    pub actions: ActionProof,
    #[serde(flatten)]
    pub paths: PathProof,
    pub repository_head_before: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_head_after: Option<String>,
    pub repository_start_clean: bool,
    pub repository_ending_clean: bool,
    /// The landed change; absent where the run did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<LandedCommit>,
    pub case_process_started: bool,
    pub verification: CheckResult,
    pub runtime_default_activation: bool,
    pub passed: bool,
}

/// Origin of a disposable repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreationSource {
    pub kind: CreationKind,
    /// Commit of the baseline in the repository.
    pub commit: String,
    pub tree: String,
    /// The source repository before the run; absent for a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<SourceState>,
    /// The same after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<SourceState>,
}

/// Origin of the files in a disposable repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreationKind {
    /// The files of a case.
    CaseFiles,
    /// HEAD of an owned local repository, which was only read.
    SourceRepository,
}

/// The approval of a run, as the decision found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalProof {
    pub status: ApprovalAnswer,
    pub request_digest: Digest,
    pub packet_digest: Digest,
    pub policy_digest: Digest,
    /// Digests of the approvals that the run rests on.
    pub approval_digests: Vec<Digest>,
    /// Keys that approved.
    pub approved_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Stamp>,
    /// True from the transaction on that records the start of the engine.
    pub approval_consumed: bool,
}

/// Answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    Granted,
    Denied,
}

/// Forbidden actions, and the attempts at them that the recorders saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionProof {
    pub forbidden_actions: Vec<ForbiddenAction>,
    /// True if the recorders watched and saw no attempt.
    pub no_forbidden_actions: bool,
    pub public_publication_attempted: bool,
    pub push_merge_deploy_close_pr_open_attempted: bool,
}

/// Paths of the change, by contract and admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathProof {
    pub allowed_paths_passed: bool,
    pub forbidden_paths_passed: bool,
    pub changed_files: Vec<String>,
}

/// The one commit of a run, and the references that name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandedCommit {
    pub commit: String,
    /// Its one parent: the recorded HEAD.
    pub parent: String,
    pub tree: String,
    pub branch: String,
    /// `refs/cto/used/<request digest>`, made together with the branch; absent in a
    /// disposable repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_mark: Option<String>,
    /// The branch was there and was moved forward, as `branch_policy: current` says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
}

/// `stage5-owned-repo-proof.json`, and `stage6-owned-repo-proof.json` of a run as candidate
/// default: an admitted target, the approval for changing it, and the one commit that it
/// got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Owned repository")]
pub struct OwnedRepositoryProof {
    #[serde(flatten)]
    pub subject: ProofSubject,
    pub target_repository_path: String,
    pub target_repository_admission_status: AdmissionStatus,
    pub admission: AdmissionProof,
    pub approval: ApprovalProof,
    /// Copied from the first of the approvals.
    pub approval_source: String,
    /// Digest of the first of the approvals.
    pub approval_digest: Digest,
    pub branch_policy: String,
    #[serde(flatten)]
    pub actions: ActionProof,
    #[serde(flatten)]
    pub paths: PathProof,
    pub target_repository_head_before: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_repository_head_after: Option<String>,
    pub target_repository_before: SourceState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_repository_after: Option<SourceState>,
    pub target_repository_start_clean: bool,
    pub target_repository_ending_clean: bool,
    /// The landed commit; null where the run did not pass.
    pub target_commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<LandedCommit>,
    pub case_process_started: bool,
    pub verification: CheckResult,
    /// Always `pending`: the operator answers after the seal.
    pub operator_outcome: OperatorOutcome,
    pub operator_outcome_required: bool,
    pub runtime_default_activation: bool,
    pub passed: bool,
}

/// The admission of a target, as the decision found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdmissionProof {
    pub sha256: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    pub repository_owner: String,
    pub ownership_evidence: String,
    pub risk_classification: String,
    pub approval_source: String,
    pub approval_timestamp: String,
    pub review_trigger: String,
    pub allowed_paths: Vec<String>,
    pub forbidden_paths: Vec<String>,
}
