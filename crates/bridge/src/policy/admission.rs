//! The model that may answer, and the services that it may be asked for beside an answer.

use std::collections::BTreeSet;

pub use contract::model::{Feature, Served};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::upstream::endpoint::Endpoint;

/// The admitted pair. One bridge serves one pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedPair {
    /// Provider of the pair.
    pub provider: String,
    /// Model of the pair, by its exact name.
    pub model: String,
    /// Other names of the same model, accepted in requests and in answers.
    pub aliases: Vec<String>,
    /// Name of the model at the upstream, if it differs from the one that engines request.
    pub sent_as: Option<String>,
}

impl AdmittedPair {
    /// Admission of one model without aliases.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into(), aliases: Vec::new(), sent_as: None }
    }

    /// True if an engine may request this name.
    pub(crate) fn admits(&self, asked: &str) -> bool {
        asked == self.model || self.aliases.iter().any(|alias| alias == asked)
    }

    /// Relation of the name in an answer to the admitted one.
    pub(crate) fn served(&self, answered: &str) -> Served {
        if answered == self.model {
            Served::Exact
        } else if self.admits(answered) || self.sent_as.as_deref() == Some(answered) {
            Served::DeclaredAlias
        } else {
            Served::OtherFamily
        }
    }

    /// All names that an engine may request.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.model.as_str()).chain(self.aliases.iter().map(String::as_str))
    }
}

/// Permitted destinations and content of an admission's traffic.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkClass {
    /// `host` or `host:port`.
    pub hosts: Vec<String>,
    /// Services beyond an answer that requests may ask for.
    #[serde(default)]
    pub allow: BTreeSet<Feature>,
    /// The answers come from a script.
    #[serde(default)]
    pub scripted: bool,
}

impl NetworkClass {
    fn reaches(&self, host: &str, port: u16) -> bool {
        self.hosts
            .iter()
            .any(|entry| entry.eq_ignore_ascii_case(host) || entry.eq_ignore_ascii_case(&format!("{host}:{port}")))
    }

    /// True if the endpoint is one of the permitted hosts.
    pub fn reaches_endpoint(&self, endpoint: &Endpoint) -> bool {
        self.reaches(&endpoint.host, endpoint.port)
    }

    /// True if the class permits the feature. Fallback to another model is never permitted.
    pub(crate) fn allows(&self, feature: Feature) -> bool {
        feature != Feature::ModelFallback && self.allow.contains(&feature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let mut admission = AdmittedPair::new("p", "m");
        admission.aliases.push("m-2026".to_owned());
        admission.sent_as = Some("vendor/m".to_owned());
        assert!(admission.admits("m") && admission.admits("m-2026"));
        assert!(!admission.admits("M") && !admission.admits("m ") && !admission.admits("vendor/m"));
        assert_eq!(admission.served("m"), Served::Exact);
        assert_eq!(admission.served("vendor/m"), Served::DeclaredAlias);
        assert_eq!(admission.served("m-mini"), Served::OtherFamily);
    }

    #[test]
    fn a_fallback_is_never_allowed() {
        let class =
            NetworkClass { allow: BTreeSet::from([Feature::ModelFallback, Feature::McpServer]), ..Default::default() };
        assert!(class.allows(Feature::McpServer) && !class.allows(Feature::ModelFallback));
    }
}
