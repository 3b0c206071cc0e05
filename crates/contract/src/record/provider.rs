//! The provider decision: the provider that may be used at all, and its fallback.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model_pair::ModelPair;

/// State of the provider decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionStatus {
    NotDecided,
    ExternalProviderApproved,
    LocalProviderRequired,
}

impl DecisionStatus {
    /// Spelling in the record and in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotDecided => "not_decided",
            Self::ExternalProviderApproved => "external_provider_approved",
            Self::LocalProviderRequired => "local_provider_required",
        }
    }
}

/// Class of a provider. The local classes keep prompts on the operator's own machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderClass {
    ExternalAnthropic,
    ExternalOpenaiCodex,
    ExternalOther,
    LocalCaseCompatible,
    LocalCompatible,
}

impl ProviderClass {
    /// True for the classes that keep prompts on the operator's own machines.
    pub const fn is_local(self) -> bool {
        match self {
            Self::LocalCaseCompatible | Self::LocalCompatible => true,
            Self::ExternalAnthropic | Self::ExternalOpenaiCodex | Self::ExternalOther => false,
        }
    }
}

/// `decisions/provider.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Provider decision")]
pub struct ProviderDecision {
    pub decision_status: DecisionStatus,
    #[serde(default)]
    pub provider_class: Option<ProviderClass>,
    #[serde(default)]
    pub provider: String,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub fallback_provider: String,
    #[serde(default)]
    pub fallback_model: String,
    #[serde(default)]
    pub approval_source: String,
    #[serde(default)]
    pub credential_source_class: String,
    #[serde(default)]
    pub allowed_network_class: String,
    #[serde(default)]
    pub review_trigger: String,
    /// References to evidence, one a line; never a copy of it.
    #[serde(default)]
    pub evidence_sources: Vec<String>,
    #[serde(default)]
    pub effect: String,
}

/// Longer than any reference.
const LONGEST_REFERENCE: usize = 300;

impl ProviderDecision {
    /// Errors that the schema cannot express, such as details beside `not_decided`.
    pub fn problems(&self) -> Vec<String> {
        if self.decision_status == DecisionStatus::NotDecided {
            return self.said().map(|name| format!("`{name}` is set although nothing is decided")).collect();
        }
        let local = self.decision_status == DecisionStatus::LocalProviderRequired;
        let may_be_empty = |name: &str| match name {
            "fallback_provider" | "fallback_model" => !self.has_fallback(),
            "provider" | "model" | "credential_source_class" | "allowed_network_class" => local && !self.has_pair(),
            _ => false,
        };
        let unsaid = self.unsaid().filter(|name| !may_be_empty(name));
        let mut problems: Vec<String> = unsaid.map(|name| format!("`{name}` is empty")).collect();
        if self.provider_class.is_some_and(|class| class.is_local() != local) {
            problems.push(format!("`provider_class` does not fit `{}`", self.decision_status.as_str()));
        }
        let pair = (self.has_pair(), &self.provider, &self.model);
        let fallback = (self.has_fallback(), &self.fallback_provider, &self.fallback_model);
        for (_, provider, model) in [pair, fallback].into_iter().filter(|(named, ..)| *named) {
            problems.extend(ModelPair::new(provider, model).err().map(|error| error.to_string()));
        }
        let copied = |source: &String| source.len() > LONGEST_REFERENCE || source.contains('\n');
        if self.evidence_sources.iter().any(copied) {
            problems.push("`evidence_sources` holds a copy; name where it lies".to_owned());
        }
        problems
    }

    fn fields(&self) -> [(&'static str, bool); 11] {
        let text = |value: &String| !value.trim().is_empty();
        [
            ("provider_class", self.provider_class.is_some()),
            ("provider", text(&self.provider)),
            ("model", text(&self.model)),
            ("fallback_provider", text(&self.fallback_provider)),
            ("fallback_model", text(&self.fallback_model)),
            ("approval_source", text(&self.approval_source)),
            ("credential_source_class", text(&self.credential_source_class)),
            ("allowed_network_class", text(&self.allowed_network_class)),
            ("review_trigger", text(&self.review_trigger)),
            ("evidence_sources", self.evidence_sources.iter().any(text)),
            ("effect", text(&self.effect)),
        ]
    }

    fn said(&self) -> impl Iterator<Item = &'static str> {
        self.fields().into_iter().filter(|(_, said)| *said).map(|(name, _)| name)
    }

    fn unsaid(&self) -> impl Iterator<Item = &'static str> {
        self.fields().into_iter().filter(|(_, said)| !*said).map(|(name, _)| name)
    }

    /// False for a decision that is made and names no pair: it blocks every pair.
    pub fn has_pair(&self) -> bool {
        !self.provider.is_empty() || !self.model.is_empty()
    }

    fn has_fallback(&self) -> bool {
        !self.fallback_provider.is_empty() || !self.fallback_model.is_empty()
    }

    /// True if the pair is the decided one.
    pub fn names_pair(&self, pair: &ModelPair) -> bool {
        self.provider == pair.provider && self.model == pair.model
    }

    /// True if the pair is the declared fallback. A decision without a pair has no
    /// fallback.
    pub fn names_as_fallback(&self, pair: &ModelPair) -> bool {
        self.has_pair() && self.fallback_provider == pair.provider && self.fallback_model == pair.model
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operator's own record.
    fn local() -> ProviderDecision {
        ProviderDecision {
            decision_status: DecisionStatus::LocalProviderRequired,
            provider_class: Some(ProviderClass::LocalCaseCompatible),
            provider: "qwen-local".into(),
            model: "qwen3.6-35b-a3b".into(),
            fallback_provider: "openai-codex".into(),
            fallback_model: "gpt-5.5".into(),
            approval_source: "operator".into(),
            credential_source_class: "none".into(),
            allowed_network_class: "local".into(),
            review_trigger: "a new model".into(),
            evidence_sources: vec!["docs/decision.md".into()],
            effect: "local first".into(),
        }
    }

    #[test]
    fn a_fallback_is_optional_and_so_is_the_pair_of_a_required_local_provider() {
        let pair = |text: &str| ModelPair::new("openai-codex", text).unwrap();
        let mut decision = local();
        decision.fallback_provider.clear();
        decision.fallback_model.clear();
        assert_eq!(decision.problems(), Vec::<String>::new());
        assert!(!decision.names_as_fallback(&pair("gpt-5.5")) && local().names_as_fallback(&pair("gpt-5.5")));
        let mut without = local();
        for field in [&mut without.provider, &mut without.model, &mut without.credential_source_class] {
            field.clear();
        }
        assert_eq!(without.problems(), Vec::<String>::new());
        assert!(!without.names_as_fallback(&pair("gpt-5.5")), "it blocks every pair");
        without.decision_status = DecisionStatus::ExternalProviderApproved;
        without.provider_class = Some(ProviderClass::ExternalOther);
        assert!(without.problems().contains(&"`provider` is empty".to_owned()));
    }

    #[test]
    fn a_decision_is_whole_or_not_made() {
        assert!(local().problems().is_empty());
        type Change = fn(&mut ProviderDecision);
        let rows: &[(Change, &str)] = &[
            (|it| it.effect.clear(), "`effect` is empty"),
            (|it| it.provider_class = None, "`provider_class` is empty"),
            (|it| it.provider_class = Some(ProviderClass::ExternalOther), "does not fit"),
            (|it| it.decision_status = DecisionStatus::ExternalProviderApproved, "does not fit"),
            (|it| it.decision_status = DecisionStatus::NotDecided, "although nothing is decided"),
            (|it| it.evidence_sources = vec!["a\nb".into()], "holds a copy"),
            (|it| it.fallback_provider = "a/b".into(), "PROVIDER/MODEL"),
            (|it| it.fallback_provider.clear(), "`fallback_provider` is empty"),
            (|it| it.model.clear(), "`model` is empty"),
        ];
        for (change, expected) in rows {
            let mut decision = local();
            change(&mut decision);
            let problems = decision.problems();
            assert!(problems.iter().any(|problem| problem.contains(expected)), "{expected}: {problems:?}");
        }
    }
}
