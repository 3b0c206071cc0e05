//! The decision packet about Core promotion. It refers to evidence and copies none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::{NotPromoted, Status};

/// State of the decision. None of them promotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromotionState {
    #[default]
    NotDecided,
    CorePromotionRequested,
    CorePromotionDeferred,
}

impl PromotionState {
    /// Every value, in order.
    pub const ALL: [Self; 3] = [Self::NotDecided, Self::CorePromotionRequested, Self::CorePromotionDeferred];

    /// Spelling in the packet and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotDecided => "not_decided",
            Self::CorePromotionRequested => "core_promotion_requested",
            Self::CorePromotionDeferred => "core_promotion_deferred",
        }
    }
}

/// `decisions/core-promotion.yaml`, which a person writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Core promotion decision")]
pub struct CorePromotionDecision {
    pub decision_status: PromotionState,
    #[serde(default)]
    pub resolver: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_trigger: Option<String>,
}

/// Recommendation of the packet. The only value: a packet can recommend a route and never a
/// promotion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecommendedDecision {
    #[default]
    OpenGovernedCorePrdRoute,
}

/// Weight of the recommendation. The only value: a candidate until the guard passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecommendationStatus {
    #[default]
    CandidateOnlyUntilCoreRouteAdmissionGuardPasses,
}

/// A fact that the readiness rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadinessFact {
    pub fact: String,
    pub holds: bool,
}

/// A bundle that a work item rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceRef {
    pub work_id: Option<String>,
    pub bundle: String,
    pub attestation_sha256: String,
}

/// Consequence of one state of the decision, spelled out for the person who decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateConsequence {
    pub state: PromotionState,
    pub consequence: String,
}

/// The packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Core promotion decision packet")]
pub struct DecisionPacket {
    pub schema_version: String,
    /// Copied from the record, as is the resolver.
    pub decision_status: PromotionState,
    pub resolver: String,
    /// Digest of the record; null where there is none.
    pub decision_record_sha256: Option<String>,
    pub allowed_decision_states: Vec<PromotionState>,
    pub ready_for_core_review: bool,
    pub recommended_next_decision: RecommendedDecision,
    pub recommendation_status: RecommendationStatus,
    pub candidate_default_repeatability_eligible: bool,
    pub repeatability_count: u64,
    pub repeatability_required: u64,
    pub repeatability_status: Status,
    pub readiness_facts: Vec<ReadinessFact>,
    pub evidence_map: Vec<EvidenceRef>,
    pub core_route_requirements: Vec<String>,
    pub blockers_before_promotion: Vec<String>,
    pub consequences: Vec<StateConsequence>,
    pub runtime_default_activation: bool,
    pub core_promotion_status: NotPromoted,
}
