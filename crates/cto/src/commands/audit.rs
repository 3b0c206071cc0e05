//! `cto audit`: the ten requirements of the end goal, computed from ledger, bundles and
//! records.

use std::path::Path;

use contract::core_route::{AuditStatus, CompletionStatus, EndgoalAudit};
use contract::proof::OwnedRepositoryProof;
use contract::stage6::refresh::{REFRESH_TASK, RefreshComparison, TargetReadOnlyStatus};
use contract::text::show_controls;
use contract::{CollectionKind, Stage, Status, TaskId};
use cortex::{ListedKind, RecordRow, list_records};
use evidence::verify::VerifiedBundle;
use gate::core_route::{AuditFacts, OwnedPassFact, RefreshFact, RungAuditFact, TransportFacts, judge_endgoal};
use harness::{FAKE, Home, check_pack};
use ledger::TaskRuns;
use serde::de::DeserializeOwned;
use tree::{Git, SourceRepository};
use views::{RunCount, RungStatus};

use super::validate_workspace::{WorkspaceValidation, judge_workspace};
use crate::context::Context;
use crate::error::CommandError;
use crate::ladder_view::{Climber, LadderScene};
use crate::output::Output;
use crate::workspace_scene::WorkspaceScene;

/// Engine that the end goal is about where no refresh names another.
const FIRST_ENGINE: &str = "case";
const PROOF: &str = "stage5-owned-repo-proof.json";

/// The audit with the refresh that it rests on.
pub(super) struct AuditScene {
    pub(super) audit: EndgoalAudit,
    pub(super) refresh: Option<RefreshFact>,
}

/// Audits the workspace and prints the result.
pub(crate) fn audit(context: &Context) -> Result<u8, CommandError> {
    let scene = WorkspaceScene::open_scene(context)?;
    let AuditScene { audit, .. } = audit_workspace(context, &scene)?;
    let output = context.output;
    if output.json {
        output.print_json(&audit)?;
    } else {
        output.print(&lines(output, &audit));
    }
    Ok(if audit.completion_status == CompletionStatus::Complete { 0 } else { 3 })
}

/// Judges the workspace as it is. Nothing of it is changed.
pub(super) fn audit_workspace(context: &Context, scene: &WorkspaceScene) -> Result<AuditScene, CommandError> {
    let validation = judge_workspace(context, scene, Vec::new())?;
    let found = find_refresh(scene);
    let refreshed = found.as_ref().map(|(_, comparison)| comparison.engine.clone());
    let refresh = found.map(|(run_id, comparison)| describe_refresh(run_id, &comparison));
    let ladder = LadderScene::open_scene(context)?;
    let climber = choose_climber(&ladder, refreshed.as_deref())?;
    let climbing = climber.as_ref().map(|climber| climber.engine.clone());
    let engine = refreshed.or(climbing).unwrap_or_else(|| FIRST_ENGINE.to_owned());
    let rows = list_records(&context.config.records, scene.now)?;
    let admitted = |kind: ListedKind, is_meant: &dyn Fn(&RecordRow) -> bool| {
        let meant = rows.iter().filter(|row| row.kind == kind && is_meant(row));
        meant.filter_map(|row| name_admission(scene, row)).collect()
    };
    // The admission of another engine's source says nothing of this one.
    let source = climber.as_ref().map_or_else(|| Some(engine.clone()), |climber| climber.source_id.clone());
    let facts = AuditFacts {
        engine,
        workspace_errors: validation.errors.len(),
        source_admissions: admitted(ListedKind::SourceAdmission, &|row| source.is_some() && row.subject == source),
        target_admissions: admitted(ListedKind::TargetAdmission, &|_| true),
        rungs: list_rungs(&ladder, climber.as_ref())?,
        owned_passes: list_passes(scene, &ladder, climber.as_ref())?,
        refresh: refresh.clone(),
        transport: look_at_transport(context, scene, &validation)?,
    };
    Ok(AuditScene { audit: judge_endgoal(&facts), refresh })
}

/// A usable, signed and admitted record as evidence: its file and its digest.
fn name_admission(scene: &WorkspaceScene, row: &RecordRow) -> Option<String> {
    let is_admitted = row.problem.is_none() && row.signed_by.is_some() && row.status.as_deref() == Some("admitted");
    let file = row.file.strip_prefix(&scene.root).unwrap_or(&row.file).display();
    is_admitted.then(|| row.sha256.map(|sha256| format!("{file} {sha256}"))).flatten()
}

/// The newest sealed refresh that verifies.
fn find_refresh(scene: &WorkspaceScene) -> Option<(String, RefreshComparison)> {
    let task_id = TaskId::try_from(REFRESH_TASK.to_owned()).ok()?;
    let asked = TaskRuns { task_id: &task_id, engine: None };
    let found = scene.evidence.views().find_document(asked, CollectionKind::Refresh, scene.now).ok()?;
    let run_id = found?.row.run_id.to_string();
    let bundle = scene.evidence.bind_reference(&run_id).ok()?;
    let comparison = read_document(&bundle, CollectionKind::Refresh.file())?;
    Some((run_id, comparison))
}

fn describe_refresh(run_id: String, comparison: &RefreshComparison) -> RefreshFact {
    RefreshFact {
        run_id,
        has_passed: comparison.status == Status::Pass,
        repeatability_count: comparison.repeatability_count,
        repeatability_required: comparison.repeatability_required,
        is_eligible: comparison.candidate_default_repeatability_eligible,
        targets_unchanged: comparison.target_read_only_status == TargetReadOnlyStatus::Unchanged,
    }
}

/// A file of a verified bundle, whose digest the bundle's attestation names.
fn read_document<T: DeserializeOwned>(bundle: &VerifiedBundle, name: &str) -> Option<T> {
    let bytes = bundle.read_file(name).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The climber that is furthest: of the engine that a refresh is about, or of any engine
/// that has climbed at all. An engine that is not known climbs nothing.
fn choose_climber(ladder: &LadderScene<'_>, refreshed: Option<&str>) -> Result<Option<Climber>, CommandError> {
    let Ok(mut climbers) = ladder.climbers(refreshed) else { return Ok(None) };
    climbers.sort_by_key(|climber| climber.engine != FIRST_ENGINE);
    let mut best: Option<(usize, Climber)> = None;
    // The built-in engine proves the harness and is nobody's candidate.
    for climber in climbers.into_iter().filter(|climber| climber.engine != FAKE) {
        let rungs = ladder.ladder(&climber)?.rungs;
        let height = rungs.iter().filter(|rung| rung.status == RungStatus::Validated).count();
        if best.as_ref().is_none_or(|(known, _)| height > *known) {
            best = Some((height, climber));
        }
    }
    let is_meant = |climber: &Climber| [Some(FIRST_ENGINE), refreshed].contains(&Some(climber.engine.as_str()));
    let climbed = best.filter(|(height, climber)| *height > 0 || is_meant(climber));
    Ok(climbed.map(|(_, climber)| climber))
}

fn list_rungs(ladder: &LadderScene<'_>, climber: Option<&Climber>) -> Result<Vec<RungAuditFact>, CommandError> {
    let Some(climber) = climber else { return Ok(Vec::new()) };
    let rungs = ladder.ladder(climber)?.rungs;
    let describe = |rung: &views::Rung| RungAuditFact {
        stage: rung.stage,
        is_validated: rung.status == RungStatus::Validated,
        bundles: rung.bundles.iter().map(|proof| proof.run_id.to_string()).collect(),
        missing: rung.gap.as_ref().map(views::RungGap::sentence),
        remedy: ladder.rung_remedy(climber, rung),
    };
    Ok(rungs.iter().map(describe).collect())
}

/// Passes of stage 5 that count, each with its proof.
fn list_passes(
    scene: &WorkspaceScene,
    ladder: &LadderScene<'_>,
    climber: Option<&Climber>,
) -> Result<Vec<OwnedPassFact>, CommandError> {
    let Some(climber) = climber else { return Ok(Vec::new()) };
    let rung = ladder.whole_rung(climber, Stage::OWNED_REPOSITORY)?;
    let counting = rung.runs.iter().filter(|run| run.counts == RunCount::For);
    Ok(counting.filter_map(|run| describe_pass(&scene.evidence.bind_reference(run.run_id.as_str()).ok()?)).collect())
}

fn describe_pass(bundle: &VerifiedBundle) -> Option<OwnedPassFact> {
    let report = bundle.report();
    let proof: Option<OwnedRepositoryProof> = read_document(bundle, PROOF);
    let protected = report.protected_roots.iter().all(|root| !root.is_changed());
    let is_clean =
        |proof: &OwnedRepositoryProof| proof.target_repository_start_clean && proof.target_repository_ending_clean;
    Some(OwnedPassFact {
        run_id: report.run_id.to_string(),
        approval_digest: report.approval_digest.map(|digest| digest.to_string()),
        target_commit: report.target_commit.clone(),
        changed_files: report.changed_files.len(),
        is_bounded: proof.as_ref().is_some_and(|proof| proof.passed),
        target_kept: protected && proof.as_ref().is_some_and(is_clean),
    })
}

/// The workspace in git, clean and equal to its remote-tracking reference; validators,
/// protected trees, and whether a pack would verify.
fn look_at_transport(
    context: &Context,
    scene: &WorkspaceScene,
    validation: &WorkspaceValidation,
) -> Result<TransportFacts, CommandError> {
    let mut facts = TransportFacts::default();
    let git = Git::find_git(&context.config.tools.operator_path)
        .map_err(|error| CommandError::blocked_with(error).hint("cto doctor"))?;
    match SourceRepository::open_repository(&scene.root) {
        Ok(source) => look_at_repository(&git, &source, &mut facts),
        Err(_) => facts.problems.push("the workspace is no git repository that can be read".to_owned()),
    }
    if !validation.ok {
        facts.problems.push("cto validate workspace does not pass".to_owned());
    }
    for root in &context.config.named_repositories.protected_roots {
        let is_clean =
            SourceRepository::open_repository(root).ok().and_then(|source| is_clean(&git, &source)) == Some(true);
        if !is_clean {
            facts.problems.push(format!("the protected tree {} is edited or cannot be read", root.display()));
        }
    }
    if let Some(problem) = find_pack_problem(context, &scene.root) {
        facts.problems.push(problem);
    }
    Ok(facts)
}

fn is_clean(git: &Git, source: &SourceRepository) -> Option<bool> {
    let scratch = tempfile::tempdir().ok()?;
    let status = source.dirty_paths(git, scratch.path()).ok()?;
    Some(status.dirty.is_empty() && status.unfinished.is_empty())
}

fn look_at_repository(git: &Git, source: &SourceRepository, facts: &mut TransportFacts) {
    let head = source.head_commit();
    if is_clean(git, source) != Some(true) {
        facts.problems.push("the workspace has changes that are not committed".to_owned());
    }
    let branch = source.checked_out().ok().flatten();
    let tracked = branch
        .as_ref()
        .and_then(|branch| source.read_reference(&format!("refs/remotes/origin/{branch}")).ok().flatten());
    match tracked {
        Some(tracked) if tracked == head => facts.evidence.push(format!("workspace commit {head}")),
        Some(_) => facts.problems.push("the workspace's branch differs from its remote-tracking reference".to_owned()),
        None => facts.problems.push("the workspace's branch has no remote-tracking reference origin".to_owned()),
    }
}

/// Problem that a pack of everything would have. Nothing is packed: an audit writes nothing
/// and makes no key.
fn find_pack_problem(context: &Context, root: &Path) -> Option<String> {
    let Ok(home) = Home::existing(&context.config.place()) else { return Some("there is no home to pack".to_owned()) };
    check_pack(&home, root).err().map(|error| format!("a pack would not verify: {error}"))
}

fn lines(output: Output, audit: &EndgoalAudit) -> String {
    let word = match audit.completion_status {
        CompletionStatus::Complete => "complete",
        CompletionStatus::Incomplete => "incomplete",
    };
    let proven = audit.requirements.iter().filter(|one| one.status == AuditStatus::Proven).count();
    let mut out = format!("{word} {proven} of {} engine={}\n", audit.requirements.len(), show_controls(&audit.engine));
    for one in &audit.requirements {
        match &one.gap {
            None => out.push_str(&format!("proven {}\n", one.title)),
            Some(gap) => {
                out.push_str(&format!("not_proven {}: {}\n", one.title, show_controls(&gap.text)));
                out.push_str(&output.command_line(2, &show_controls(&gap.remedy)));
            }
        }
    }
    let drafts: Vec<&str> =
        audit.requirements.iter().filter_map(|one| Some(one.gap.as_ref()?.draft_item.as_str())).collect();
    if !drafts.is_empty() {
        out.push_str(&format!("draft items for WORKBOARD.yaml:\n{}", drafts.concat()));
    }
    out
}
