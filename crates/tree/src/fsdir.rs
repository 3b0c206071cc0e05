//! Directories held open: every step below a root is one `openat` that does not follow symbolic links.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::Errno;

use crate::error::{Doing, TreeError};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
// NONBLOCK so that opening a FIFO cannot hang, NOCTTY so that a terminal is not taken.
const CONTENT: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, TreeError> {
    openat(CWD, path, DIRECTORY, Mode::empty()).doing("opening directory", path)
}

pub(crate) fn open_dir(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    openat(dir, name, DIRECTORY, Mode::empty())
}

pub(crate) fn lstat(dir: impl AsFd, name: &[u8]) -> Result<Stat, Errno> {
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

pub(crate) fn is_there(dir: &OwnedFd, name: &[u8]) -> bool {
    lstat(dir, name).is_ok()
}

pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// The names in a directory, sorted, without `.` and `..`.
pub(crate) fn names(dir: impl AsFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Opens a regular file for reading without following a link; anything else is `InvalidInput`.
pub(crate) fn open_regular(dir: impl AsFd, name: &[u8]) -> io::Result<(File, Stat)> {
    let fd = openat(dir, name, CONTENT, Mode::empty())?;
    let stat = fstat(&fd)?;
    if kind(&stat) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((File::from(fd), stat))
}

/// Reads at most `limit` bytes; more is `FileTooLarge`.
pub(crate) fn read_limited(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(bytes)
}

/// A regular file below the directory `root`, no link followed on the way. None where there is no such file, it is no
/// regular one, or it is larger than `limit`.
pub fn read_plain(root: &Path, path: &[u8], limit: u64) -> Option<Vec<u8>> {
    if !is_plain(path) {
        return None;
    }
    read_beneath(open_root(root).ok()?.as_fd(), path, limit).ok().flatten()
}

fn is_plain(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
}

/// The names in a directory below `root`, no link followed on the way, sorted; no more than `most` of them, and none where there
/// is no such directory.
pub fn plain_names(root: &Path, path: &[u8], most: usize) -> Vec<Vec<u8>> {
    if !is_plain(path) {
        return Vec::new();
    }
    let open = |root: OwnedFd| path.split(|byte| *byte == b'/').try_fold(root, |at, part| open_dir(&at, part).ok());
    let Some(dir) = open_root(root).ok().and_then(open).and_then(|dir| rustix::fs::Dir::read_from(dir).ok()) else {
        return Vec::new();
    };
    let found = dir.map_while(Result::ok).map(|entry| entry.file_name().to_bytes().to_vec());
    let mut names: Vec<Vec<u8>> = found.filter(|name| !matches!(name.as_slice(), b"." | b"..")).take(most).collect();
    names.sort_unstable();
    names
}

/// A small regular file below `dir`, each component opened without following links; none if it is not there.
pub(crate) fn read_beneath(dir: BorrowedFd<'_>, path: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
    let found = open_parent(dir, path).and_then(|(parent, name)| match &parent {
        Some(fd) => open_regular(fd, name),
        None => open_regular(dir, name),
    });
    match found {
        Ok((file, _)) => read_limited(file, limit).map(Some),
        Err(e) if matches!(e.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::NOENT | Errno::NOTDIR)) => {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

fn open_parent<'p>(dir: BorrowedFd<'_>, path: &'p [u8]) -> io::Result<(Option<OwnedFd>, &'p [u8])> {
    let mut components: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
    let name = components.pop().unwrap_or_default();
    let mut at: Option<OwnedFd> = None;
    for component in components {
        at = Some(match &at {
            Some(fd) => open_dir(fd, component)?,
            None => open_dir(dir, component)?,
        });
    }
    Ok((at, name))
}

/// Moves through the directories of a sorted listing and keeps the current ones open.
pub(crate) struct Cursor {
    root: OwnedFd,
    open: Vec<(Vec<u8>, OwnedFd)>,
    create: bool,
}

impl Cursor {
    pub(crate) fn reading(root: OwnedFd) -> Cursor {
        Cursor { root, open: Vec::new(), create: false }
    }

    pub(crate) fn creating(root: OwnedFd) -> Cursor {
        Cursor { root, open: Vec::new(), create: true }
    }

    /// The open directory of this relative path, empty for the root.
    pub(crate) fn at(&mut self, path: &[u8]) -> Result<BorrowedFd<'_>, Errno> {
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
    pub(crate) fn create(below: &Path) -> Result<Scratch, TreeError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("scratch-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = below.join(name);
        std::fs::create_dir(&path).doing("creating directory", &path)?;
        Ok(Scratch(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on its absence, and a destructor has nobody to tell.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
