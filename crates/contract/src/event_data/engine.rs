//! Data of events about the engine's process.

use serde::{Deserialize, Serialize};

use crate::claim::NoteKind;

/// Data of `engine.started`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineStartedData {
    pub engine: String,
    pub wall_seconds: u64,
}

/// Data of `engine.output`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineOutputData {
    /// Kind of the note; absent for a line whose format is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<NoteKind>,
    pub stream: EngineStream,
    pub text: String,
}

/// Stream of a process on which a line stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineStream {
    Stdout,
    Stderr,
}

/// Data of `engine.exited`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineExitedData {
    pub duration_ms: Option<u64>,
    pub exit_code: Option<i32>,
    /// Processes that it left behind, which were killed.
    pub leftover_processes: u32,
    pub output_bytes: u64,
    /// Reason for which the harness ended it.
    pub stopped_because: Option<String>,
    pub stopped_by: EngineEndedBy,
    pub timed_out: bool,
}

/// Party or limit that ended the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineEndedBy {
    Harness,
    #[serde(rename = "time limit")]
    TimeLimit,
    Operator,
    #[serde(rename = "model limit")]
    ModelLimit,
    #[serde(rename = "output limit")]
    OutputLimit,
    #[serde(rename = "disk limit")]
    DiskLimit,
    Itself,
}
