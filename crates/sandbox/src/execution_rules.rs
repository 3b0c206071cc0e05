//! What the caller of the stage knows of executions: which of them count, and which programs are recognised by content.

use sandbox_facts::Execution;

/// Given to [`crate::stage_main`], because this crate does not know what an execution stands for.
#[derive(Debug, Clone, Copy)]
pub struct ExecutionRules {
    /// How much an execution counts. Each weight has room of its own in the recorder's list.
    pub weigh: fn(&Execution) -> Weight,
    /// Names of programs of the search path that are recognised by their content under any other name.
    pub programs: fn() -> Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Nothing,
    Note,
    Grave,
}

impl ExecutionRules {
    /// No execution counts for anything, and no program is recognised.
    pub const NONE: Self = Self { weigh: |_| Weight::Nothing, programs: Vec::new };
}
