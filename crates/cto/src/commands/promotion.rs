//! `cto packet promotion`: the decision packet about Core. It copies the person's decision
//! and computes everything else.

use std::fmt::Write as _;

use contract::Digest;
use contract::core_route::{CorePromotionDecision, DecisionPacket, EvidenceRef};
use contract::text::show_controls;
use gate::core_route::{PromotionFacts, compose_packet};
use workboard::{EvidenceKind, Workboard};

use super::audit::{AuditScene, audit_workspace};
use crate::context::Context;
use crate::error::CommandError;
use crate::workspace_scene::{WorkspaceScene, day_of};

const RECORD: &str = "decisions/core-promotion.yaml";

/// Prints the decision packet.
pub(super) fn show_promotion(context: &Context, markdown: bool) -> Result<u8, CommandError> {
    let packet = compose_from_workspace(context)?;
    let output = context.output;
    if markdown {
        output.print(&document(&packet, &day_of(super::records::now()?)));
    } else if output.json {
        output.print_json(&packet)?;
    } else {
        output.print(&lines(&packet));
    }
    Ok(0)
}

/// The packet of the workspace as it is.
pub(super) fn compose_from_workspace(context: &Context) -> Result<DecisionPacket, CommandError> {
    let scene = WorkspaceScene::open_scene(context)?;
    let (decision, decision_record_sha256) = read_decision(&scene)?;
    let AuditScene { audit, refresh } = audit_workspace(context, &scene)?;
    let evidence_map = map_evidence(&scene);
    Ok(compose_packet(PromotionFacts { decision, decision_record_sha256, audit, refresh, evidence_map }))
}

/// The record of the decision; one that is missing decides nothing, one that cannot be read
/// is an error.
fn read_decision(scene: &WorkspaceScene) -> Result<(CorePromotionDecision, Option<String>), CommandError> {
    let Some(text) = scene.files.text_of(RECORD) else { return Ok((CorePromotionDecision::default(), None)) };
    let loaded = contract::source::load::<CorePromotionDecision>(RECORD, text.as_bytes());
    let loaded = loaded.map_err(|problems| CommandError::from(problems).hint("cto schema core-promotion-decision"))?;
    Ok((loaded.value, Some(Digest::of_bytes(text.as_bytes()).to_string())))
}

/// Work item to bundle to digest, of bundles that verify.
fn map_evidence(scene: &WorkspaceScene) -> Vec<EvidenceRef> {
    let board = scene.files.text_of("WORKBOARD.yaml").map(Workboard::read_board).unwrap_or_default();
    let pieces = board.items().iter().flat_map(|item| item.evidence.iter().map(move |piece| (&item.id, piece)));
    let bundles = pieces.filter(|(_, piece)| piece.kind == Some(EvidenceKind::Bundle));
    let verified = bundles.filter_map(|(id, piece)| {
        let bundle = scene.evidence.bind_reference(&piece.reference).ok()?;
        let attestation_sha256 = bundle.attestation_sha256().to_string();
        Some(EvidenceRef { work_id: Some(id.clone()), bundle: bundle.report().run_id.to_string(), attestation_sha256 })
    });
    verified.collect()
}

fn lines(packet: &DecisionPacket) -> String {
    let mut out =
        format!("{} ready_for_core_review={}\n", packet.decision_status.as_str(), packet.ready_for_core_review);
    let _ = writeln!(out, "repeatability {} of {}", packet.repeatability_count, packet.repeatability_required);
    for fact in &packet.readiness_facts {
        let _ = writeln!(out, "fact {} {}", fact.holds, fact.fact);
    }
    for evidence in &packet.evidence_map {
        let work = evidence.work_id.as_deref().unwrap_or("-");
        let _ = writeln!(out, "evidence {work} {} {}", evidence.bundle, evidence.attestation_sha256);
    }
    packet
        .blockers_before_promotion
        .iter()
        .for_each(|text| out.push_str(&format!("blocker {}\n", show_controls(text))));
    out.push_str("runtime_default_activation=false core_promotion_status=not-promoted\n");
    out
}

/// The packet as a document that passes `cto validate workspace`.
fn document(packet: &DecisionPacket, day: &str) -> String {
    let mut out = format!(
        "---\nname: Core promotion decision packet\nstatus: candidate\nowner: the operator\ncreated: {day}\nlast_reviewed: {day}\nlifecycle_classification: planning\ncore_promotion_status: not-promoted\n---\n\n# Core promotion decision packet\n\nLocal planning SOT only. Not a Core Protocol. Not active Core authority.\n\n## Decision\n\n- decision_status: {}\n- ready_for_core_review: {}\n- candidate_default_repeatability_eligible: {}\n- repeatability: {} of {}\n- runtime_default_activation: false\n\n## Readiness\n\n",
        packet.decision_status.as_str(),
        packet.ready_for_core_review,
        packet.candidate_default_repeatability_eligible,
        packet.repeatability_count,
        packet.repeatability_required
    );
    for fact in &packet.readiness_facts {
        let _ = writeln!(out, "- [{}] {}", if fact.holds { "x" } else { " " }, fact.fact);
    }
    out.push_str("\n## Evidence\n\n");
    for evidence in &packet.evidence_map {
        let work = evidence.work_id.as_deref().unwrap_or("-");
        let _ = writeln!(out, "- {work}: {} sha256 {}", evidence.bundle, evidence.attestation_sha256);
    }
    out.push_str("\n## Before any route\n\n");
    packet.core_route_requirements.iter().for_each(|text| out.push_str(&format!("- A Core route must {text}.\n")));
    packet
        .blockers_before_promotion
        .iter()
        .for_each(|text| out.push_str(&format!("- Blocker: {}.\n", show_controls(text))));
    out.push_str("\nRuntime default activation remains false. Do not activate Case as default backend. No Core promotion occurs. This document authorises no further run.\n");
    out
}
