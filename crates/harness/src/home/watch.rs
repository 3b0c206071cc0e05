//! Observers of a run, and the signal that ends it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::model::Cost;
use contract::{RunId, Stamp};
use serde::{Deserialize, Serialize};

/// Bytes of a line that are handed to a live display.
pub(crate) const LONGEST_LINE: usize = 1000;

/// The steps a person sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    Gates,
    Workspace,
    Engine,
    Diff,
    Verify,
    Seal,
}

impl Step {
    /// Every value, in order.
    pub const ALL: &'static [Self] =
        &[Self::Gates, Self::Workspace, Self::Engine, Self::Diff, Self::Verify, Self::Seal];

    /// Name of the step in traces and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gates => "gates",
            Self::Workspace => "workspace",
            Self::Engine => "engine",
            Self::Diff => "diff",
            Self::Verify => "verify",
            Self::Seal => "seal",
        }
    }
}

/// Progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    Began,
    Ended,
    Refused,
    /// The engine is alive and silent.
    Idle,
}

/// Report about a step. The trace records the same, so that a run can be shown again as it
/// was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReport {
    pub step: Step,
    pub state: StepState,
    pub detail: String,
    /// Since the run started.
    pub at: Duration,
}

impl StepReport {
    /// At this moment of a run that started then.
    pub(crate) fn new(step: Step, state: StepState, detail: &str, started: Stamp, now: Stamp) -> Self {
        let micros = now.timestamp().as_microsecond().saturating_sub(started.timestamp().as_microsecond());
        let at = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
        Self { step, state, detail: detail.to_owned(), at }
    }
}

/// Something that happens inside a step. It is shown to a person and kept nowhere: nothing is judged by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveFact {
    /// The run has its id.
    Opened { run_id: RunId },
    /// A program starts: the engine, a command of setup, or a check. Lines that follow are its output.
    ProgramStarted {
        name: String,
        limit: Duration,
        /// Since the run started, if the event is read later; otherwise now.
        began: Option<Duration>,
    },
    /// A line that setup or a check printed. The line is raw: it can hold control characters and secrets.
    Printed { line: String },
    /// The engine's last act in its own words, raw as well.
    Acted { text: String },
    /// Sums of the requests that have ended, and the number of those that are open.
    ModelUsed(LiveUsage),
}

/// Model use of a run so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveUsage {
    pub requests: u64,
    pub open: u64,
    pub tokens: u64,
    pub cost_micros: u64,
    /// A request has no known price, so that the sum is less than what was spent.
    pub is_partly_unpriced: bool,
}

impl LiveUsage {
    /// No use of a model.
    pub const NONE: Self = Self { requests: 0, open: 0, tokens: 0, cost_micros: 0, is_partly_unpriced: false };

    /// Counts a request that was made.
    pub fn count_made(&mut self) {
        self.open += 1;
    }

    /// Counts a request that has ended, with what it used.
    pub fn count_ended(&mut self, tokens: u64, cost: Cost) {
        self.open = self.open.saturating_sub(1);
        self.requests += 1;
        self.tokens = self.tokens.saturating_add(tokens);
        match cost {
            Cost::Micros(micros) => self.cost_micros = self.cost_micros.saturating_add(micros),
            Cost::Unpriced | Cost::Unknown => self.is_partly_unpriced = true,
            Cost::Nothing => {}
        }
    }
}

/// Observer of a run. Called from the run's own threads: it must not block.
pub trait WatchRun: Sync {
    fn step(&self, told: &StepReport);

    /// Takes a fact for a live display. By default nobody looks.
    fn live(&self, _: &LiveFact) {}

    /// True if live facts are shown; where not, none are gathered.
    fn is_live(&self) -> bool {
        false
    }
}

/// Looks at nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl WatchRun for Quiet {
    fn step(&self, _: &StepReport) {}
}

/// Observer and cancellation signal of a run.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    pub cancel: &'a AtomicBool,
    pub observer: &'a dyn WatchRun,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

impl Watch<'_> {
    /// True once somebody asked for the end of the run.
    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}
