//! The admission of a model: a pair, the classes of its credential and its network, and the
//! person who admits it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model_pair::ModelPair;
use crate::stage::Stage;
use crate::time::{Stamp, read_written_stamp};

/// `admissions/model/*.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Model admission")]
pub struct ModelAdmission {
    pub admission_timestamp: String,
    /// A name that the user's configuration maps to hosts.
    pub allowed_network_class: String,
    pub approval_source: String,
    /// A name that the user's configuration maps to a source; never the credential itself.
    pub credential_source_class: String,
    pub model: String,
    pub provider: String,
    pub review_trigger: String,
    /// `admitted`; any other word admits nothing.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_expectations: Option<Vec<String>>,
    /// From then on it admits nothing.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_written_stamp")]
    pub expires_at: Option<Stamp>,
    /// The highest stage it is good for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_stage: Option<Stage>,
}

impl ModelAdmission {
    /// Status of a record that admits.
    pub const ADMITTED: &str = "admitted";

    /// Errors that the schema cannot express. A record with any of them counts as invalid.
    pub fn problems(&self) -> Vec<String> {
        let required = [
            ("admission_timestamp", &self.admission_timestamp),
            ("allowed_network_class", &self.allowed_network_class),
            ("approval_source", &self.approval_source),
            ("credential_source_class", &self.credential_source_class),
            ("review_trigger", &self.review_trigger),
            ("status", &self.status),
        ];
        let empty = required.iter().filter(|(_, value)| value.trim().is_empty());
        let mut problems: Vec<String> = empty.map(|(name, _)| format!("`{name}` is empty")).collect();
        if let Err(error) = ModelPair::new(&self.provider, &self.model) {
            problems.push(error.to_string());
        }
        problems
    }

    /// True if the admission names exactly this provider and model. Aliases do not count.
    pub fn is_for(&self, pair: &ModelPair) -> bool {
        self.provider == pair.provider && self.model == pair.model
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_words_admit_nothing() {
        let good = r#"{"admission_timestamp":"2026-01-01T00:00:00Z","allowed_network_class":"n","approval_source":"a",
            "credential_source_class":"c","model":"m","provider":"p","review_trigger":"r","status":"admitted"}"#;
        let read = |text: &str| serde_json::from_str::<ModelAdmission>(text);
        assert!(read(good).unwrap().problems().is_empty());
        for (from, to) in [
            (r#""approval_source":"a""#, r#""approval_source":" ""#),
            (r#""provider":"p""#, r#""provider":"p/q""#),
            (r#""model":"m""#, r#""model":"""#),
        ] {
            assert_eq!(read(&good.replace(from, to)).unwrap().problems().len(), 1, "{to}");
        }
        assert!(read(&good.replace(r#""model":"m""#, r#""model":"m","alias":"x""#)).is_err());
    }
}
