//! A way down into directories of any depth that holds few of them open.
//!
//! Directories far above are closed and opened again through `..` on the way back. A
//! directory that was moved meanwhile has another one above it, which its device and number
//! tell: there the way ends.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;

/// Directories that are held open at a time.
const KEPT: usize = 8;

/// Directories from a root down to the current one, each with what the walk has to know of it.
pub(crate) struct Descent<T> {
    levels: Vec<Level<T>>,
}

struct Level<T> {
    identity: (u64, u64),
    open: Option<OwnedFd>,
    data: T,
}

impl<T> Descent<T> {
    /// Starts above the first directory.
    pub(crate) fn new() -> Self {
        Self { levels: Vec::new() }
    }

    /// Number of directories between the start and the current one, including it.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Enters an open directory.
    pub(crate) fn push_dir(&mut self, open: OwnedFd, data: T) -> Result<(), Errno> {
        let identity = identity(open.as_fd())?;
        self.levels.push(Level { identity, open: Some(open), data });
        if let Some(far) = self.levels.len().checked_sub(KEPT + 1).and_then(|index| self.levels.get_mut(index)) {
            far.open = None;
        }
        Ok(())
    }

    /// The current directory.
    pub(crate) fn current_dir(&mut self) -> Option<(BorrowedFd<'_>, &mut T)> {
        let Level { open, data, .. } = self.levels.last_mut()?;
        Some((open.as_ref()?.as_fd(), data))
    }

    /// Leaves the current directory for the one above. An error where that is not above it
    /// any more.
    pub(crate) fn pop(&mut self) -> io::Result<Option<T>> {
        let Some(left) = self.levels.pop() else { return Ok(None) };
        if let (Some(above), Some(open)) = (self.levels.last_mut(), &left.open)
            && above.open.is_none()
        {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let found = openat(open, c"..", flags, Mode::empty())?;
            if identity(found.as_fd())? != above.identity {
                return Err(io::Error::other("a directory was moved while it was walked"));
            }
            above.open = Some(found);
        }
        Ok(Some(left.data))
    }
}

fn identity(dir: BorrowedFd<'_>) -> Result<(u64, u64), Errno> {
    fstat(dir).map(|stat| (stat.st_dev, stat.st_ino))
}
