//! Writing a listing into a fresh directory, byte for byte, without following a link.

use std::fs::File;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode as Permissions, OFlags, Timespec, Timestamps, fchmod, futimens, mkdirat, openat, symlinkat, utimensat,
};

use crate::batch::WINDOW;
use crate::error::{Doing, TreeError};
use crate::fsdir::{Cursor, open_root};
use crate::listing::{Entry, Listing, Mode};
use crate::name::{leaf, parent};
use crate::oid::Oid;
use crate::store::Store;

const NEW_FILE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Seconds since the epoch that a file of a tree carries. A fixed time in the past: trees made twice are alike, and an index
/// written next is younger than every file in it, so that git need not read them again.
pub const TREE_TIME: i64 = 1_577_836_800;

/// Age of a file beside the others of its tree, in seconds after [`TREE_TIME`]. Build tools compare such times to find out what
/// to make again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAge {
    /// Older than every file of the tree: whatever it was made from is newer.
    Product = -1,
    Unchanged = 0,
    /// Newer than everything that is unchanged: what is made from it is made again.
    Changed = 1,
    /// Newer than what it was made from, which nothing here could make again.
    Settled = 2,
}

impl FileAge {
    fn times(self) -> Timestamps {
        let time = Timespec { tv_sec: TREE_TIME + self as i64, tv_nsec: 0 };
        Timestamps { last_access: time, last_modification: time }
    }
}

/// Writes a listing into `dest`, a fresh directory of the caller: raw files, links as links, gitlinks as empty directories.
pub fn materialise(store: &Store, listing: &Listing, dest: &Path) -> Result<(), TreeError> {
    materialise_aged(store, listing, dest, &|_| FileAge::Unchanged)
}

/// Writes a listing as [`materialise`] does, each file with the time of its age.
pub fn materialise_aged(
    store: &Store,
    listing: &Listing,
    dest: &Path,
    age_of: &dyn Fn(&[u8]) -> FileAge,
) -> Result<(), TreeError> {
    listing.require_plain()?;
    let mut cursor = Cursor::creating(open_root(dest)?);
    let mut reader = store.reader();
    let entries: Vec<(&Vec<u8>, &Entry)> = listing.0.iter().collect();
    for window in entries.chunks(WINDOW) {
        let oids: Vec<Oid> = window.iter().filter(|(_, e)| e.mode != Mode::Gitlink).map(|(_, e)| e.oid).collect();
        let mut blobs = reader.blobs(&oids)?.into_iter();
        for (path, entry) in window {
            let blob = match entry.mode {
                Mode::Gitlink => Vec::new(),
                _ => blobs.next().flatten().ok_or(TreeError::Missing { oid: entry.oid })?,
            };
            let dir = cursor.at(parent(path)).doing_at("creating directory of", path)?;
            write_entry(dir, leaf(path), entry.mode, &blob, age_of(path)).doing_at("writing", path)?;
        }
    }
    Ok(())
}

fn write_entry(dir: BorrowedFd<'_>, name: &[u8], mode: Mode, blob: &[u8], age: FileAge) -> std::io::Result<()> {
    match mode {
        Mode::Gitlink => Ok(mkdirat(dir, name, Permissions::from_raw_mode(0o755))?),
        Mode::Link => {
            symlinkat(blob, dir, name)?;
            Ok(utimensat(dir, name, &age.times(), AtFlags::SYMLINK_NOFOLLOW)?)
        }
        Mode::File => write_file(dir, name, 0o644, blob, age),
        Mode::Executable => write_file(dir, name, 0o755, blob, age),
    }
}

fn write_file(dir: BorrowedFd<'_>, name: &[u8], permissions: u32, blob: &[u8], age: FileAge) -> std::io::Result<()> {
    let permissions = Permissions::from_raw_mode(permissions);
    let mut file = File::from(openat(dir, name, NEW_FILE, permissions)?);
    file.write_all(blob)?;
    // The umask of the harness must not show in a tree.
    fchmod(&file, permissions)?;
    Ok(futimens(&file, &age.times())?)
}
