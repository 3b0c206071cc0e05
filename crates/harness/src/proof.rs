//! The proofs of stages 2 and 3, made from what a run gave its engine and from what the harness saw of the source.

use std::path::{Path, PathBuf};

use contract::proof::{
    Compared, ComparedRun, Comparison, CopiedRepository, LookedAt, NoTargetInspection, PlaceLooked, SourceState,
};
use contract::report::CheckResult;
use contract::{BUNDLE_VERSION, Digest, EventKind, Report, Stage, canonical_bytes};
use evidence::names;
use untrusted_fs::own_files;

use crate::decide::repository;
use crate::named_repositories::ReadTargetError;
use crate::quarters::{GIVEN, TREE};
use crate::run::{Run, Stopped};

/// What the engine of a run was given, to be searched for paths of repositories.
#[derive(Debug, Default)]
pub(crate) struct Given {
    places: Vec<PlaceLooked>,
    looked_for: Vec<String>,
    /// As the engine sees them.
    writable: Vec<String>,
}

/// What goes to the engine.
pub(crate) struct Handed<'a> {
    pub(crate) argv: &'a [String],
    pub(crate) input: &'a [u8],
    /// Without the run's token, which is worth nothing and stands nowhere.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) configuration: &'a [u8],
    pub(crate) writable: Vec<String>,
}

impl Given {
    /// Searches everything before anything is started. The place where a path stands, if one does.
    pub(crate) fn search(
        run: &Run<'_>,
        handed: &Handed<'_>,
        paths: &[String],
    ) -> Result<(Self, Option<LookedAt>), Stopped> {
        let mut contract = run.task.contract.clone();
        contract.source_repository = None;
        let environment: String = handed.environment.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let rows = [
            (LookedAt::Contract, canonical_bytes(&contract)?),
            (LookedAt::Argv, handed.argv.join("\n").into_bytes()),
            (LookedAt::Input, handed.input.to_vec()),
            (LookedAt::Environment, environment.into_bytes()),
            (LookedAt::Configuration, handed.configuration.to_vec()),
        ];
        let places: Vec<PlaceLooked> = rows
            .into_iter()
            .map(|(place, bytes)| PlaceLooked {
                place,
                sha256: Digest::of(&bytes),
                bytes: bytes.len() as u64,
                occurrences: paths.iter().map(|path| occurrences(&bytes, path.as_bytes())).sum(),
            })
            .collect();
        let found = places.iter().find(|looked| looked.occurrences > 0).map(|looked| looked.place);
        let salted =
            |path: &String| format!("redacted:sha256:{}", Digest::of(format!("{}\0{path}", run.canary).as_bytes()));
        Ok((Self { places, looked_for: paths.iter().map(salted).collect(), writable: handed.writable.clone() }, found))
    }
}

/// What every sandbox has of its own.
const OWN: &[&str] = &[TREE, GIVEN, sandbox::HOME_DEFAULT, "/tmp"];

/// Repositories of the operator's that records, configuration and contract name: everything that the proof looks for. A place
/// that every sandbox has of its own is told from none.
pub(crate) fn repository_paths(run: &Run<'_>) -> Result<Vec<String>, ReadTargetError> {
    let contract = &run.task.contract;
    let of_contract = contract.target_repository.iter().chain(&contract.source_repository).cloned();
    let named = run.harness.named_repositories.paths()?;
    let opened = repository(run.task).map(Path::to_owned);
    let text = |path: PathBuf| path.display().to_string();
    let all = of_contract.chain(named.into_iter().chain(opened).map(text));
    let mut paths: Vec<String> = all.map(|path| path.trim_end_matches('/').to_owned()).collect();
    let everywhere = |path: &str| OWN.iter().any(|own| Path::new(own).starts_with(path));
    paths.retain(|path| path.starts_with('/') && !everywhere(path));
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// How often a path stands in a text. `/src/site-cache` is not `/src/site`; where that is in doubt, it is.
fn occurrences(bytes: &[u8], path: &[u8]) -> u64 {
    let goes_on =
        |end: usize| bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let windows = bytes.windows(path.len().max(1)).enumerate();
    windows.filter(|(start, window)| *window == path && !goes_on(start + path.len())).count() as u64
}

/// Writes the proofs that the run's stage asks for.
pub(crate) fn write(run: &mut Run<'_>) -> Result<(), Stopped> {
    if !run.findings.engine.started {
        return Ok(());
    }
    no_target_inspection(run)?;
    copied_repository(run)
}

fn no_target_inspection(run: &mut Run<'_>) -> Result<(), Stopped> {
    let (Some(given), Some(other)) = (run.findings.given.take(), run.findings.compared_with.take()) else {
        run.findings.skip(names::STAGE_2, "the fake engine is what others are compared with");
        return Ok(());
    };
    let Given { places, looked_for, writable } = given;
    let proof = NoTargetInspection {
        schema_version: BUNDLE_VERSION.to_owned(),
        run_id: run.id().clone(),
        stage: run.ask.stage,
        engine: run.ask.engine.clone(),
        passed: places.iter().all(|looked| looked.occurrences == 0),
        looked_for,
        places,
        writable_roots: writable,
        compared_with: ComparedRun {
            run_id: other.run_id.clone(),
            engine: other.backend.clone(),
            stage: other.stage,
            status: other.status,
            bundle: format!("harness-runs/{}", other.run_id),
        },
        comparison: compare(run, &other),
    };
    let proof = run.clean(names::STAGE_2, proof)?;
    let at = run.clock.now();
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

fn compare(run: &Run<'_>, other: &Report) -> Comparison {
    let findings = &run.findings;
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
    Comparison {
        report_shape: Compared::new(
            mine.iter().filter(later).cloned().collect(),
            theirs.filter(later).cloned().collect(),
        ),
        event_order: Compared::new(events(run.draft.events_seen()), other_events),
        allowed_writes: Compared::new(findings.allowed_writes_passed, other.allowed_writes_passed),
        verification: Compared::new(results(&findings.verification), results(&other.verification)),
        blockers: Compared::new(findings.reasons(), other.blocker_reasons.clone()),
        // By construction: each artifact is digested as it is written, in a directory that this run made.
        digests: Compared::new(true, has_all(other)),
        freshness: Compared::new(true, fresh(other)),
    }
}

/// What one engine leaves and another does not.
fn of_its_own(name: &str) -> bool {
    name.starts_with("backend/")
        || name.starts_with("stage")
        || name == names::MODEL_USAGE
        || name == names::ATTESTATION
}

fn copied_repository(run: &mut Run<'_>) -> Result<(), Stopped> {
    let Some(before) = run.findings.source_before.take() else {
        run.findings.skip(names::STAGE_3, "no repository was copied");
        return Ok(());
    };
    let after = run.findings.source_after.take();
    let contract = &run.task.contract;
    let decision = run.findings.decision.as_ref();
    let clean_start = decision
        .and_then(|decision| decision.inputs.target.as_ref())
        .is_some_and(|target| target.dirty_paths.is_empty());
    let unchanged = after.as_ref() == Some(&before);
    let clean_end = run.findings.dirty_paths.is_empty();
    let source = repository(run.task).and_then(|path| own_files::canonicalize(path).ok()).unwrap_or_default();
    let below = |path: &PathBuf| path.strip_prefix(&run.work).ok().map(|below| below.display().to_string());
    let writable: Vec<Option<String>> = run.findings.writable.iter().map(below).collect();
    let never_writable = writable.iter().all(Option::is_some) && !overlap(&run.work, &source);
    let proof = CopiedRepository {
        schema_version: BUNDLE_VERSION.to_owned(),
        run_id: run.id().clone(),
        stage: Stage::COPIED_REPOSITORY,
        engine: run.ask.engine.clone(),
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
    let at = run.clock.now();
    Ok(run.draft.write_json(names::STAGE_3, &proof, at)?)
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// The state of a source repository, as a proof has it.
pub(crate) fn state(head: String, sha256: &str) -> SourceState {
    SourceState { head, sha256: sha256.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_and_its_neighbours_are_not() {
        for (text, times) in [
            ("/src/site", 1),
            ("in /src/site. And /src/site/a, \"/src/site\"", 3),
            ("/src/site.git", 1),
            ("/src/siteä", 1),
            ("/src/site-cache:/src/site2:/src/site_old", 0),
            ("/src", 0),
        ] {
            assert_eq!(occurrences(text.as_bytes(), b"/src/site"), times, "{text}");
        }
    }
}
