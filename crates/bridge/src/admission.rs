//! Which model may answer, and what it may be asked to do beside answering.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

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

/// What the upstream says it answered with, compared with the admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Served {
    Exact,
    DeclaredAlias,
    /// A fault: the answer is not passed on.
    OtherFamily,
    /// The answer names no model, or there was none.
    Unknown,
}

/// What a request can ask of a provider beside an answer. Refused unless the network class names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// A tool the provider runs, or one of a type the bridge does not know.
    HostedTool,
    McpServer,
    /// A URL for the provider to fetch.
    ProviderFetch,
    /// Something that lies with the provider, by its id: a file, a container, an audio clip.
    StoredFile,
    /// A prompt that lies with the provider.
    StoredPrompt,
    Background,
    /// A conversation, a response or an item that was not made in this run.
    ForeignConversation,
    /// Other models to use when the asked one is not there. Nothing can allow it.
    ModelFallback,
    /// A field, a content part or an item the bridge does not know.
    Unknown,
}

impl Feature {
    pub const fn text(self) -> &'static str {
        match self {
            Self::HostedTool => "a tool the provider would run",
            Self::McpServer => "an MCP server",
            Self::ProviderFetch => "a URL for the provider to fetch",
            Self::StoredFile => "something stored with the provider",
            Self::StoredPrompt => "a prompt stored with the provider",
            Self::Background => "work in the background",
            Self::ForeignConversation => "a conversation that is not of this run",
            Self::ModelFallback => "models to fall back to",
            Self::Unknown => "something the bridge does not know",
        }
    }
}

/// Where an admission's traffic may go and what it may carry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
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
    pub(crate) fn reaches(&self, host: &str, port: u16) -> bool {
        self.hosts
            .iter()
            .any(|entry| entry.eq_ignore_ascii_case(host) || entry.eq_ignore_ascii_case(&format!("{host}:{port}")))
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
