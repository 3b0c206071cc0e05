//! Facts for the gates about an engine that is not part of the harness.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::record::{FoundRecord, SourceAdmission};
use crate::stage::Stage;

/// State of an external engine on this machine: gate settings, admission, program, earned
/// rung.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineSetting {
    /// Everybody who says something of its gate.
    pub gate: Vec<GateSaid>,
    pub admission: FoundRecord<SourceAdmission>,
    pub program: ProgramFact,
    /// The rung below the wanted stage; absent at stage 1, which rests on nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<RungFact>,
}

impl EngineSetting {
    /// The identified program; none while it is unknown, unusable, missing or altered.
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

/// Settings layer that can open or close a gate. A flag is not among them: gates are opened
/// in files and the environment only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateSpeaker {
    Environment,
    Workspace,
    User,
    System,
}

impl GateSpeaker {
    /// Name of the layer for people, as refusals print it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "the environment",
            Self::Workspace => "harness.yaml",
            Self::User => "the user's configuration",
            Self::System => "the system's configuration",
        }
    }
}

/// Statement of one settings layer about a gate. One layer that forbids is enough to close
/// it; without a layer that allows, it stays closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateSaid {
    pub by: GateSpeaker,
    pub allowed: Option<bool>,
    pub stage: Option<Stage>,
}

/// Result of looking for the engine's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramFact {
    /// Its gate is closed, so that it was not looked for.
    NotLooked,
    /// It was not found, or its identity check failed.
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
    /// Version text that the program printed.
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

/// State of one rung of the ladder for exactly this engine, source and model.
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
    /// No other worker has verified the bundle again.
    SingleWorkerEvidence,
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
            Self::SingleWorkerEvidence => "single_worker_evidence",
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
            Self::SingleWorkerEvidence => format!("run {run} waits for the re-verification of another worker"),
            Self::MorePasses { passes, required } => {
                format!("{passes} of {required} passes since the last failure; the last is run {run}")
            }
        }
    }

    /// The one command that fixes it, where a further run is not what is missing.
    pub fn lack_remedy(self, run: &str) -> Option<String> {
        match self {
            Self::MissingOperatorOutcome => Some(format!("cto outcome {run} accept --reason \"...\"")),
            Self::SingleWorkerEvidence => Some(format!("cto reverify {run}")),
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
