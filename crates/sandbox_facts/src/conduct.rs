//! Conduct of a program, as the recorders of its sandbox saw it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Observations of the recorders. Each list is bounded; the counts are exact.
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
    /// True if a recorder met more than it could list.
    pub fn is_full(&self) -> bool {
        let executions = sum_counts(self.executions.iter().map(|execution| execution.count));
        let connections = sum_counts(self.connections.iter().map(|connection| connection.count));
        self.refused.len() >= ENTRIES_KEPT || self.executions_total > executions || self.connections_total > connections
    }
}

fn sum_counts(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// System call that the filter refused, with the number of attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCall {
    pub name: String,
    pub count: u64,
    /// The kernel's name of the process that tried it first; the program's to choose.
    pub comm: String,
}

/// Program that was to be executed, as its caller named it.
// Read from the memory of the process that asked, which can change it meanwhile: a record,
// and never what a permission rests on.
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

/// File that is executed, or that a dynamic loader loads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutedFile {
    pub kind: FileKind,
    /// Path inside the sandbox, links resolved; for a memory file the kernel's name of it.
    /// Shortened if long.
    pub path: String,
    /// The interpreter that its first line names, and its argument.
    pub interpreter: Vec<String>,
    /// The known program whose content it has; of a script, whose content its interpreter has.
    pub same_as: Option<String>,
}

/// Kind of an executed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Named,
    /// Made without a name, or removed since.
    Removed,
    /// Made by `memfd_create`.
    Memory,
    /// Reached in a way that only the caller could follow.
    Unknown,
}

/// Address that a program tried to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    pub address: String,
    pub count: u64,
    pub comm: String,
}

/// Decoy file that a program touched. The counters are flags: 1 if it happened at least
/// once.
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
