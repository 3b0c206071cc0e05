//! Limits of a program's resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A limit, and what holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HeldLimit")]
pub struct HeldLimit<K = LimitKind, B = LimitBy> {
    #[schemars(with = "String")]
    pub kind: K,
    /// Mechanism that enforces it: `rlimit`, `cgroup`, `tmpfs`, `watched`.
    #[schemars(with = "String")]
    pub by: B,
    pub value: u64,
}

/// Resource that a limit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    Memory,
    FileSize,
    OpenFiles,
    CoreSize,
    /// Processes and threads of the tree.
    Processes,
    /// Bytes written to places in memory, or to watched directories.
    Disk,
    /// Files and directories in them.
    Inodes,
}

/// Mechanism that enforces a limit. An rlimit holds for each process, not for the tree:
/// many small processes pass it. The exception is
/// [`LimitKind::Processes`], which counts a user's processes, and within a user namespace that means the tree's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitBy {
    Rlimit,
    /// For the tree as a whole.
    Cgroup,
    /// The size of a file system in memory.
    Tmpfs,
    /// By looking while the program runs: what is written between two looks goes beyond it.
    Watched,
}
