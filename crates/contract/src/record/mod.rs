//! Records a person writes and signs for: admissions and decisions. What they say is the
//! authority; a run only asks.

mod draft;
mod model;
mod provider;
mod source;
mod target;

pub use draft::{find_placeholder, holds_placeholder, placeholder};
pub use model::ModelAdmission;
pub use provider::{DecisionStatus, ProviderClass, ProviderDecision};
pub use source::{LicenseStatus, SourceAdmission, is_temporary};
pub use target::{AdmissionDefect, TARGET_ADMISSION_KEYS, TargetAdmission, TargetStatus, target_admission_status};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Result of looking for a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundRecord<T> {
    Missing,
    /// It cannot be read, has another shape, contradicts itself or holds something
    /// secret-shaped.
    Invalid {
        why: String,
    },
    Record {
        sha256: Digest,
        record: T,
        /// The key whose signature of it counts; nothing where it is not signed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed_by: Option<String>,
    },
}

impl<T> FoundRecord<T> {
    /// The record, if one was found and is valid. Its signature is a separate question: see
    /// [`FoundRecord::signed_by`].
    pub fn record(&self) -> Option<&T> {
        match self {
            Self::Record { record, .. } => Some(record),
            Self::Missing | Self::Invalid { .. } => None,
        }
    }

    /// True for a valid record without a signature that counts.
    pub fn is_unsigned(&self) -> bool {
        matches!(self, Self::Record { signed_by: None, .. })
    }

    /// Fingerprint of the key whose signature counts; none if missing, invalid or unsigned.
    pub fn signed_by(&self) -> Option<&str> {
        match self {
            Self::Record { signed_by, .. } => signed_by.as_deref(),
            Self::Missing | Self::Invalid { .. } => None,
        }
    }

    /// Digest of the record's file; none if missing or invalid.
    pub fn sha256(&self) -> Option<Digest> {
        match self {
            Self::Record { sha256, .. } => Some(*sha256),
            Self::Missing | Self::Invalid { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! example {
        ($name:literal) => {
            include_bytes!(concat!("../../../../docs/examples/", $name)).as_slice()
        };
    }

    #[test]
    fn the_shipped_examples_can_be_used() {
        let read = |bytes| crate::source::load::<ModelAdmission>("example", bytes).unwrap().value;
        let local = read(example!("admissions/model/qwen-local__qwen3.6-35b-a3b.json"));
        let hosted = read(example!("admissions/model/openai-codex__gpt-5.5.json"));
        let decision = example!("decisions/provider.yaml");
        let decision = crate::source::load::<ProviderDecision>("example", decision).unwrap().value;
        assert_eq!((local.problems(), hosted.problems(), decision.problems()), Default::default());
        assert!(decision.names_pair(&"qwen-local/qwen3.6-35b-a3b".parse().unwrap()));
        assert!(decision.names_as_fallback(&"openai-codex/gpt-5.5".parse().unwrap()));
        assert_eq!(decision.credential_source_class, local.credential_source_class);
    }
}
