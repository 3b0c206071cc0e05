//! Clean-up after a killed landing: everything under its token, and its own lock. Whole
//! objects stay: git does not rewrite an existing object, so another commit may use one by
//! now. No branch names them, and git removes them in time.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use super::BranchName;
use super::loose::young_object;
use super::ref_name::{RefName, UsedMark};
use super::reference::{Folder, PACKED, lock_name, young_lock};
use crate::error::{Doing, TreeError};
use crate::source::SourceRepository;
use crate::worktree::fsdir::{lstat, open_dir, sorted_names};

impl SourceRepository {
    /// Removes the remains of a dead landing with this token. The caller must know that no
    /// live process uses the token.
    pub fn clear_landing(&self, branch: &BranchName, token: &str) -> Result<(), TreeError> {
        self.clear_young_objects(token)?;
        clear_lock(self.common(), PACKED, token).doing("clearing the lock of the packed references of", self.root())?;
        self.clear_reference(&RefName::branch(branch), token)
    }

    /// The same for a landing that was to mark an approval as used; a mark that was made stays.
    pub fn clear_marked_landing(&self, branch: &BranchName, mark: &UsedMark, token: &str) -> Result<(), TreeError> {
        self.clear_landing(branch, token)?;
        self.clear_reference(mark.name(), token)
    }

    fn clear_reference(&self, name: &RefName, token: &str) -> Result<(), TreeError> {
        if let Folder::Open(dir) = self.folder_of(name, false)? {
            clear_lock(&dir, name.split().1, token)
                .doing_at("clearing the lock of reference", name.as_str().as_bytes())?;
            self.remove_empty_folders(name)?;
        }
        Ok(())
    }

    fn clear_young_objects(&self, token: &str) -> Result<(), TreeError> {
        let objects = open_dir(self.common(), b"objects").doing("opening the objects of", self.root())?;
        let mine = young_object(token, None);
        for folder in sorted_names(&objects).doing("reading the objects of", self.root())? {
            if folder.len() != 2 {
                continue;
            }
            let Ok(dir) = open_dir(&objects, &folder) else { continue };
            for name in sorted_names(&dir).doing("reading the objects of", self.root())? {
                if name.starts_with(mine.as_bytes()) {
                    remove_file(&dir, &name).doing("removing an unfinished object of", self.root())?;
                }
            }
        }
        Ok(())
    }

    /// Removes empty folders below `refs/heads` and `refs/cto`, as git does when a
    /// reference goes.
    pub(super) fn remove_empty_folders(&self, name: &RefName) -> Result<(), TreeError> {
        let refs = open_dir(self.common(), b"refs").doing("opening refs of", self.root())?;
        let above = Path::new(name.as_str()).ancestors().skip(1);
        for folder in above.filter(|folder| !matches!(folder.to_str(), Some("" | "heads"))) {
            // One that is not empty is somebody's.
            if unlinkat(&refs, folder, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// Removes a lock that is the landing's own: the same file as the one that carries its
/// token.
fn clear_lock(dir: &OwnedFd, leaf: &str, token: &str) -> Result<(), Errno> {
    let young = young_lock(token);
    let Ok(own) = lstat(dir, young.as_bytes()) else { return Ok(()) };
    let lock = lock_name(leaf);
    if lstat(dir, lock.as_bytes()).is_ok_and(|lock| (lock.st_dev, lock.st_ino) == (own.st_dev, own.st_ino)) {
        remove_file(dir, lock.as_bytes())?;
    }
    remove_file(dir, young.as_bytes())
}

/// Removes a file; one that is gone already is no error.
pub(super) fn remove_file(dir: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    match unlinkat(dir, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}
