//! The signed statement that a sealed run's verification was repeated. It is about the
//! bundle's attestation and never touches the bundle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::coverage::Coverage;
use crate::digest::Digest;
use crate::id::{RunId, TaskId};
use crate::report::{Blocker, Verification};
use crate::statement::{SignedHarness, Subject};
use crate::status::Status;
use crate::time::Stamp;

/// Predicate type of the statement.
pub const PREDICATE_TYPE: &str = "urn:x-cto:attestation:reverification:v1";

/// In-toto statement that carries a [`Reverification`]. Its subject is the attestation, so
/// that it stays bound to exactly one bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "In-toto statement of a re-verification")]
#[serde(deny_unknown_fields)]
pub struct ReverificationStatement {
    /// Always the type of an in-toto statement.
    #[serde(rename = "_type")]
    pub kind: String,
    /// `attestation.dsse.json` of the bundle.
    pub subject: Vec<Subject>,
    /// Type of the predicate, with its version.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: Reverification,
}

/// Result of running a sealed run's verification again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reverification {
    pub schema_version: String,
    pub rules_version: String,
    pub run_id: RunId,
    pub task_id: TaskId,
    /// The contract it was held under.
    pub contract_digest: Digest,
    /// True if the contract differs from the bundle's. Blockers under the original contract
    /// still hold then.
    pub another_contract: bool,
    /// Tree that was built again and has the signed id.
    pub baseline_tree: String,
    /// Tree that was built again and has the signed id.
    pub result_tree: String,
    /// Verdict in the bundle.
    pub verdict_then: Status,
    /// Verdict of the repeated verification.
    pub verdict_now: Status,
    /// True if both verdicts are the same.
    pub holds: bool,
    /// Blockers after the repetition, those that cannot be determined again included.
    pub blockers: Vec<Blocker>,
    pub verification: Verification,
    pub coverage: Vec<Coverage>,
    pub harness: SignedHarness,
    /// Fingerprint of the key that signs the statement.
    pub key: String,
    pub reverified_at: Stamp,
}

/// Predicate type of a countersignature.
pub const COUNTERSIGNATURE_TYPE: &str = "urn:x-cto:attestation:countersignature:v1";

/// In-toto statement that carries a [`Countersignature`]. Its envelope stands in the entry `evidence.reverified`, so that every home on
/// the ledger can check it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "In-toto statement of a countersignature")]
#[serde(deny_unknown_fields)]
pub struct CountersignatureStatement {
    /// Always the type of an in-toto statement.
    #[serde(rename = "_type")]
    pub kind: String,
    /// `attestation.dsse.json` of the bundle.
    pub subject: Vec<Subject>,
    /// Type of the predicate, with its version.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: Countersignature,
}

/// Result of a re-verification in the words that a ladder asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Countersignature {
    pub ledger_id: String,
    pub run_id: RunId,
    /// The bundle's own contract.
    pub contract_digest: Digest,
    /// Verdict of the repeated verification.
    pub verdict_now: Status,
    /// True if it is the verdict of the bundle.
    pub holds: bool,
    /// Digest of the whole statement, which lies in the home of its signer.
    pub statement_sha256: Digest,
    /// Fingerprint of the key that signs.
    pub key: String,
    pub reverified_at: Stamp,
}
