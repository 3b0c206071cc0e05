//! Who uses what: a folder's shared lock keeps it from being removed, and goes with its process.

use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use untrusted_fs::own_files::{is_at, open_folder};

/// Keeps a folder from being collected as long as the value lives. Waits until it is free or gone.
pub(crate) fn hold_for_use(folder: &Path) -> Option<File> {
    let held = open_folder(folder).ok()?;
    (held.lock_shared().is_ok() && is_at(&held, folder)).then_some(held)
}

/// The folder for oneself; None while somebody holds it, or where it is gone. One that a program shut to its owner is opened up.
pub(crate) fn seize(folder: &Path) -> Option<File> {
    let _ = untrusted_fs::grant_owner(folder);
    let held = open_folder(folder).ok()?;
    (held.try_lock().is_ok() && is_at(&held, folder)).then_some(held)
}

/// Says that something was used just now. Where that cannot be said, it is taken for unused the sooner: a cache costs time.
pub(crate) fn touch(path: &Path) {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let _ = utimensat(CWD, path, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty());
}
