//! Checks of the board: shape, order, evidence, artifacts, words.

use std::collections::{HashMap, HashSet};

use contract::source::{self, Span, ValueKind};

use crate::board::{BOARD, BoardEvidence, BoardItem, EvidenceKind, WorkStatus, Workboard, node_text};
use crate::check_rule::CheckRule;
use crate::document::PlanningDocument;
use crate::evidence::{EvidenceScene, EvidenceSource, guess_kind, resolve_artifact, split_commits};
use crate::files::WorkspaceFiles;
use crate::finding::Finding;
use crate::graph::WorkGraph;
use crate::rules::RuleBook;
use crate::validate::document_checks::{check_constant, is_older};

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

/// Items that have a document which is older than the workspace: a heading in it, or its
/// name among their artifacts or evidence.
pub(super) fn list_older_items(
    board: &Workboard,
    files: &WorkspaceFiles,
    documents: &[PlanningDocument<'_>],
    first_day: Option<&str>,
) -> HashSet<String> {
    let older = || documents.iter().filter(|document| is_older(document, first_day));
    let paths: HashSet<&str> = older().map(|document| document.path).collect();
    if paths.is_empty() {
        return HashSet::new();
    }
    let mut items: HashSet<String> =
        older().flat_map(|document| document.items()).map(|item| item.id.clone()).collect();
    let names_older = |name: &String| resolve_artifact(files, name).is_some_and(|path| paths.contains(path.as_str()));
    let named = board.items().iter().filter(|item| {
        item.artifacts.iter().chain(item.evidence.iter().map(|piece| &piece.reference)).any(names_older)
    });
    items.extend(named.map(|item| item.id.clone()));
    items
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
                        found.push(Finding::at_place(
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
    (piece.kind == Some(EvidenceKind::Work)).then(|| board.find_item(&piece.reference)).flatten()
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
