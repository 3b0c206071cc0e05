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

#[cfg(test)]
mod tests {
    use contract::core_route::{AuditGap, AuditRequirement, RequirementStatus};

    use super::*;

    fn requirement(is_proven: bool) -> RequirementStatus {
        let gap = AuditGap { text: "a gap".to_owned(), remedy: "cto audit".to_owned(), draft_item: String::new() };
        RequirementStatus {
            requirement: AuditRequirement::CtoRoutes,
            title: "CTO routes".to_owned(),
            status: if is_proven { AuditStatus::Proven } else { AuditStatus::NotProven },
            evidence: Vec::new(),
            gap: (!is_proven).then_some(gap),
        }
    }

    fn refresh(has_passed: bool, is_eligible: bool) -> RefreshFact {
        RefreshFact {
            run_id: "r".to_owned(),
            has_passed,
            repeatability_count: 3,
            repeatability_required: 2,
            is_eligible,
            targets_unchanged: true,
        }
    }

    fn packet(state: PromotionState, is_complete: bool, refresh: Option<RefreshFact>) -> DecisionPacket {
        let completion_status = if is_complete { CompletionStatus::Complete } else { CompletionStatus::Incomplete };
        compose_packet(PromotionFacts {
            decision: CorePromotionDecision {
                decision_status: state,
                resolver: "ada".to_owned(),
                ..CorePromotionDecision::default()
            },
            decision_record_sha256: Some("d".to_owned()),
            audit: EndgoalAudit {
                schema_version: VERSION.to_owned(),
                completion_status,
                engine: "case".to_owned(),
                requirements: vec![requirement(is_complete)],
                runtime_default_activation: false,
                core_promotion_status: NotPromoted::NotPromoted,
            },
            refresh,
            evidence_map: Vec::new(),
        })
    }

    /// Each fact alone: ready, eligible, repeatability, and the states that can be chosen.
    #[test]
    fn ready_needs_a_complete_audit_and_a_refresh_that_passed_and_is_eligible() {
        use PromotionState as S;
        let two = [S::NotDecided, S::CorePromotionDeferred];
        for (is_complete, refresh, is_ready, is_eligible, count) in [
            (true, Some(refresh(true, true)), true, true, 3),
            (false, Some(refresh(true, true)), false, true, 3),
            (true, Some(refresh(false, true)), false, false, 3),
            (true, Some(refresh(true, false)), false, false, 3),
            (true, None, false, false, 0),
        ] {
            // A decision changes nothing of what is computed.
            for state in S::ALL {
                let packet = packet(state, is_complete, refresh.clone());
                let states: &[S] = if is_ready { &S::ALL } else { &two };
                assert_eq!(
                    (packet.ready_for_core_review, packet.allowed_decision_states.as_slice()),
                    (is_ready, states)
                );
                assert_eq!(packet.candidate_default_repeatability_eligible, is_eligible);
                let status = if is_eligible { Status::Pass } else { Status::Blocked };
                assert_eq!((packet.repeatability_count, packet.repeatability_required), (count, 2));
                assert_eq!(packet.repeatability_status, status);
                let holds: Vec<bool> = packet.readiness_facts.iter().map(|fact| fact.holds).collect();
                assert_eq!(holds, [is_complete, is_eligible]);
                assert_eq!((packet.decision_status, packet.resolver.as_str()), (state, "ada"));
                assert_eq!(packet.recommended_next_decision, RecommendedDecision::OpenGovernedCorePrdRoute);
                assert!(!packet.runtime_default_activation);
                assert_eq!(packet.core_promotion_status, NotPromoted::NotPromoted);
            }
        }
    }

    #[test]
    fn each_gap_blocks_and_the_route_of_core_blocks_always() {
        let own = "promotion happens only through Core's own route; this packet grants nothing";
        let blockers = |is_complete| {
            packet(PromotionState::NotDecided, is_complete, Some(refresh(true, true))).blockers_before_promotion
        };
        assert_eq!(blockers(true), [own]);
        assert_eq!(blockers(false), ["CTO routes: a gap", own]);
    }

    #[test]
    fn every_state_has_a_consequence_and_none_promotes() {
        let packet = packet(PromotionState::CorePromotionRequested, true, Some(refresh(true, true)));
        let states: Vec<PromotionState> = packet.consequences.iter().map(|one| one.state).collect();
        assert_eq!(states, PromotionState::ALL);
        let requested = &packet.consequences[1].consequence;
        assert!(requested.ends_with("nothing is promoted or activated"), "{requested}");
        assert_eq!(packet.core_route_requirements, ROUTE_REQUIREMENTS);
    }
}
