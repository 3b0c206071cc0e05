//! The signed statement that a person took a verified patch into a repository. It is about
//! the bundle's attestation and never touches the bundle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{RunId, TaskId};
use crate::statement::{SignedHarness, Subject};
use crate::time::Stamp;

/// Predicate type of the statement.
pub const PREDICATE_TYPE: &str = "urn:x-cto:attestation:patch-taken:v1";

/// In-toto statement that carries a [`Taken`]. Its subject is the attestation, so that it
/// stays bound to exactly one bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "In-toto statement of a patch that was taken")]
#[serde(deny_unknown_fields)]
pub struct TakenStatement {
    /// Always the type of an in-toto statement.
    #[serde(rename = "_type")]
    pub kind: String,
    /// `attestation.dsse.json` of the bundle.
    pub subject: Vec<Subject>,
    /// Type of the predicate, with its version.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: Taken,
}

/// Record of a verified patch that a person took into a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    pub schema_version: String,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub contract_digest: Digest,
    /// SHA-256 of `patch.diff`.
    pub patch_sha256: Digest,
    /// The parent of the commit.
    pub baseline_commit: String,
    /// The tree of the commit, built anew from baseline and patch.
    pub result_tree: String,
    /// Absolute path of the repository.
    pub repository: String,
    /// New branch.
    pub branch: String,
    /// Id of the new commit.
    pub commit: String,
    /// Author and committer.
    pub author: Person,
    pub harness: SignedHarness,
    /// Fingerprint of the key that signs the statement.
    pub key: String,
    pub taken_at: Stamp,
}

/// A person as git has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    pub name: String,
    pub email: String,
}

impl std::fmt::Display for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}
