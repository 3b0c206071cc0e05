//! Who looks on while a run goes on, and who may end it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::Stamp;
use serde::{Deserialize, Serialize};

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
    pub const ALL: &'static [Self] =
        &[Self::Gates, Self::Workspace, Self::Engine, Self::Diff, Self::Verify, Self::Seal];

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

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    Began,
    Ended,
    Refused,
    /// It goes on, and nothing is seen of it.
    Idle,
}

/// What is told of a step. The trace records the same, so that a run can be shown again as it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub step: Step,
    pub state: StepState,
    pub detail: String,
    /// Since the run started.
    pub at: Duration,
}

impl Told {
    /// At this moment of a run that started then.
    pub(crate) fn new(step: Step, state: StepState, detail: &str, started: Stamp, now: Stamp) -> Self {
        let micros = now.timestamp().as_microsecond().saturating_sub(started.timestamp().as_microsecond());
        let at = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
        Self { step, state, detail: detail.to_owned(), at }
    }
}

/// Told of each step as it happens. Called from the run's own thread: it must not block.
pub trait WatchRun: Sync {
    fn step(&self, told: &Told);
}

/// Looks at nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl WatchRun for Quiet {
    fn step(&self, _: &Told) {}
}

/// What a run is watched by.
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
    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}
