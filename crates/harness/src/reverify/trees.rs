//! Baseline and result built again from a bundle, and compared with the ids it is signed for.

use std::io::Read as _;
use std::path::{Component, Path};

use contract::TaskContract;
use contract::report::Report;
use evidence::names;
use tree::{Entry, Listing, Mode, Oid, Source, Store};

use super::ReverifyError;
use crate::run::Harness;

/// The trees of a run, in a store of their own.
pub(super) struct Rebuilt {
    pub(super) store: Store,
    pub(super) baseline: Listing,
    pub(super) result: Listing,
}

pub(super) fn rebuild(
    harness: &Harness,
    bundle: &Path,
    report: &Report,
    contract: &TaskContract,
    work: &Path,
) -> Result<Rebuilt, ReverifyError> {
    let (Some(baseline_tree), Some(result_tree)) = (&report.baseline_tree, &report.result_tree) else {
        return Err(ReverifyError::NoResult);
    };
    let store = Store::create(&work.join("store.git"), harness.git.clone())?;
    let archive = bundle.join(names::BASELINE);
    let baseline = if archive.is_file() { unpack(&store, &archive)? } else { fetch(&store, report, contract)? };
    same("baseline", baseline_tree, baseline.tree_id())?;
    let path = bundle.join(names::PATCH);
    let patch = std::fs::read(&path).map_err(|error| ReverifyError::Read(path, error.to_string()))?;
    let result = if patch.is_empty() { baseline.clone() } else { store.apply_into(&baseline, &patch)? };
    same("result", result_tree, result.tree_id())?;
    store.put_listing(&result)?;
    Ok(Rebuilt { store, baseline, result })
}

fn same(what: &'static str, expected: &str, found: Oid) -> Result<(), ReverifyError> {
    let found = found.to_string();
    if expected == found {
        return Ok(());
    }
    Err(ReverifyError::AnotherTree { what, expected: expected.to_owned(), found })
}

/// The baseline that a case's bundle carries. Only plain files; whatever else an archive may hold makes another tree.
fn unpack(store: &Store, archive: &Path) -> Result<Listing, ReverifyError> {
    let failed = |error: std::io::Error| ReverifyError::Read(archive.to_owned(), error.to_string());
    let file = std::fs::File::open(archive).map_err(failed)?;
    let mut listing = Listing::default();
    for entry in tar::Archive::new(file).entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let path = entry.path().map_err(failed)?.into_owned();
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || !entry.header().entry_type().is_file() {
            return Err(failed(std::io::Error::other(format!("{} is no plain file", path.display()))));
        }
        let executable = entry.header().mode().map_err(failed)? & 0o111 != 0;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(failed)?;
        let mode = if executable { Mode::Executable } else { Mode::File };
        let oid = store.put_blob(&bytes)?;
        listing.0.insert(path.into_os_string().into_encoded_bytes(), Entry { mode, oid });
    }
    store.put_listing(&listing)?;
    Ok(listing)
}

/// The baseline from the repository the run was made on, if it still has that commit.
fn fetch(store: &Store, report: &Report, contract: &TaskContract) -> Result<Listing, ReverifyError> {
    let repository = contract.source_repository.as_ref();
    let repository = repository.ok_or_else(|| {
        ReverifyError::NoBaseline("the bundle holds none and the contract names no repository".into())
    })?;
    let commit = report.baseline_commit.as_deref().and_then(|commit| commit.parse::<Oid>().ok());
    let commit = commit.ok_or_else(|| ReverifyError::NoBaseline("the report names no commit".into()))?;
    let missing = |error: tree::TreeError| {
        ReverifyError::NoBaseline(format!("{repository} does not give commit {commit}: {error}"))
    };
    let source = Source::open(Path::new(repository)).map_err(missing)?;
    source.fetch_commit_into(store, commit).map_err(missing)?;
    store.list(commit).map_err(missing)
}
