//! Who looks on while a run goes on, and who may end it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The steps a person sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    Began,
    Ended,
    Refused,
}

/// Told of each step as it happens. Called from the run's own thread: it must not block.
pub trait WatchRun: Sync {
    fn step(&self, step: Step, state: StepState, detail: &str);
}

/// Looks at nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl WatchRun for Quiet {
    fn step(&self, _: Step, _: StepState, _: &str) {}
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
