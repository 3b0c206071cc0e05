//! Directories of the harness that a tree is laid out in or read from, held open;
//! everything below them goes through `untrusted_fs`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;
use untrusted_fs::remove_tree;
pub(crate) use untrusted_fs::{
    is_there, kind, lstat, open_dir, open_regular, read_beneath, read_limited, sorted_names,
};

use crate::error::{Doing, TreeError};

/// Opens a directory of the harness; errors name its path.
pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, TreeError> {
    untrusted_fs::open_root(path).doing("opening directory", path)
}

/// Moves through the directories of a sorted listing and keeps the current ones open.
pub(crate) struct Cursor {
    root: OwnedFd,
    open: Vec<(Vec<u8>, OwnedFd)>,
    create: bool,
}

impl Cursor {
    /// Cursor that opens existing directories only.
    pub(crate) fn reading(root: OwnedFd) -> Cursor {
        Cursor { root, open: Vec::new(), create: false }
    }

    /// Cursor that makes missing directories on the way.
    pub(crate) fn creating(root: OwnedFd) -> Cursor {
        Cursor { root, open: Vec::new(), create: true }
    }

    /// The open directory of this relative path, empty for the root.
    pub(crate) fn open_at(&mut self, path: &[u8]) -> Result<BorrowedFd<'_>, Errno> {
        let parts: Vec<&[u8]> = path.split(|b| *b == b'/').filter(|part| !part.is_empty()).collect();
        let shared = self.open.iter().zip(&parts).take_while(|((name, _), part)| name == *part).count();
        self.open.truncate(shared);
        for part in &parts[shared..] {
            let next = self.step(part)?;
            self.open.push((part.to_vec(), next));
        }
        Ok(self.here())
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.open.last().map_or(self.root.as_fd(), |(_, fd)| fd.as_fd())
    }

    fn step(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        if self.create {
            match mkdirat(self.here(), name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(e),
            }
        }
        open_dir(self.here(), name)
    }
}

/// A directory of the harness that is removed when the value goes.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes a fresh directory, which is removed on drop.
    pub(crate) fn create_scratch(below: &Path) -> Result<Scratch, TreeError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("scratch-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = below.join(name);
        std::fs::create_dir(&path).doing("creating directory", &path)?;
        Ok(Scratch(path))
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on its absence, and a destructor has nobody to tell.
        let _ = remove_tree(&self.0);
    }
}
