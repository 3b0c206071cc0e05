//! The proofs of stages: the evidence that a stage requires beyond a pass.

mod landed;

pub use landed::{
    ActionProof, AdmissionProof, ApprovalAnswer, ApprovalProof, CreationKind, CreationSource,
    DisposableRepositoryProof, LandedCommit, OwnedRepositoryProof, PathProof, ProofSubject,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::RunId;
use crate::reason::Reason;
use crate::report::CheckResult;
use crate::stage::Stage;
use crate::status::Status;

/// `stage2-no-target-inspection.json`: no repository of the operator's is named in anything
/// the engine was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "No target inspection")]
pub struct NoTargetInspection {
    pub schema_version: String,
    pub run_id: RunId,
    pub stage: Stage,
    pub engine: String,
    /// Salted digests of the paths that were looked for: the proof does not name them either.
    pub looked_for: Vec<String>,
    pub places: Vec<PlaceLooked>,
    /// Writable roots as the engine saw them, measured from inside.
    pub writable_roots: Vec<String>,
    pub passed: bool,
    pub compared_with: ComparedRun,
    pub comparison: TreeComparison,
}

/// Something that was searched for paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceLooked {
    pub place: LookedAt,
    pub sha256: Digest,
    pub bytes: u64,
    pub occurrences: u64,
}

/// Input of the engine in which the harness searched for the source repository's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LookedAt {
    /// Without the field that names the repository to copy.
    Contract,
    Argv,
    Input,
    Environment,
    Configuration,
}

impl LookedAt {
    /// Name of the input for people, with its article.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contract => "the contract",
            Self::Argv => "the command line",
            Self::Input => "the task",
            Self::Environment => "the environment",
            Self::Configuration => "the configuration",
        }
    }
}

/// The run that another is held beside: the fake engine's on the same case, or the pass of
/// the stage before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    pub run_id: RunId,
    pub engine: String,
    pub stage: Stage,
    pub status: Status,
    /// Relative to the home.
    pub bundle: String,
}

/// Side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeComparison {
    pub report_shape: Compared<Vec<String>>,
    pub event_order: Compared<Vec<EventKind>>,
    pub allowed_writes: Compared<bool>,
    pub verification: Compared<Vec<CheckResult>>,
    pub blockers: Compared<Vec<Reason>>,
    /// True if every artifact has a digest.
    pub digests: Compared<bool>,
    /// True if every artifact was written by its own run.
    pub freshness: Compared<bool>,
}

/// Values of this run and of another, with the result of comparing them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compared<T> {
    pub this: T,
    pub other: T,
    pub same: bool,
}

impl<T: PartialEq> Compared<T> {
    /// Compares with `==`; the result cannot disagree with the values.
    pub fn new(this: T, other: T) -> Self {
        Self { same: this == other, this, other }
    }
}

/// `stage3-copied-repo-proof.json`: the repository that was copied is what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Copied repository")]
pub struct CopiedRepository {
    pub schema_version: String,
    pub run_id: RunId,
    pub stage: Stage,
    pub engine: String,
    pub owner: Option<String>,
    pub classification: Option<String>,
    pub before: SourceState,
    pub after: Option<SourceState>,
    pub unchanged: bool,
    pub clean_start: bool,
    /// The copy contained nothing that the patch does not carry.
    pub clean_end: bool,
    /// True by construction: the engine could write in the run's own work area only, and
    /// the source is elsewhere.
    pub never_writable: bool,
    /// Paths that the engine could write, below the work area.
    pub writable: Vec<String>,
    pub passed: bool,
}

/// State of a source repository. Equal states before and after a run show that the run left
/// it alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceState {
    pub head: String,
    /// Digest of its files, its index and its references.
    pub sha256: String,
}
