//! The rows of runs: one for every run, made from its entries and nothing else, and how some of them are asked for.

use contract::{Digest, ModelPair, Purpose, RunId, Stage, Stamp, Status, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sealed_reason::SealedReason;

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    Running,
    Pass,
    Fail,
    Blocked,
}

impl RunStatus {
    /// Every value, in order.
    pub const ALL: [RunStatus; 4] = [Self::Running, Self::Pass, Self::Fail, Self::Blocked];

    /// Spelling in the database and in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Blocked => "blocked",
        }
    }

    /// State of a spelling; none if it is unknown.
    pub(crate) fn parse_status(text: &str) -> Option<RunStatus> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pass => Self::Pass,
            Status::Fail => Self::Fail,
            Status::Blocked => Self::Blocked,
        }
    }
}

/// The body of the entry that starts a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunIntent {
    pub task_id: TaskId,
    pub engine: String,
    pub stage: Stage,
    pub purpose: Purpose,
    /// The instance that runs it; older programs named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Digest>,
    /// The epoch of the claim, of a run that was in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Details of the caller's own, by which recovery accounts for the run should it die.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

/// The source of an engine and the model that it was asked to use, as the sealed report says them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EngineIdentity {
    pub source_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelPair>,
}

/// The body of the entry that seals a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSeal {
    pub status: Status,
    pub finished_at: Stamp,
    pub duration_ms: u64,
    pub reasons: Vec<SealedReason>,
    pub tests_passed: Option<u64>,
    pub tests_executed: Option<u64>,
    pub attestation_sha256: Digest,
    /// Relative to the home folder of the instance that sealed it.
    pub bundle: String,
    /// That instance, where another started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Digest>,
    /// By it the runs of a rung are found; older programs named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<EngineIdentity>,
}

/// One run as the ledger knows it. What is known only of a sealed run is `None` (or empty) before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunRow {
    pub run_id: RunId,
    pub task_id: TaskId,
    pub engine: String,
    pub stage: Stage,
    pub purpose: Purpose,
    pub status: RunStatus,
    pub started_at: Stamp,
    pub finished_at: Option<Stamp>,
    pub duration_ms: Option<u64>,
    pub reasons: Vec<SealedReason>,
    pub tests_passed: Option<u64>,
    pub tests_executed: Option<u64>,
    pub attestation_sha256: Option<Digest>,
    /// Relative to the home folder of its owner.
    pub bundle: Option<String>,
    /// The entry that started the run.
    pub seq: u64,
    /// The entry that sealed it.
    pub sealed_seq: Option<u64>,
    /// The instance whose home has it: the one that sealed it, else the one that started it; older programs named none.
    #[serde(skip)]
    pub owner: Option<Digest>,
    /// Only a word of the ledger: its bundle proves it.
    #[serde(skip)]
    pub identity: Option<EngineIdentity>,
    /// The entry that says that its bundle is removed.
    #[serde(skip)]
    pub collected_seq: Option<u64>,
    /// The last signed entry with the operator's outcome.
    #[serde(skip)]
    pub outcome_seq: Option<u64>,
}

impl RunRow {
    /// The row that a `run.started` entry makes.
    pub(crate) fn started(seq: u64, run_id: &RunId, time: Stamp, intent: &RunIntent) -> RunRow {
        RunRow {
            run_id: run_id.clone(),
            task_id: intent.task_id.clone(),
            engine: intent.engine.clone(),
            stage: intent.stage,
            purpose: intent.purpose,
            status: RunStatus::Running,
            started_at: time,
            finished_at: None,
            duration_ms: None,
            reasons: Vec::new(),
            tests_passed: None,
            tests_executed: None,
            attestation_sha256: None,
            bundle: None,
            seq,
            sealed_seq: None,
            owner: intent.owner,
            identity: None,
            collected_seq: None,
            outcome_seq: None,
        }
    }

    /// Adds what an `evidence.sealed` entry says.
    pub(crate) fn sealed(self, seq: u64, seal: &RunSeal) -> RunRow {
        RunRow {
            status: seal.status.into(),
            finished_at: Some(seal.finished_at),
            duration_ms: Some(seal.duration_ms),
            reasons: seal.reasons.clone(),
            tests_passed: seal.tests_passed,
            tests_executed: seal.tests_executed,
            attestation_sha256: Some(seal.attestation_sha256),
            bundle: Some(seal.bundle.clone()),
            sealed_seq: Some(seq),
            owner: seal.owner.or(self.owner),
            identity: seal.identity.clone(),
            ..self
        }
    }
}

impl RunRow {
    /// Adds the entry that says that its bundle is removed; the first counts.
    pub(crate) fn collected(self, seq: u64) -> RunRow {
        RunRow { collected_seq: self.collected_seq.or(Some(seq)), ..self }
    }

    /// Adds an entry with an outcome; one that nobody signed changes nothing.
    pub(crate) fn answered(self, seq: u64, body: &Value) -> RunRow {
        RunRow { outcome_seq: if body["signature"].is_string() { Some(seq) } else { self.outcome_seq }, ..self }
    }
}

/// The place of a run in the list of all runs, newest first. Runs that are started later do not move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPlace {
    pub started_at: Stamp,
    /// Of the entry that started the run.
    pub seq: u64,
}

/// The place of a run in the list of sealed runs, the longest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongPlace {
    pub duration_ms: u64,
    /// Of the entry that started the run.
    pub seq: u64,
}

/// Order of a list of runs; each is that of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListOrder {
    #[default]
    Newest,
    Oldest,
    /// Sealed runs alone, the longest first.
    Longest,
}

/// Filters of a list of runs; an empty one lets all of them through.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    pub status: Option<RunStatus>,
    pub engine: Option<String>,
    pub task_id: Option<TaskId>,
    pub stage: Option<Stage>,
    /// Runs started at this time or later.
    pub since: Option<Stamp>,
    /// Runs that are listed after this place, in an order by time.
    pub after: Option<RunPlace>,
    /// Runs that are listed after this place, the longest first.
    pub after_longer: Option<LongPlace>,
    pub order: ListOrder,
}

/// The runs of an engine that a rung is computed from.
#[derive(Debug, Clone, Copy)]
pub struct RungRuns<'a> {
    pub engine: &'a str,
    pub purpose: Purpose,
    pub stage: Stage,
    /// `None` for runs of which the ledger does not know it.
    pub identity: Option<&'a EngineIdentity>,
    pub of: RungPart,
}

/// The runs of a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskRuns<'a> {
    pub task_id: &'a TaskId,
    pub engine: Option<&'a str>,
}

/// The newest run of an engine with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentifiedRun {
    pub identity: EngineIdentity,
    /// The entry that started the run.
    pub seq: u64,
}

/// A part of a rung's runs, each a range of an index of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RungPart {
    All,
    /// All but passes and outages whose bundles were collected.
    Weighty,
    /// Passes whose bundles were not collected, and failures that may count against a rung.
    Deciding,
    /// Passes whose bundles were not collected.
    Passes,
}

/// The claim of an instance on a live run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The instance: a home on a machine.
    pub owner: Digest,
    /// One more with every take-over.
    pub epoch: u64,
    pub until: Stamp,
}

impl Lease {
    /// The lease of an instance that takes the run over; none while this one holds.
    pub fn take_over(self, owner: Digest, now: Stamp, until: Stamp) -> Option<Self> {
        (self.until <= now).then_some(Self { owner, epoch: self.epoch + 1, until })
    }

    /// The same lease with a later end; none under another epoch.
    #[must_use]
    pub fn renew(self, epoch: u64, until: Stamp) -> Option<Self> {
        (self.epoch == epoch).then_some(Self { until, ..self })
    }

    /// Refuses a step under another epoch than that of the lease, and names the one that holds.
    pub fn check_epoch(held: Option<Self>, epoch: Option<u64>) -> Result<(), u64> {
        match (epoch, held) {
            (Some(epoch), Some(held)) if epoch != held.epoch => Err(held.epoch),
            _ => Ok(()),
        }
    }
}

/// Renewal of a lease in the change that it is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRenewal {
    pub epoch: u64,
    pub until: Stamp,
}

/// The answer to a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseBeat {
    /// False if another instance has the run by now, or it is sealed.
    pub is_held: bool,
    /// Somebody has asked a run of the queue to stop.
    pub is_stopping: bool,
}

/// The body of the entry that says that a bundle is about to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// Of the bundle; the same as in the entry that sealed it.
    pub attestation_sha256: Digest,
    /// Reason why it may go.
    pub reason: String,
    pub bytes: u64,
}

/// A condition that finds runs.
pub(crate) enum RunMatch<'a> {
    Id(&'a str),
    Suffix(&'a str),
    /// Ids that begin so.
    IdStart(&'a str),
    /// Suffixes that begin so.
    SuffixStart(&'a str),
    Purpose(Purpose),
}
