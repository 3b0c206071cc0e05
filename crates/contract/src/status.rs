//! The verdict on a run, and the run's purpose.

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
    /// The run finished but failed verification.
    Fail,
}

impl Status {
    /// Spelling in reports, ledger and JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Blocked => "blocked",
            Self::Fail => "fail",
        }
    }

    /// Exit code of commands that end with this verdict. Code 2 is left to usage errors.
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
    /// Spelling in reports and statements.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Governed => "governed",
            Self::Validation => "validation",
        }
    }
}

/// A constant: nothing the program writes promotes anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NotPromoted {
    #[default]
    #[serde(rename = "not-promoted")]
    NotPromoted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_codes() {
        for (status, word, code) in
            [(Status::Pass, "pass", 0), (Status::Fail, "fail", 1), (Status::Blocked, "blocked", 3)]
        {
            assert_eq!((status.as_str(), status.exit_code()), (word, code));
            assert_eq!(format!("{status:>8}|"), format!("{word:>8}|"));
            assert_eq!(serde_json::to_value(status).unwrap(), word);
        }
        for (purpose, word) in [(Purpose::Governed, "governed"), (Purpose::Validation, "validation")] {
            assert_eq!((purpose.as_str(), serde_json::to_value(purpose).unwrap()), (word, word.into()));
        }
    }
}
