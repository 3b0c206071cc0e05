//! The proofs of stages, made from the engine's inputs and from the harness's observations
//! of the repositories.

mod landed;

use std::path::{Path, PathBuf};

use contract::proof::{Compared, ComparedRun, CopiedRepository, NoTargetInspection, TreeComparison};
use contract::report::CheckResult;
use contract::{BUNDLE_VERSION, EventKind, Report, Stage};
use evidence::{names, stop};
use ledger::Bundles;
use untrusted_fs::own_files;

use crate::run::file::{RunFile, Stopped};
use crate::seal::report::RunAccount;
use crate::work::engines::SearchedPlaces;

/// Writes the proofs that the run's stage asks for.
pub(crate) fn write_proofs(run: &mut RunFile<'_>, account: &RunAccount) -> Result<(), Stopped> {
    if !run.standing.engine_started() {
        return Ok(());
    }
    if run.ask().stage >= Stage::OWNED_REPOSITORY {
        run.standing.skip_part(names::STAGE_2, "the run has an admitted target");
    } else {
        no_target_inspection(run, account)?;
    }
    if run.ask().stage >= Stage::DISPOSABLE_REPOSITORY {
        run.standing.skip_part(names::STAGE_3, "the stage has a proof of its own");
        return landed::write_proof(run, account);
    }
    copied_repository(run, account)
}

fn no_target_inspection(run: &mut RunFile<'_>, account: &RunAccount) -> Result<(), Stopped> {
    let (Some(given), Some(other)) = (account.engine().given(), account.preparation().compared_with()) else {
        run.standing.skip_part(names::STAGE_2, "the fake engine is what others are compared with");
        return Ok(());
    };
    let SearchedPlaces { places, looked_for, writable } = given.clone();
    let proof = NoTargetInspection {
        schema_version: BUNDLE_VERSION.to_owned(),
        run_id: run.id().clone(),
        stage: run.ask().stage,
        engine: run.ask().engine.clone(),
        passed: places.iter().all(|looked| looked.occurrences == 0),
        looked_for,
        places,
        writable_roots: writable,
        compared_with: ComparedRun {
            run_id: other.run_id.clone(),
            engine: other.backend.clone(),
            stage: other.stage,
            status: other.status,
            bundle: Bundles::bundle_name(&other.run_id),
        },
        comparison: compare(run, account, other),
    };
    let proof = run.clean(names::STAGE_2, proof)?;
    let at = run.clock().now();
    Ok(run.draft.write_json(names::STAGE_2, &proof, at)?)
}

/// The events whose order every run has, whatever its engine says in between.
const ORDERED: &[EventKind] = &[
    EventKind::RunStarted,
    EventKind::TaskContractCreated,
    EventKind::PlanUpdated,
    EventKind::PatchApplied,
    EventKind::GitDiffChecked,
    EventKind::VerificationCompleted,
];

fn compare(run: &RunFile<'_>, account: &RunAccount, other: &Report) -> TreeComparison {
    let (taken, verification) = (account.taken(), account.checked().verification());
    // The two logs are closed after this proof.
    let open = [names::EVENTS, names::TRACE].map(str::to_owned);
    let mut mine: Vec<String> =
        run.draft.files().keys().filter(|name| !of_its_own(name)).cloned().chain(open).collect();
    mine.sort();
    let theirs = other.artifact_paths.keys().filter(|name| !of_its_own(name));
    // Written after this proof, in every run.
    let later =
        |name: &&String| ![names::REPORT, names::REPORT_MD, names::SANDBOX, names::BASELINE].contains(&name.as_str());
    let results = |report: &contract::report::Verification| -> Vec<CheckResult> {
        report.passes.iter().map(|pass| pass.result).collect()
    };
    let events = |seen: &[EventKind]| seen.iter().copied().filter(|kind| ORDERED.contains(kind)).collect::<Vec<_>>();
    let other_events: Vec<EventKind> =
        ORDERED.iter().copied().filter(|kind| !other.not_applicable.contains_key(kind.name())).collect();
    let has_all = |report: &Report| {
        report
            .artifact_paths
            .keys()
            .all(|name| report.artifact_digests.contains_key(name) || name == names::ATTESTATION)
    };
    let fresh = |report: &Report| {
        report
            .freshness
            .values()
            .all(|at| at.written_at >= report.run_started_at && at.checked_at <= report.run_finished_at)
    };
    TreeComparison {
        report_shape: Compared::new(
            mine.iter().filter(later).cloned().collect(),
            theirs.filter(later).cloned().collect(),
        ),
        event_order: Compared::new(events(run.draft.events_seen()), other_events),
        allowed_writes: Compared::new(taken.has_allowed_writes_only(), other.allowed_writes_passed),
        verification: Compared::new(results(verification), results(&other.verification)),
        blockers: Compared::new(run.standing.reasons(), other.blocker_reasons.clone()),
        // By construction: each artifact is digested as it is written, in a directory that
        // this run made.
        digests: Compared::new(true, has_all(other)),
        freshness: Compared::new(true, fresh(other)),
    }
}

/// True for files that one engine leaves and another does not.
fn of_its_own(name: &str) -> bool {
    name.starts_with("backend/")
        || name.starts_with("stage")
        || name == names::MODEL_USAGE
        || name == names::ATTESTATION
}

fn copied_repository(run: &mut RunFile<'_>, account: &RunAccount) -> Result<(), Stopped> {
    let (Some(before), after) = account.taken().source() else {
        let why = match account.taken().source_at() {
            Some(_) => "the source was taken from a commit, and its work tree was not looked at",
            None => "no repository was copied",
        };
        run.standing.skip_part(names::STAGE_3, why);
        return Ok(());
    };
    let (before, after) = (before.clone(), after.cloned());
    let contract = &run.task().contract;
    let target = account.decision().inputs.target.as_ref();
    let clean_start = target.is_some_and(|target| target.dirty_paths.is_empty());
    let unchanged = after.as_ref() == Some(&before);
    let clean_end = account.taken().dirty_paths().is_empty();
    let source = run.task().repository().and_then(|path| own_files::canonicalize(path).ok()).unwrap_or_default();
    if stop::has_defect("source_touched") {
        let _ = own_files::write_file(source.join(".git/touched"), "");
    }
    let below = |path: &PathBuf| path.strip_prefix(run.work()).ok().map(|below| below.display().to_string());
    let writable: Vec<Option<String>> = account.engine().writable().iter().map(below).collect();
    let never_writable = writable.iter().all(Option::is_some) && !overlap(run.work(), &source);
    let proof = CopiedRepository {
        schema_version: BUNDLE_VERSION.to_owned(),
        run_id: run.id().clone(),
        stage: Stage::COPIED_REPOSITORY,
        engine: run.ask().engine.clone(),
        owner: contract.source_owner.clone(),
        classification: contract.source_classification.map(|_| "owned_local".to_owned()),
        before,
        after,
        unchanged,
        clean_start,
        clean_end,
        never_writable,
        writable: writable.into_iter().flatten().collect(),
        passed: unchanged && clean_start && clean_end && never_writable,
    };
    let proof = run.clean(names::STAGE_3, proof)?;
    let at = run.clock().now();
    Ok(run.draft.write_json(names::STAGE_3, &proof, at)?)
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
