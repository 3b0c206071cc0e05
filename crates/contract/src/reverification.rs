//! The signed statement that a sealed run's verification was held again. It is about the bundle's attestation and never
//! touches the bundle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::coverage::Coverage;
use crate::digest::Digest;
use crate::id::{RunId, TaskId};
use crate::report::{Blocker, Verification};
use crate::statement::{SignedHarness, Subject};
use crate::status::Status;
use crate::time::Stamp;

pub const PREDICATE_TYPE: &str = "urn:x-cto:attestation:reverification:v1";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "In-toto statement of a re-verification")]
#[serde(deny_unknown_fields)]
pub struct ReverificationStatement {
    #[serde(rename = "_type")]
    pub kind: String,
    /// `attestation.dsse.json` of the bundle.
    pub subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: Reverification,
}

/// What the verification came to when it was held again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reverification {
    pub schema_version: String,
    pub rules_version: String,
    pub run_id: RunId,
    pub task_id: TaskId,
    /// The contract it was held under.
    pub contract_digest: Digest,
    /// Whether that is another contract than the bundle's. What stood against the run under its own still stands then.
    pub another_contract: bool,
    pub baseline_tree: String,
    pub result_tree: String,
    pub verdict_then: Status,
    pub verdict_now: Status,
    pub holds: bool,
    pub blockers: Vec<Blocker>,
    pub verification: Verification,
    pub coverage: Vec<Coverage>,
    pub harness: SignedHarness,
    pub key: String,
    pub reverified_at: Stamp,
}
