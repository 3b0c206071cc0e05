//! The verdict on a run and what it was made for.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The only run statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It ran and the proof holds.
    Pass,
    /// A gate or precondition stopped it before or instead of a verdict.
    Blocked,
    /// It ran and the proof does not hold.
    Fail,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Blocked => "blocked",
            Self::Fail => "fail",
        }
    }

    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::Blocked => 3,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Decided by the command, never by a flag: only governed runs count on the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    Governed,
    Validation,
}

impl Purpose {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Governed => "governed",
            Self::Validation => "validation",
        }
    }
}
