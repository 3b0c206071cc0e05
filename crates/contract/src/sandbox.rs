//! `sandbox.json`: the requested profile, the applied one, the attempts from inside, and
//! the recorders' observations.
//!
//! Names and shapes of measurements are those of the sandbox itself, [`sandbox_facts`];
//! nothing is renamed on the way here.

use std::ops::Range;

pub use sandbox_facts::{
    CanaryTouch, Connection, ENTRIES_KEPT, ExecutedFile, Execution, FileKind, HeldLimit, LimitBy, LimitKind,
    MountRecord, ObservedConduct, Posture, Probe, RecorderKind, RecorderState, RefusedCall, SandboxIds,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::canonical::canonical_member;
use crate::decision::Profile;
use crate::digest::Digest;
use crate::task::ForbiddenAction;

/// Root of `sandbox.json`. Generic over the words of measurements, so that `verify` can
/// read names of another version as plain text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Sandbox of a run", rename = "SandboxDocument")]
#[serde(deny_unknown_fields)]
pub struct SandboxDocument<L = HeldLimit, P = Posture, C = SandboxRecord> {
    /// Version of the document's format.
    pub schema_version: String,
    /// Profile that was asked for.
    pub asked: Profile,
    /// Applied profile; `none` if nothing ran.
    pub applied: Profile,
    /// True if the engine was started.
    pub engine_ran: bool,
    /// Release of the running kernel.
    pub kernel: String,
    /// The search path of everything that ran.
    pub path: Vec<String>,
    /// Names of the variables that were set; never their values.
    pub variables: Vec<String>,
    /// Time limit of the engine, in seconds.
    pub wall_seconds: u64,
    /// Limits of the engine; the others' are in their postures.
    pub limits: Vec<L>,
    /// Limits of the contract that nothing holds.
    pub not_enforced: Vec<String>,
    /// Each different way in which something was confined, once.
    pub postures: Vec<P>,
    /// Everything that was started in a sandbox of its own, in order.
    pub cells: Vec<C>,
    /// Attempts that the recorders saw, each with its judgement.
    pub attempts: Vec<Attempt>,
    /// Parts of the contract's environment that were used.
    pub environment: EnvironmentRecord,
    /// Processes that the engine left behind and the harness ended.
    pub leftover_processes: Vec<String>,
}

/// Byte range of the postures in the document's canonical bytes.
pub fn postures(document: &[u8]) -> Option<Range<usize>> {
    canonical_member(document, "postures")
}

/// Digest of the postures, for the signed statement; none if nothing was confined.
pub fn probe_sha256(postures: &[u8]) -> Option<Digest> {
    (postures != b"[]").then(|| Digest::of_bytes(postures))
}

/// One program and its sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Cell")]
pub struct SandboxRecord<I = SandboxIds, K = LimitKind> {
    /// `engine`, `setup 1`, or the name of the check.
    pub name: String,
    /// Index into the postures of the document.
    pub posture: usize,
    /// User and group, inside and outside.
    pub ids: I,
    /// Limits that were known to be hit.
    #[schemars(with = "Vec<String>")]
    pub limit_hits: Vec<K>,
    /// Observations of the recorders.
    pub seen: ObservedConduct,
}

/// Name of the engine's sandbox.
pub const ENGINE_CELL: &str = "engine";

/// Place of the workspace in a strict sandbox.
pub const WORKSPACE: &str = "/workspace";

/// Something a program tried, and what it counts as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// The sandbox of the attempt.
    pub cell: String,
    pub kind: AttemptKind,
    /// The call, the command line, the address, the file.
    pub what: String,
    /// Program that made the attempt, if known.
    pub by: Option<String>,
    pub count: u64,
    pub judged: AttemptVerdict,
    /// The forbidden action it is an attempt at.
    pub action: Option<ForbiddenAction>,
}

/// Kind of an attempt, by the recorder that saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    Call,
    Execution,
    Connection,
    Canary,
    GitConfiguration,
}

/// Judgement on an attempt; the first two block the run under the reason they name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptVerdict {
    /// `forbidden_action_attempted`.
    ForbiddenAction,
    /// `sandbox_violation`.
    Violation,
    /// Refused, and no reason to think ill of it.
    Note,
}

/// Record of the contract's environment: mounted folders and setups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentRecord {
    pub mounts: Vec<MountDigest>,
    /// One for each tree that setup was needed for.
    pub setup: Vec<SetupRecord>,
}

/// A mount of the contract's, by its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MountDigest {
    pub target: String,
    /// Over the sorted list of its files: path, mode, digest of the content.
    pub tree_sha256: Digest,
    pub files: u64,
    pub bytes: u64,
}

/// A setup layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupRecord {
    /// Digest of all that the layer depends on: what setup saw, commands, network, mounts
    /// and toolchain.
    pub key: Digest,
    /// The tree it was made for.
    pub tree: String,
    /// The tree of what setup saw, where `setup_inputs` name that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_tree: Option<String>,
    /// Key of the baseline's layer that it lies on, where setup ran again on a judged tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Digest>,
    /// True if an earlier run's setup was reused.
    pub cached: bool,
    pub commands: Vec<SetupCommand>,
    /// Hosts that were asked for when it was made.
    pub network: Vec<NetworkUse>,
}

/// One setup command and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupCommand {
    pub argv: Vec<String>,
    pub exit: Option<i32>,
    pub duration_ms: u64,
}

/// Network use of setup, for one host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkUse {
    pub host: String,
    pub port: u16,
    pub connections: u64,
    /// Not named by the contract.
    pub refused: u64,
    /// Named, and not reached.
    pub failed: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}
