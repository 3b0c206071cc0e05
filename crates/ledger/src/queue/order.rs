//! Submitted runs, their stored rows, and the orders of workers.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::task::RetryRule;
use contract::{Digest, Reason, RunId, Stage, Stamp, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rules::QueueTurn;
use crate::sealed_reason::SealedReason;

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
    /// Rule of the contract for repeating the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRule>,
    /// The run that this one repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
    /// Number of the repetition; 0 of a run that a person has submitted.
    #[serde(default, skip_serializing_if = "is_first_attempt")]
    pub attempt: u8,
    /// Details of the caller's own, by which a worker asks for the run.
    pub detail: Value,
}

fn is_first_attempt(attempt: &u8) -> bool {
    *attempt == 0
}

impl QueueOrder {
    /// Order of a run that repeats this one, which ended at a time for these reasons; none if its rule does not say so. The id
    /// follows from both, so that a run is repeated once.
    pub(crate) fn next_attempt(&self, ended: Stamp, reasons: &[SealedReason]) -> Option<Self> {
        let rule = self.retry.as_ref()?;
        let reasons: Option<Vec<Reason>> = reasons.iter().map(SealedReason::known).collect();
        if !rule.allows(self.stage, self.attempt, &reasons?) {
            return None;
        }
        let suffix: String = Digest::of_bytes(self.run_id.as_str().as_bytes()).to_string().chars().take(4).collect();
        let run_id = RunId::new(&ended.compact(), &self.task_id, &suffix).ok()?;
        // Twice as long each time: what failed just now fails again.
        let pause = Duration::from_secs(1 << self.attempt.min(MOST_DOUBLINGS));
        Some(Self {
            run_id,
            retry_of: Some(self.run_id.clone()),
            attempt: self.attempt + 1,
            not_before: Some(ended.after(pause)),
            ..self.clone()
        })
    }
}

/// Doublings of the pause before a repetition.
const MOST_DOUBLINGS: u8 = 10;

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
