//! What the gates look at for an engine that is not part of the harness.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::record::{Found, SourceAdmission};
use crate::stage::Stage;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineSetting {
    /// Everybody who says something of its gate.
    pub gate: Vec<GateSaid>,
    pub admission: Found<SourceAdmission>,
    pub program: ProgramFact,
    /// The rung below the wanted stage; absent at stage 1, which rests on nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<RungFact>,
}

impl EngineSetting {
    pub fn found(&self) -> Option<&ProgramFound> {
        match &self.program {
            ProgramFact::Found(found) => Some(found),
            ProgramFact::NotLooked
            | ProgramFact::Unusable { .. }
            | ProgramFact::CopyMissing { .. }
            | ProgramFact::CopyChanged { .. } => None,
        }
    }
}

/// Who can speak of a gate. A flag is not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateSpeaker {
    Environment,
    Workspace,
    User,
    System,
}

impl GateSpeaker {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "the environment",
            Self::Workspace => "harness.yaml",
            Self::User => "the user's configuration",
            Self::System => "the system's configuration",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateSaid {
    pub by: GateSpeaker,
    pub allowed: Option<bool>,
    pub stage: Option<Stage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramFact {
    /// Its gate is shut: nobody looked.
    NotLooked,
    /// It is not there, or is not that program.
    Unusable {
        why: String,
        remedy: String,
    },
    /// The copy that its admission names is not in the home.
    CopyMissing {
        why: String,
        remedy: String,
    },
    /// The copy that its admission names is not what was admitted any more.
    CopyChanged {
        why: String,
        remedy: String,
    },
    Found(ProgramFound),
}

/// A program that said it is the one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramFound {
    /// What it printed of itself.
    pub version: String,
    /// `<engine>@<version>+<first 12 of the tree digest>`, or as its admission names it.
    pub source_id: String,
    /// The executable, below its tree.
    pub executable: String,
    pub executable_sha256: Digest,
    pub tree_sha256: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter_sha256: Option<Digest>,
    /// Digest of its arguments before anything of a run is put in.
    pub command_shape_sha256: Digest,
}

/// Whether a rung of the ladder holds for this very engine, source and pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RungFact {
    NotStarted {
        stage: Stage,
    },
    Validated {
        stage: Stage,
        run_id: String,
    },
    /// A later run at that stage did not pass, or lacks what it takes to count.
    Blocked {
        stage: Stage,
        run_id: String,
        /// Absent where the run simply did not pass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lack: Option<RungLack>,
    },
    /// Proven for another source or pair.
    Stale {
        stage: Stage,
        run_id: String,
        why: String,
    },
}

/// Lack of a rung whose latest run did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RungLack {
    /// Nobody has accepted or rejected the pass with a signature that counts.
    MissingOperatorOutcome,
    OutcomeRejected,
    /// The sealed bundle is gone, and no collection of this home removed it.
    BundleMissing,
    /// The sealed bundle is there and does not verify.
    BundleDamaged,
    /// Passes since the last failure, and how many the configuration asks for.
    MorePasses {
        passes: u32,
        required: u32,
    },
}

impl RungLack {
    /// Name for machines.
    pub const fn code(self) -> &'static str {
        match self {
            Self::MissingOperatorOutcome => "missing_operator_outcome",
            Self::OutcomeRejected => "outcome_rejected",
            Self::BundleMissing => "bundle_missing",
            Self::BundleDamaged => "bundle_damaged",
            Self::MorePasses { .. } => "more_passes",
        }
    }

    /// Sentence about the run that shows it.
    pub fn sentence(self, run: &str) -> String {
        match self {
            Self::MissingOperatorOutcome => format!("operator outcome of run {run}"),
            Self::OutcomeRejected => format!("the operator rejected run {run}"),
            Self::BundleMissing => format!("the bundle of run {run} is gone"),
            Self::BundleDamaged => format!("the bundle of run {run} does not verify"),
            Self::MorePasses { passes, required } => {
                format!("{passes} of {required} passes since the last failure; the last is run {run}")
            }
        }
    }

    /// The one command that mends it, where a further run is not what is missing.
    pub fn remedy(self, run: &str) -> Option<String> {
        match self {
            Self::MissingOperatorOutcome => Some(format!("cto outcome {run} accept --reason \"...\"")),
            Self::OutcomeRejected | Self::BundleMissing | Self::BundleDamaged | Self::MorePasses { .. } => None,
        }
    }
}

/// The command that opens an engine's gate for a stage.
pub fn gate_command(engine: &str, stage: Stage) -> String {
    format!("cto engine enable {engine} --stage {stage}")
}

/// The command that earns a rung once the gate is open.
pub fn climb_command(engine: &str, stage: Stage) -> String {
    match stage.number() {
        1 | 2 => format!("cto run r1-string-slugify --engine {engine} --stage {stage}"),
        3 => format!("cto run TASK --repo DIR --engine {engine} --stage {stage}"),
        4 | 5 => format!("cto request TASK --engine {engine} --stage {stage}"),
        _ => format!("cto compare --candidate {engine}"),
    }
}
