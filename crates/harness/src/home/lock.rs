//! Locks on folders: a shared lock keeps a folder from being removed, and ends with its
//! process.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use untrusted_fs::own_files::{is_at, open_folder};

/// Keeps a folder from being collected as long as the value lives. Waits until it is free
/// or gone.
pub(crate) fn hold_for_use(folder: &Path) -> Option<File> {
    let held = open_folder(folder).ok()?;
    (held.lock_shared().is_ok() && is_at(&held, folder)).then_some(held)
}

/// A folder for oneself, once everybody else has let go of it; None where somebody keeps it for long, who may be stopped.
pub(crate) fn wait_alone(folder: &Path) -> io::Result<Option<File>> {
    const TRIES: u32 = 200;
    let held = open_folder(folder)?;
    for _ in 0..TRIES {
        match held.try_lock() {
            Ok(()) => return Ok(Some(held)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(50)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(None)
}

/// Takes a folder exclusively; none while another process holds it, or if it is gone. A
/// folder whose permissions lock its owner out is opened up.
pub(crate) fn take_folder(folder: &Path) -> Option<File> {
    let _ = untrusted_fs::grant_owner(folder);
    let held = open_folder(folder).ok()?;
    (held.try_lock().is_ok() && is_at(&held, folder)).then_some(held)
}

/// Says that something was used just now. Where that cannot be said, it is taken for unused
/// the sooner: a cache costs time.
pub(crate) fn touch(path: &Path) {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let _ = utimensat(CWD, path, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty());
}
