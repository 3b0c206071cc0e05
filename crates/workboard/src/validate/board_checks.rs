//! Checks of the board: shape, order, evidence, artifacts, words.

use std::collections::HashMap;

use contract::source::Span;

use crate::board::{BOARD, BoardEvidence, BoardItem, EvidenceKind, WorkStatus, Workboard};
use crate::check_rule::CheckRule;
use crate::evidence::{EvidenceSource, check_evidence, resolve_artifact};
use crate::files::WorkspaceFiles;
use crate::finding::Finding;
use crate::graph::WorkGraph;
use crate::locate::LineIndex;
use crate::rules::RuleBook;

/// Adds the findings about the board.
pub(super) fn check_board(
    board: &Workboard,
    files: &WorkspaceFiles,
    source: &dyn EvidenceSource,
    found: &mut Vec<Finding>,
) {
    for problem in &board.problems {
        let place = (problem.span.line, problem.span.column);
        found.push(Finding::at(BOARD, place, problem.rule, problem.message.clone(), problem.remedy.clone()));
    }
    check_cycles(board, found);
    check_evidence_circles(board, found);
    for item in board.items() {
        check_blockers(item, board, found);
        check_artifacts(item, files, found);
        if item.status == Some(WorkStatus::Validated) {
            check_evidence(item, board, files, source, found);
        }
    }
}

fn place_of(span: Span) -> (usize, usize) {
    (span.line, span.column)
}

fn check_cycles(board: &Workboard, found: &mut Vec<Finding>) {
    for cycle in WorkGraph::of_board(board).cycles {
        let Some(item) = cycle.first().and_then(|id| board.item(id)) else { continue };
        let next = cycle.get(1).map_or("", String::as_str);
        let at = item.blocked_by.iter().position(|id| id == next).and_then(|index| item.spans.blocked_by.get(index));
        let message = format!("these items wait for each other: {}", cycle.join(" -> "));
        let remedy = "take one of these out of `blocked_by`";
        found.push(Finding::at(
            BOARD,
            place_of(at.copied().unwrap_or(item.spans.item)),
            CheckRule::BlockedByCycle,
            message,
            remedy,
        ));
    }
}

/// Items that are each other's evidence prove nothing, however long the circle is.
fn check_evidence_circles(board: &Workboard, found: &mut Vec<Finding>) {
    let mut state: HashMap<&str, bool> = HashMap::new();
    for item in board.items() {
        let mut path: Vec<(&BoardItem, usize)> = vec![(item, 0)];
        while let Some((here, next)) = path.last_mut() {
            let here = *here;
            if *next == 0 && state.insert(&here.id, false).is_some_and(|is_done| is_done) {
                state.insert(&here.id, true);
                path.pop();
                continue;
            }
            let named = here.evidence.get(*next);
            *next += 1;
            match named.map(|piece| (piece, find_work(board, piece))) {
                Some((piece, Some(to))) => match state.get(to.id.as_str()) {
                    Some(true) => {}
                    Some(false) => {
                        let message = format!("{} and {} rest on each other as evidence", here.id, to.id);
                        let remedy = "rest one of them on a bundle, a document or a commit";
                        found.push(Finding::at(
                            BOARD,
                            place_of(piece.span),
                            CheckRule::EvidenceCircle,
                            message,
                            remedy,
                        ));
                    }
                    None => path.push((to, 0)),
                },
                Some((_, None)) => {}
                None => {
                    state.insert(&here.id, true);
                    path.pop();
                }
            }
        }
    }
}

/// Item that a piece of evidence is, if it is one of the board.
fn find_work<'b>(board: &'b Workboard, piece: &BoardEvidence) -> Option<&'b BoardItem> {
    (piece.kind == Some(EvidenceKind::Work)).then(|| board.item(&piece.reference)).flatten()
}

fn check_blockers(item: &BoardItem, board: &Workboard, found: &mut Vec<Finding>) {
    for (id, span) in item.blocked_by.iter().zip(&item.spans.blocked_by) {
        match board.item(id) {
            None => {
                let message = format!("{} is blocked by {id}, which is not on the board", item.id);
                let remedy = "name an item of the board; a condition in words belongs into `human_gate`";
                found.push(Finding::at(BOARD, place_of(*span), CheckRule::BlockedByUnknown, message, remedy));
            }
            Some(other)
                if item.status == Some(WorkStatus::Validated) && other.status != Some(WorkStatus::Validated) =>
            {
                let message = format!("{} is validated before {id}, which it depends on", item.id);
                let remedy = format!("validate {id} first, or move {} back", item.id);
                found.push(Finding::at(BOARD, place_of(*span), CheckRule::ValidatedTooEarly, message, remedy));
            }
            Some(_) => {}
        }
    }
}

/// Files that an item names, such as its PRD and its issues; a path outside of the
/// workspace is external.
fn check_artifacts(item: &BoardItem, files: &WorkspaceFiles, found: &mut Vec<Finding>) {
    for (name, span) in item.artifacts.iter().zip(&item.spans.artifacts) {
        let is_external = name.starts_with('/') || name.contains("://");
        if !is_external && resolve_artifact(files, name).is_none() {
            let message = format!("{} names {name}, which is not there", item.id);
            let remedy = "write the document, or take it out of `artifacts`";
            found.push(Finding::at(BOARD, place_of(*span), CheckRule::ArtifactMissing, message, remedy));
        }
    }
}

/// Titles and texts of the board keep the rules about words too.
pub(super) fn check_board_words(files: &WorkspaceFiles, book: &RuleBook, found: &mut Vec<Finding>) {
    let Some(text) = files.text(BOARD) else { return };
    let index = LineIndex::index_lines(text);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
        let value = line.split_once(": ").map_or(line, |(_, value)| value);
        let value = value.trim().trim_matches(['"', '\'']);
        for rule in &book.forbids {
            if let Some(at) = rule.find_claim(value) {
                let start = index.start_of(text, number + 1) + (value.as_ptr() as usize - line.as_ptr() as usize) + at;
                let message = format!("this claims what no record may claim, as in \"{}\"", rule.rule.sentence);
                let place = index.place_of(text, start);
                found.push(Finding::of_words(BOARD, place, &rule.rule, message));
            }
        }
    }
}
