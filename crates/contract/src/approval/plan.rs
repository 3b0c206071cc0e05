//! The plan: the exact run, and everything that it relies on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EvidencePointer, Nonce, PlanSchema, PlannedMark};
use crate::decision::Profile;
use crate::digest::{Digest, canonical_digest};
use crate::id::WorkId;
use crate::model::ModelPair;
use crate::report::ContinuedFrom;
use crate::stage::{MutationMode, Stage};
use crate::statement::SignedHarness;
use crate::task::{ForbiddenAction, Limits, TaskContract};

/// Canonical document. The same function makes it for a request and for the run; two plans
/// are the same exactly if their digests are. Differences are listed in the order of the
/// fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Plan of a run")]
pub struct Plan {
    pub schema: PlanSchema,
    pub stage: Stage,
    pub mutation_mode: MutationMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<WorkId>,
    pub contract_digest: Digest,
    pub contract: TaskContract,
    /// Repository that would be changed, as it was observed.
    pub repository: PlannedRepository,
    pub branch: PlannedBranch,
    /// Run whose patch the engine's workspace begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<ContinuedFrom>,
    pub engine: PlannedEngine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelPair>,
    pub limits: Limits,
    pub sandbox: PlannedSandbox,
    /// Records relied on.
    pub records: Vec<PlannedRecord>,
    /// Effective settings, by name.
    pub settings: Vec<PlannedSetting>,
    /// Paths that the run may change and that cannot be restored, or that deserve a second
    /// look.
    pub marks: Vec<PlannedMark>,
    /// Proofs that the stage rests on.
    pub evidence: Vec<EvidencePointer>,
    pub harness: SignedHarness,
    pub ledger_id: String,
    /// Digest of what tells this home from a copy of it.
    pub instance_id: Digest,
    /// Key of the person who asked.
    pub requester_fingerprint: String,
    /// Digest of the policy's terms for this stage and target.
    pub policy_digest: Digest,
    /// Version of the text that is shown.
    pub packet_renderer: String,
    /// Made by the request and taken over by the run: a second request for the same work
    /// has another digest.
    pub nonce: Nonce,
}

/// Kind of repository that a run may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepositoryKind {
    /// Temporary: made for the run, at stage 4.
    Disposable,
    /// Owned and admitted, from stage 5 on.
    Admitted,
}

/// Repository of the plan, as it was when the plan was made. The gates compare it with the
/// repository of the run, so a change in between invalidates the approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedRepository {
    pub kind: RepositoryKind,
    /// Name that the sentence has.
    pub name: String,
    /// Absolute path; for a disposable repository that of what it is made from, or nothing
    /// for a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Digest of what tells this repository from another at the same path.
    pub identity: Digest,
    pub owner: String,
    pub risk_classification: String,
    pub head_commit: String,
    pub head_tree: String,
    pub clean: bool,
    /// Branch that was checked out; absent where HEAD names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_out: Option<String>,
    /// Allowed paths of the target admission, which the contract can only narrow; empty
    /// without an admission.
    pub allowed_paths: Vec<String>,
    pub forbidden_paths: Vec<String>,
    pub forbidden_actions: Vec<ForbiddenAction>,
}

/// Branch of the result. Its name may hold `<request>`, for which the run puts the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedBranch {
    pub policy: String,
    pub name: String,
}

/// Engine of the plan, pinned to the digest of its program tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedEngine {
    pub id: String,
    pub source_id: String,
    pub tree_sha256: Digest,
    /// Arguments before anything of a run is put in.
    pub argv_template: Vec<String>,
}

/// Confinement that the run must get; a weaker sandbox needs a new request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedSandbox {
    pub profile: Profile,
    pub mounts: Vec<PlannedMount>,
}

/// Read-only folder of the operator's machine inside the sandbox, pinned by digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedMount {
    pub source: String,
    pub target: String,
    pub tree_sha256: Digest,
}

/// Kind of a record that a run relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    SourceAdmission,
    ModelAdmission,
    ProviderDecision,
    TargetAdmission,
}

impl RecordKind {
    /// Name of the kind for people, as packets print it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SourceAdmission => "source admission",
            Self::ModelAdmission => "model admission",
            Self::ProviderDecision => "provider decision",
            Self::TargetAdmission => "target admission",
        }
    }
}

/// Signed record that the plan relies on, pinned by digest: editing the record afterwards
/// invalidates the approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedRecord {
    pub kind: RecordKind,
    /// Name of its file.
    pub file: String,
    pub sha256: Digest,
    pub status: String,
    pub approval_source: String,
    pub review_trigger: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
}

/// A setting and where it came from. Never a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedSetting {
    pub name: String,
    pub value: String,
    pub source: String,
}

impl Plan {
    /// SHA-256 of its RFC 8785 bytes: the request digest.
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        canonical_digest(self)
    }

    /// Name of the work in sentence and packet: `work_id`, else `task_id`.
    pub fn work_name(&self) -> &str {
        self.work_id.as_ref().map_or(self.contract.task_id.as_str(), WorkId::as_str)
    }
}
