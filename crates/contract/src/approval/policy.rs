//! The approval policy: the number of approvals, excluded people, the period, and the kinds
//! of keys.
//!
//! Terms only tighten: a rule of the policy tightens its own terms, and a workspace
//! tightens those of the home.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::{Digest, canonical_digest};
use crate::stage::Stage;

/// Eight hours.
const DEFAULT_TTL: u64 = 8 * 3600;

/// Terms as a person writes them. Whatever is left out is not tightened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenTerms {
    /// Number of keys that must approve; default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 20))]
    pub approvals_required: Option<u8>,
    /// True if a requester must not approve their own request. Two required approvals imply
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_from_requester: Option<bool>,
    /// Seconds for which a request and its approvals are good; default: 28800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 31536000))]
    pub max_ttl: Option<u64>,
    /// True if only security keys count, and only with their user's touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_hardware_key: Option<bool>,
    /// True if one person may approve past the policy in an emergency. Only the home's own
    /// terms can say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<bool>,
}

/// The policy of a home, or of a workspace, which can only tighten it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Approval policy", transform = close_keys)]
pub struct ApprovalPolicy {
    #[serde(flatten)]
    pub terms: WrittenTerms,
    /// Stricter terms for some stages and targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PolicyRule>,
}

/// Terms for runs of one stage, against one target, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = close_keys)]
pub struct PolicyRule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Path of the target repository, or of a folder that it lies in. Any path to that
    /// repository will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(flatten)]
    pub terms: WrittenTerms,
}

/// Flattening leaves an object open; what a person writes has no unknown keys.
fn close_keys(schema: &mut schemars::Schema) {
    schema.remove("unevaluatedProperties");
    schema.insert("additionalProperties".into(), false.into());
}

/// Terms in force for one stage and target. The plan carries their digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyTerms {
    pub approvals_required: u8,
    pub distinct_from_requester: bool,
    pub max_ttl: u64,
    pub require_hardware_key: bool,
    pub break_glass: bool,
}

impl PolicyTerms {
    /// Terms of a home whose policy says nothing. Whatever they leave open, a layer can close.
    const UNSAID: Self = Self {
        approvals_required: 1,
        distinct_from_requester: false,
        max_ttl: DEFAULT_TTL,
        require_hardware_key: false,
        break_glass: false,
    };

    /// SHA-256 over the RFC 8785 bytes. A plan carries it, so that a policy cannot change
    /// between request and approval.
    ///
    /// Fails only if the terms cannot be serialised.
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        canonical_digest(self)
    }

    /// True if an approval by the requester's own key does not count. Where two must
    /// approve, the requester is neither.
    pub fn separates_duties(&self) -> bool {
        self.distinct_from_requester || self.approvals_required > 1
    }

    fn tighten(self, said: WrittenTerms) -> Self {
        Self {
            approvals_required: self.approvals_required.max(said.approvals_required.unwrap_or(1)),
            distinct_from_requester: self.distinct_from_requester || said.distinct_from_requester == Some(true),
            max_ttl: self.max_ttl.min(said.max_ttl.unwrap_or(u64::MAX)),
            require_hardware_key: self.require_hardware_key || said.require_hardware_key == Some(true),
            break_glass: self.break_glass && said.break_glass != Some(false),
        }
    }
}

impl ApprovalPolicy {
    /// The policy's own terms, then those of its rules for a stage and target.
    fn layers<'a>(&'a self, stage: Stage, is_target: IsTarget<'a>) -> impl Iterator<Item = WrittenTerms> + 'a {
        let rules = self.rules.iter().filter(move |rule| rule.applies(stage, is_target));
        std::iter::once(self.terms).chain(rules.map(|rule| rule.terms))
    }
}

impl PolicyRule {
    fn applies(&self, stage: Stage, is_target: IsTarget<'_>) -> bool {
        self.stage.is_none_or(|rule| rule == stage) && self.target.as_deref().is_none_or(is_target)
    }
}

/// Says whether a path that a rule names is the target of the run. A repository has many
/// paths, so that texts alone do not tell.
pub type IsTarget<'a> = &'a dyn Fn(&str) -> bool;

/// Terms for a stage and target: the home's, its rules for them, then what the workspace
/// says, each layer tightening the one before.
pub fn merge_policies(
    home: &ApprovalPolicy,
    workspace: Option<&ApprovalPolicy>,
    stage: Stage,
    is_target: IsTarget<'_>,
) -> PolicyTerms {
    // The home alone may open: for how long approvals last, and that the policy can be
    // passed over.
    let opened = PolicyTerms {
        max_ttl: home.terms.max_ttl.unwrap_or(DEFAULT_TTL),
        break_glass: home.terms.break_glass == Some(true),
        ..PolicyTerms::UNSAID
    };
    let workspace = workspace.into_iter().flat_map(|policy| policy.layers(stage, is_target));
    home.layers(stage, is_target).chain(workspace).fold(opened, PolicyTerms::tighten)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(home: &str, workspace: Option<&str>, stage: u8, target: &str) -> PolicyTerms {
        let read = |text: &str| crate::source::load::<ApprovalPolicy>("policy.yaml", text.as_bytes()).unwrap().value;
        let workspace = workspace.map(read);
        let is_target = |path: &str| path.trim_end_matches('/') == target;
        merge_policies(&read(home), workspace.as_ref(), Stage::try_from(stage).unwrap(), &is_target)
    }

    const RULES: &str = "approvals_required: 1
max_ttl: 86400
break_glass: true
rules:
  - {stage: 5, approvals_required: 2}
  - {target: /srv/shop/, require_hardware_key: true, max_ttl: 3600}
  - {stage: 6, target: /srv/site, break_glass: false}
";

    #[test]
    fn rules_tighten_for_their_stage_and_target() {
        let plain = PolicyTerms { max_ttl: 86400, break_glass: true, ..PolicyTerms::UNSAID };
        let rows = [
            (4, "/srv/site", plain),
            (5, "/srv/site", PolicyTerms { approvals_required: 2, ..plain }),
            (5, "/srv/shop", PolicyTerms { approvals_required: 2, require_hardware_key: true, max_ttl: 3600, ..plain }),
            (6, "/srv/site", PolicyTerms { break_glass: false, ..plain }),
            (6, "/srv/site-2", plain),
        ];
        for (stage, target, expected) in rows {
            assert_eq!(terms(RULES, None, stage, target), expected, "stage {stage} {target}");
        }
        assert_eq!(terms("{}", None, 5, "/srv/site"), PolicyTerms::UNSAID);
    }

    #[test]
    fn a_workspace_only_tightens() {
        let looser =
            "{approvals_required: 1, distinct_from_requester: false, max_ttl: 31536000, require_hardware_key: false,
            break_glass: true, rules: [{stage: 5, approvals_required: 1}]}";
        let strict = "{approvals_required: 3, distinct_from_requester: true, max_ttl: 60, require_hardware_key: true}";
        let alone = terms(strict, None, 5, "/srv/site");
        assert_eq!(terms(strict, Some(looser), 5, "/srv/site"), alone);
        assert_eq!((alone.approvals_required, alone.break_glass), (3, false));
        assert_eq!(terms(RULES, Some(strict), 4, "/srv/site"), PolicyTerms { break_glass: true, ..alone });
        let shut = terms(RULES, Some("break_glass: false"), 4, "/srv/site");
        assert_eq!(shut, PolicyTerms { break_glass: false, ..terms(RULES, None, 4, "/srv/site") });
    }

    #[test]
    fn two_keys_are_two_people() {
        for (policy, separate) in
            [("{}", false), ("distinct_from_requester: true", true), ("approvals_required: 2", true)]
        {
            assert_eq!(terms(policy, None, 5, "/srv/site").separates_duties(), separate, "{policy}");
        }
    }
}
