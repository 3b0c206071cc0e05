//! Baseline and result built again from a bundle, and compared with the ids it is signed for.

use std::path::{Path, PathBuf};

use contract::TaskContract;
use contract::proof::OwnedRepositoryProof;
use contract::report::Report;
use evidence::names;
use tree::{Listing, ObjectDatabase, Oid, SourceRepository};
use untrusted_fs::own_files::{self, OwnPath as _};

use super::{FindBaselineError, ReverifyError};
use crate::home::baseline;
use crate::run::harness::Harness;

/// The trees of a run, in a store of their own.
pub(super) struct Rebuilt {
    pub(super) store: ObjectDatabase,
    pub(super) baseline: Listing,
    pub(super) result: Listing,
}

/// Builds baseline and result again. Fails unless both have the signed ids.
pub(super) fn rebuild(
    harness: &Harness,
    bundle: &Path,
    report: &Report,
    contract: &TaskContract,
    work: &Path,
) -> Result<Rebuilt, ReverifyError> {
    let Some(result_tree) = &report.result_tree else { return Err(ReverifyError::NoResult) };
    let (store, baseline) = rebuild_baseline(harness, bundle, report, contract, work)?;
    let path = bundle.join(names::PATCH);
    let patch = own_files::read_file(&path).map_err(|error| ReverifyError::Read(path, error.into()))?;
    let result = if patch.is_empty() { baseline.clone() } else { store.apply_into(&baseline, &patch)? };
    check_same("result", result_tree, result.tree_id())?;
    store.put_listing(&result)?;
    Ok(Rebuilt { store, baseline, result })
}

/// The baseline alone: from the bundle, from what was handed over beside it, or from the
/// repository it came from.
pub(super) fn rebuild_baseline(
    harness: &Harness,
    bundle: &Path,
    report: &Report,
    contract: &TaskContract,
    work: &Path,
) -> Result<(ObjectDatabase, Listing), ReverifyError> {
    let Some(tree) = &report.baseline_tree else { return Err(ReverifyError::NoResult) };
    let store = ObjectDatabase::create_store(&work.join("store.git"), harness.git.clone())?;
    let baseline = match carried(bundle) {
        Some(archive) => {
            let read = baseline::read_tar(&archive, |bytes| store.put_blob(bytes));
            let listing = read.map_err(|error| ReverifyError::Read(archive, error.into()))?;
            store.put_listing(&listing)?;
            listing
        }
        None => fetch(&store, bundle, report, contract)?,
    };
    check_same("baseline", tree, baseline.tree_id())?;
    Ok((store, baseline))
}

/// The bundle of a case holds its baseline; an archive may have one beside the bundle.
fn carried(bundle: &Path) -> Option<PathBuf> {
    let beside = bundle.parent().map(|folder| folder.join(names::BASELINE));
    [Some(bundle.join(names::BASELINE)), beside].into_iter().flatten().find(|path| path.own_is_file())
}

/// Fails unless the tree has the expected id.
pub(super) fn check_same(what: &'static str, expected: &str, found: Oid) -> Result<(), ReverifyError> {
    let found = found.to_string();
    if expected == found {
        return Ok(());
    }
    Err(ReverifyError::AnotherTree { what, expected: expected.to_owned(), found })
}

/// The baseline from the repository the run was made on, if it still has that commit.
fn fetch(
    store: &ObjectDatabase,
    bundle: &Path,
    report: &Report,
    contract: &TaskContract,
) -> Result<Listing, ReverifyError> {
    let repository = contract.source_repository.clone().or_else(|| target_of(bundle, report));
    let repository = repository.ok_or(ReverifyError::NoBaseline(FindBaselineError::NoRepository))?;
    let commit = report.baseline_commit.as_deref().and_then(|commit| commit.parse::<Oid>().ok());
    let commit = commit.ok_or(ReverifyError::NoBaseline(FindBaselineError::NoCommit))?;
    let missing = |error: tree::TreeError| {
        ReverifyError::NoBaseline(FindBaselineError::NoSuchCommit {
            repository: repository.clone(),
            commit,
            error: error.into(),
        })
    };
    let source = SourceRepository::open_repository(Path::new(&repository)).map_err(missing)?;
    source.fetch_commit_into(store, commit).map_err(missing)?;
    store.list_tree(commit).map_err(missing)
}

/// The admitted target that the run changed, by the proof of its stage.
fn target_of(bundle: &Path, report: &Report) -> Option<String> {
    let bytes = own_files::read_file(bundle.join(names::owned_proof(report.stage))).ok()?;
    let proof: OwnedRepositoryProof = serde_json::from_slice(&bytes).ok()?;
    Some(proof.target_repository_path)
}
