//! The result: captured once, after the process tree is dead, as raw blobs, and judged
//! against the contract.

mod litter;

use std::collections::{BTreeSet, HashSet};
use std::os::fd::AsFd as _;

use contract::event_data::{GitDiffCheckedData, PatchAppliedData};
use contract::paths::{PathRules, PathVerdict};
use contract::proof::SourceState;
use contract::report::SourceAt;
use contract::text::{path_text, show_controls};
use contract::{Coverage, Digest, Event, EventData, EventKind, Reason};
use evidence::{names, stop};
use gate::Admission;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tree::{
    Capture, Listing, LowerLayers, ObjectDatabase, Oid, PathChange, Proof, References, RefusedPath, RefusedWhy,
    SourceRepository, TreeError, digest_references,
};

use crate::gather::decide::Preparation;
use crate::gather::engine::equip::Equipped;
use crate::home::watch::{Step, StepState};
use crate::judge::copy::{Baseline, CAPTURE_LIMITS, Copy, LandingRepository, SourceBefore};
use crate::judge::products::{Products, judge_products};
use crate::run::file::{RunFile, Stopped};
use crate::run::notes::{NotedStep, StepFindings};
use crate::run::standing::RunStanding;
use crate::work::claims::{self, Commits};
use crate::work::engines::{EngineRun, Layered, Worked, WorkedIn};

const LARGEST_PATCH: usize = 64 << 20;
const MOST_FILES: usize = 20_000;

/// Findings of taking the result. Only this folder fills it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TakenResult {
    result_tree: Option<String>,
    changed_files: Vec<String>,
    litter: Vec<String>,
    dirty_paths: Vec<String>,
    allowed_writes_passed: bool,
    forbidden_paths_passed: bool,
    source_mutated: Option<bool>,
    source_before: Option<SourceState>,
    source_after: Option<SourceState>,
    source_at: Option<SourceAt>,
}

impl Default for TakenResult {
    fn default() -> Self {
        Self {
            result_tree: None,
            changed_files: Vec::new(),
            litter: Vec::new(),
            dirty_paths: Vec::new(),
            allowed_writes_passed: true,
            forbidden_paths_passed: true,
            source_mutated: None,
            source_before: None,
            source_after: None,
            source_at: None,
        }
    }
}

impl StepFindings for TakenResult {
    const STEP: NotedStep = NotedStep::Taken;
}

impl TakenResult {
    /// Id of the result's tree; none if there is no result.
    pub(crate) fn tree(&self) -> Option<&String> {
        self.result_tree.as_ref()
    }

    /// Changed paths, from comparing trees.
    pub(crate) fn changed_files(&self) -> &[String] {
        &self.changed_files
    }

    /// Paths that were moved to `backend/` and are no part of the result.
    pub(crate) fn litter(&self) -> &[String] {
        &self.litter
    }

    /// Changed paths that a patch cannot carry.
    pub(crate) fn dirty_paths(&self) -> &[String] {
        &self.dirty_paths
    }

    /// True if every changed path is allowed.
    pub(crate) fn has_allowed_writes_only(&self) -> bool {
        self.allowed_writes_passed
    }

    /// True if no changed path is forbidden.
    pub(crate) fn has_no_forbidden_path(&self) -> bool {
        self.forbidden_paths_passed
    }

    /// True if the source repository changed during the run; none if there is none to
    /// compare.
    pub(crate) fn is_source_mutated(&self) -> Option<bool> {
        self.source_mutated
    }

    /// The source repository before the run and after it.
    pub(crate) fn source(&self) -> (Option<&SourceState>, Option<&SourceState>) {
        (self.source_before.as_ref(), self.source_after.as_ref())
    }

    /// The references of a source that was taken from a commit.
    pub(crate) fn source_at(&self) -> Option<&SourceAt> {
        self.source_at.as_ref()
    }

    /// Takes over facts from an event of a dead run, which no note may contradict.
    pub(crate) fn restore_event(&mut self, event: &Event) {
        if let Some(EventData::GitDiffChecked(checked)) = event.read_data() {
            self.result_tree = Some(checked.result_tree);
            self.allowed_writes_passed = checked.allowed_writes_passed;
            self.forbidden_paths_passed = checked.forbidden_paths_passed;
        }
    }

    /// Takes over the paths that the patch of a dead run changes.
    pub(crate) fn restore_patch(&mut self, patch: &[u8]) {
        let mut paths = evidence::patch::changed_paths(patch).unwrap_or_default();
        paths.sort();
        self.changed_files = paths.iter().map(|path| path_text(path)).collect();
    }

    fn add_dirty(&mut self, standing: &mut RunStanding, path: String, why: &str) {
        if stop::has_defect("leftovers_overlooked") {
            return;
        }
        standing.block_run(Reason::DirtyEndingTree, format!("`{}` {why}", show_controls(&path)), names::REPORT);
        self.dirty_paths.push(path);
    }
}

/// A result the harness took itself.
pub(crate) struct Captured<'a> {
    run: RunFile<'a>,
    admission: Admission,
    preparation: Preparation,
    engine: EngineRun,
    taken: TakenResult,
    material: ExamMaterial,
}

impl<'a> Captured<'a> {
    /// Parts for the next step.
    pub(crate) fn into_parts(self) -> (RunFile<'a>, Admission, Preparation, EngineRun, TakenResult, ExamMaterial) {
        (self.run, self.admission, self.preparation, self.engine, self.taken, self.material)
    }
}

/// Everything that the verification of a result is made from.
pub(crate) struct ExamMaterial {
    pub(crate) baseline: Baseline,
    pub(crate) listing: Listing,
    pub(crate) rules: PathRules,
    pub(crate) tree: Oid,
    /// Commits that the engine claims, looked up while its workspace exists.
    pub(crate) commits: Commits,
    /// Obstacle to verifying the result; none if it is verified.
    pub(crate) unverifiable: Option<&'static str>,
    /// Obstacle to making a patch; none if one is made.
    pub(crate) oversize: Option<String>,
    /// The repository that gets the result's commit, where one does, and the commit's parent.
    pub(crate) landing: Option<(LandingRepository, Oid)>,
}

impl<'a> Worked<'a> {
    /// Takes the diff. The engine's own repository is never asked.
    pub(crate) fn capture(self) -> Result<Captured<'a>, Stopped> {
        let (mut run, admission, preparation, engine, WorkedIn { copy, layers }) = self.into_parts();
        run.step(Step::Diff, StepState::Began, "")?;
        let rules = admission.decision().path_rules(&run.task().contract)?;
        let mut taken = TakenResult::default();
        let (listing, mut unverifiable) =
            taken.take(&mut run, preparation.equipped(), &copy, layers.as_ref(), &rules)?;
        let changes = tree::changes(&copy.baseline.listing, &listing);
        taken.changed_files = changes.iter().map(|change| path_text(&change.path)).collect();
        taken.judge_paths(&mut run.standing, &rules, &changes);
        let products = judge_products(&copy.baseline.store, &rules, &changes)?;
        unverifiable = unverifiable.or(taken.record_products(&mut run.standing, &products));
        let tree = copy.baseline.store.put_listing(&listing)?;
        taken.result_tree = Some(tree.to_string());
        if changes.is_empty() {
            unverifiable = no_change(&mut run, &engine).or(unverifiable);
        }
        let oversize = judge_size(changes.len(), || copy.baseline.store.changed_bytes(&changes))?;
        if oversize.is_some() {
            unverifiable = Some("the result is too large for a patch");
        }
        stop::pass_place("result.taken");
        taken.check_source(&mut run, &copy)?;
        let commits = claims::look_up(engine.claims(), &copy.root, layers.as_ref(), tree);
        let landing = copy.landing.map(|repository| (repository, copy.commit));
        let material =
            ExamMaterial { baseline: copy.baseline, listing, rules, tree, commits, unverifiable, oversize, landing };
        Ok(Captured { run, admission, preparation, engine, taken, material })
    }
}

impl TakenResult {
    /// The raw listing without litter; what the patch cannot carry becomes a blocker.
    fn take(
        &mut self,
        run: &mut RunFile<'_>,
        equipped: Option<&Equipped>,
        copy: &Copy,
        layers: Option<&Layered>,
        rules: &PathRules,
    ) -> Result<(Listing, Option<&'static str>), Stopped> {
        let captured = match capture(copy, layers) {
            Ok(captured) => captured,
            Err(TreeError::Limit { limit, path }) => {
                let (reason, text) = judge_capture(&limit.to_string(), &path);
                run.standing.block_run(reason, text, names::TRACE);
                run.standing.skip_part(names::PATCH, "the result is too large to capture");
                return Ok((copy.baseline.listing.clone(), Some("the result is too large to capture")));
            }
            Err(error) => return Err(error.into()),
        };
        let dirty = self.note_leftovers(&mut run.standing, &captured);
        let Capture { listing, mut refused, .. } = captured;
        let listing = self.without_litter(run, copy, listing)?;
        let listing = self.without_engine_litter(run, equipped, copy, listing, rules)?;
        let listing = self.with_lock_files_of_baseline(&copy.baseline.listing, listing, rules);
        // What the baseline's own rules ignore is not carried, so that it can do no harm.
        let litter: HashSet<&String> = self.litter.iter().collect();
        refused.retain(|refused| !(may_be_litter(refused.why) && litter.contains(&path_text(&refused.path))));
        let refused = self.refuse(&mut run.standing, &refused);
        let dirty = dirty || run.standing.has_reason(Reason::DirtyEndingTree);
        let unverifiable = match (refused, dirty) {
            (true, _) => Some("the result holds a path that is refused"),
            (_, true) => Some("the result holds what the patch cannot carry"),
            _ => None,
        };
        Ok((listing, unverifiable))
    }

    /// Paths that may never be part of a result, whatever the contract allows.
    fn refuse(&mut self, standing: &mut RunStanding, all: &[RefusedPath]) -> bool {
        for refused in all {
            let why = match refused.why {
                RefusedWhy::LinkLeavesRepository => "is a link that leaves the repository",
                RefusedWhy::GitName => "has a name that some file systems take for `.git`",
                RefusedWhy::NotUtf8 => "has a name that is not UTF-8",
                RefusedWhy::GitlinkChanged => "is a submodule that changed",
                RefusedWhy::Unreadable => "cannot be read",
            };
            let text = format!("`{}` {why}", show_controls(&path_text(&refused.path)));
            standing.block_run(Reason::DisallowedFileChange, text, names::PATCH);
            self.allowed_writes_passed = false;
        }
        !all.is_empty()
    }

    /// State that no patch carries: nested repositories, sockets, an unfinished merge.
    fn note_leftovers(&mut self, standing: &mut RunStanding, captured: &Capture) -> bool {
        let nested = captured.nested_repositories.iter().map(|path| (path_text(path), "is a repository of its own"));
        let special = captured.special_files.iter().map(|path| (path_text(path), "is a socket, device or pipe"));
        let unfinished =
            captured.unfinished.iter().map(|name| (format!(".git/{name}"), "says that something is unfinished"));
        let found: Vec<_> = nested.chain(special).chain(unfinished).collect();
        let is_dirty = !found.is_empty();
        for (path, why) in found {
            self.add_dirty(standing, path, why);
        }
        is_dirty
    }

    fn judge_paths(&mut self, standing: &mut RunStanding, rules: &PathRules, changes: &[PathChange]) {
        for (reason, text) in judged(rules, changes) {
            self.allowed_writes_passed = false;
            self.forbidden_paths_passed &= reason != Reason::ForbiddenPathChange;
            standing.block_run(reason, text, names::PATCH);
        }
    }

    /// Holds products against the run; why it is not verified, if it is not.
    fn record_products(&mut self, standing: &mut RunStanding, products: &Products) -> Option<&'static str> {
        // Unless the build makes them again, which the exam finds out.
        if !products.carried.is_empty() {
            standing.cover(Coverage::ProductNotRebuilt);
        }
        let (reason, text) = products.blocker()?;
        standing.block_run(reason, text, names::PATCH);
        self.allowed_writes_passed = false;
        Some("the result holds a product of a build")
    }

    /// The source repository must be what it was. One that can no longer be read is not.
    fn check_source(&mut self, run: &mut RunFile<'_>, copy: &Copy) -> Result<(), Stopped> {
        let (source, before) = match &copy.source {
            None => return Ok(()),
            Some((source, SourceBefore::Whole(before))) => (source, before),
            Some((source, SourceBefore::References { named, references })) => {
                run.standing.cover(Coverage::SourceWorktreeNotCompared);
                let at = compare_references(source, &copy.commit.to_string(), named, references);
                run.add_trace("source.references", json!(at))?;
                self.source_at = Some(at);
                return Ok(());
            }
        };
        self.source_before = Some(SourceState { head: copy.commit.to_string(), sha256: before.sha256.to_string() });
        let (after, head) = match source.digest(Some(before)).and_then(|after| Ok((after, source.head_now()?))) {
            Err(TreeError::Source { problem, .. }) => {
                self.judge_source(&mut run.standing, Err(&problem.to_string()));
                return Ok(());
            }
            found => found?,
        };
        self.source_after = Some(SourceState { head: head.to_string(), sha256: after.sha256.to_string() });
        run.add_trace(
            "source.compared",
            json!({"after": after.sha256, "before": before.sha256, "head": source.head_commit().to_string()}),
        )?;
        self.judge_source(&mut run.standing, Ok(after.sha256 == before.sha256));
        Ok(())
    }

    /// Holds a source repository against the run that is not the same, or that cannot be
    /// read, with the problem.
    fn judge_source(&mut self, standing: &mut RunStanding, is_same: Result<bool, &str>) {
        let text = match is_same {
            Ok(true) => None,
            Ok(false) => Some("the source repository is not what it was before the run".to_owned()),
            Err(problem) => Some(format!("the source repository can no longer be read: {}", show_controls(problem))),
        };
        self.source_mutated = Some(text.is_some());
        if let Some(text) = text {
            standing.block_run(Reason::SourceRepositoryMutated, text, names::TRACE);
        }
    }
}

/// References that are listed of a source that people work in.
const MOST_MOVED: usize = 20;

/// Changes of HEAD and the references of a source. One that can no longer be read is listed
/// as changed.
fn compare_references(source: &SourceRepository, commit: &str, named: &str, before: &References) -> SourceAt {
    let after = source.references().ok();
    let now = after.as_ref();
    let names = before.keys().chain(now.iter().flat_map(|after| after.keys()));
    let names: BTreeSet<&Vec<u8>> = names.filter(|_| now.is_some()).collect();
    let moved = names.into_iter().filter(|name| before.get(*name) != now.and_then(|after| after.get(*name)));
    SourceAt {
        commit: commit.to_owned(),
        named: show_controls(named),
        head_before: source.head_commit().to_string(),
        head_after: source.head_now().ok().map(|head| head.to_string()),
        references_before: digest_references(before),
        references_after: after.as_ref().map(digest_references),
        moved: moved.take(MOST_MOVED).map(|name| path_text(name)).collect(),
    }
}

fn capture(copy: &Copy, layers: Option<&Layered>) -> Result<Capture, TreeError> {
    capture_into(copy, layers, &copy.baseline.store)
}

/// The tree as it is now, its new content in the given store.
pub(crate) fn capture_into(
    copy: &Copy,
    layers: Option<&Layered>,
    store: &ObjectDatabase,
) -> Result<Capture, TreeError> {
    let listing = copy.begins_with();
    match (layers, &copy.manifest) {
        (Some(Layered { changes, layers }), _) => {
            tree::capture_layer(changes.as_fd(), &LowerLayers { baseline: listing, layers }, store, &CAPTURE_LIMITS)
        }
        (None, Some(manifest)) => tree::capture(&copy.root, manifest, store, &CAPTURE_LIMITS),
        (None, None) => Ok(Capture { listing: listing.clone(), ..Capture::default() }),
    }
}

/// True for entries that a build or an installation can leave behind.
fn may_be_litter(why: RefusedWhy) -> bool {
    match why {
        RefusedWhy::LinkLeavesRepository => true,
        RefusedWhy::GitName | RefusedWhy::NotUtf8 | RefusedWhy::GitlinkChanged | RefusedWhy::Unreadable => false,
    }
}

fn judge_capture(limit: &str, path: &[u8]) -> (Reason, String) {
    let text = format!("the result is too large to capture: {limit} at `{}`", show_controls(&path_text(path)));
    (Reason::BudgetExceeded, text)
}

/// Objections of the contract to each changed path.
pub(crate) fn judged(rules: &PathRules, changes: &[PathChange]) -> Vec<(Reason, String)> {
    let allowed = rules.allowed.to_string();
    let judge = |change: &PathChange| {
        let path = path_text(&change.path);
        let done = match (&change.before, &change.after) {
            (None, _) => "added",
            (_, None) => "deleted",
            _ => "changed",
        };
        match rules.judge_path(&change.path) {
            PathVerdict::Allowed => None,
            PathVerdict::Forbidden => {
                Some((Reason::ForbiddenPathChange, format!("`{}` is forbidden and was {done}", show_controls(&path))))
            }
            PathVerdict::Protected => Some((
                Reason::ProtectedFileChanged,
                format!(
                    "`{}` belongs to the exam and was {done}; it is restored before verification",
                    show_controls(&path)
                ),
            )),
            PathVerdict::Outside => Some((
                Reason::DisallowedFileChange,
                format!("`{}` was {done}; allowed: {allowed}", show_controls(&path)),
            )),
        }
    };
    if stop::has_defect("paths_unjudged") {
        return Vec::new();
    }
    changes.iter().filter_map(judge).collect()
}

/// Says why no patch of these changes is made, if none is: by their number and sizes alone,
/// before anything is compared.
fn judge_size(files: usize, bytes: impl FnOnce() -> Result<u64, TreeError>) -> Result<Option<String>, TreeError> {
    if files > MOST_FILES {
        return Ok(Some(format!("the patch would have {files} files; at most {MOST_FILES}")));
    }
    let bytes = bytes()?;
    let text = format!("the {files} changed files have {bytes} bytes; a patch has at most {LARGEST_PATCH}");
    Ok((bytes > LARGEST_PATCH as u64).then_some(text))
}

/// Patch of a result and the tree it makes, or the obstacle.
pub(crate) fn prove_result(baseline: &Baseline, listing: &Listing) -> Result<Result<Proof, String>, TreeError> {
    let proof = baseline.store.prove_patch(&baseline.listing, listing, LARGEST_PATCH)?;
    Ok(proof.ok_or_else(|| format!("the patch has more than {LARGEST_PATCH} bytes")))
}

/// Writes the patch and what became of the diff. Unless it gives the same tree, the patch
/// proves nothing.
pub(crate) fn record_patch(
    run: &mut RunFile<'_>,
    taken: &mut TakenResult,
    made: Result<Proof, String>,
    result: Oid,
) -> Result<(), Stopped> {
    let files = taken.changed_files.len();
    match made {
        Ok(proof) => record_proof(run, &proof, result, files)?,
        Err(why) => record_oversize(run, taken, why)?,
    }
    let checked = GitDiffCheckedData {
        allowed_writes_passed: taken.allowed_writes_passed,
        changed_files: files,
        forbidden_paths_passed: taken.forbidden_paths_passed,
        result_tree: result.to_string(),
    };
    run.add_event(&EventData::GitDiffChecked(checked))?;
    let detail = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    run.step(Step::Diff, StepState::Ended, &detail)?;
    Ok(())
}

fn record_oversize(run: &mut RunFile<'_>, taken: &mut TakenResult, why: String) -> Result<(), Stopped> {
    run.standing.block_run(Reason::BudgetExceeded, why, names::TRACE);
    run.standing.skip_part(names::PATCH, "the patch is too large to keep");
    run.standing.skip_part(EventKind::PatchApplied.name(), "the patch is too large to keep");
    taken.changed_files.clear();
    run.write_artifact(names::PATCH, b"")?;
    Ok(())
}

fn record_proof(run: &mut RunFile<'_>, proof: &Proof, result: Oid, files: usize) -> Result<(), Stopped> {
    let found = proof.applied.as_ref().map_or_else(ToString::to_string, ToString::to_string);
    let differs = judge_proof(&found, result);
    let same = differs.is_none();
    if let Some((reason, text)) = differs {
        run.standing.block_run(reason, text, names::PATCH);
    }
    let patch = run.draft.censor_mut().bytes(names::PATCH, &proof.patch);
    run.draft.write_clean(names::PATCH, &patch, run.clock().now())?;
    if !patch.is_empty() {
        let sha256 = Digest::of_bytes(&patch);
        let applied = PatchAppliedData { bytes: patch.len(), files, reproduced: same, sha256 };
        run.add_event(&EventData::PatchApplied(applied))?;
    }
    Ok(())
}

/// The blocker of a patch that makes another tree than the result, or none: then `found`
/// says why.
fn judge_proof(found: &str, result: Oid) -> Option<(Reason, String)> {
    let text = format!("expected tree {result}, found {}", show_controls(found));
    (found != result.to_string()).then_some((Reason::PatchNotReproducible, text))
}

/// Handles a result without a change: a failure if a change was promised, and nothing to
/// verify.
fn no_change(run: &mut RunFile<'_>, engine: &EngineRun) -> Option<&'static str> {
    run.standing.skip_part(EventKind::PatchApplied.name(), "nothing changed");
    if !run.task().contract.diff_required {
        return None;
    }
    if let Some((reason, text)) = judge_no_change(&run.standing, engine.has_ended_well()) {
        run.standing.block_run(reason, text, names::PATCH);
    }
    Some("nothing changed")
}

/// The blocker that a missing change makes; something worse explains it.
fn judge_no_change(standing: &RunStanding, has_ended_well: bool) -> Option<(Reason, &'static str)> {
    let text = "the engine ended well and changed nothing";
    (has_ended_well && !standing.is_blocked()).then_some((Reason::NoDiff, text))
}

#[cfg(test)]
mod tests;
