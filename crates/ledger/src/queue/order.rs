//! Submitted runs, their stored rows, and the orders of workers.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::{Digest, RunId, Stage, Stamp, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rules::QueueTurn;

/// State of a submitted run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueState {
    Queued,
    /// A worker has it and has not started it.
    Claimed,
    /// It has a row in `runs`, and never goes back.
    Started,
    Sealed,
    Cancelled,
}

impl QueueState {
    /// Every value, in order.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Claimed, Self::Started, Self::Sealed, Self::Cancelled];

    /// Name of the state in JSON and in both databases.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Claimed => "claimed",
            Self::Started => "started",
            Self::Sealed => "sealed",
            Self::Cancelled => "cancelled",
        }
    }

    /// A worker has it: it counts against limits, and keeps its target.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Claimed | Self::Started)
    }

    /// Nothing more will become of it.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Sealed | Self::Cancelled)
    }
}

/// The body of the entry that submits a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueOrder {
    pub run_id: RunId,
    pub task_id: TaskId,
    pub engine: String,
    pub stage: Stage,
    /// Digest of the resolved contract, which a worker must find again.
    pub contract_sha256: Digest,
    /// The workspace that it was submitted from; empty without one.
    pub workspace: String,
    /// Key of the target that it would change: of runs with the same key, one is active at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_key: Option<String>,
    /// Higher goes first.
    pub priority: i32,
    /// The run that has to end first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Stamp>,
    /// A worker must have all of them.
    pub labels: Vec<String>,
    /// Details of the caller's own, by which a worker asks for the run.
    pub detail: Value,
}

/// One run of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueuedRun {
    pub run_id: RunId,
    pub task_id: TaskId,
    pub engine: String,
    pub stage: Stage,
    pub state: QueueState,
    /// Raised by every claim, and by every instance that takes a started run over; 0 before the first.
    pub epoch: u64,
    /// The instance that has it, or had it last.
    pub owner: Option<Digest>,
    /// The end of its lease, while a worker has it.
    pub lease_until: Option<Stamp>,
    pub priority: i32,
    pub after: Option<RunId>,
    pub not_before: Option<Stamp>,
    pub target_key: Option<String>,
    pub labels: Vec<String>,
    pub workspace: String,
    pub submitted_at: Stamp,
    pub started_at: Option<Stamp>,
    /// Somebody asked for its end while it was started.
    pub stopping: bool,
    /// The entry that submitted it.
    pub seq: u64,
}

impl QueuedRun {
    /// Row of a run that was just put into the queue.
    pub(crate) fn submitted(order: &QueueOrder, seq: u64, time: Stamp) -> Self {
        let turn = QueueTurn::SUBMITTED;
        Self {
            run_id: order.run_id.clone(),
            task_id: order.task_id.clone(),
            engine: order.engine.clone(),
            stage: order.stage,
            state: turn.state,
            epoch: turn.epoch,
            owner: None,
            lease_until: None,
            priority: order.priority,
            after: order.after.clone(),
            not_before: order.not_before,
            target_key: order.target_key.clone(),
            labels: order.labels.clone(),
            workspace: order.workspace.clone(),
            submitted_at: time,
            started_at: None,
            stopping: turn.stopping,
            seq,
        }
    }

    /// The part of the row that steps change.
    pub fn turn(&self) -> QueueTurn {
        QueueTurn {
            state: self.state,
            epoch: self.epoch,
            owner: self.owner,
            lease_until: self.lease_until,
            stopping: self.stopping,
        }
    }
}

/// The most runs that may be active at once, or started in a day. Part of the question that claims a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueLimits {
    /// Active runs of an engine.
    pub engines: BTreeMap<String, u32>,
    /// Active runs of one workspace.
    pub workspace: Option<u32>,
    /// Runs of the queue that start on one day (UTC).
    pub day: Option<u32>,
}

impl QueueLimits {
    /// True if no limit is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The question of a worker for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimAsk {
    /// The instance that asks.
    pub owner: Digest,
    /// Engines that it runs; `None` for all.
    pub engines: Option<Vec<String>>,
    /// Labels that it has.
    pub labels: Vec<String>,
    pub limits: QueueLimits,
    /// The time in which the run must start, or it is queued again.
    pub lease: Duration,
    /// The time; a server goes by its own clock.
    pub now: Stamp,
}
