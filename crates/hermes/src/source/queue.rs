//! Facts of the queue: runs, the homes whose workers have them, and steps that came too late.

use contract::{Stamp, Status};
use schemars::JsonSchema;
use serde::Serialize;

/// The queue of the ledger, which other machines may share.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct QueueFacts {
    pub waiting: u64,
    pub claimed: u64,
    pub started: u64,
    /// Runs whose lease has lapsed by the ledger's clock.
    pub lapsed: u64,
    /// Homes whose workers have runs now.
    pub workers: Vec<WorkerFacts>,
    /// Runs that have not ended in the order in which they are taken, then some that have, newest first.
    pub runs: Vec<QueuedFacts>,
    /// Newest steps under an epoch that had passed, each of which was refused.
    pub late: Vec<LateStepFacts>,
}

/// A home on a machine.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkerFacts {
    /// Digest of the home and its machine.
    pub home: String,
    pub runs: u64,
    /// The earliest end of its leases.
    pub lease_until: Option<Stamp>,
}

/// One run of the queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct QueuedFacts {
    pub run_id: String,
    pub task_id: String,
    pub engine: String,
    pub stage: u8,
    /// `queued`, `claimed`, `started`, `sealed` or `cancelled`.
    pub state: String,
    /// Status of a sealed run.
    pub status: Option<Status>,
    pub epoch: u64,
    pub priority: i32,
    pub labels: Vec<String>,
    /// The run that has to end first.
    pub after: Option<String>,
    pub not_before: Option<Stamp>,
    pub home: Option<String>,
    pub lease_until: Option<Stamp>,
    /// True if the lease has lapsed by the ledger's clock.
    pub has_lapsed: bool,
    /// True if somebody asked for its end.
    pub is_stopping: bool,
    pub submitted_at: Stamp,
}

/// A step that was refused.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LateStepFacts {
    pub run_id: String,
    pub epoch: u64,
    /// `start` or `result`.
    pub step: String,
    pub time: String,
}
