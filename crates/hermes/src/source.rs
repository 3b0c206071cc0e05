//! The one door to data: everything that a page shows, and the few acts of an operator.

mod facts;

use std::sync::Arc;

use contract::text::shown;
use serde::Serialize;
use views::{ControlSummary, LaneComparison, RequestPage, RunPage, VerifyResult};

pub(crate) use facts::verdict_word;
pub use facts::{
    ArtifactFacts, DayCount, EventChunk, LadderFacts, LadderRung, LogWindow, OperatorAct, OperatorActKind,
    OverviewFacts, PassRate, PatchFile, PatchLine, PatchLineKind, RecordFacts, RequestFacts, RunFacts, RunState,
    RunningFacts, RunsAsked, SpendFacts, WaitingFacts,
};

/// A home to look at. Calls block and are made on threads of their own; looking changes nothing.
pub trait ConsoleSource: Send + Sync + 'static {
    fn compose_summary(&self) -> Result<ControlSummary, SourceError>;
    fn view_overview(&self) -> Result<OverviewFacts, SourceError>;
    fn list_runs(&self, asked: &RunsAsked) -> Result<RunPage, SourceError>;
    /// A run in whatever state, by id, unique beginning, suffix, `@` or `@-N`.
    fn view_run(&self, reference: &str) -> Result<RunFacts, SourceError>;
    /// Verifies the bundle again, whatever is remembered of it.
    fn verify_run(&self, reference: &str) -> Result<Arc<VerifyResult>, SourceError>;
    /// Lines of a file of a run's verified bundle.
    fn read_log(&self, reference: &str, name: &str, asked: &LogAsked) -> Result<LogWindow, SourceError>;
    /// Whole lines of a run's events behind a byte, wherever the run's folder is now.
    fn read_events(&self, run_id: &str, from: u64) -> Result<EventChunk, SourceError>;
    fn list_requests(&self, cursor: Option<&str>) -> Result<RequestPage, SourceError>;
    fn view_request(&self, reference: &str) -> Result<RequestFacts, SourceError>;
    fn compare_runs(&self, references: &[String]) -> Result<LaneComparison, SourceError>;
    fn list_records(&self) -> Result<Vec<RecordFacts>, SourceError>;
    fn view_spend(&self) -> Result<SpendFacts, SourceError>;
    /// Denies a request, signed by the operator's key.
    fn deny_request(&self, reference: &str, reason: &str) -> Result<(), SourceError>;
    /// Approves a request with the sentence as it was typed, signed by the operator's agent.
    fn approve_request(&self, reference: &str, sentence: &str) -> Result<(), SourceError>;
    /// Writes an act, or the refusal of one, into the ledger.
    fn record_act(&self, act: &OperatorAct) -> Result<(), SourceError>;
}

/// A part of a log.
#[derive(Debug, Clone, Default)]
pub struct LogAsked {
    /// First line, counted from 1.
    pub line: u64,
    /// Text that lines must hold; empty for all lines.
    pub search: String,
}

/// Failure of a source, in words for whoever asked.
#[derive(Debug, Clone, Serialize, thiserror::Error)]
#[error("{text}")]
pub struct SourceError {
    pub kind: SourceErrorKind,
    pub text: String,
    /// The one command that helps.
    pub hint: Option<String>,
}

/// Kind of a failure, which decides the status of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceErrorKind {
    /// There is no such thing.
    Missing,
    /// The question or the act is not one that can be answered.
    Invalid,
    /// It is known and cannot be shown or done.
    Refused,
}

impl SourceError {
    pub fn missing(text: impl Into<String>) -> Self {
        Self { kind: SourceErrorKind::Missing, text: shown(&text.into()), hint: None }
    }

    pub fn invalid(text: impl Into<String>) -> Self {
        Self { kind: SourceErrorKind::Invalid, text: shown(&text.into()), hint: None }
    }

    pub fn refused(text: impl Into<String>) -> Self {
        Self { kind: SourceErrorKind::Refused, text: shown(&text.into()), hint: None }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(shown(&hint.into())), ..self }
    }
}
