//! Records a person writes and signs for: admissions and decisions. What they say is the authority; a run only asks.

mod model;
mod provider;

pub use model::ModelAdmission;
pub use provider::{DecisionStatus, ProviderClass, ProviderDecision};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// What was found where a record is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Found<T> {
    Missing,
    /// It cannot be read, has another shape, contradicts itself or holds something secret-shaped.
    Invalid {
        why: String,
    },
    Record {
        sha256: Digest,
        record: T,
    },
}

impl<T> Found<T> {
    pub fn record(&self) -> Option<&T> {
        match self {
            Self::Record { record, .. } => Some(record),
            Self::Missing | Self::Invalid { .. } => None,
        }
    }

    pub fn sha256(&self) -> Option<Digest> {
        match self {
            Self::Record { sha256, .. } => Some(*sha256),
            Self::Missing | Self::Invalid { .. } => None,
        }
    }
}
