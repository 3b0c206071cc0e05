//! Opening below an open directory: no link is followed, and nothing but directories and
//! plain files is opened at all.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A handle: opening has no effect on what is opened.
const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Flags for reading. `NONBLOCK` also for a plain file: another process may hold a lease on
/// it.
const CONTENT: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// Opens a directory by a path of the harness's own. Only its last component could be
/// foreign, and a link there is not followed.
pub fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, DIRECTORY, Mode::empty())?)
}

/// Opens a directory below another.
pub fn open_dir(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    open_beneath(dir.as_fd(), name, DIRECTORY, ResolveFlags::empty())
}

/// Opens a directory that is no mount point.
pub(crate) fn open_same_mount(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    open_beneath(dir.as_fd(), name, DIRECTORY, ResolveFlags::NO_XDEV)
}

/// Opens a handle of a directory that may not be entered.
pub(crate) fn open_handle(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    open_beneath(dir.as_fd(), name, HANDLE, ResolveFlags::empty())
}

/// Opens a regular file for reading; anything else is `InvalidInput` and stays untouched.
pub fn open_regular(dir: impl AsFd, name: &[u8]) -> io::Result<(File, Stat)> {
    let handle = open_handle(dir, name)?;
    let stat = fstat(&handle)?;
    if kind(&stat) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    // The kernel's own link to the very file that was looked at, whatever its name stands
    // for by now.
    let file = openat(CWD, handle_path(handle.as_fd()), CONTENT, Mode::empty())?;
    Ok((File::from(file), stat))
}

/// The kernel's link to an open file.
pub(crate) fn handle_path(handle: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Looks at a name without following it.
pub fn lstat(dir: impl AsFd, name: &[u8]) -> Result<Stat, Errno> {
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// True if the name exists, as anything.
pub fn is_there(dir: &OwnedFd, name: &[u8]) -> bool {
    lstat(dir, name).is_ok()
}

/// Kind of the examined file.
pub fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// The names in a directory, sorted, without `.` and `..`.
pub fn sorted_names(dir: impl AsFd) -> Result<Vec<Vec<u8>>, Errno> {
    some_names(dir, usize::MAX)
}

/// No more than `most` of the names in a directory, sorted.
pub fn some_names(dir: impl AsFd, most: usize) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if names.len() >= most {
            break;
        }
        names.push(name.to_vec());
    }
    names.sort_unstable();
    Ok(names)
}

fn open_beneath(dir: BorrowedFd<'_>, name: &[u8], flags: OFlags, more: ResolveFlags) -> Result<OwnedFd, Errno> {
    static MISSING: AtomicBool = AtomicBool::new(false);
    if !MISSING.load(Ordering::Relaxed) {
        match openat2(dir, name, flags, Mode::empty(), BENEATH | more) {
            // Older than Linux 5.6, or a filter that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => MISSING.store(true, Ordering::Relaxed),
            opened => return opened,
        }
    }
    if name.contains(&b'/') || name == b".." {
        return Err(Errno::XDEV);
    }
    let opened = openat(dir, name, flags, Mode::empty())?;
    if more.contains(ResolveFlags::NO_XDEV) && fstat(&opened)?.st_dev != fstat(dir)?.st_dev {
        return Err(Errno::XDEV);
    }
    Ok(opened)
}
