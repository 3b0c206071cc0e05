//! Who uses what: a folder's shared lock keeps it from being removed, and goes with its process.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, Timespec, Timestamps, UTIME_NOW, utimensat};
use untrusted_fs::own_files::{self, OwnOptions as _};

/// Keeps a folder from being collected as long as the value lives. None where it is not there any more, and where somebody
/// has it for themselves: who only looks does not wait.
pub fn hold(folder: &Path) -> Option<File> {
    let held = open(folder)?;
    (held.try_lock_shared().is_ok() && is_at(&held, folder)).then_some(held)
}

/// The same for who needs it: waits until it is free or gone.
pub(crate) fn hold_for_use(folder: &Path) -> Option<File> {
    let held = open(folder)?;
    (held.lock_shared().is_ok() && is_at(&held, folder)).then_some(held)
}

/// The folder for oneself; None while somebody holds it, or where it is gone. One that a program shut to its owner is opened up.
pub(crate) fn seize(folder: &Path) -> Option<File> {
    let _ = untrusted_fs::grant_owner(folder);
    let held = open(folder)?;
    (held.try_lock().is_ok() && is_at(&held, folder)).then_some(held)
}

/// Only a folder: opening a pipe would wait for whoever writes into it.
fn open(folder: &Path) -> Option<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    File::options().read(true).custom_flags(flags.bits() as i32).own_open(folder).ok()
}

fn is_at(held: &File, path: &Path) -> bool {
    let identity = |stat: fs::Metadata| (stat.dev(), stat.ino());
    let (held, found) = (held.metadata().map(identity), own_files::symlink_metadata(path).map(identity));
    matches!((held, found), (Ok(held), Ok(found)) if held == found)
}

/// Says that something was used just now. Where that cannot be said, it is taken for unused the sooner: a cache costs time.
pub(crate) fn touch(path: &Path) {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let _ = utimensat(CWD, path, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty());
}
