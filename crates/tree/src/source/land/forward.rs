//! Moving a branch forward that names a known commit, under git's own lock; never one that
//! a work tree has checked out.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

use super::BranchName;
use super::ref_name::{RefName, UsedMark};
use super::reference::{Landing, is_empty};
use crate::error::{Doing, TreeError};
use crate::oid::Oid;
use crate::source::SourceRepository;
use crate::worktree::fsdir::{open_dir, read_beneath, sorted_names};

const LARGEST_HEAD: u64 = 4096;

/// Result of moving a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forwarding {
    /// The branch names the new commit.
    Moved,
    /// The branch names something unexpected; none if that is no plain commit, or missing.
    Elsewhere(Option<Oid>),
    /// A work tree has it checked out; its git directory.
    CheckedOut(PathBuf),
    /// Somebody holds this lock.
    Locked(PathBuf),
    /// The approval was used here before.
    Used(Option<Oid>),
}

impl SourceRepository {
    /// The branch that HEAD names; none where HEAD is detached.
    pub fn current_branch(&self) -> Option<BranchName> {
        let head = read_beneath(self.git_dir().as_fd(), b"HEAD", LARGEST_HEAD).ok().flatten()?;
        let name = head.trim_ascii_end().strip_prefix(b"ref: refs/heads/")?;
        BranchName::parse_name(std::str::from_utf8(name).ok()?).ok()
    }

    /// The git directory of a work tree that has this branch checked out. A bare repository
    /// has no work tree of its own.
    pub fn checked_out_at(&self, branch: &BranchName) -> Result<Option<PathBuf>, TreeError> {
        self.find_checkout(&RefName::branch(branch))
    }

    /// Git directory of a work tree that has the branch checked out; none if no work tree
    /// has.
    pub(super) fn find_checkout(&self, name: &RefName) -> Result<Option<PathBuf>, TreeError> {
        let symbolic = [b"ref: ".as_slice(), &name.full()].concat();
        let is_at = |head: Option<Vec<u8>>| head.is_some_and(|head| head.trim_ascii_end() == symbolic);
        let head = |dir: &OwnedFd| read_beneath(dir.as_fd(), b"HEAD", LARGEST_HEAD).ok().flatten();
        if !self.is_bare() && is_at(head(self.common())) {
            return Ok(Some(self.common_path().to_owned()));
        }
        let Ok(worktrees) = open_dir(self.common(), b"worktrees") else { return Ok(None) };
        for worktree in sorted_names(&worktrees).doing("reading the worktrees of", self.root())? {
            let Ok(dir) = open_dir(&worktrees, &worktree) else { continue };
            if is_at(head(&dir)) {
                let below = String::from_utf8_lossy(&worktree).into_owned();
                return Ok(Some(self.common_path().join("worktrees").join(below)));
            }
        }
        Ok(None)
    }

    /// Moves a branch from `old` to `commit`. If an approval is to be marked as used, the
    /// mark is made first: after a kill in between, the mark exists and the branch is
    /// unchanged.
    pub fn forward_branch(
        &self,
        branch: &BranchName,
        mark: Option<&UsedMark>,
        old: Oid,
        commit: Oid,
        token: &str,
    ) -> Result<Forwarding, TreeError> {
        let name = RefName::branch(branch);
        let (dir, mut lock) = match self.lock_reference(&name, token)? {
            Ok(locked) => locked,
            Err(Landing::Locked(lock)) => return Ok(Forwarding::Locked(lock)),
            Err(_) => return Ok(Forwarding::Elsewhere(None)),
        };
        // Under the lock, without which nobody checks a branch out and commits to it.
        if let Some(at) = self.find_checkout(&name)? {
            return Ok(Forwarding::CheckedOut(at));
        }
        match self.look_up_ref(&dir, &name, is_empty)? {
            Some(Landing::There(Some(found))) if found == old => {}
            Some(Landing::There(found)) => return Ok(Forwarding::Elsewhere(found)),
            _ => return Ok(Forwarding::Elsewhere(None)),
        }
        match mark.map(|mark| self.make_mark(mark, commit, token)).transpose()? {
            None | Some(Landing::Made) => {}
            Some(Landing::Locked(lock)) => return Ok(Forwarding::Locked(lock)),
            Some(Landing::There(found)) => return Ok(Forwarding::Used(found)),
            Some(Landing::InTheWay(_) | Landing::Used(_)) => return Ok(Forwarding::Used(None)),
        }
        lock.replace_content(format!("{commit}\n").as_bytes()).doing_at("moving branch", name.as_str().as_bytes())?;
        Ok(Forwarding::Moved)
    }
}
