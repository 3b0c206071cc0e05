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

/// Type of an in-toto statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Predicate type of a run.
pub const PREDICATE_TYPE: &str = "urn:x-cto:attestation:run:v1";
/// Predicate type of a document about other bundles.
pub const COLLECTION_PREDICATE_TYPE: &str = "urn:x-cto:attestation:collection:v1";
/// Payload type of the envelope.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// In-toto statement about a bundle: the payload of `attestation.dsse.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "In-toto statement of a run")]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Always the type of an in-toto statement.
    #[serde(rename = "_type")]
    pub kind: String,
    /// Files of the bundle with their digests.
    pub subject: Vec<Subject>,
    /// Type of the predicate, with its version.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: Predicate,
}

/// One file of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Path relative to the bundle.
    pub name: String,
    pub digest: SubjectDigest,
}

/// Digest of a subject, in the shape that in-toto asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubjectDigest {
    pub sha256: Digest,
}

/// Content of the statement. It repeats the facts that a reader needs to judge a run
/// without opening the bundle; `verify` compares each of them with the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Predicate {
    /// Version of the predicate's format.
    pub schema_version: String,
    pub run_id: RunId,
    pub task_id: TaskId,
    /// Stage that was asked for.
    pub stage: Stage,
    /// Governed runs count on the ladder; validation runs do not.
    pub purpose: Purpose,
    /// Identity of the resolved contract.
    pub contract_digest: Digest,
    /// Digest of the request, if the run needed an approval.
    pub request_digest: Option<Digest>,
    /// Digest of the inputs of the decision.
    pub decision_id: Digest,
    /// Digest of the approval that the run used up.
    pub approval_digest: Option<Digest>,
    pub harness: SignedHarness,
    /// Commit that the engine started from.
    pub baseline_commit: Option<String>,
    /// Tree that the engine started from.
    pub baseline_tree: Option<String>,
    /// Tree that was captured; null if nothing was captured.
    pub result_tree: Option<String>,
    /// Digest of `patch.diff`, also of an empty one.
    pub patch_sha256: Digest,
    pub engine: SignedEngine,
    pub model: SignedModel,
    pub sandbox: SignedSandbox,
    pub verification: Vec<SignedCheck>,
    /// Verdict of the run.
    pub verdict: Status,
    /// Codes of all blockers, worst first.
    pub blockers: Vec<Reason>,
    /// Gaps in the proof.
    pub coverage: Vec<Coverage>,
    pub events: SignedEvents,
    pub ledger: SignedLedger,
    /// Fingerprint of the key that signs the statement.
    pub key: String,
    pub started_at: Stamp,
    pub finished_at: Stamp,
    /// Run itself, or a recovery after it died.
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

/// Harness that made the run, by version and by digest of its executable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedHarness {
    /// Version of the program.
    pub version: String,
    /// Digest of the running executable.
    pub executable_sha256: Digest,
}

impl SignedHarness {
    /// Takes the harness's part of the host facts.
    pub fn of_host(host: &HostFacts) -> Self {
        Self { version: host.harness_version.clone(), executable_sha256: host.harness_sha256 }
    }
}

/// Engine of the run, reduced to its identity and to the fact that it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedEngine {
    /// Id of the engine.
    pub id: String,
    /// Identity of the source, which rungs of the ladder are earned for.
    pub source_id: String,
    /// Digest of the program and everything that belongs to it.
    pub tree_sha256: Digest,
    /// Digest of the whole command line; null if nothing was started.
    pub argv_sha256: Option<Digest>,
    pub process_started: bool,
}

/// Models that were requested, asked and observed to answer, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedModel {
    /// Pair that the run asked for.
    pub requested: Option<String>,
    /// Model names that the engine sent.
    pub asked: Vec<String>,
    /// Model names that answers carried.
    pub answered: Vec<String>,
    /// Number of requests that the bridge refused.
    pub refused: u64,
}

/// Requested and applied profile, with the digest of the measured postures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedSandbox {
    /// Profile that was asked for.
    pub asked: Profile,
    /// Profile that was in force.
    pub applied: Profile,
    /// Digest of the measured postures; null if nothing was confined.
    pub probe_sha256: Option<Digest>,
}

/// One verification pass, with the digest of its command instead of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedCheck {
    pub kind: PassKind,
    /// Digest of the command line.
    pub argv_sha256: Digest,
    /// Exit code; null if the command did not start or was killed.
    pub exit: Option<i32>,
    pub tests: TestComparison,
    pub result: CheckResult,
}

/// Head and count of the event chain, so that a cut tail is found too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedEvents {
    /// Digest of the last event.
    pub head: Digest,
    /// Number of events.
    pub count: u64,
}

/// Position of the ledger when the run started. A ledger that was cut back later no longer
/// contains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedLedger {
    /// Id of the ledger.
    pub id: String,
    /// Digest of the entry at that position.
    pub head: Digest,
    /// Number of that entry.
    pub seq: u64,
}

/// Origin of a seal: the run itself, or the recovery of a run that died.
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
    /// Statement in base64.
    pub payload: String,
    /// Media type of the payload.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// Exactly one signature; a second one is refused.
    pub signatures: Vec<Signature>,
}

/// DSSE signature over the pre-authentication encoding of the payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// `SHA256:<base64>` of the OpenSSH public key.
    pub keyid: String,
    /// Signature in base64.
    pub sig: String,
}
