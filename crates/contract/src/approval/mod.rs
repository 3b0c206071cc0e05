//! Requests, approvals, and the statements about a run that follow.
//!
//! A [`Plan`] is everything that a run would do, as one canonical document; its digest is
//! the request digest, which is shown, signed and executed. Every other document here names
//! that digest, or the digest of a bundle's attestation, and is signed over its RFC 8785
//! bytes with a person's SSH key in the namespace of its kind.

mod always;
mod differences;
mod documents;
mod facts;
mod packet;
mod plan;
mod policy;
mod request;
mod sentence;
mod statements;
#[cfg(test)]
mod tests;

pub use always::Always;
pub use differences::{PlanDifference, differences};
pub use documents::{Approval, Denial, EXECUTION_SCOPE, ExecutionScope, Hold, HoldState, Nonce, Revocation, SignedVia};
pub use facts::{
    ApprovalFacts, ApprovalInput, ConsumedBy, LedgerContinuity, RecordedDocument, RequestFact, TargetAdmissionFacts,
};
pub use packet::{
    MARK_RULES, MarkKind, MarkRule, PACKET_RENDERER_VERSION, PacketStatus, PlannedMark, find_marks, render_packet,
    render_packet_of,
};
pub use plan::{
    Plan, PlannedBranch, PlannedEngine, PlannedMount, PlannedRecord, PlannedRepository, PlannedSandbox, PlannedSetting,
    RecordKind, RepositoryKind,
};
pub use policy::{ApprovalPolicy, IsTarget, PolicyRule, PolicyTerms, WrittenTerms, merge_policies};
pub use request::{EvidencePointer, Request};
pub use sentence::{CompareSentenceError, approval_sentence, compare_sentence};
pub use statements::{OutcomeSource, OutcomeStatement, OutcomeVerdict, RollbackAct, RollbackStatement};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! document_schemas {
    ($($name:ident $schema:literal $namespace:literal $about:literal,)*) => {
        $(
            #[doc = $about]
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            pub enum $name {
                #[default]
                #[serde(rename = $schema)]
                V1,
            }

            impl $name {
                /// Text of the schema in documents.
                pub const NAME: &'static str = $schema;
                /// Purpose that a signature of such a document is made for: `ssh-keygen -Y sign -n NAMESPACE`.
                pub const NAMESPACE: &'static str = $namespace;
            }
        )*
    };
}

document_schemas! {
    PlanSchema "cto-plan@v1" "cto-request@v1" "Shape and canonical form of a plan; part of what is digested.",
    RequestSchema "cto-request@v1" "cto-request@v1" "Shape of a request.",
    ApprovalSchema "cto-approval@v1" "cto-approval@v1" "Shape of an approval.",
    DenialSchema "cto-denial@v1" "cto-approval@v1" "Shape of a denial.",
    WorkerSchema "cto-worker@v1" "cto-record@v1" "Shape of the admission or removal of a worker.",
    ContinuitySchema "cto-continuity@v1" "cto-approval@v1" "Shape of the acceptance of a ledger.",
    HoldSchema "cto-hold@v1" "cto-approval@v1" "Shape of a hold.",
    RevocationSchema "cto-revocation@v1" "cto-approval@v1" "Shape of a revocation.",
    OutcomeSchema "cto-outcome@v1" "cto-outcome@v1" "Shape of an outcome.",
    RollbackSchema "cto-rollback@v1" "cto-outcome@v1" "Shape of a rollback.",
}

/// Reads what a document says it is, whatever else is in it; none where it says nothing.
pub fn read_schema_name(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Claimed {
        schema: String,
    }
    serde_json::from_slice::<Claimed>(bytes).ok().map(|claimed| claimed.schema)
}
