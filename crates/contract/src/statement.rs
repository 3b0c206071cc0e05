//! The signed in-toto statement about a bundle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::collection::{CitedBundle, CollectionKind};
use crate::coverage::Coverage;
use crate::decision::Profile;
use crate::digest::Digest;
use crate::id::{RunId, TaskId, WorkId};
use crate::model::{AdmissionStatus, ModelPair};
use crate::reason::Reason;
use crate::report::{CheckResult, HostFacts, OperatorOutcome, PassKind, TestComparison};
use crate::stage::Stage;
use crate::status::{Purpose, Status};
use crate::time::Stamp;

pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
pub const PREDICATE_TYPE: &str = "urn:x-cto:attestation:run:v1";
pub const COLLECTION_PREDICATE_TYPE: &str = "urn:x-cto:attestation:collection:v1";
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "In-toto statement of a run")]
#[serde(deny_unknown_fields)]
pub struct Statement {
    #[serde(rename = "_type")]
    pub kind: String,
    pub subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: Predicate,
}

/// One file of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    pub name: String,
    pub digest: SubjectDigest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubjectDigest {
    pub sha256: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Predicate {
    pub schema_version: String,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub stage: Stage,
    pub purpose: Purpose,
    pub contract_digest: Digest,
    pub request_digest: Option<Digest>,
    pub decision_id: Digest,
    pub approval_digest: Option<Digest>,
    pub harness: SignedHarness,
    pub baseline_commit: Option<String>,
    pub baseline_tree: Option<String>,
    pub result_tree: Option<String>,
    pub patch_sha256: Digest,
    pub engine: SignedEngine,
    pub model: SignedModel,
    pub sandbox: SignedSandbox,
    pub verification: Vec<SignedCheck>,
    pub verdict: Status,
    pub blockers: Vec<Reason>,
    pub coverage: Vec<Coverage>,
    pub events: SignedEvents,
    pub ledger: SignedLedger,
    pub key: String,
    pub started_at: Stamp,
    pub finished_at: Stamp,
    pub sealed_by: SealedBy,
    /// Item of the workboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<WorkId>,
    /// From stage 4 on, as the next five.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_mutation_scope: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_policy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposable_repository_dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_repository_admission_status: Option<AdmissionStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_commit: Option<String>,
    /// Always `pending`: the operator answers after the seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_outcome: Option<OperatorOutcome>,
    /// Kind of a document about other bundles; absent for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CollectionKind>,
    /// Bundles that such a document read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bundles: Vec<CitedBundle>,
    /// Model of the engine that such a document is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_model: Option<ModelPair>,
}

impl Predicate {
    /// Type of the predicate: that of a run, or of a document about other bundles.
    pub const fn predicate_type(&self) -> &'static str {
        match self.kind {
            None => PREDICATE_TYPE,
            Some(_) => COLLECTION_PREDICATE_TYPE,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedHarness {
    pub version: String,
    pub executable_sha256: Digest,
}

impl SignedHarness {
    pub fn of(host: &HostFacts) -> Self {
        Self { version: host.harness_version.clone(), executable_sha256: host.harness_sha256 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedEngine {
    pub id: String,
    pub source_id: String,
    pub tree_sha256: Digest,
    pub argv_sha256: Option<Digest>,
    pub process_started: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedModel {
    pub requested: Option<String>,
    pub asked: Vec<String>,
    pub answered: Vec<String>,
    pub refused: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedSandbox {
    pub asked: Profile,
    pub applied: Profile,
    pub probe_sha256: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedCheck {
    pub kind: PassKind,
    pub argv_sha256: Digest,
    pub exit: Option<i32>,
    pub tests: TestComparison,
    pub result: CheckResult,
}

/// Head and count of the event chain, so that a cut tail is found too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedEvents {
    pub head: Digest,
    pub count: u64,
}

/// Where the ledger stood when the run started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedLedger {
    pub id: String,
    pub head: Digest,
    pub seq: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SealedBy {
    Run,
    Recover,
}

/// A DSSE envelope: exactly one signature, canonical bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "DSSE envelope")]
pub struct Envelope {
    pub payload: String,
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    pub signatures: Vec<Signature>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// `SHA256:<base64>` of the OpenSSH public key.
    pub keyid: String,
    pub sig: String,
}
