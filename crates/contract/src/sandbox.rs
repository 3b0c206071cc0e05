//! `sandbox.json`: what was asked for, what was applied, what was tried from inside, what the recorders saw.
//!
//! The names and shapes of what was measured are those of the sandbox itself; nothing is renamed on the way here.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::canonical::canonical_member;
use crate::decision::Profile;
use crate::digest::Digest;
use crate::task::ForbiddenAction;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Sandbox of a run", rename = "SandboxDocument")]
#[serde(deny_unknown_fields)]
pub struct SandboxDocument<T = String> {
    pub schema_version: String,
    pub asked: Profile,
    /// What was applied, or `none` where nothing ran.
    pub applied: Profile,
    pub engine_ran: bool,
    pub kernel: String,
    /// The search path of everything that ran.
    pub path: Vec<String>,
    /// Names of the variables that were set; never their values.
    pub variables: Vec<String>,
    pub wall_seconds: u64,
    /// Limits of the engine; the others' are in their postures.
    pub limits: Vec<HeldLimit<T>>,
    /// Limits of the contract that nothing holds.
    pub not_enforced: Vec<String>,
    /// Each different way in which something was confined, once.
    pub postures: Vec<Posture<T>>,
    /// Everything that was started in a sandbox of its own, in order.
    pub cells: Vec<Cell>,
    /// What the recorders saw and what it counts as.
    pub attempts: Vec<Attempt>,
    /// What of the contract's environment was used.
    pub environment: EnvironmentRecord,
    pub leftover_processes: Vec<String>,
}

/// Where the postures stand in the document's canonical bytes.
pub fn postures(document: &[u8]) -> Option<Range<usize>> {
    canonical_member(document, "postures")
}

/// What the signed statement carries of the postures, as they stand there; none where nothing was confined.
pub fn probe_sha256(postures: &[u8]) -> Option<Digest> {
    (postures != b"[]").then(|| Digest::of(postures))
}

/// What held around a program, and the proof that was taken from inside before it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Posture")]
pub struct Posture<T = String> {
    pub profile: Profile,
    pub namespaces: Vec<T>,
    /// `None` where the kernel has none that can be used.
    pub landlock_abi: Option<u32>,
    pub seccomp: Seccomp,
    pub mounts: Vec<MountRecord<T>>,
    pub limits: Vec<HeldLimit<T>>,
    pub recorders: Vec<RecorderState<T>>,
    pub probes: Vec<Probe<T>>,
}

/// The one user there is inside, and who that is for the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ids {
    pub inner_uid: u32,
    pub outer_uid: u32,
    pub inner_gid: u32,
    pub outer_gid: u32,
    /// An ordinary user cannot give up supplementary groups: their rights to visible files stay.
    pub groups_kept: bool,
    /// How the program comes to own the workspace: `same`, `idmapped`, `changed`.
    pub ownership: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seccomp {
    pub instructions: u32,
    /// Whether refused calls are recorded, or only refused.
    pub recorded: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MountRecord")]
pub struct MountRecord<T = String> {
    pub target: T,
    pub kind: T,
    pub access: T,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HeldLimit")]
pub struct HeldLimit<T = String> {
    pub kind: T,
    /// What holds it: `rlimit`, `cgroup`, `tmpfs`, `watched`.
    pub by: T,
    pub value: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RecorderState")]
pub struct RecorderState<T = String> {
    pub recorder: T,
    /// Why it does not run; `None` if it does.
    pub missing: Option<T>,
}

/// Something that must not work, tried from inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Probe")]
pub struct Probe<T = String> {
    pub name: T,
    pub refused: bool,
    pub detail: T,
}

/// One program and its sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// `engine`, `setup 1`, or the name of the check.
    pub name: String,
    /// Which of the postures.
    pub posture: usize,
    pub ids: Ids,
    pub limit_hits: Vec<String>,
    pub seen: Seen,
}

/// What the recorders saw, each list bounded; the counts are not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    pub refused: Vec<RefusedCall>,
    pub executions: Vec<Execution>,
    pub executions_total: u64,
    pub connections: Vec<Connection>,
    pub connections_total: u64,
    pub canaries: Vec<CanaryTouch>,
}

/// Different entries that a recorder keeps in each of its lists; of executions, of each weight.
pub const ENTRIES_KEPT: usize = 256;

impl Seen {
    /// Whether a recorder met more than it had room to list.
    pub fn is_full(&self) -> bool {
        let executions = sum_counts(self.executions.iter().map(|execution| execution.count));
        let connections = sum_counts(self.connections.iter().map(|connection| connection.count));
        self.refused.len() >= ENTRIES_KEPT || self.executions_total > executions || self.connections_total > connections
    }
}

fn sum_counts(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCall {
    pub name: String,
    pub count: u64,
    /// The kernel's name of the process that tried it first; the program's to choose.
    pub comm: String,
}

/// Place of the workspace in a strict sandbox.
pub const WORKSPACE: &str = "/workspace";

/// A program that was to be executed, as the one that asked named it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    pub path: String,
    /// The first of its arguments, each cut.
    pub argv: Vec<String>,
    /// The file that runs in the end, where path and arguments do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ExecutedFile>,
    /// Directory that it is executed in, where it would count for something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    pub count: u64,
}

/// A file that is executed, or that a dynamic loader is told to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutedFile {
    pub kind: FileKind,
    /// Where it lies inside, links resolved; of a memory file the kernel's name for it. Cut.
    pub path: String,
    /// The interpreter that its first line names, and its argument.
    pub interpreter: Vec<String>,
    /// The known program whose content it has; of a script, whose content its interpreter has.
    pub same_as: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Named,
    /// Made without a name, or removed since.
    Removed,
    /// Of `memfd_create`.
    Memory,
    /// Reached in a way that only the caller could follow.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    pub address: String,
    pub count: u64,
    pub comm: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CanaryTouch {
    /// Relative to the private home.
    pub path: String,
    /// 1 if it was, however often; the same for the others.
    pub opened: u64,
    pub read: u64,
    /// Written, moved, removed or given other attributes.
    pub changed: u64,
}

/// Something a program tried, and what it counts as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// The cell it was tried in.
    pub cell: String,
    pub kind: AttemptKind,
    /// The call, the command line, the address, the file.
    pub what: String,
    /// Who tried it, where that is known.
    pub by: Option<String>,
    pub count: u64,
    pub judged: AttemptVerdict,
    /// The forbidden action it is an attempt at.
    pub action: Option<ForbiddenAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    Call,
    Execution,
    Connection,
    Canary,
    GitConfiguration,
}

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

/// What the contract's environment came to.
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
    /// Digest of all that the layer depends on: what setup saw, commands, network, mounts and toolchain.
    pub key: Digest,
    /// The tree it was made for.
    pub tree: String,
    /// The tree of what setup saw, where `setup_inputs` name that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_tree: Option<String>,
    /// Key of the baseline's layer that it lies on, where setup ran again on a judged tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Digest>,
    /// Whether it was there from an earlier run.
    pub cached: bool,
    pub commands: Vec<SetupCommand>,
    /// Hosts that were asked for when it was made.
    pub network: Vec<NetworkUse>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupCommand {
    pub argv: Vec<String>,
    pub exit: Option<i32>,
    pub duration_ms: u64,
}

/// What setup did with one host.
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
