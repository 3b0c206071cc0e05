//! Checks of the board: shape, order, evidence, artifacts, words.

use std::collections::HashSet;

use contract::source::{self, Span, ValueKind};

use crate::board::{BOARD, BoardEvidence, BoardItem, EvidenceKind, WorkStatus, Workboard, node_text};
use crate::check_rule::CheckRule;
use crate::document::{DocumentKind, PlanningDocument, file_stem};
use crate::earlier::EarlierRecords;
use crate::evidence::{EvidenceScene, EvidenceSource, guess_kind, resolve_artifact, split_commits};
use crate::files::WorkspaceFiles;
use crate::finding::Finding;
use crate::graph::{WorkGraph, find_cycles};
use crate::rules::RuleBook;
use crate::validate::document_checks::check_constant;

/// Adds the findings about the board.
pub(super) fn check_board(
    board: &Workboard,
    files: &WorkspaceFiles,
    source: &dyn EvidenceSource,
    older: &HashSet<String>,
    found: &mut Vec<Finding>,
) {
    for problem in &board.problems {
        let place = (problem.span.line, problem.span.column);
        found.push(Finding::at_place(BOARD, place, problem.rule, problem.message.clone(), problem.remedy.clone()));
    }
    check_cycles(board, found);
    check_evidence_circles(board, found);
    source.prepare_commits(&list_commits(board));
    let scene = EvidenceScene { board, files, source };
    for item in board.items() {
        check_blockers(item, board, found);
        check_artifacts(item, files, found);
        if item.status == Some(WorkStatus::Validated) {
            scene.check_evidence(item, older.contains(&item.id), found);
        }
    }
}

/// Commits that validated items rest on, which are looked for together.
fn list_commits(board: &Workboard) -> Vec<&str> {
    let validated = board.items().iter().filter(|item| item.status == Some(WorkStatus::Validated));
    let pieces = validated.flat_map(|item| &item.evidence);
    let commits =
        pieces.filter(|piece| piece.kind.unwrap_or_else(|| guess_kind(&piece.reference)) == EvidenceKind::Commit);
    commits.filter_map(|piece| split_commits(&piece.reference)).flatten().collect()
}

/// Items that were validated before the workspace was made and have a document of that time: a heading in it, or its name among
/// their artifacts or evidence.
pub(super) fn list_older_items(
    board: &Workboard,
    files: &WorkspaceFiles,
    documents: &[PlanningDocument<'_>],
    earlier: &EarlierRecords,
) -> HashSet<String> {
    let older = || documents.iter().filter(|document| earlier.holds(document));
    let paths: HashSet<&str> = older().map(|document| document.path).collect();
    let headed: HashSet<&str> = older().flat_map(|document| document.items()).map(|item| item.id.as_str()).collect();
    let names_older = |name: &String| resolve_artifact(files, name).is_some_and(|path| paths.contains(path.as_str()));
    let is_older = |item: &&BoardItem| {
        let mut names = item.artifacts.iter().chain(item.evidence.iter().map(|piece| &piece.reference));
        earlier.holds_item(item) && (headed.contains(item.id.as_str()) || names.any(names_older))
    };
    board.items().iter().filter(is_older).map(|item| item.id.clone()).collect()
}

fn place_of(span: Span) -> (usize, usize) {
    (span.line, span.column)
}

fn check_cycles(board: &Workboard, found: &mut Vec<Finding>) {
    for cycle in WorkGraph::of_board(board).cycles {
        let Some(item) = cycle.first().and_then(|id| board.find_item(id)) else { continue };
        let next = cycle.get(1).map_or("", String::as_str);
        let at = item.blocked_by.iter().position(|id| id == next).and_then(|index| item.spans.blocked_by.get(index));
        let message = format!("these items wait for each other: {}", cycle.join(" -> "));
        let remedy = "take one of these out of `blocked_by`";
        found.push(Finding::at_place(
            BOARD,
            place_of(at.copied().unwrap_or(item.spans.item)),
            CheckRule::BlockedByCycle,
            message,
            remedy,
        ));
    }
}

/// Items that are each other's evidence prove nothing, however long the circle is and however they name each other.
fn check_evidence_circles(board: &Workboard, found: &mut Vec<Finding>) {
    let named: Vec<Vec<(usize, Span)>> = board
        .items()
        .iter()
        .map(|item| item.evidence.iter().filter_map(|piece| find_named(board, item, piece)).collect())
        .collect();
    let edges: Vec<Vec<usize>> = named.iter().map(|pieces| pieces.iter().map(|(to, _)| *to).collect()).collect();
    for cycle in find_cycles(&edges) {
        let [.., last, first] = cycle.as_slice() else { continue };
        let Some((_, span)) = named[*last].iter().find(|(to, _)| to == first) else { continue };
        let ids: Vec<&str> = cycle.iter().map(|index| board.items()[*index].id.as_str()).collect();
        let message = format!("these items rest on each other as evidence: {}", ids.join(" -> "));
        let remedy = "rest one of them on a bundle, a document or a commit";
        found.push(Finding::at_place(BOARD, place_of(*span), CheckRule::EvidenceCircle, message, remedy));
    }
}

/// Item of the board that a piece of evidence is, by its id or by the name of its closeout. An item may rest on its own closeout.
fn find_named(board: &Workboard, item: &BoardItem, piece: &BoardEvidence) -> Option<(usize, Span)> {
    let named = match piece.kind.unwrap_or_else(|| guess_kind(&piece.reference)) {
        EvidenceKind::Work => board.index_of(&piece.reference),
        EvidenceKind::Document => {
            board.index_of(closed_item(&piece.reference)?).filter(|index| board.items()[*index].id != item.id)
        }
        EvidenceKind::Bundle | EvidenceKind::Commit | EvidenceKind::Validator | EvidenceKind::External => None,
    };
    named.map(|index| (index, piece.span))
}

/// Id in the name of a closeout.
fn closed_item(reference: &str) -> Option<&str> {
    let path = reference.trim().trim_matches('`').split('#').next()?;
    let word = DocumentKind::Closeout.suffix();
    DocumentKind::of_path(path).filter(|kind| *kind == DocumentKind::Closeout)?;
    let stem = file_stem(path);
    stem.get(..stem.len().checked_sub(word.len())?).map(|id| id.trim_end_matches(['-', '_']))
}

fn check_blockers(item: &BoardItem, board: &Workboard, found: &mut Vec<Finding>) {
    for (id, span) in item.blocked_by.iter().zip(&item.spans.blocked_by) {
        match board.find_item(id) {
            None => {
                let message = format!("{} is blocked by {id}, which is not on the board", item.id);
                let remedy = "name an item of the board; a condition in words belongs into `human_gate`";
                found.push(Finding::at_place(BOARD, place_of(*span), CheckRule::BlockedByUnknown, message, remedy));
            }
            Some(other)
                if item.status == Some(WorkStatus::Validated) && other.status != Some(WorkStatus::Validated) =>
            {
                let message = format!("{} is validated before {id}, which it depends on", item.id);
                let remedy = format!("validate {id} first, or move {} back", item.id);
                found.push(Finding::at_place(BOARD, place_of(*span), CheckRule::ValidatedTooEarly, message, remedy));
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
            found.push(Finding::at_place(BOARD, place_of(*span), CheckRule::ArtifactMissing, message, remedy));
        }
    }
}

/// Every text of the board keeps the rules about words, each value for itself, and its facts
/// keep their constants.
pub(super) fn check_board_words(files: &WorkspaceFiles, book: &RuleBook, found: &mut Vec<Finding>) {
    let Some(node) = files.text_of(BOARD).and_then(|text| source::read(BOARD, text).node) else { return };
    let mut open = vec![&node];
    while let Some(node) = open.pop() {
        match &node.kind {
            ValueKind::Text(text) => note_board_claims(text, node.span, book, found),
            ValueKind::Seq(items) => open.extend(items),
            ValueKind::Map(entries) => {
                for (key, value) in entries {
                    if let Some(said) = node_text(value) {
                        check_constant(BOARD, &key.text, &said, place_of(key.span), found);
                    }
                    open.push(value);
                }
            }
            ValueKind::Null | ValueKind::Bool(_) | ValueKind::Int(_) | ValueKind::Float(_) => {}
        }
    }
}

fn note_board_claims(text: &str, span: Span, book: &RuleBook, found: &mut Vec<Finding>) {
    for rule in &book.forbids {
        let Some(at) = rule.find_claim(text) else { continue };
        let before = text.get(..at).map_or(0, |before| before.chars().count());
        // A text in quotes begins one column behind them; one over several lines has only
        // its beginning.
        let column = match span.length.checked_sub(text.chars().count()) {
            Some(0) => span.column + before,
            Some(2) => span.column + 1 + before,
            _ => span.column,
        };
        let message = format!("this claims what no record may claim, as in \"{}\"", rule.rule.sentence);
        found.push(Finding::of_words(BOARD, (span.line, column), &rule.rule, message));
    }
}
