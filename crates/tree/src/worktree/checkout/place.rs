//! Places of checkouts: found by name, built aside and moved there whole, removed only by a
//! process that holds them alone.
//!
//! A folder's lock shows its use: shared while a process works on it, exclusive while it is
//! built or removed. A lock ends with its process, so a folder aside that can be locked
//! belonged to a dead builder.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use untrusted_fs::own_files::{self, OwnPath as _};
use untrusted_fs::remove_tree;

use super::stamp::{self, CheckoutStamp};
use super::{Checkout, TREE};
use crate::error::{Doing, TreeError};
use crate::worktree::fsdir::{open_root, read_beneath};

const ASIDE: &str = "aside-";

/// Result of looking for a checkout under its name.
pub(super) enum FoundCheckout {
    Good(Checkout),
    /// Something that is not what its name says.
    Damaged,
    Nothing,
}

/// Looks for the checkout of `content` in its folder.
pub(super) fn find_checkout(folder: &Path, content: &str) -> Result<FoundCheckout, TreeError> {
    let held = loop {
        let Some(held) = open_locked(folder, |file| file.lock_shared().map(|()| true))? else {
            return Ok(FoundCheckout::Nothing);
        };
        // Another process may have removed it while we waited.
        if is_at(&held, folder) {
            break held;
        }
    };
    let top = OwnedFd::from(held.try_clone().doing("opening directory", folder)?);
    let stamp = read_beneath(top.as_fd(), stamp::NAME.as_bytes(), stamp::LONGEST);
    let stamp = stamp.ok().flatten().and_then(|bytes| CheckoutStamp::parse_stamp(&bytes));
    Ok(match stamp.filter(|stamp| stamp.fits_folder(&top, content)) {
        Some(stamp) => {
            FoundCheckout::Good(Checkout { root: folder.join(TREE), folder: folder.to_path_buf(), stamp, held })
        }
        None => FoundCheckout::Damaged,
    })
}

/// A directory opened and locked; none if it is not there or the lock is not to be had.
fn open_locked(path: &Path, lock: fn(&File) -> io::Result<bool>) -> Result<Option<File>, TreeError> {
    let file = match open_root(path) {
        Ok(fd) => File::from(fd),
        Err(TreeError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    Ok(lock(&file).doing("locking", path)?.then_some(file))
}

fn alone(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let (held, found) = (file.metadata().map(identity), own_files::symlink_metadata(path).map(identity));
    matches!((held, found), (Ok(held), Ok(found)) if held == found)
}

/// A folder aside that its maker alone knows of, removed with the value unless it was placed.
pub(super) struct Building {
    pub(super) path: PathBuf,
    placed: bool,
    _alone: File,
}

impl Building {
    /// Makes a folder to build in.
    pub(super) fn begin_build(cache: &Path) -> Result<Building, TreeError> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(cache).doing("creating directory", cache)?;
        loop {
            let path = free_name(cache);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                made => made.doing("creating directory", &path)?,
            }
            // A sweep may have taken it for a dead one's between these two steps.
            match open_locked(&path, alone)? {
                Some(lock) if is_at(&lock, &path) => return Ok(Building { path, placed: false, _alone: lock }),
                _ => continue,
            }
        }
    }

    /// Gives it its name, unless another was first.
    pub(super) fn place_build(mut self, to: &Path) -> Result<(), TreeError> {
        match fs::rename(&self.path, to) {
            Err(e) if matches!(e.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => Ok(()),
            placed => {
                placed.doing("placing checkout", to)?;
                self.placed = true;
                Ok(())
            }
        }
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if !self.placed {
            // What stays is found by the next sweep.
            let _ = remove_tree(&self.path);
        }
    }
}

fn free_name(cache: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    cache.join(format!("{ASIDE}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Removes what dead builders left. What cannot be removed is left for another time.
pub(super) fn sweep_builders(cache: &Path) {
    for entry in own_files::read_dir(cache).into_iter().flatten().flatten() {
        let path = entry.path();
        let aside = entry.file_name().to_string_lossy().starts_with(ASIDE);
        if aside && let Ok(Some(_alone)) = open_locked(&path, alone) {
            let _ = remove_tree(&path);
        }
    }
}

/// Removes an unused checkout, from its name by one rename, so that no process finds half
/// of it.
pub(super) fn set_aside(cache: &Path, folder: &Path) -> Result<(), TreeError> {
    let Some(lock) = open_locked(folder, alone)? else {
        return match folder.own_exists() {
            true => Err(TreeError::Damaged { path: folder.to_path_buf(), problem: "is to be removed, but is in use" }),
            false => Ok(()),
        };
    };
    if is_at(&lock, folder) {
        let to = free_name(cache);
        fs::rename(folder, &to).doing("setting aside", folder)?;
        remove_tree(&to).doing("removing", &to)?;
    }
    Ok(())
}
