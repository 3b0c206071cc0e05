//! A commit of a source that need not be HEAD's: found by a person's name for it, and
//! reachable from a branch or a tag.

use super::baseline::SourceBaseline;
use super::land::BranchName;
use super::{References, SourceRepository};
use crate::error::TreeError;
use crate::oid::Oid;
use crate::source_problem::SourceProblem;
use crate::store::ObjectDatabase;
use crate::store::git::{GitCall, Input, alternates_value};

/// Digits of an id that is cut off.
const FEWEST_DIGITS: usize = 4;
const DIGITS: usize = 40;
/// Objects that share a beginning; a person meant one.
const MOST_OUTPUT: usize = 64 << 10;

impl SourceRepository {
    /// Finds the commit that `named` means: an id or its beginning, `HEAD`, a branch, or a
    /// tag. It must be reachable from a local branch or a tag. Only objects of the source
    /// are read; its references are read in process and its configuration is not.
    pub fn find_commit(&self, store: &ObjectDatabase, named: &str) -> Result<Oid, TreeError> {
        let references = self.references()?;
        let commit = self.resolve_name(store, &references, named)?;
        match self.is_reached(store, &references, commit)? {
            true => Ok(commit),
            false => Err(self.refuse_source(SourceProblem::UnreachableCommit(commit))),
        }
    }

    /// True if a local branch or a tag reaches a commit, other than this branch. False also
    /// of a commit that is not here any more.
    pub fn is_kept_beside(&self, store: &ObjectDatabase, branch: &BranchName, commit: Oid) -> Result<bool, TreeError> {
        let mut references = self.references()?;
        references.remove(format!("refs/heads/{}", branch.as_str()).as_bytes());
        match self.resolve_name(store, &references, &commit.to_string()) {
            Ok(commit) => self.is_reached(store, &references, commit),
            Err(TreeError::Source { problem: SourceProblem::UnknownCommit(_), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// True if one of the branches and tags among these references reaches a commit.
    fn is_reached(&self, store: &ObjectDatabase, references: &References, commit: Oid) -> Result<bool, TreeError> {
        let mut wanted = format!("{commit}\n");
        let is_kept = |name: &[u8]| name.starts_with(b"refs/heads/") || name.starts_with(b"refs/tags/");
        let tips = references.iter().filter(|(name, _)| is_kept(name)).filter_map(|(_, value)| Oid::from_hex(value));
        tips.for_each(|tip| wanted.push_str(&format!("^{tip}\n")));
        // Commits that this one reaches and no branch or tag does: none, if one of them
        // reaches it.
        let mut call = GitCall::new("looking for a commit", store.dir(), &["rev-list", "--max-count=1", "--stdin"]);
        call.env = vec![("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates_value(&self.objects()))];
        call.input = Input::Bytes(wanted.as_bytes());
        let beyond = store.git().run_child(call).map_err(|error| self.blame_source(error))?;
        Ok(beyond.is_empty())
    }

    /// The tree of a commit that `find_commit` found, as [`SourceRepository::baseline`] takes that of
    /// HEAD.
    pub fn baseline_at(&self, store: &ObjectDatabase, commit: Oid) -> Result<SourceBaseline, TreeError> {
        self.require_known_format(&self.settings(store)?)?;
        self.fetch_commit_into(store, commit)?;
        self.examine_baseline(store, commit).map_err(|error| self.blame_source(error))
    }

    fn resolve_name(&self, store: &ObjectDatabase, references: &References, named: &str) -> Result<Oid, TreeError> {
        let unknown = || self.refuse_source(SourceProblem::UnknownCommit(named.to_owned()));
        if named == "HEAD" {
            return Ok(self.head);
        }
        let names = [format!("refs/heads/{named}"), format!("refs/tags/{named}"), named.to_owned()];
        if let Some(value) = names.iter().find_map(|name| references.get(name.as_bytes())) {
            let tip = Oid::from_hex(value).ok_or_else(unknown)?;
            return self.peel(store, tip);
        }
        let is_id =
            (FEWEST_DIGITS..=DIGITS).contains(&named.len()) && named.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(unknown());
        }
        let prefix = format!("--disambiguate={}", named.to_ascii_lowercase());
        let found = self.ask_objects(store, &["rev-parse", &prefix])?;
        let mut found = found.split(|byte| *byte == b'\n').filter_map(Oid::from_hex);
        match (found.next(), found.next()) {
            (Some(commit), None) => Ok(commit),
            (Some(_), Some(_)) => Err(self.refuse_source(SourceProblem::AmbiguousCommit(named.to_owned()))),
            (None, _) => Err(unknown()),
        }
    }

    /// The commit behind a tag of its own.
    fn peel(&self, store: &ObjectDatabase, tip: Oid) -> Result<Oid, TreeError> {
        let wanted = format!("{tip}^{{commit}}");
        let found = self.ask_objects(store, &["rev-parse", "--verify", "--end-of-options", &wanted])?;
        let commit = Oid::from_hex(found.trim_ascii_end());
        commit.ok_or_else(|| self.refuse_source(SourceProblem::UnknownCommit(tip.to_string())))
    }

    /// Asks git in a store of the harness, with the objects of the source beside its own.
    fn ask_objects(&self, store: &ObjectDatabase, args: &[&str]) -> Result<Vec<u8>, TreeError> {
        let mut call = GitCall::new("looking for a commit", store.dir(), args);
        call.env = vec![("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates_value(&self.objects()))];
        call.most_output = MOST_OUTPUT;
        store.git().run_child(call).map_err(|error| self.blame_source(error))
    }
}
