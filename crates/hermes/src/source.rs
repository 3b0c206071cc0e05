//! The one door to data: everything that a page shows, and the few acts of an operator.

mod board;
mod facts;
mod queue;

use std::sync::Arc;

use contract::Digest;
use contract::text::show_controls;
use schemars::JsonSchema;
use serde::Serialize;
use views::{ControlSummary, LaneComparison, RequestPage, VerifyResult};

pub use board::{BoardFacts, BoardItemFacts, FindingFacts};
pub(crate) use facts::verdict_word;
pub use facts::{
    ArtifactFacts, DayCount, EventChunk, LadderFacts, LadderRung, LogWindow, OperatorAct, OperatorActKind,
    OverviewFacts, PassRate, PatchFile, PatchLine, PatchLineKind, RecordFacts, RefusalFacts, RequestFacts, RunFacts,
    RunListFacts, RunState, RunningFacts, RunsAsked, SealedSize, SpendFacts, WaitingFacts,
};
pub use queue::{LateStepFacts, QueueFacts, QueuedFacts, WorkerFacts};

/// Home that the console shows. Calls block and are made on threads of their own; reading
/// changes nothing.
pub trait ConsoleSource: Send + Sync + 'static {
    fn compose_summary(&self) -> Result<ControlSummary, SourceError>;
    fn view_overview(&self) -> Result<OverviewFacts, SourceError>;
    fn list_runs(&self, asked: &RunsAsked) -> Result<RunListFacts, SourceError>;
    /// A mark of everything that the page of a sealed run is made of, had for less than the
    /// page; none if it is unknown.
    fn mark_run(&self, run_id: &str) -> Option<RunMark>;
    /// A run in whatever state, by id, unique beginning, suffix, `@` or `@-N`.
    fn view_run(&self, reference: &str) -> Result<RunFacts, SourceError>;
    /// Verifies the bundle anew, without any memo.
    fn verify_run(&self, reference: &str) -> Result<Arc<VerifyResult>, SourceError>;
    /// Lines of a file of a run's verified bundle.
    fn read_log(&self, reference: &str, name: &str, asked: &LogAsked) -> Result<LogWindow, SourceError>;
    /// Whole lines of a run's events behind a byte, wherever the run's folder is now.
    fn read_events(&self, run_id: &str, from: u64) -> Result<EventChunk, SourceError>;
    fn list_requests(&self, cursor: Option<&str>) -> Result<RequestPage, SourceError>;
    fn view_request(&self, reference: &str) -> Result<RequestFacts, SourceError>;
    fn compare_runs(&self, references: &[String]) -> Result<LaneComparison, SourceError>;
    fn list_records(&self) -> Result<Vec<RecordFacts>, SourceError>;
    /// The board behind so many items, and the findings about the workspace. External
    /// validators are not run.
    fn view_board(&self, from: usize) -> Result<BoardFacts, SourceError>;
    fn view_spend(&self) -> Result<SpendFacts, SourceError>;
    /// The queue, the homes whose workers have runs of it, and steps that came too late.
    fn view_queue(&self) -> Result<QueueFacts, SourceError>;
    /// Denies a request, signed by the operator's key. Records nothing if the session has
    /// ended once the signature is made.
    fn deny_request(&self, reference: &str, reason: &str, may_still: SessionCheck<'_>) -> Result<(), SourceError>;
    /// Approves a request with the sentence as it was typed, signed by the operator's agent;
    /// nothing is recorded for a session that has ended meanwhile.
    fn approve_request(&self, reference: &str, sentence: &str, may_still: SessionCheck<'_>) -> Result<(), SourceError>;
    /// Asks a run to end; it is sealed as interrupted.
    fn stop_run(&self, reference: &str) -> Result<(), SourceError>;
    /// Token that the panel's host has made for its sidecar; none where there is no private
    /// file with one.
    fn read_sidecar_token(&self) -> Option<String>;
    /// Writes an act, or the refusal of one, into the ledger.
    fn record_act(&self, act: &OperatorAct) -> Result<(), SourceError>;
}

/// Check that the session which asked for an act is still an operator's.
pub type SessionCheck<'a> = &'a dyn Fn() -> bool;

/// Mark of the state of a run: as long as it is the same, so is the run's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunMark(pub Digest);

/// A part of a log.
#[derive(Debug, Clone, Default)]
pub struct LogAsked {
    /// First line, counted from 1.
    pub line: u64,
    /// Text that lines must hold; empty for all lines.
    pub search: String,
}

/// Failure of a source, in words for the visitor.
#[derive(Debug, Clone, Serialize, thiserror::Error, JsonSchema)]
#[error("{text}")]
pub struct SourceError {
    pub kind: SourceErrorKind,
    pub text: String,
    /// The one command that helps.
    pub hint: Option<String>,
}

/// Kind of a failure, which decides the status of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceErrorKind {
    /// The thing does not exist.
    Missing,
    /// The question or the act is not one that can be answered.
    Invalid,
    /// The thing exists and cannot be shown or done.
    Refused,
}

impl SourceError {
    /// Error of something that does not exist.
    pub fn not_found(text: impl Into<String>) -> Self {
        Self { kind: SourceErrorKind::Missing, text: show_controls(&text.into()), hint: None }
    }

    /// Error of a question that cannot be answered as asked.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self { kind: SourceErrorKind::Invalid, text: show_controls(&text.into()), hint: None }
    }

    /// Error of an act that is not permitted.
    pub fn refused(text: impl Into<String>) -> Self {
        Self { kind: SourceErrorKind::Refused, text: show_controls(&text.into()), hint: None }
    }

    /// Adds advice for the reader.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(show_controls(&hint.into())), ..self }
    }
}
