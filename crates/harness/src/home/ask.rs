//! The request for a run: engine, stage and limits that are wanted. Gates say what is allowed.

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
    pub sandbox: Profile,
    /// The smaller of it and the contract's limit holds.
    pub timeout_seconds: Option<u64>,
    pub keep_workspace: bool,
    pub model: ModelAsk,
    /// File of the target's admission, where one is named; for stages 5 and 6.
    pub target: Option<PathBuf>,
    /// The command that requests an approval for this run.
    pub request_command: String,
    /// Item of the workboard, where the command names one. The contract already has it.
    pub work: Option<WorkId>,
}
