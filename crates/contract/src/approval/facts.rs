//! Facts for the gates `target_admission` and `approval`. The harness gathers them, the
//! gates judge them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Approval, Denial, Hold, PlanDifference, PolicyTerms, Revocation};
use crate::digest::Digest;
use crate::id::RunId;
use crate::record::{FoundRecord, TargetAdmission};
use crate::signer::SignatureFact;
use crate::status::Status;
use crate::time::Stamp;

/// The admission of the target that the contract or the command names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetAdmissionFacts {
    /// Path of the repository that would be changed.
    pub path: String,
    pub admission: FoundRecord<TargetAdmission>,
    /// Path of the record's file as commands take it; absent without a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The command that drafts or fixes the record.
    pub remedy: String,
}

/// State of the look for an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalInput {
    /// The plan needs the target's HEAD, and the target has not been read yet.
    Deferred,
    Found(Box<ApprovalFacts>),
}

/// The plan of this run, and what people said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalFacts {
    /// Digest of the plan as it is now.
    pub plan_digest: Digest,
    pub plan_schema: String,
    pub ledger_id: String,
    /// Latest time of the ledger's entries, counted from the last by which time went back:
    /// a clock that was set back does not make an approval younger.
    pub last_entry_at: Stamp,
    pub continuity: LedgerContinuity,
    pub terms: PolicyTerms,
    /// Request for this plan, or the newest for this task; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestFact>,
    /// The command that requests this plan.
    pub request_command: String,
}

/// Relation of this home and ledger to those of the last entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LedgerContinuity {
    Known,
    /// Home or ledger were copied or restored, so records of uses may be missing.
    Unknown {
        why: String,
    },
}

/// A request as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFact {
    /// Name that commands take, such as `req-143`.
    pub name: String,
    pub request_digest: Digest,
    pub packet_digest: Digest,
    pub policy_digest: Digest,
    /// Version of the plan inside it.
    pub plan_schema: String,
    /// The sentence that approves it.
    pub sentence: String,
    pub ledger_id: String,
    pub requester_fingerprint: String,
    /// Signature of the request; absent if it is unsigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureFact>,
    /// Time of its ledger entry.
    pub recorded_at: Stamp,
    /// Fields in which its plan is not the plan of now.
    pub differences: Vec<PlanDifference>,
    pub approvals: Vec<RecordedDocument<Approval>>,
    pub denials: Vec<RecordedDocument<Denial>>,
    /// In the order of their ledger entries.
    pub holds: Vec<RecordedDocument<Hold>>,
    pub revocations: Vec<RecordedDocument<Revocation>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_by: Option<ConsumedBy>,
    /// Mark outside of the ledger that says it was used: a reference of the target, or a
    /// file of the home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_mark: Option<String>,
    /// Entry after it by which the ledger's time went back, and the request with it became
    /// void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided_by_entry: Option<u64>,
}

/// A document whose signature holds, and the ledger entry that recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedDocument<T> {
    pub document: T,
    pub sha256: Digest,
    pub signature: SignatureFact,
    pub recorded_at: Stamp,
}

/// The run that used an approval up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsumedBy {
    pub run_id: RunId,
    /// Absent while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}
