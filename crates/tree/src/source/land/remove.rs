//! Removing a branch that a landing made, for as long as it still names the landing's commit.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, fsync, openat, renameat};
use rustix::io::Errno;

use super::BranchName;
use super::clear::remove;
use super::ref_name::RefName;
use super::reference::{Landing, is_empty};
use crate::error::{Doing, TreeError};

use crate::oid::Oid;
use crate::source::Source;
use crate::worktree::fsdir::{names, open_dir, read_beneath};

const LARGEST_HEAD: u64 = 4096;
const PACKED: &str = "packed-refs";
const PACKED_LOCK: &str = "packed-refs.lock";

/// What came of removing a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    Removed,
    /// There is no such branch.
    Gone,
    /// It names something else by now; none if that is not simply a commit.
    Moved(Option<Oid>),
    /// A work tree has it checked out: the git directory that says so.
    CheckedOut(PathBuf),
    /// Somebody holds this lock.
    Locked(PathBuf),
}

impl Source {
    /// Removes a branch that names exactly this commit, loose or packed, under git's own locks.
    pub fn remove_branch(&self, branch: &BranchName, commit: Oid, token: &str) -> Result<Removal, TreeError> {
        let name = RefName::branch(branch);
        if let Some(at) = self.checked_out_at(&name)? {
            return Ok(Removal::CheckedOut(at));
        }
        match self.find_reference(&name)? {
            None | Some(Landing::InTheWay(_)) => return Ok(Removal::Gone),
            _ => {}
        }
        let (dir, lock) = match self.lock_reference(&name, token)? {
            Ok(locked) => locked,
            Err(Landing::Locked(lock)) => return Ok(Removal::Locked(lock)),
            Err(_) => return Ok(Removal::Gone),
        };
        match self.look(&dir, &name, is_empty)? {
            Some(Landing::There(Some(found))) if found == commit => {}
            Some(Landing::There(found)) => return Ok(Removal::Moved(found)),
            _ => return Ok(Removal::Gone),
        }
        // The packed value first: a branch must not come back as what it was before.
        if !self.unpack_reference(&name)? {
            return Ok(Removal::Locked(self.common_path().join(PACKED_LOCK)));
        }
        remove(&dir, name.split().1.as_bytes()).doing_at("removing branch", name.as_str().as_bytes())?;
        fsync(&*dir).doing_at("writing out the folder of branch", name.as_str().as_bytes())?;
        drop(lock);
        self.remove_empty_folders(&name)?;
        Ok(Removal::Removed)
    }

    /// The git directory of a work tree that has this branch checked out.
    fn checked_out_at(&self, name: &RefName) -> Result<Option<PathBuf>, TreeError> {
        let symbolic = [b"ref: ".as_slice(), &name.full()].concat();
        let is_at = |head: Option<Vec<u8>>| head.is_some_and(|head| head.trim_ascii_end() == symbolic);
        let head = |dir: &std::os::fd::OwnedFd| read_beneath(dir.as_fd(), b"HEAD", LARGEST_HEAD).ok().flatten();
        if is_at(head(self.common())) {
            return Ok(Some(self.common_path().to_owned()));
        }
        let Ok(worktrees) = open_dir(self.common(), b"worktrees") else { return Ok(None) };
        for worktree in names(&worktrees).doing("reading the worktrees of", self.root())? {
            let Ok(dir) = open_dir(&worktrees, &worktree) else { continue };
            if is_at(head(&dir)) {
                let below = String::from_utf8_lossy(&worktree).into_owned();
                return Ok(Some(self.common_path().join("worktrees").join(below)));
            }
        }
        Ok(None)
    }

    /// Takes a reference out of the packed ones, where it is there; false where somebody holds their lock.
    fn unpack_reference(&self, name: &RefName) -> Result<bool, TreeError> {
        if without(&self.packed_refs()?, &name.full()).is_none() {
            return Ok(true);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(self.common(), PACKED_LOCK, flags, Mode::from_raw_mode(0o666)) {
            Err(Errno::EXIST) => return Ok(false),
            opened => opened.doing("locking the packed references of", self.root())?,
        };
        let replaced = self.replace_packed(name, File::from(file));
        if replaced.is_err() {
            let _ = remove(self.common(), PACKED_LOCK.as_bytes());
        }
        replaced.map(|()| true)
    }

    /// Reads again under the lock: somebody may have packed more in the meantime.
    fn replace_packed(&self, name: &RefName, mut file: File) -> Result<(), TreeError> {
        let packed = self.packed_refs()?;
        let text = without(&packed, &name.full()).unwrap_or(packed);
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        written.doing("writing the packed references of", self.root())?;
        renameat(self.common(), PACKED_LOCK, self.common(), PACKED)
            .doing("placing the packed references of", self.root())
    }
}

/// Packed references without one of them and the line about the object it was peeled to; none where it is not among them.
fn without(packed: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let (mut kept, mut found, mut skipping) = (Vec::with_capacity(packed.len()), false, false);
    for line in packed.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        skipping = match text.first() {
            Some(b'^') => skipping,
            _ => text.iter().position(|byte| *byte == b' ').is_some_and(|space| &text[space + 1..] == name),
        };
        found |= skipping;
        if !skipping {
            kept.extend_from_slice(line);
        }
    }
    found.then_some(kept)
}
