//! Removing what a landing left that was killed: everything under the token it was begun with, and the lock that is its own.
//! Whole objects stay: git writes none that is there already, so that somebody may rest on one by now. No branch names them, and
//! git removes them in time.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use super::BranchName;
use super::loose::young_object;
use super::reference::{Folder, leaf, lock_name, young_lock};
use crate::error::{Doing, TreeError};
use crate::source::Source;
use crate::worktree::fsdir::{lstat, names, open_dir};

impl Source {
    /// Removes what a dead landing of this token left. The caller knows that nobody uses the token any more.
    pub fn clear_landing(&self, branch: &BranchName, token: &str) -> Result<(), TreeError> {
        self.clear_young_objects(token)?;
        if let Folder::Open(dir) = self.folder_of(branch, false)? {
            clear_lock(&dir, branch, token).doing_at("clearing the lock of branch", branch.as_str().as_bytes())?;
            self.remove_empty_folders(branch)?;
        }
        Ok(())
    }

    fn clear_young_objects(&self, token: &str) -> Result<(), TreeError> {
        let objects = open_dir(self.common(), b"objects").doing("opening the objects of", self.root())?;
        let mine = young_object(token, None);
        for folder in names(&objects).doing("reading the objects of", self.root())? {
            if folder.len() != 2 {
                continue;
            }
            let Ok(dir) = open_dir(&objects, &folder) else { continue };
            for name in names(&dir).doing("reading the objects of", self.root())? {
                if name.starts_with(mine.as_bytes()) {
                    remove(&dir, &name).doing("removing an unfinished object of", self.root())?;
                }
            }
        }
        Ok(())
    }

    /// As git does when a branch goes: folders in which nothing is left.
    fn remove_empty_folders(&self, branch: &BranchName) -> Result<(), TreeError> {
        let heads = open_dir(self.common(), b"refs").and_then(|refs| open_dir(refs, b"heads"));
        let heads = heads.doing("opening refs of", self.root())?;
        for above in Path::new(branch.as_str()).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            // One that is not empty is somebody's.
            if unlinkat(&heads, above, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// A lock is the landing's own if it is the same file as the one that bears its token.
fn clear_lock(dir: &OwnedFd, branch: &BranchName, token: &str) -> Result<(), Errno> {
    let young = young_lock(token);
    let Ok(own) = lstat(dir, young.as_bytes()) else { return Ok(()) };
    let lock = lock_name(leaf(branch));
    if lstat(dir, lock.as_bytes()).is_ok_and(|lock| (lock.st_dev, lock.st_ino) == (own.st_dev, own.st_ino)) {
        remove(dir, lock.as_bytes())?;
    }
    remove(dir, young.as_bytes())
}

fn remove(dir: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    match unlinkat(dir, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}
