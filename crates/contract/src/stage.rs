//! The six stages and the mutation modes they allow.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reach of a task, from no change at all to a candidate default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(title = "mutation mode")]
pub enum MutationMode {
    None,
    CopiedFixture,
    SandboxRepo,
    OwnedNoncriticalRepo,
    CandidateDefault,
}

impl MutationMode {
    /// Spelling in contracts, reports and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::CopiedFixture => "copied-fixture",
            Self::SandboxRepo => "sandbox-repo",
            Self::OwnedNoncriticalRepo => "owned-noncritical-repo",
            Self::CandidateDefault => "candidate-default",
        }
    }

    /// From here upward a human approval is always required.
    pub fn needs_approval(self) -> bool {
        self >= Self::SandboxRepo
    }
}

impl fmt::Display for MutationMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A rung of the ladder, 1 to 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Stage(u8);

impl Stage {
    /// Stage 1: the gates alone.
    pub const GATED_ENGINE: Self = Self(1);
    /// Stage 2: an evaluation case.
    pub const ARTIFICIAL_FIXTURE: Self = Self(2);
    /// Stage 3: a copy of a repository.
    pub const COPIED_REPOSITORY: Self = Self(3);
    /// Stage 4: a disposable repository.
    pub const DISPOSABLE_REPOSITORY: Self = Self(4);
    /// Stage 5: a commit in an admitted repository.
    pub const OWNED_REPOSITORY: Self = Self(5);
    /// Stage 6: the same, as candidate for a default.
    pub const CANDIDATE_DEFAULT: Self = Self(6);

    /// Number from 1 to 6.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Mutation mode that a run at this stage needs. A contract that allows less refuses
    /// the stage.
    pub const fn mutation_mode(self) -> MutationMode {
        match self.0 {
            1 => MutationMode::None,
            2 | 3 => MutationMode::CopiedFixture,
            4 => MutationMode::SandboxRepo,
            5 => MutationMode::OwnedNoncriticalRepo,
            _ => MutationMode::CandidateDefault,
        }
    }

    /// Name for people.
    pub const fn name(self) -> &'static str {
        match self.0 {
            1 => "gated engine",
            2 => "artificial fixture",
            3 => "copied repo fixture",
            4 => "disposable sandbox repo",
            5 => "owned noncritical repo",
            _ => "candidate default",
        }
    }

    /// The exact text of reports.
    pub const fn allowed_mutation_scope(self) -> &'static str {
        match self.0 {
            1 => "none",
            2 => "copied artificial case only",
            3 => "copied local repository fixture only",
            4 => "disposable repository only",
            5 => "explicitly owned low-risk repository only",
            _ => "scoped real-repo use only",
        }
    }
}

impl TryFrom<u8> for Stage {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        if (1..=6).contains(&number) {
            Ok(Self(number))
        } else {
            Err(format!("{number} is not a stage: stages are 1 to 6"))
        }
    }
}

impl From<Stage> for u8 {
    fn from(stage: Stage) -> Self {
        stage.0
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for Stage {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Stage".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "integer", "minimum": 1, "maximum": 6})
    }
}
