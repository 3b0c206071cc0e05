//! `cto work`: the board as people read and move it.

mod closeout;

use std::fmt::Write as _;

use contract::text::show_controls;
use serde_json::json;
use workboard::{
    BoardChange, BoardItem, CheckRule, EditBoardError, EvidenceKind, Finding, Severity, WorkGraph, WorkNode,
    WorkStatus, WorkType, Workboard, WorkspaceFiles, change_board, check_move, resolve_artifact, validate_workspace,
};

use super::validate_workspace::run_validators;
use crate::args::WorkCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::nearest::did_you_mean;
use crate::output::Output;
use crate::workspace_scene::{WorkspaceScene, workspace_root};

/// Shows the board, or moves and closes items.
pub(crate) fn work(context: &Context, command: &WorkCommand) -> Result<u8, CommandError> {
    match command {
        WorkCommand::Status { id, status, evidence } => return move_item(context, id, *status, evidence),
        WorkCommand::Closeout { id, write } => return closeout::close_out(context, id, *write),
        _ => {}
    }
    let files = WorkspaceFiles::read_board_alone(&workspace_root(context)?)
        .map_err(|error| CommandError::usage(error).hint("cto validate workspace"))?;
    let board = Workboard::read_whole(files.text_of("WORKBOARD.yaml"));
    let board = board.map_err(|error| CommandError::usage(error).hint("cto validate workspace"))?;
    match command {
        WorkCommand::List { status } => list(context.output, &board, *status),
        WorkCommand::Show { id } => show(context.output, find_item(&board, id)?),
        WorkCommand::Next => next(context.output, &board),
        WorkCommand::Graph { dot } => graph(context.output, &board, *dot),
        WorkCommand::Status { .. } | WorkCommand::Closeout { .. } => Ok(0),
    }
}

fn find_item<'b>(board: &'b Workboard, id: &str) -> Result<&'b BoardItem, CommandError> {
    board.find_item(id).ok_or_else(|| suggest_item(board, id))
}

/// The same for a board that was read for a change.
fn unknown_item(scene: &WorkspaceScene, id: &str) -> CommandError {
    match Workboard::read_whole(scene.files.text_of("WORKBOARD.yaml")) {
        Ok(board) => suggest_item(&board, id),
        Err(error) => CommandError::usage(error).hint("cto validate workspace"),
    }
}

/// Error for an item that is not on the board, with the one that was likely meant.
fn suggest_item(board: &Workboard, id: &str) -> CommandError {
    let meant = did_you_mean(id, board.items().iter().map(|item| item.id.as_str()));
    CommandError::usage(format!("{} is not on the board{meant}", show_controls(id))).hint("cto work list")
}

fn status_word(status: Option<WorkStatus>) -> &'static str {
    status.map_or("-", WorkStatus::as_str)
}

fn type_word(work_type: Option<WorkType>) -> &'static str {
    work_type.map_or("-", WorkType::as_str)
}

fn list(output: Output, board: &Workboard, status: Option<WorkStatus>) -> Result<u8, CommandError> {
    let items: Vec<&BoardItem> =
        board.items().iter().filter(|item| status.is_none() || item.status == status).collect();
    if output.json {
        output.print_json(&items)?;
        return Ok(0);
    }
    let mut text = String::new();
    for item in items {
        let (status, kind, title) = (status_word(item.status), type_word(item.work_type), show_controls(&item.title));
        let _ = match output.terminal {
            true => writeln!(text, "  {:<16} {kind:<5} {status:<10} {title}", item.id),
            false => writeln!(text, "{} {kind} {status} {title}", item.id),
        };
    }
    output.print(if text.is_empty() { "no items\n" } else { &text });
    Ok(0)
}

fn show(output: Output, item: &BoardItem) -> Result<u8, CommandError> {
    if output.json {
        output.print_json(item)?;
        return Ok(0);
    }
    let mut text = format!("{} {} {}\n", item.id, type_word(item.work_type), status_word(item.status));
    let _ = writeln!(text, "title {}", show_controls(&item.title));
    item.blocked_by.iter().for_each(|id| text.push_str(&format!("blocked_by {}\n", show_controls(id))));
    item.artifacts.iter().for_each(|path| text.push_str(&format!("artifact {}\n", show_controls(path))));
    item.acceptance.iter().for_each(|line| text.push_str(&format!("acceptance {}\n", show_controls(line))));
    for piece in &item.evidence {
        let _ = writeln!(
            text,
            "evidence {} {}",
            piece.kind.map_or("-", EvidenceKind::as_str),
            show_controls(&piece.reference)
        );
    }
    output.print(&text);
    Ok(0)
}

fn next(output: Output, board: &Workboard) -> Result<u8, CommandError> {
    let graph = WorkGraph::of_board(board);
    let ready = graph.ready_items();
    if output.json {
        let of_type = |wanted: Option<WorkType>| -> Vec<&&WorkNode> {
            ready.iter().filter(|node| node.work_type == wanted).collect()
        };
        output.print_json(&json!({
            "afk": of_type(Some(WorkType::Afk)),
            "hitl": of_type(Some(WorkType::Hitl)),
        }))?;
        return Ok(0);
    }
    let mut text = String::new();
    for node in &ready {
        let need = match node.work_type {
            Some(WorkType::Hitl) => "needs a human decision",
            _ => "can be done without a person",
        };
        let _ = writeln!(text, "{} {} {} ({need})", node.id, type_word(node.work_type), show_controls(&node.title));
    }
    output.print(if text.is_empty() {
        "nothing can be done now: everything is validated, blocked or waits\n"
    } else {
        &text
    });
    Ok(0)
}

fn graph(output: Output, board: &Workboard, dot: bool) -> Result<u8, CommandError> {
    let graph = WorkGraph::of_board(board);
    if dot {
        output.print(&graph.dot_text());
    } else if output.json {
        output.print_json(&graph)?;
    } else {
        let mut text = String::new();
        for node in &graph.nodes {
            let waits = if node.waits_for.is_empty() { "-".to_owned() } else { node.waits_for.join(",") };
            let _ = writeln!(text, "{} {} waits_for={}", node.id, status_word(node.status), show_controls(&waits));
        }
        graph.cycles.iter().for_each(|cycle| text.push_str(&format!("cycle {}\n", cycle.join(" -> "))));
        output.print(&text);
    }
    Ok(if graph.cycles.is_empty() { 0 } else { 1 })
}

/// Moves an item. Its evidence has to hold, and the board that would come of it must have no
/// error that is about the item.
fn move_item(
    context: &Context,
    id: &str,
    status: WorkStatus,
    evidence: &[(EvidenceKind, String)],
) -> Result<u8, CommandError> {
    let scene = WorkspaceScene::open_scene(context)?;
    let pieces =
        evidence.iter().map(|(kind, reference)| (*kind, reference.clone(), digest_of(&scene, *kind, reference)));
    let change = BoardChange { id: id.to_owned(), status, evidence: pieces.collect() };
    run_named_validators(context, &scene, &change)?;
    change_board(&scene.root, &change, |after| judge_move(&scene, &change, after)).map_err(|error| match error {
        EditBoardError::UnknownItem(_) => unknown_item(&scene, id),
        EditBoardError::Board(_) => CommandError::usage(error).hint("cto validate workspace"),
        EditBoardError::Form { .. } => {
            CommandError::blocked_with(error).hint("edit WORKBOARD.yaml by hand, then cto validate workspace")
        }
        EditBoardError::Changed(_) => CommandError::blocked_with(error).hint("repeat the command"),
        _ => CommandError::blocked_with(error).hint(format!("cto work show {id}")),
    })?;
    let output = context.output;
    if output.json {
        output.print_json(&json!({"id": id, "status": status}))?;
    } else {
        output.print(&format!("moved {} {}\n", show_controls(id), status.as_str()));
    }
    Ok(0)
}

/// Digest of a document that is given as evidence, so that a later edit of it is seen.
fn digest_of(scene: &WorkspaceScene, kind: EvidenceKind, reference: &str) -> Option<String> {
    let path = (kind == EvidenceKind::Document).then(|| resolve_artifact(&scene.files, reference))??;
    scene.files.file_digest(&path).map(|digest| digest.to_string())
}

/// Runs the validators that the item rests on, or will.
fn run_named_validators(context: &Context, scene: &WorkspaceScene, change: &BoardChange) -> Result<(), CommandError> {
    let board = scene.files.text_of("WORKBOARD.yaml").map(Workboard::read_board).unwrap_or_default();
    let attached = board.find_item(&change.id).map(|item| item.evidence.as_slice()).unwrap_or_default();
    let is_named = |name: &str| {
        let is_given = change.evidence.iter().any(|(kind, given, _)| *kind == EvidenceKind::Validator && given == name);
        is_given || attached.iter().any(|piece| piece.reference == name)
    };
    run_validators(context, scene, is_named).map(drop)
}

/// Reasons against the board that would come of a move, as one text.
fn judge_move(scene: &WorkspaceScene, change: &BoardChange, after: &str) -> Result<(), String> {
    let mut files = scene.files.clone();
    files.replace_text("WORKBOARD.yaml", after.to_owned());
    let check = validate_workspace(&files, &scene.evidence, &scene.today());
    let is_of_item = |finding: &&Finding| {
        let names_item =
            |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == change.id);
        finding.file == "WORKBOARD.yaml" && names_item(&finding.message)
    };
    // Evidence is judged whatever the status is, and what is only advice about a board that
    // somebody wrote is a refusal of a move that somebody makes.
    let of_move = check_move(&files, &scene.evidence, &change.id, change.evidence.len());
    let refusing = of_move
        .iter()
        .filter(|finding| finding.severity == Severity::Error || finding.rule == CheckRule::EvidenceUnverified.id());
    let mut all: Vec<String> = check
        .errors()
        .filter(is_of_item)
        .chain(refusing)
        .map(|finding| format!("[{}] {}; {}", finding.rule, finding.message, finding.remedy))
        .collect();
    all.sort();
    all.dedup();
    if all.is_empty() { Ok(()) } else { Err(all.join("\n")) }
}
