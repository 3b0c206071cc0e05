//! `cto work closeout`: what is known of an item, as a document that passes the workspace's
//! own checks.

use std::path::Path;

use contract::proof::OwnedRepositoryProof;
use contract::text::show_controls;
use contract::{Digest, Report};
use evidence::verify::VerifiedBundle;
use serde_json::json;
use tree::{Git, SourceRepository};
use workboard::{
    CloseoutBundle, CloseoutFacts, CloseoutTarget, EvidenceKind, Workboard, closeout_path, create_document,
    list_closeout_phrases, render_closeout,
};

use crate::context::Context;
use crate::error::CommandError;
use crate::workspace_scene::WorkspaceScene;

const PROOF: &str = "stage5-owned-repo-proof.json";

/// Renders the closeout of an item, and writes it where asked to.
pub(super) fn close_out(context: &Context, id: &str, write: bool) -> Result<u8, CommandError> {
    let scene = WorkspaceScene::open_scene(context)?;
    let board = Workboard::read_whole(scene.files.text_of("WORKBOARD.yaml"));
    let board = board.map_err(|error| CommandError::usage(error).hint("cto validate workspace"))?;
    let item = super::find_item(&board, id)?;
    let bundles = item.evidence.iter().filter(|piece| piece.kind == Some(EvidenceKind::Bundle));
    let bundles =
        bundles.map(|piece| describe_bundle(context, &scene, &piece.reference)).collect::<Result<Vec<_>, _>>()?;
    let phrases = list_closeout_phrases(&scene.files, &item.id);
    let facts = CloseoutFacts { item, owner: "the operator".to_owned(), day: scene.today(), bundles, phrases };
    let text = render_closeout(&facts);
    let path = closeout_path(&item.id);
    let output = context.output;
    if write {
        create_document(&scene.root, &path, &text)
            .map_err(|error| CommandError::blocked_with(error).hint("move the one that is there aside"))?;
    }
    match (output.json, write) {
        (true, _) => output.print_json(&json!({"file": path, "id": id, "text": text, "written": write}))?,
        (false, true) => output.print(&format!("written {path}\n")),
        (false, false) => output.print(&text),
    }
    Ok(0)
}

/// A verified bundle as a closeout refers to it.
fn describe_bundle(context: &Context, scene: &WorkspaceScene, reference: &str) -> Result<CloseoutBundle, CommandError> {
    let bundle = scene.evidence.bind_reference(reference).map_err(|_| {
        CommandError::blocked_with(format!("the bundle {} does not verify", show_controls(reference)))
            .hint("cto validate workspace")
    })?;
    let report = bundle.report();
    let digest = |name: &str| bundle.read_file(name).map(|bytes| Digest::of_bytes(&bytes).to_string());
    let place = |name: &str| bundle.dir().join(name).display().to_string();
    let proofs =
        report.artifact_digests.iter().filter(|(name, _)| name.starts_with("stage") && name.ends_with("-proof.json"));
    Ok(CloseoutBundle {
        run_id: report.run_id.to_string(),
        status: report.status.to_string(),
        stage: report.stage.number(),
        report_path: place("report.json"),
        report_sha256: digest("report.json")?,
        proofs: proofs.map(|(name, sha256)| (place(name), sha256.clone())).collect(),
        attestation_sha256: bundle.attestation_sha256().to_string(),
        target: describe_target(context, &bundle),
        verification: format!("the run's own verification ended with {}", report.status),
        scope: describe_scope(report),
        changed_files: report.changed_files.clone(),
    })
}

fn describe_scope(report: &Report) -> String {
    match (report.allowed_writes_passed, report.forbidden_paths_passed) {
        (true, true) => "pass, every change lies in the allowed paths".to_owned(),
        (false, _) => "fail, a change lies outside of the allowed paths".to_owned(),
        (true, false) => "fail, a change lies in a forbidden path".to_owned(),
    }
}

/// The repository that the run landed in, and its state at this moment. It is only read.
fn describe_target(context: &Context, bundle: &VerifiedBundle) -> Option<CloseoutTarget> {
    let commit = bundle.report().target_commit.clone()?;
    let bytes = bundle.read_file(PROOF).ok()?;
    let proof: OwnedRepositoryProof = serde_json::from_slice(&bytes).ok()?;
    let state = look_at_target(context, Path::new(&proof.target_repository_path), &commit)
        .unwrap_or_else(|| "it cannot be read".to_owned());
    Some(CloseoutTarget { repository: proof.target_repository_path, commit, state })
}

fn look_at_target(context: &Context, path: &Path, commit: &str) -> Option<String> {
    let git = Git::find_git(&context.config.tools.operator_path).ok()?;
    let source = SourceRepository::open_repository(path).ok()?;
    let scratch = tempfile::tempdir().ok()?;
    let status = source.dirty_paths(&git, scratch.path()).ok()?;
    let is_clean = status.dirty.is_empty() && status.unfinished.is_empty();
    let has_commit = source.have_commits(&git, scratch.path(), &[commit]).ok()? == [true];
    let tree = if is_clean { "clean" } else { "with changes that are not committed" };
    let landed = if has_commit { "it has the commit" } else { "the commit is not in it" };
    Some(format!("{tree}, {landed}"))
}
