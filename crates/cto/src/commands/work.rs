//! `cto work`: the board as people read and move it.

use std::fmt::Write as _;

use contract::Digest;
use contract::text::shown;
use serde_json::json;
use workboard::{
    BoardChange, BoardItem, CloseoutBundle, CloseoutFacts, EditBoardError, EvidenceKind, WorkGraph, WorkNode,
    WorkStatus, WorkType, Workboard, WorkspaceFiles, change_board, closeout_path, create_document, render_closeout,
    validate_workspace,
};

use crate::args::WorkCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;
use crate::workspace_scene::{WorkspaceScene, workspace_root};

/// Shows the board, or moves and closes items.
pub(crate) fn work(context: &Context, command: &WorkCommand) -> Result<u8, CommandError> {
    match command {
        WorkCommand::Status { id, status, evidence } => return move_item(context, id, *status, evidence),
        WorkCommand::Closeout { id, write } => return close_out(context, id, *write),
        _ => {}
    }
    let files = WorkspaceFiles::read_board_alone(&workspace_root(context)?)
        .map_err(|error| CommandError::usage(error).hint("cto validate workspace"))?;
    let board = Workboard::read_whole(files.text("WORKBOARD.yaml"));
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
    let unknown = || CommandError::usage(format!("{} is not on the board", shown(id))).hint("cto work list");
    board.item(id).ok_or_else(unknown)
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
        let (status, kind, title) = (status_word(item.status), type_word(item.work_type), shown(&item.title));
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
    let _ = writeln!(text, "title {}", shown(&item.title));
    item.blocked_by.iter().for_each(|id| text.push_str(&format!("blocked_by {}\n", shown(id))));
    item.artifacts.iter().for_each(|path| text.push_str(&format!("artifact {}\n", shown(path))));
    item.acceptance.iter().for_each(|line| text.push_str(&format!("acceptance {}\n", shown(line))));
    for piece in &item.evidence {
        let _ = writeln!(text, "evidence {} {}", piece.kind.map_or("-", EvidenceKind::as_str), shown(&piece.reference));
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
        let _ = writeln!(text, "{} {} {} ({need})", node.id, type_word(node.work_type), shown(&node.title));
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
            let _ = writeln!(text, "{} {} waits_for={}", node.id, status_word(node.status), shown(&waits));
        }
        graph.cycles.iter().for_each(|cycle| text.push_str(&format!("cycle {}\n", cycle.join(" -> "))));
        output.print(&text);
    }
    Ok(if graph.cycles.is_empty() { 0 } else { 1 })
}

/// Moves an item. The board that would come of it must have no error that it has not now.
fn move_item(
    context: &Context,
    id: &str,
    status: WorkStatus,
    evidence: &[(EvidenceKind, String)],
) -> Result<u8, CommandError> {
    let scene = WorkspaceScene::open(context)?;
    let pieces = evidence.iter().map(|(kind, reference)| {
        let sha256 = match kind {
            EvidenceKind::Document => scene.files.text(reference).map(|text| Digest::of(text.as_bytes()).to_string()),
            _ => None,
        };
        (*kind, reference.clone(), sha256)
    });
    let change = BoardChange { id: id.to_owned(), status, evidence: pieces.collect() };
    let judge = |after: &str| {
        let mut files = scene.files.clone();
        files.replace_text("WORKBOARD.yaml", after.to_owned());
        let check = validate_workspace(&files, &scene.evidence, &scene.today());
        let about = |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == id);
        let refusals: Vec<String> = check
            .errors()
            .filter(|finding| finding.file == "WORKBOARD.yaml" && about(&finding.message))
            .map(|finding| format!("[{}] {}; {}", finding.rule, finding.message, finding.remedy))
            .collect();
        // Evidence is named by its reference where the finding does not name the item.
        let of_evidence = check.errors().filter(|finding| {
            finding.rule.starts_with("evidence_")
                && change.evidence.iter().any(|(_, name, _)| finding.message.contains(name))
        });
        let more = of_evidence.map(|finding| format!("[{}] {}; {}", finding.rule, finding.message, finding.remedy));
        let mut all: Vec<String> = refusals.into_iter().chain(more).collect();
        all.dedup();
        if all.is_empty() { Ok(()) } else { Err(all.join("\n")) }
    };
    change_board(&scene.root, &change, judge).map_err(|error| match error {
        EditBoardError::UnknownItem(_) => CommandError::usage(error).hint("cto work list"),
        EditBoardError::Board(_) => CommandError::usage(error).hint("cto validate workspace"),
        EditBoardError::Form { .. } => {
            CommandError::blocked(error).hint("edit WORKBOARD.yaml by hand, then cto validate workspace")
        }
        EditBoardError::Changed(_) => CommandError::blocked(error).hint("repeat the command"),
        _ => CommandError::blocked(error).hint(format!("cto work show {id}")),
    })?;
    let output = context.output;
    if output.json {
        output.print_json(&json!({"id": id, "status": status}))?;
    } else {
        output.print(&format!("moved {} {}\n", shown(id), status.as_str()));
    }
    Ok(0)
}

fn close_out(context: &Context, id: &str, write: bool) -> Result<u8, CommandError> {
    let scene = WorkspaceScene::open(context)?;
    let board = Workboard::read_whole(scene.files.text("WORKBOARD.yaml"));
    let board = board.map_err(|error| CommandError::usage(error).hint("cto validate workspace"))?;
    let item = find_item(&board, id)?;
    let bundles = item.evidence.iter().filter(|piece| piece.kind == Some(EvidenceKind::Bundle));
    let bundles = bundles.map(|piece| describe_bundle(&scene, &piece.reference)).collect::<Result<Vec<_>, _>>()?;
    let facts = CloseoutFacts { item, owner: "the operator".to_owned(), day: scene.today(), bundles };
    let text = render_closeout(&facts);
    let output = context.output;
    if !write {
        output.print(&text);
        return Ok(0);
    }
    let path = closeout_path(&item.id);
    create_document(&scene.root, &path, &text)
        .map_err(|error| CommandError::blocked(error).hint("move the one that is there aside"))?;
    if output.json {
        output.print_json(&json!({"file": path, "id": id}))?;
    } else {
        output.print(&format!("written {path}\n"));
    }
    Ok(0)
}

/// A verified bundle as a closeout refers to it.
fn describe_bundle(scene: &WorkspaceScene, reference: &str) -> Result<CloseoutBundle, CommandError> {
    let bundle = scene.evidence.bind(reference).map_err(|_| {
        CommandError::blocked(format!("the bundle {} does not verify", shown(reference))).hint("cto validate workspace")
    })?;
    let report = bundle.report();
    let digest = |name: &str| std::fs::read(bundle.dir().join(name)).map(|bytes| Digest::of(&bytes).to_string());
    let place = |name: &str| bundle.dir().join(name).display().to_string();
    let proofs =
        report.artifact_digests.iter().filter(|(name, _)| name.starts_with("stage") && name.ends_with("-proof.json"));
    let target = report.target_commit.as_ref().map(|commit| (report.case_id.to_string(), commit.clone()));
    Ok(CloseoutBundle {
        run_id: report.run_id.to_string(),
        status: report.status.to_string(),
        stage: report.stage.number(),
        report_path: place("report.json"),
        report_sha256: digest("report.json")?,
        proofs: proofs.map(|(name, sha256)| (place(name), sha256.clone())).collect(),
        attestation_sha256: bundle.attestation_sha256().to_string(),
        target,
        verification: format!("the run's own verification ended with {}", report.status),
        changed_files: report.changed_files.clone(),
    })
}
