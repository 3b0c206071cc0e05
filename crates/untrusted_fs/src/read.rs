//! Reading plain files, as far as they go and no further.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::fs::readlinkat;
use rustix::io::Errno;

use crate::open::{is_there, open_dir, open_regular, open_root, some_names};

/// Bytes between two checks of the clock.
const PIECE: usize = 256 << 10;

/// Reads at most `limit` bytes; more is `FileTooLarge`.
pub fn read_limited(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(bytes)
}

/// The same, ended by a clock: `TimedOut` after `until`.
pub fn read_within(mut file: File, limit: u64, until: Instant) -> io::Result<Vec<u8>> {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; PIECE]);
    loop {
        let count = match file.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        bytes.extend_from_slice(&piece[..count]);
        if bytes.len() as u64 > limit {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        if count == 0 {
            return Ok(bytes);
        }
        if Instant::now() >= until {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
    }
}

/// A regular file below the directory `root`. None where there is no such file, it is no
/// regular one, or it is larger than `limit`.
pub fn read_plain(root: &Path, path: &[u8], limit: u64) -> Option<Vec<u8>> {
    if !is_plain(path) {
        return None;
    }
    read_beneath(open_root(root).ok()?.as_fd(), path, limit).ok().flatten()
}

/// The target of a symbolic link below the directory `root`. None where there is no such link.
pub fn read_plain_link(root: &Path, path: &[u8]) -> Option<Vec<u8>> {
    if !is_plain(path) {
        return None;
    }
    let root = open_root(root).ok()?;
    let (parent, name) = open_parent(root.as_fd(), path).ok()?;
    let target = readlinkat(parent.as_ref().map_or_else(|| root.as_fd(), |fd| fd.as_fd()), name, Vec::new());
    target.ok().map(CString::into_bytes)
}

/// True if there is something of any kind at a path below `root`.
pub fn is_there_beneath(root: &Path, path: &[u8]) -> bool {
    let Some(root) = open_root(root).ok().filter(|_| is_plain(path)) else { return false };
    open_parent(root.as_fd(), path).is_ok_and(|(parent, name)| is_there(parent.as_ref().unwrap_or(&root), name))
}

/// The names in a directory below `root`, or in `root` itself where the path is empty;
/// sorted, no more than `most` of them, and none where there is no such directory.
pub fn plain_names(root: &Path, path: &[u8], most: usize) -> Vec<Vec<u8>> {
    let Ok(root) = open_root(root) else { return Vec::new() };
    if path.is_empty() {
        return some_names(root, most).unwrap_or_default();
    }
    if !is_plain(path) {
        return Vec::new();
    }
    let found = path.split(|byte| *byte == b'/').try_fold(root, |at, part| open_dir(&at, part).ok());
    found.and_then(|dir| some_names(dir, most).ok()).unwrap_or_default()
}

/// A regular file below `dir`, each component opened without following links; none if it is
/// not there.
pub fn read_beneath(dir: BorrowedFd<'_>, path: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
    let found = open_parent(dir, path).and_then(|(parent, name)| match &parent {
        Some(fd) => open_regular(fd, name),
        None => open_regular(dir, name),
    });
    match found {
        Ok((file, _)) => read_limited(file, limit).map(Some),
        Err(error)
            if matches!(error.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::NOENT | Errno::NOTDIR)) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn is_plain(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
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
