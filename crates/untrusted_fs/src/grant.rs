//! Restores rights that a program took from its own directories: entering and listing.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, chmod, fstat, openat};
use rustix::io::Errno;

use crate::open::{handle_path, kind};

/// Lets the owner enter, list and change a directory again, whatever its mode was. Gives
/// false where nothing had to be done.
pub fn grant_owner(path: &Path) -> io::Result<bool> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(CWD, path, flags, Mode::empty())?;
    Ok(grant_handle(handle.as_fd())?)
}

/// The same for an open directory.
pub fn grant_owner_of(dir: impl AsFd) -> io::Result<bool> {
    Ok(grant_handle(dir.as_fd())?)
}

/// The same by a handle, so that it is that very directory.
pub(crate) fn grant_handle(handle: BorrowedFd<'_>) -> Result<bool, Errno> {
    let stat = fstat(handle)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    if kind(&stat) != FileType::Directory || mode.contains(Mode::RWXU) {
        return Ok(false);
    }
    chmod(handle_path(handle), mode | Mode::RWXU)?;
    Ok(true)
}
