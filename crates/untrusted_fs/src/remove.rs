//! Removing a tree of any depth and width: no recursion, a handful of descriptors, no link
//! followed, no mount entered.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, SeekFrom, openat, seek, unlinkat};
use rustix::io::Errno;

use crate::descent::Descent;
use crate::grant::grant_handle;
use crate::open::{open_handle, open_same_mount};

/// Names of a directory that are held at a time.
const BATCH: usize = 16 << 10;
/// Passes over one directory; more are needed only if another process keeps filling it.
const PASSES: u32 = 10_000;

/// Removes a file, a link or a directory with everything in it; nothing there is a success.
/// A directory that its owner may not enter or write to is opened up first. Everything that
/// can be removed is, and the first failure is given.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let (parent, name) = match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => (parent, name),
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(CWD, parent, flags, Mode::empty()) {
        Ok(parent) => remove_tree_at(parent.as_fd(), name.as_bytes()),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// The same below an open directory.
pub fn remove_tree_at(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    loop {
        let mut removal = Removal { descent: Descent::new(), failed: None };
        match remove_leaf(parent, name)? {
            Removed::Gone => return Ok(()),
            Removed::Directory => removal.remove_directory(parent, name),
        }
        match removal.failed {
            // Others removed what was above the current directory, so that there is less
            // each time.
            Some(error) if error.kind() == io::ErrorKind::NotFound => {}
            Some(error) => return Err(error),
            None => return Ok(()),
        }
    }
}

/// Result of trying to remove a name.
enum Removed {
    Gone,
    /// It is a directory.
    Directory,
}

/// A directory that is being emptied.
struct Emptied {
    /// In the directory above.
    name: Vec<u8>,
    /// Directories in it that are still to be removed.
    below: Vec<Vec<u8>>,
    /// Something went since it was last listed, or it never was.
    moving: bool,
    passes: u32,
}

struct Removal {
    descent: Descent<Emptied>,
    failed: Option<io::Error>,
}

impl Removal {
    fn remove_directory(&mut self, parent: BorrowedFd<'_>, name: &[u8]) {
        match open_to_empty(parent, name) {
            Ok(Some(open)) => self.enter(open, name),
            Ok(None) => {}
            Err(errno) => self.fail(errno.into()),
        }
        while self.descent.depth() > 0 {
            if let Err(error) = self.step(parent) {
                return self.fail(error);
            }
        }
    }

    /// Goes on in the current directory.
    fn step(&mut self, parent: BorrowedFd<'_>) -> io::Result<()> {
        let Some((dir, emptied)) = self.descent.current_dir() else { return Ok(()) };
        if let Some(name) = emptied.below.pop() {
            match open_to_empty(dir, &name) {
                Ok(Some(open)) => self.enter(open, &name),
                Ok(None) => emptied.moving = true,
                // It may not be a directory any more.
                Err(errno) => match remove_leaf(dir, &name) {
                    Ok(Removed::Gone) => emptied.moving = true,
                    _ => self.fail(errno.into()),
                },
            }
            return Ok(());
        }
        if emptied.moving && emptied.passes < PASSES {
            emptied.moving = false;
            emptied.passes += 1;
            if let Err(errno) = sweep(dir, emptied) {
                self.fail(errno.into());
            }
            return Ok(());
        }
        self.leave(parent)
    }

    fn enter(&mut self, open: OwnedFd, name: &[u8]) {
        let emptied = Emptied { name: name.to_vec(), below: Vec::new(), moving: true, passes: 0 };
        if let Err(errno) = self.descent.push_dir(open, emptied) {
            self.fail(errno.into());
        }
    }

    /// Leaves the current directory and removes it.
    fn leave(&mut self, parent: BorrowedFd<'_>) -> io::Result<()> {
        let Some(Emptied { name, .. }) = self.descent.pop()? else { return Ok(()) };
        let above = self.descent.current_dir().map_or(parent, |(dir, _)| dir);
        match with_grant(above, || unlinkat(above, name.as_slice(), AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT) => self.progress(),
            Err(errno) => self.fail(errno.into()),
        }
        Ok(())
    }

    fn progress(&mut self) {
        if let Some((_, emptied)) = self.descent.current_dir() {
            emptied.moving = true;
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.failed.get_or_insert(error);
    }
}

/// Opens a directory, also one that its owner may not enter; none where it is gone.
fn open_to_empty(dir: BorrowedFd<'_>, name: &[u8]) -> Result<Option<OwnedFd>, Errno> {
    match open_same_mount(dir, name) {
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::ACCESS) => {
            // The directory it lies in may be the one that lets nobody pass.
            grant_handle(dir)?;
            grant_handle(open_handle(dir, name)?.as_fd())?;
            open_same_mount(dir, name).map(Some)
        }
        opened => opened.map(Some),
    }
}

/// Removes the files of a directory and notes the directories in it; the first failure is
/// given.
fn sweep(dir: BorrowedFd<'_>, emptied: &mut Emptied) -> Result<(), Errno> {
    let names = match batch(dir) {
        // Others were faster and removed the directory itself.
        Err(Errno::NOENT) => return Ok(()),
        names => names?,
    };
    let mut failed = Ok(());
    for (name, is_dir) in names {
        match if is_dir { Ok(Removed::Directory) } else { remove_leaf(dir, &name) } {
            Ok(Removed::Gone) => emptied.moving = true,
            Ok(Removed::Directory) => emptied.below.push(name),
            Err(errno) => failed = failed.and(Err(errno)),
        }
    }
    failed
}

/// Some names of a directory from its beginning, and whether the kernel says that they are
/// directories.
fn batch(dir: BorrowedFd<'_>) -> Result<Vec<(Vec<u8>, bool)>, Errno> {
    let mut names = Vec::new();
    let mut buffer = Vec::with_capacity(32 << 10);
    seek(dir, SeekFrom::Start(0))?;
    let mut entries = RawDir::new(dir, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push((name.to_vec(), entry.file_type() == FileType::Directory));
        }
        if names.len() == BATCH {
            break;
        }
    }
    Ok(names)
}

fn remove_leaf(dir: BorrowedFd<'_>, name: &[u8]) -> Result<Removed, Errno> {
    match with_grant(dir, || unlinkat(dir, name, AtFlags::empty())) {
        Ok(()) | Err(Errno::NOENT) => Ok(Removed::Gone),
        // Which of the two depends on the file system.
        Err(Errno::ISDIR | Errno::PERM) if is_directory(dir, name) => Ok(Removed::Directory),
        Err(errno) => Err(errno),
    }
}

fn is_directory(dir: BorrowedFd<'_>, name: &[u8]) -> bool {
    crate::lstat(dir, name).is_ok_and(|stat| crate::kind(&stat) == FileType::Directory)
}

/// Tries once more after the owner was let into the directory.
fn with_grant(dir: BorrowedFd<'_>, mut act: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    match act() {
        Err(Errno::ACCESS) if grant_handle(dir)? => act(),
        done => done,
    }
}
