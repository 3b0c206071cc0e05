//! Inputs of taking a patch: the repository, the baseline that it still holds, and the
//! result built again from both.

use std::path::Path;

use contract::taken::Person;
use contract::{Digest, Report, TaskContract};
use evidence::names;
use tree::{GitSettings, Listing, ObjectDatabase, Oid, SourceRepository};

use super::{TakeAsk, TakeError};
use crate::run::harness::Harness;
use crate::run::identity::find_identity;

/// Repository, trees and patch of one `take`.
pub(super) struct TakeScene {
    pub(super) source: SourceRepository,
    pub(super) store: ObjectDatabase,
    settings: GitSettings,
    pub(super) base: Oid,
    pub(super) before: Listing,
    pub(super) after: Listing,
    pub(super) patch_sha256: Digest,
}

impl TakeScene {
    /// Opens the repository and builds the result again. Fails if it is not the verified
    /// one.
    pub(super) fn build_scene(
        harness: &Harness,
        ask: &TakeAsk<'_>,
        report: &Report,
        contract: &TaskContract,
        work: &Path,
    ) -> Result<Self, TakeError> {
        let named = contract.source_repository.as_deref().map(Path::new);
        let repository = ask.repository.or(named).ok_or(TakeError::NoRepository)?;
        let source = SourceRepository::open_repository(repository).map_err(TakeError::Repository)?;
        let store =
            ObjectDatabase::create_store(&work.join("store.git"), harness.git.clone()).map_err(TakeError::Git)?;
        let settings = source.settings(&store).map_err(TakeError::Repository)?;
        source.require_known_format(&settings).map_err(TakeError::Repository)?;
        let (base, before) = baseline(&source, &store, report)?;
        let failed = |error: std::io::Error| TakeError::Read(ask.bundle.dir().join(names::PATCH), error.into());
        let patch = ask.bundle.read_file(names::PATCH).map_err(failed)?;
        let after = store.apply_into(&before, &patch).map_err(TakeError::Git)?;
        same("result", report.result_tree.as_deref(), after.tree_id())?;
        store.put_listing(&after).map_err(TakeError::Git)?;
        let patch_sha256 = Digest::of_bytes(&patch);
        Ok(Self { source, store, settings, base, before, after, patch_sha256 })
    }

    /// Each part by itself, as git does it.
    pub(super) fn author(&self, ask: &TakeAsk<'_>) -> Result<Person, TakeError> {
        if let Some(author) = &ask.author {
            return Ok(author.clone());
        }
        let found = find_identity(&self.store, self.settings.clone(), ask.git_configuration).map_err(TakeError::Git)?;
        found.map_err(TakeError::NoIdentity)
    }

    /// Author of a commit that is this change with this message; the outer none if it is
    /// another change.
    pub(super) fn same_change(&self, commit: Oid, message: &str) -> Option<Option<Person>> {
        self.source.fetch_commit_into(&self.store, commit).ok()?;
        let found = self.store.commit(commit).ok()?;
        let same =
            found.tree == self.after.tree_id() && found.parents == [self.base] && found.message == message.as_bytes();
        same.then(|| found.author.map(|(name, email)| Person { name, email }))
    }
}

/// The baseline's commit, if the repository still has it and it is what it was.
fn baseline(source: &SourceRepository, store: &ObjectDatabase, report: &Report) -> Result<(Oid, Listing), TakeError> {
    let named = report.baseline_commit.as_deref().unwrap_or_default();
    let gone = |error: tree::TreeError| TakeError::NoBaseline {
        repository: source.root().to_owned(),
        commit: named.to_owned(),
        problem: error.into(),
    };
    let commit: Oid = named.parse().map_err(|_| TakeError::NothingChanged)?;
    source.fetch_commit_into(store, commit).map_err(gone)?;
    let listing = store.list_tree(commit).map_err(gone)?;
    same("baseline", report.baseline_tree.as_deref(), listing.tree_id())?;
    Ok((commit, listing))
}

fn same(what: &'static str, expected: Option<&str>, found: Oid) -> Result<(), TakeError> {
    let found = found.to_string();
    match expected {
        Some(expected) if expected == found => Ok(()),
        expected => Err(TakeError::AnotherTree { what, expected: expected.unwrap_or("none").to_owned(), found }),
    }
}
