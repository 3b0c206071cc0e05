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

// A fixed time in the past: trees made twice are alike, and an index written next is younger than every file in it, so that git
// need not read them again.
const MTIME: Timespec = Timespec { tv_sec: 1_577_836_800, tv_nsec: 0 };
const TIMES: Timestamps = Timestamps { last_access: MTIME, last_modification: MTIME };

/// Writes a listing into `dest`, a fresh directory of the caller: raw files, links as links, gitlinks as empty directories.
pub fn materialise(store: &Store, listing: &Listing, dest: &Path) -> Result<(), TreeError> {
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
            write_entry(dir, leaf(path), entry.mode, &blob).doing_at("writing", path)?;
        }
    }
    Ok(())
}

fn write_entry(dir: BorrowedFd<'_>, name: &[u8], mode: Mode, blob: &[u8]) -> std::io::Result<()> {
    match mode {
        Mode::Gitlink => Ok(mkdirat(dir, name, Permissions::from_raw_mode(0o755))?),
        Mode::Link => {
            symlinkat(blob, dir, name)?;
            Ok(utimensat(dir, name, &TIMES, AtFlags::SYMLINK_NOFOLLOW)?)
        }
        Mode::File => write_file(dir, name, 0o644, blob),
        Mode::Executable => write_file(dir, name, 0o755, blob),
    }
}

fn write_file(dir: BorrowedFd<'_>, name: &[u8], permissions: u32, blob: &[u8]) -> std::io::Result<()> {
    let permissions = Permissions::from_raw_mode(permissions);
    let mut file = File::from(openat(dir, name, NEW_FILE, permissions)?);
    file.write_all(blob)?;
    // The umask of the harness must not show in a tree.
    fchmod(&file, permissions)?;
    Ok(futimens(&file, &TIMES)?)
}
