//! What a confinement came to: measured and recorded, in the words of `sandbox.json`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::confinement::Access;
use crate::{LimitRule, Profile};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    pub profile: Profile,
    pub namespaces: Vec<Namespace>,
    pub ids: Ids,
    /// `None` where the kernel has none, or one that would forbid moving files between directories.
    pub landlock_abi: Option<u32>,
    pub seccomp: Seccomp,
    pub mounts: Vec<MountRecord>,
    pub limits: Vec<LimitRule>,
    pub recorders: Vec<RecorderState>,
    /// What was tried from inside before the program started.
    pub probes: Vec<Probe>,
    pub seen: Seen,
}

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
    pub(crate) const ALL: [Self; 7] =
        [Self::User, Self::Mount, Self::Pid, Self::Net, Self::Ipc, Self::Uts, Self::Cgroup];
}

/// The one user there is inside, and who that is for the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ids {
    pub inner_uid: u32,
    pub outer_uid: u32,
    pub inner_gid: u32,
    pub outer_gid: u32,
    /// An ordinary user cannot give up supplementary groups: their rights to visible files stay.
    pub groups_kept: bool,
    pub ownership: Ownership,
}

/// How the program comes to own the files of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// It is the harness' own user.
    Same,
    /// Ids are translated by the mount; the files on disk stay the harness' user's.
    Idmapped,
    /// The files were given to the run's uid, because the file system cannot translate.
    Changed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seccomp {
    pub instructions: u32,
    /// Whether refused calls are recorded, or only refused.
    pub recorded: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountRecord {
    pub target: PathBuf,
    pub kind: MountKind,
    pub access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MountKind {
    /// Of the system: programs and libraries.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorder {
    /// Calls that the filter refuses.
    RefusedCalls,
    Executions,
    /// Addresses the program tried to connect to.
    Connections,
    Canaries,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecorderState {
    pub recorder: Recorder,
    /// Why it does not run; `None` if it does.
    pub missing: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub name: String,
    pub refused: bool,
    /// The error it was refused with, or what was reached.
    pub detail: String,
}

/// What the recorders saw, each list bounded; the counts are not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub refused: Vec<Refused>,
    pub executions: Vec<Execution>,
    pub executions_total: u64,
    pub connections: Vec<Connection>,
    pub connections_total: u64,
    pub canaries: Vec<CanaryTouch>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub name: String,
    pub count: u64,
    /// The kernel's name of the process that tried it first; the program's to choose.
    pub comm: String,
}

/// A program that was to be executed. Read from the memory of the one that asked, which can change it meanwhile: a record, and
/// never what a permission rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutedFile {
    pub kind: FileKind,
    /// Where it lies inside, links resolved; of a memory file the kernel's name for it. Cut.
    pub path: String,
    /// The interpreter that its first line names, and its argument.
    pub interpreter: Vec<String>,
    /// The known program whose content it has; of a script, whose content its interpreter has.
    pub same_as: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Named,
    /// Made without a name, or removed since.
    Removed,
    /// Of `memfd_create`.
    Memory,
    /// Reached in a way that only the caller can follow.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    pub address: String,
    pub count: u64,
    pub comm: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanaryTouch {
    /// Relative to the home, as it was given.
    pub path: PathBuf,
    /// 1 if it was, however often; the same for the others.
    pub opened: u64,
    pub read: u64,
    /// Written, moved, removed or given other attributes.
    pub changed: u64,
}
