//! Copies everything that HEAD reaches into a store of the harness.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::SourceRepository;
use crate::error::{Doing, TreeError};
use crate::object::loose::ObjectKind;
use crate::oid::Oid;
use crate::source_problem::SourceProblem;
use crate::store::ObjectDatabase;
use crate::store::git::{GitCall, Input, alternates_value};
use crate::worktree::fsdir::Scratch;
use untrusted_fs::own_files;

const PATIENCE: Duration = Duration::from_secs(900);

impl SourceRepository {
    /// Copies everything reachable from HEAD into `store` and returns the commit.
    ///
    /// The pack is indexed again without the source in sight: ids come from the content,
    /// not from the source's own tables, and nothing may be missing (but for a partial
    /// clone, whose gaps `absent_content` lists).
    pub fn fetch_into(&self, store: &ObjectDatabase) -> Result<Oid, TreeError> {
        self.fetch_commit_into(store, self.head)?;
        Ok(self.head)
    }

    /// The same for a commit that need not be HEAD's, if the source still holds it.
    pub fn fetch_commit_into(&self, store: &ObjectDatabase, commit: Oid) -> Result<(), TreeError> {
        self.copy_commit(store, commit).map_err(|error| self.blame_source(error))?;
        let kind = store.reader().object(commit).map_err(|error| self.blame_source(error))?.0;
        if kind != ObjectKind::Commit {
            return Err(self.refuse_source(SourceProblem::HeadIsNoCommit { oid: commit, kind: kind.word() }));
        }
        Ok(())
    }

    fn copy_commit(&self, store: &ObjectDatabase, commit: Oid) -> Result<(), TreeError> {
        let scratch = Scratch::create_scratch(&store.dir)?;
        let pack = scratch.path().join("source.pack");
        self.mark_shallow(store)?;
        self.pack(store, commit, &pack)?;
        let mut args = vec!["index-pack", "--stdin"];
        if !self.partial {
            args.push("--check-self-contained-and-connected");
        }
        let mut call = GitCall::new("indexing a source's objects", &store.dir, &args);
        call.input = Input::File(own_files::open_file(&pack).doing("opening", &pack)?);
        call.patience = PATIENCE;
        store.git.run_child(call).map(drop)
    }

    fn pack(&self, store: &ObjectDatabase, commit: Oid, pack: &Path) -> Result<(), TreeError> {
        let mut args = vec!["pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset", "--no-use-bitmap-index"];
        if self.partial {
            args.push("--missing=allow-any");
        }
        let wanted = format!("{commit}\n");
        let mut call = GitCall::new("packing a source's objects", &store.dir, &args);
        call.env = vec![("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates_value(&self.objects()))];
        call.input = Input::Bytes(wanted.as_bytes());
        call.output = Some(own_files::create_file(pack).doing("creating", pack)?);
        call.patience = PATIENCE;
        store.git.run_child(call).map(|_| ())
    }

    /// A store that holds shortened history must know where it ends.
    fn mark_shallow(&self, store: &ObjectDatabase) -> Result<(), TreeError> {
        if self.shallow.is_empty() {
            return Ok(());
        }
        let path = store.dir.join("shallow");
        let known = own_files::read_to_string(&path).unwrap_or_default();
        let all: BTreeSet<Oid> =
            known.lines().filter_map(|l| l.parse().ok()).chain(self.shallow.iter().copied()).collect();
        own_files::write_file(&path, all.iter().map(|oid| format!("{oid}\n")).collect::<String>())
            .doing("writing", &path)
    }
}
