//! The board and the findings of the workspace, for the records page.

use contract::text::show_controls;
use hermes::{BoardFacts, BoardItemFacts, FindingFacts};
use workboard::{BoardItem, Finding, Severity, WorkGraph, WorkNode, WorkStatus, WorkType, Workboard};

use super::home_source::HomeSource;
use crate::commands::validate_workspace::check_documents;
use crate::error::CommandError;
use crate::workspace_scene::WorkspaceScene;

/// Reads the workspace as it is now. Starts no validator: opening a page runs none. Bundles
/// that verified are not verified again while the console lives.
pub(super) fn view_board(source: &HomeSource, from: usize) -> Result<BoardFacts, CommandError> {
    let context = &source.context;
    if context.config.workspace.is_none() {
        return Ok(BoardFacts::default());
    }
    let scene = WorkspaceScene::open_scene(context)?.sharing_memo(|keys| source.bundle_memo_for(keys));
    let check = check_documents(context, &scene)?;
    let board = scene.files.text_of("WORKBOARD.yaml").map(Workboard::read_board).unwrap_or_default();
    let graph = WorkGraph::of_board(&board);
    let (errors, advice): (Vec<&Finding>, Vec<&Finding>) =
        check.findings.iter().partition(|finding| finding.severity == Severity::Error);
    let shown_findings = errors.iter().chain(&advice).take(BoardFacts::MOST_FINDINGS);
    let is_validated = |item: &&BoardItem| item.status == Some(WorkStatus::Validated);
    let parts = board.items().iter().zip(&graph.nodes).skip(from).take(BoardFacts::MOST_ITEMS);
    Ok(BoardFacts {
        has_workspace: true,
        items: parts.map(|(item, node)| describe_item(item, node)).collect(),
        total: board.items().len(),
        validated: board.items().iter().filter(is_validated).count(),
        ready: graph.ready_items().len(),
        findings: shown_findings.map(|finding| describe_finding(finding)).collect(),
        errors: errors.len(),
        advice: advice.len(),
    })
}

fn describe_item(item: &BoardItem, node: &WorkNode) -> BoardItemFacts {
    let piece = |piece: &workboard::BoardEvidence| {
        let kind = piece.kind.map_or("-", workboard::EvidenceKind::as_str);
        show_controls(&format!("{kind} {}", piece.reference))
    };
    BoardItemFacts {
        id: show_controls(&item.id),
        title: show_controls(&item.title),
        work_type: item.work_type.map_or("-", WorkType::as_str).to_owned(),
        status: item.status.map_or("-", WorkStatus::as_str).to_owned(),
        waits_for: node.waits_for.iter().map(|id| show_controls(id)).collect(),
        evidence: item.evidence.iter().map(piece).collect(),
    }
}

fn describe_finding(finding: &Finding) -> FindingFacts {
    FindingFacts {
        place: show_controls(&format!("{}:{}:{}", finding.file, finding.line, finding.column)),
        rule: show_controls(&finding.rule),
        is_error: finding.severity == Severity::Error,
        message: show_controls(&finding.message),
        remedy: show_controls(&finding.remedy),
    }
}
