//! The result: captured once, after the process tree is dead, as raw blobs, and judged against the contract.

mod litter;
mod products;

use std::collections::HashSet;
use std::os::fd::AsFd as _;

use contract::paths::{PathRules, PathVerdict};
use contract::text::{path_text, shown};
use contract::{Decision, Digest, Ecosystem, EventKind, Reason};
use evidence::{names, stop};
use serde_json::json;
use tree::{Beneath, Capture, Change, Limits, Listing, Oid, Proof, Refused, RefusedWhy, Store, TreeError};

use crate::claims::{self, Commits};
use crate::engines::{Layered, Worked};
use crate::proof;
use crate::run::{Run, Stopped};
use crate::target::{Baseline, Copy};
use crate::watch::{Step, StepState};
use litter::{with_lock_files_of_baseline, without_engine_litter, without_litter};
pub(crate) use products::{judge_products, written};

/// What a result may hold; beyond is `budget_exceeded`.
pub(crate) const CAPTURE_LIMITS: Limits =
    Limits { entries: 200_000, total_bytes: 1 << 30, file_bytes: 256 << 20, depth: 128 };
const LARGEST_PATCH: usize = 64 << 20;
const MOST_FILES: usize = 20_000;

/// A result the harness took itself.
pub(crate) struct Captured<'a> {
    pub(crate) run: Run<'a>,
    pub(crate) baseline: Baseline,
    pub(crate) listing: Listing,
    pub(crate) rules: PathRules,
    pub(crate) tree: Oid,
    /// Commits the engine claims, looked up while its workspace is there.
    pub(crate) commits: Commits,
    /// Why the result is not verified, if it is not.
    pub(crate) unverifiable: Option<&'static str>,
    /// Why no patch is made, if none is.
    pub(crate) oversize: Option<String>,
}

impl<'a> Worked<'a> {
    /// Takes the diff. The engine's own repository is never asked.
    pub(crate) fn capture(self) -> Result<Captured<'a>, Stopped> {
        let Self { mut run, copy, layers } = self;
        run.step(Step::Diff, StepState::Began, "")?;
        let ecosystems = run.findings.decision.as_ref().map_or(Ecosystem::ALL, Decision::ecosystems);
        let rules = run.task.contract.path_rules(ecosystems)?;
        let (listing, mut unverifiable) = take(&mut run, &copy, layers.as_ref(), &rules)?;
        let changes = tree::changes(&copy.baseline.listing, &listing);
        run.findings.changed_files = changes.iter().map(|change| path_text(&change.path)).collect();
        judge_paths(&mut run, &rules, &changes);
        let products = judge_products(&copy.baseline.store, &rules, &changes)?;
        unverifiable = unverifiable.or(products.record(&mut run));
        let tree = copy.baseline.store.put_listing(&listing)?;
        run.findings.result_tree = Some(tree.to_string());
        if changes.is_empty() {
            unverifiable = no_change(&mut run).or(unverifiable);
        }
        let oversize = oversize(&copy.baseline.store, &changes)?;
        if oversize.is_some() {
            unverifiable = Some("the result is too large for a patch");
        }
        stop::here("result.taken");
        check_source(&mut run, &copy)?;
        let commits = claims::look_up(&run, &copy.root, layers.as_ref(), tree);
        Ok(Captured { run, baseline: copy.baseline, listing, rules, tree, commits, unverifiable, oversize })
    }
}

/// The raw listing without litter; what the patch cannot carry becomes a blocker.
fn take(
    run: &mut Run<'_>,
    copy: &Copy,
    layers: Option<&Layered>,
    rules: &PathRules,
) -> Result<(Listing, Option<&'static str>), Stopped> {
    let captured = match capture(copy, layers) {
        Ok(captured) => captured,
        Err(TreeError::Limit { limit, path }) => {
            let text = format!("the result is too large to capture: {limit} at `{}`", shown(&path_text(&path)));
            run.findings.block(Reason::BudgetExceeded, text, names::TRACE);
            run.findings.skip(names::PATCH, "the result is too large to capture");
            return Ok((copy.baseline.listing.clone(), Some("the result is too large to capture")));
        }
        Err(error) => return Err(error.into()),
    };
    let dirty = leftovers(run, &captured);
    let Capture { listing, mut refused, .. } = captured;
    let listing = without_litter(run, copy, listing)?;
    let listing = without_engine_litter(run, copy, listing, rules)?;
    let listing = with_lock_files_of_baseline(run, &copy.baseline.listing, listing, rules);
    // What the baseline's own rules ignore is not carried, so that it can do no harm.
    let litter: HashSet<&String> = run.findings.litter.iter().collect();
    refused.retain(|refused| !(may_be_litter(refused.why) && litter.contains(&path_text(&refused.path))));
    let refused = refuse(run, &refused);
    let dirty = dirty || run.findings.has(Reason::DirtyEndingTree);
    let unverifiable = match (refused, dirty) {
        (true, _) => Some("the result holds a path that is refused"),
        (_, true) => Some("the result holds what the patch cannot carry"),
        _ => None,
    };
    Ok((listing, unverifiable))
}

fn capture(copy: &Copy, layers: Option<&Layered>) -> Result<Capture, TreeError> {
    capture_into(copy, layers, &copy.baseline.store)
}

/// The tree as it is now, its new content in the given store.
pub(crate) fn capture_into(copy: &Copy, layers: Option<&Layered>, store: &Store) -> Result<Capture, TreeError> {
    let listing = &copy.baseline.listing;
    match (layers, &copy.manifest) {
        (Some(Layered { changes, layers }), _) => {
            tree::capture_layer(changes.as_fd(), &Beneath { baseline: listing, layers }, store, &CAPTURE_LIMITS)
        }
        (None, Some(manifest)) => tree::capture(&copy.root, manifest, store, &CAPTURE_LIMITS),
        (None, None) => Ok(Capture { listing: listing.clone(), ..Capture::default() }),
    }
}

/// Paths that may never be part of a result, whatever the contract allows.
fn refuse(run: &mut Run<'_>, all: &[Refused]) -> bool {
    for refused in all {
        let why = match refused.why {
            RefusedWhy::LinkLeavesRepository => "is a link that leaves the repository",
            RefusedWhy::GitName => "has a name that some file systems take for `.git`",
            RefusedWhy::NotUtf8 => "has a name that is not UTF-8",
            RefusedWhy::GitlinkChanged => "is a submodule that changed",
            RefusedWhy::Unreadable => "cannot be read",
        };
        let text = format!("`{}` {why}", shown(&path_text(&refused.path)));
        run.findings.block(Reason::DisallowedFileChange, text, names::PATCH);
        run.findings.allowed_writes_passed = false;
    }
    !all.is_empty()
}

/// What a build or an installation leaves behind.
fn may_be_litter(why: RefusedWhy) -> bool {
    match why {
        RefusedWhy::LinkLeavesRepository => true,
        RefusedWhy::GitName | RefusedWhy::NotUtf8 | RefusedWhy::GitlinkChanged | RefusedWhy::Unreadable => false,
    }
}

/// State that no patch carries: nested repositories, sockets, an unfinished merge.
fn leftovers(run: &mut Run<'_>, captured: &Capture) -> bool {
    let nested = captured.nested_repositories.iter().map(|path| (path_text(path), "is a repository of its own"));
    let special = captured.special_files.iter().map(|path| (path_text(path), "is a socket, device or pipe"));
    let unfinished =
        captured.unfinished.iter().map(|name| (format!(".git/{name}"), "says that something is unfinished"));
    let found: Vec<_> = nested.chain(special).chain(unfinished).collect();
    for (path, why) in &found {
        run.findings.dirty_paths.push(path.clone());
        run.findings.block(Reason::DirtyEndingTree, format!("`{}` {why}", shown(path)), names::REPORT);
    }
    !found.is_empty()
}

fn judge_paths(run: &mut Run<'_>, rules: &PathRules, changes: &[Change]) {
    for (reason, text) in judged(rules, changes) {
        run.findings.allowed_writes_passed = false;
        run.findings.forbidden_paths_passed &= reason != Reason::ForbiddenPathChange;
        run.findings.block(reason, text, names::PATCH);
    }
}

/// What the contract has against each changed path.
pub(crate) fn judged(rules: &PathRules, changes: &[Change]) -> Vec<(Reason, String)> {
    let allowed = rules.allowed.globs().join(", ");
    let judge = |change: &Change| {
        let path = path_text(&change.path);
        let done = match (&change.before, &change.after) {
            (None, _) => "added",
            (_, None) => "deleted",
            _ => "changed",
        };
        match rules.judge(&change.path) {
            PathVerdict::Allowed => None,
            PathVerdict::Forbidden => {
                Some((Reason::ForbiddenPathChange, format!("`{}` is forbidden and was {done}", shown(&path))))
            }
            PathVerdict::Protected => Some((
                Reason::ProtectedFileChanged,
                format!("`{}` belongs to the exam and was {done}; it is restored before verification", shown(&path)),
            )),
            PathVerdict::Outside => {
                Some((Reason::DisallowedFileChange, format!("`{}` was {done}; allowed: {allowed}", shown(&path))))
            }
        }
    };
    changes.iter().filter_map(judge).collect()
}

/// Why no patch of these changes is made: from their number and sizes alone, before anything is compared.
fn oversize(store: &Store, changes: &[Change]) -> Result<Option<String>, TreeError> {
    let files = changes.len();
    if files > MOST_FILES {
        return Ok(Some(format!("the patch would have {files} files; at most {MOST_FILES}")));
    }
    let bytes = store.changed_bytes(changes)?;
    let text = format!("the {files} changed files have {bytes} bytes; a patch has at most {LARGEST_PATCH}");
    Ok((bytes > LARGEST_PATCH as u64).then_some(text))
}

/// The patch of a result and the tree it makes; or why there is none.
pub(crate) fn prove(baseline: &Baseline, listing: &Listing) -> Result<Result<Proof, String>, TreeError> {
    let proof = baseline.store.prove(&baseline.listing, listing, LARGEST_PATCH)?;
    Ok(proof.ok_or_else(|| format!("the patch has more than {LARGEST_PATCH} bytes")))
}

/// Writes the patch and what became of the diff. Unless it gives the same tree, the patch proves nothing.
pub(crate) fn record_patch(run: &mut Run<'_>, made: Result<Proof, String>, result: Oid) -> Result<(), Stopped> {
    let files = run.findings.changed_files.len();
    match made {
        Ok(proof) => record_proof(run, &proof, result, files)?,
        Err(why) => record_oversize(run, why)?,
    }
    let checked = json!({
        "allowed_writes_passed": run.findings.allowed_writes_passed,
        "changed_files": files,
        "forbidden_paths_passed": run.findings.forbidden_paths_passed,
        "result_tree": result.to_string(),
    });
    run.event(EventKind::GitDiffChecked, checked)?;
    let detail = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    run.step(Step::Diff, StepState::Ended, &detail)?;
    Ok(())
}

fn record_oversize(run: &mut Run<'_>, why: String) -> Result<(), Stopped> {
    run.findings.block(Reason::BudgetExceeded, why, names::TRACE);
    run.findings.skip(names::PATCH, "the patch is too large to keep");
    run.findings.skip(EventKind::PatchApplied.name(), "the patch is too large to keep");
    run.findings.changed_files.clear();
    run.write(names::PATCH, b"")?;
    Ok(())
}

fn record_proof(run: &mut Run<'_>, proof: &Proof, result: Oid, files: usize) -> Result<(), Stopped> {
    let found = proof.applied.as_ref().map_or_else(ToString::to_string, ToString::to_string);
    let same = found == result.to_string();
    if !same {
        let text = format!("expected tree {result}, found {}", shown(&found));
        run.findings.block(Reason::PatchNotReproducible, text, names::PATCH);
    }
    let patch = run.draft.censor_mut().bytes(names::PATCH, &proof.patch);
    run.draft.write_clean(names::PATCH, &patch, run.clock.now())?;
    if !patch.is_empty() {
        let sha256 = Digest::of(&patch);
        let applied = json!({"bytes": patch.len(), "files": files, "reproduced": same, "sha256": sha256});
        run.event(EventKind::PatchApplied, applied)?;
    }
    Ok(())
}

/// Nothing changed: a failure where a change was promised, and nothing to verify.
fn no_change(run: &mut Run<'_>) -> Option<&'static str> {
    run.findings.skip(EventKind::PatchApplied.name(), "nothing changed");
    if !run.task.contract.diff_required {
        return None;
    }
    let ended_well =
        run.findings.engine.exit == Some(0) && !run.findings.engine.timed_out && run.findings.blockers.is_empty();
    if ended_well {
        run.findings.block(Reason::NoDiff, "the engine ended well and changed nothing", names::PATCH);
    }
    Some("nothing changed")
}

/// The source repository must be what it was. One that can no longer be read is not.
fn check_source(run: &mut Run<'_>, copy: &Copy) -> Result<(), Stopped> {
    let Some((source, before)) = &copy.source else { return Ok(()) };
    run.findings.source_before = Some(proof::state(copy.commit.to_string(), &before.sha256));
    let (after, head) = match source.digest(Some(before)).and_then(|after| Ok((after, source.head_now()?))) {
        Err(TreeError::Source { problem, .. }) => {
            run.findings.source_mutated = Some(true);
            let text = format!("the source repository can no longer be read: {}", shown(&problem.to_string()));
            run.findings.block(Reason::SourceRepositoryMutated, text, names::TRACE);
            return Ok(());
        }
        found => found?,
    };
    let mutated = after.sha256 != before.sha256;
    run.findings.source_mutated = Some(mutated);
    run.findings.source_after = Some(proof::state(head.to_string(), &after.sha256));
    run.trace(
        "source.compared",
        json!({"after": after.sha256, "before": before.sha256, "head": source.head_commit().to_string()}),
    )?;
    if mutated {
        run.findings.block(
            Reason::SourceRepositoryMutated,
            "the source repository is not what it was before the run",
            names::TRACE,
        );
    }
    Ok(())
}
