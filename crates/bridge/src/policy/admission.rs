//! Which model may answer, and what it may be asked to do beside answering.

use std::collections::BTreeSet;

pub use contract::model::{Feature, Served};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::upstream::endpoint::Endpoint;

/// The admitted pair. One bridge serves one pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    pub provider: String,
    pub model: String,
    /// Other names of the same model, accepted in requests and in answers.
    pub aliases: Vec<String>,
    /// What the upstream calls it, when that differs from what engines ask for.
    pub sent_as: Option<String>,
}

impl Admission {
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into(), aliases: Vec::new(), sent_as: None }
    }

    pub(crate) fn admits(&self, asked: &str) -> bool {
        asked == self.model || self.aliases.iter().any(|alias| alias == asked)
    }

    /// How the name in an answer relates to the admitted one.
    pub(crate) fn served(&self, answered: &str) -> Served {
        if answered == self.model {
            Served::Exact
        } else if self.admits(answered) || self.sent_as.as_deref() == Some(answered) {
            Served::DeclaredAlias
        } else {
            Served::OtherFamily
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.model.as_str()).chain(self.aliases.iter().map(String::as_str))
    }
}

/// Where an admission's traffic may go and what it may carry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkClass {
    /// `host` or `host:port`.
    pub hosts: Vec<String>,
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

    /// Whether an endpoint is one of its hosts.
    pub fn reaches_endpoint(&self, endpoint: &Endpoint) -> bool {
        self.reaches(&endpoint.host, endpoint.port)
    }

    pub(crate) fn allows(&self, feature: Feature) -> bool {
        feature != Feature::ModelFallback && self.allow.contains(&feature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let mut admission = Admission::new("p", "m");
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
