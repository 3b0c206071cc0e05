//! Posture: the confinement around a program, and the attempts from inside before the
//! program started.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::HeldLimit;

/// Confinement around a program, and the proof that was taken from inside before it
/// started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Posture")]
pub struct Posture<N = Namespace, M = MountRecord, L = HeldLimit, R = RecorderState, P = Probe> {
    pub profile: Profile,
    #[schemars(with = "Vec<String>")]
    pub namespaces: Vec<N>,
    /// `None` where the kernel has none that can be used.
    pub landlock_abi: Option<u32>,
    pub seccomp: Seccomp,
    pub mounts: Vec<M>,
    pub limits: Vec<L>,
    pub recorders: Vec<R>,
    pub probes: Vec<P>,
}

/// The sandbox profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(title = "sandbox profile")]
pub enum Profile {
    None,
    Landlock,
    Strict,
}

impl Profile {
    /// Spelling in contracts, settings and `sandbox.json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Strict => "strict",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Linux namespace that the program does not share with the harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Namespace {
    User,
    Mount,
    Pid,
    Net,
    Ipc,
    Uts,
    Cgroup,
}

impl Namespace {
    /// Every value, in order.
    pub const ALL: [Self; 7] = [Self::User, Self::Mount, Self::Pid, Self::Net, Self::Ipc, Self::Uts, Self::Cgroup];
}

/// The one user there is inside, and who that is for the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ids")]
pub struct SandboxIds<O = Ownership> {
    pub inner_uid: u32,
    pub outer_uid: u32,
    pub inner_gid: u32,
    pub outer_gid: u32,
    /// An ordinary user cannot give up supplementary groups: their rights to visible files
    /// stay.
    pub groups_kept: bool,
    /// Mechanism by which the program owns the workspace: `same`, `idmapped`, `changed`.
    #[schemars(with = "String")]
    pub ownership: O,
}

/// Mechanism by which the program owns the files of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// The program runs as the harness's own user.
    Same,
    /// Ids are translated by the mount; the files on disk stay the harness' user's.
    Idmapped,
    /// The files were given to the run's uid, because the file system cannot translate.
    Changed,
}

/// System call filter of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seccomp {
    pub instructions: u32,
    /// True if refused calls are also recorded; false if they are only refused.
    pub recorded: bool,
}

/// Mount inside the sandbox. The path on the host is left out on purpose: bundles are
/// shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MountRecord")]
pub struct MountRecord<T = String, K = MountKind, A = Access> {
    pub target: T,
    #[schemars(with = "String")]
    pub kind: K,
    #[schemars(with = "String")]
    pub access: A,
}

/// Origin of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MountKind {
    /// Part of the system: programs and libraries.
    System,
    /// Made for this run, and gone with it.
    Private,
    /// Named by the caller.
    Given,
    Workspace,
    Device,
    Proc,
    /// Hidden behind something empty.
    Masked,
}

/// Access of the program to a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

/// State of one recorder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RecorderState")]
pub struct RecorderState<T = String, R = RecorderKind> {
    #[schemars(with = "String")]
    pub recorder: R,
    /// Cause of a recorder that does not run; `None` if it runs.
    pub missing: Option<T>,
}

/// Recorder of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecorderKind {
    /// Calls that the filter refuses.
    RefusedCalls,
    Executions,
    /// Addresses the program tried to connect to.
    Connections,
    Canaries,
}

/// Something that must not work, tried from inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Probe")]
pub struct Probe<T = String> {
    pub name: T,
    pub refused: bool,
    /// The error it was refused with, or what was reached.
    pub detail: T,
}
