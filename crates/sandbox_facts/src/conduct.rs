//! Conduct of a program, as the recorders of its sandbox saw it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the recorders saw, each list bounded; the counts are not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Seen")]
pub struct ObservedConduct {
    pub refused: Vec<RefusedCall>,
    pub executions: Vec<Execution>,
    pub executions_total: u64,
    pub connections: Vec<Connection>,
    pub connections_total: u64,
    pub canaries: Vec<CanaryTouch>,
}

/// Different entries that a recorder keeps in each of its lists; of executions, of each weight.
pub const ENTRIES_KEPT: usize = 256;

impl ObservedConduct {
    /// True if a recorder met more than it had room to list.
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

/// A program that was to be executed, as the one that asked named it.
// Read from the memory of the process that asked, which can change it meanwhile: a record, and never what a permission rests on.
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
