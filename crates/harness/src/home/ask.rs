//! The request for a run: the wanted engine, stage and limits. Gates decide about it.

use std::path::PathBuf;

use contract::decision::Profile;
use contract::{Purpose, Stage, WorkId};

use crate::home::model_settings::ModelAsk;

/// Request for a run. It says what is wanted; the gate says what is allowed.
#[derive(Debug, Clone)]
pub struct Ask {
    pub engine: String,
    pub stage: Stage,
    pub purpose: Purpose,
    /// Wanted profile; a weaker one is never applied instead.
    pub sandbox: Profile,
    /// The smaller of it and the contract's limit holds.
    pub timeout_seconds: Option<u64>,
    /// True if the work area stays after the run, for people who want to look at it.
    pub keep_workspace: bool,
    /// Wanted model and the sources of its records.
    pub model: ModelAsk,
    /// File of the target's admission, where one is named; for stages 5 and 6.
    pub target: Option<PathBuf>,
    /// The command that requests an approval for this run.
    pub request_command: String,
    /// Item of the workboard, where the command names one. The contract already has it.
    pub work: Option<WorkId>,
    /// Commit that the source is taken from instead of its work tree, as a person calls it.
    /// Only at stage 3.
    pub at: Option<String>,
}

impl Ask {
    /// Says why the source cannot be taken from a commit here, if it cannot: an unwatched
    /// work tree counts for nothing above stage 3, and only the strict sandbox keeps an
    /// engine away from it.
    pub fn at_problem(&self) -> Option<&'static str> {
        self.at.as_ref()?;
        match (self.stage, self.sandbox) {
            (Stage::COPIED_REPOSITORY, Profile::Strict) => None,
            (Stage::COPIED_REPOSITORY, _) => Some("--at needs the strict sandbox"),
            _ => Some("--at is for stage 3 alone: a copy of a repository of yours"),
        }
    }
}
