//! Documents about other bundles: a matrix, a race, a repetition, a comparison, a refresh.
//! Each is sealed like a run and starts nothing.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::RunId;

/// The engine of a document that is about several, or about none.
pub const NO_ENGINE: &str = "none";

/// Kind of a document about other bundles. A bundle without one is a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollectionKind {
    /// Every case, each beside the end that it declares.
    Matrix,
    /// One contract with several engines.
    Race,
    /// One contract with one engine, several times.
    Repeat,
    /// An engine beside others, for stage 6.
    Comparison,
    /// Real passes of stage 5, looked at again.
    Refresh,
}

impl CollectionKind {
    /// Every value, in order.
    pub const ALL: [Self; 5] = [Self::Matrix, Self::Race, Self::Repeat, Self::Comparison, Self::Refresh];

    /// Spelling in sealed documents and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Race => "race",
            Self::Repeat => "repeat",
            Self::Comparison => "comparison",
            Self::Refresh => "refresh",
        }
    }

    /// Name of the document in its bundle.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Matrix => "matrix.json",
            Self::Race => "comparison.json",
            Self::Repeat => "repeat.json",
            Self::Comparison => "stage6-candidate-default-comparison.json",
            Self::Refresh => "stage6-real-governed-refresh-comparison.json",
        }
    }
}

impl fmt::Display for CollectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A bundle that a document read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CitedBundle {
    /// Run of the bundle.
    pub run_id: RunId,
    /// SHA-256 of its attestation.
    pub attestation_sha256: Digest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_name_is_the_serde_name() {
        for kind in CollectionKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
