//! The decision packet: the person's decision copied, everything else computed.

use contract::Status;
use contract::core_route::{
    AuditStatus, CompletionStatus, CorePromotionDecision, DecisionPacket, EndgoalAudit, EvidenceRef, PromotionState,
    ReadinessFact, RecommendationStatus, RecommendedDecision, StateConsequence,
};
use contract::status::NotPromoted;

use super::VERSION;
use super::audit::RefreshFact;

/// Everything that a packet is composed of.
#[derive(Debug, Clone)]
pub struct PromotionFacts {
    /// Decision of a person, copied as it is.
    pub decision: CorePromotionDecision,
    /// Digest of the record that holds the decision.
    pub decision_record_sha256: Option<String>,
    pub audit: EndgoalAudit,
    pub refresh: Option<RefreshFact>,
    pub evidence_map: Vec<EvidenceRef>,
}

const ROUTE_REQUIREMENTS: [&str; 11] = [
    "start in the Core workspace, never here",
    "pass the Core route admission guard while Core is idle",
    "follow the Core Sequence Protocol",
    "classify the object that would be promoted",
    "have a PRD and an issue of its own",
    "have an SOT issue",
    "cover it with validators",
    "refer to evidence by digest, and copy none",
    "hold no secret and no secret-shaped text",
    "roll back by leaving Case disabled",
    "keep the runtime default a separate decision",
];

/// Composes the packet.
pub fn compose_packet(facts: PromotionFacts) -> DecisionPacket {
    let PromotionFacts { decision, decision_record_sha256, audit, refresh, evidence_map } = facts;
    let is_complete = audit.completion_status == CompletionStatus::Complete;
    let is_eligible = refresh.as_ref().is_some_and(|refresh| refresh.is_eligible && refresh.has_passed);
    let readiness_facts = audit
        .requirements
        .iter()
        .map(|one| ReadinessFact { fact: one.title.clone(), holds: one.status == AuditStatus::Proven })
        .chain([ReadinessFact { fact: "Candidate default repeatability".to_owned(), holds: is_eligible }])
        .collect();
    let mut blockers: Vec<String> = audit
        .requirements
        .iter()
        .filter_map(|one| Some(format!("{}: {}", one.title, one.gap.as_ref()?.text)))
        .collect();
    blockers.push("promotion happens only through Core's own route; this packet grants nothing".to_owned());
    let (count, required) =
        refresh.as_ref().map_or((0, 2), |refresh| (refresh.repeatability_count, refresh.repeatability_required));
    DecisionPacket {
        schema_version: VERSION.to_owned(),
        decision_status: decision.decision_status,
        resolver: decision.resolver,
        decision_record_sha256,
        allowed_decision_states: allowed_states(is_complete && is_eligible),
        ready_for_core_review: is_complete && is_eligible,
        recommended_next_decision: RecommendedDecision::OpenGovernedCorePrdRoute,
        recommendation_status: RecommendationStatus::CandidateOnlyUntilCoreRouteAdmissionGuardPasses,
        candidate_default_repeatability_eligible: is_eligible,
        repeatability_count: count,
        repeatability_required: required,
        repeatability_status: if is_eligible { Status::Pass } else { Status::Blocked },
        readiness_facts,
        evidence_map,
        core_route_requirements: ROUTE_REQUIREMENTS.map(str::to_owned).to_vec(),
        blockers_before_promotion: blockers,
        consequences: PromotionState::ALL.map(describe_state).to_vec(),
        runtime_default_activation: false,
        core_promotion_status: NotPromoted::NotPromoted,
    }
}

/// States that can be chosen. A review can be requested only if all of its evidence exists.
fn allowed_states(is_ready: bool) -> Vec<PromotionState> {
    let is_allowed = |state: &PromotionState| is_ready || *state != PromotionState::CorePromotionRequested;
    PromotionState::ALL.into_iter().filter(is_allowed).collect()
}

fn describe_state(state: PromotionState) -> StateConsequence {
    let consequence = match state {
        PromotionState::NotDecided => "nothing changes; the evidence stays as it is and can be looked at again",
        PromotionState::CorePromotionRequested => {
            "a person may open a governed Core PRD route once the guard passes; nothing is promoted or activated"
        }
        PromotionState::CorePromotionDeferred => "no route is opened; Case stays disabled as default backend",
    };
    StateConsequence { state, consequence: consequence.to_owned() }
}
