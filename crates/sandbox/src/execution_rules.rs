//! The caller's knowledge of executions: a weight for each, and the programs that are
//! recognised by content.

use sandbox_facts::Execution;

/// Rules given to [`crate::stage_main`], because this crate does not know the meaning of an
/// execution.
#[derive(Debug, Clone, Copy)]
pub struct ExecutionRules {
    /// Weight of an execution. Each weight has space of its own in the recorder's list, so
    /// that noise cannot push out a grave one.
    pub weigh: fn(&Execution) -> Weight,
    /// Names of programs of the search path that are recognised by their content under any
    /// other name.
    pub programs: fn() -> Vec<&'static str>,
}

/// Importance of an execution for judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Ordinary; recorded only while there is space.
    Nothing,
    /// Worth a line in the record.
    Note,
    /// Counts against the run.
    Grave,
}

impl ExecutionRules {
    /// No execution counts for anything, and no program is recognised.
    pub const NONE: Self = Self { weigh: |_| Weight::Nothing, programs: Vec::new };
}
