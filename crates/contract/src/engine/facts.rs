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
    /// A later run at that stage did not pass.
    Blocked {
        stage: Stage,
        run_id: String,
    },
    /// Proven for another source or pair.
    Stale {
        stage: Stage,
        run_id: String,
        why: String,
    },
}
