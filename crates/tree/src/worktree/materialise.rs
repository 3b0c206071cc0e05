//! Writing a listing into a fresh directory, byte for byte, without following a link.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode as Permissions, OFlags, Timespec, Timestamps, fchmod, futimens, mkdirat, openat, symlinkat, unlinkat,
    utimensat,
};

use crate::error::{Doing, TreeError};
use crate::object::listing::{Listing, ListingEntry, PathMode};
use crate::object::name::{folders_above, leaf, parent};
use crate::oid::Oid;
use crate::store::ObjectDatabase;
use crate::store::batch::WINDOW;
use crate::worktree::fsdir::{Cursor, open_root};

const NEW_FILE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Seconds since the epoch that a file of a tree carries. A fixed time in the past: trees
/// made twice are alike, and an index written next is younger than every file in it, so
/// that git need not read them again.
pub const TREE_TIME: i64 = 1_577_836_800;

/// Age of a file beside the others of its tree, in seconds after [`TREE_TIME`]. Build tools
/// compare such times to find out what to make again.
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

/// Writes a listing into `dest`, a fresh directory of the caller: raw files, links as
/// links, gitlinks as empty directories.
pub fn materialise(store: &ObjectDatabase, listing: &Listing, dest: &Path) -> Result<(), TreeError> {
    materialise_aged(store, listing, dest, &|_| FileAge::Unchanged)
}

/// Writes a listing as [`materialise`] does, each file with the time of its age.
pub fn materialise_aged(
    store: &ObjectDatabase,
    listing: &Listing,
    dest: &Path,
    age_of: &dyn Fn(&[u8]) -> FileAge,
) -> Result<(), TreeError> {
    listing.require_plain()?;
    let mut cursor = Cursor::creating(open_root(dest)?);
    let mut reader = store.reader();
    let entries: Vec<(&Vec<u8>, &ListingEntry)> = listing.0.iter().collect();
    for window in entries.chunks(WINDOW) {
        let oids: Vec<Oid> = window.iter().filter(|(_, e)| e.mode != PathMode::Gitlink).map(|(_, e)| e.oid).collect();
        let mut blobs = reader.blobs(&oids)?.into_iter();
        for (path, entry) in window {
            let blob = match entry.mode {
                PathMode::Gitlink => Vec::new(),
                _ => blobs.next().flatten().ok_or(TreeError::Missing { oid: entry.oid })?,
            };
            let dir = cursor.open_at(parent(path)).doing_at("creating directory of", path)?;
            write_entry(dir, leaf(path), entry.mode, &blob, age_of(path)).doing_at("writing", path)?;
        }
    }
    Ok(())
}

/// Makes of a tree that holds `from` what [`materialise_aged`] would have written of `to`.
/// `is_stale` tells paths of both whose age is another one now.
pub fn rematerialise_aged(
    store: &ObjectDatabase,
    (from, to): (&Listing, &Listing),
    dest: &Path,
    is_stale: &dyn Fn(&[u8]) -> bool,
    age_of: &dyn Fn(&[u8]) -> FileAge,
) -> Result<(), TreeError> {
    let stays =
        |path: &Vec<u8>, entry: &ListingEntry, other: &Listing| other.0.get(path) == Some(entry) && !is_stale(path);
    let gone = from.0.iter().filter(|(path, entry)| !stays(path, entry, to));
    let mut cursor = Cursor::reading(open_root(dest)?);
    let mut emptied = BTreeSet::new();
    for (path, entry) in gone {
        let dir = cursor.open_at(parent(path)).doing_at("opening directory of", path)?;
        let flags = if entry.mode == PathMode::Gitlink { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        unlinkat(dir, leaf(path), flags).doing_at("removing", path)?;
        emptied.extend(folders_above(path).filter(|folder| !to.has_below(folder)));
    }
    // The deepest first. No tree has an empty directory, and a file may come in the place
    // of one.
    for folder in emptied.into_iter().rev() {
        let dir = cursor.open_at(parent(folder)).doing_at("opening directory of", folder)?;
        unlinkat(dir, leaf(folder), AtFlags::REMOVEDIR).doing_at("removing", folder)?;
    }
    let new = to.0.iter().filter(|(path, entry)| !stays(path, entry, from));
    let new = Listing(new.map(|(path, entry)| (path.clone(), *entry)).collect());
    materialise_aged(store, &new, dest, age_of)
}

fn write_entry(dir: BorrowedFd<'_>, name: &[u8], mode: PathMode, blob: &[u8], age: FileAge) -> std::io::Result<()> {
    match mode {
        PathMode::Gitlink => Ok(mkdirat(dir, name, Permissions::from_raw_mode(0o755))?),
        PathMode::Link => {
            symlinkat(blob, dir, name)?;
            Ok(utimensat(dir, name, &age.times(), AtFlags::SYMLINK_NOFOLLOW)?)
        }
        PathMode::File => write_file(dir, name, 0o644, blob, age),
        PathMode::Executable => write_file(dir, name, 0o755, blob, age),
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test looks at trees that it made itself")]
mod tests {
    use super::*;
    use crate::Git;

    /// Every file of a folder with its mode, time and content.
    fn files(root: &Path) -> Vec<(String, u32, i64, String)> {
        use std::os::unix::fs::MetadataExt as _;
        let mut found = Vec::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let (stat, name) = (std::fs::symlink_metadata(&path).unwrap(), path.strip_prefix(root).unwrap());
                let name = name.to_str().unwrap().to_owned();
                if stat.is_dir() {
                    found.push((name, stat.mode(), 0, String::new()));
                    folders.push(path);
                } else {
                    let content = std::fs::read_link(&path).map(|link| link.to_str().unwrap().to_owned());
                    let content = content.unwrap_or_else(|_| std::fs::read_to_string(&path).unwrap());
                    found.push((name, stat.mode(), stat.mtime(), content));
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_tree_that_was_laid_out_becomes_any_other() {
        let world = tempfile::tempdir().unwrap();
        let store = ObjectDatabase::create_store(&world.path().join("store"), Git::find_git(&[]).unwrap()).unwrap();
        let entry = |mode, text: &str| ListingEntry { mode, oid: store.put_blob(text.as_bytes()).unwrap() };
        let listing = |files: &[(&str, PathMode, &str)]| {
            Listing(files.iter().map(|(path, mode, text)| (path.as_bytes().to_vec(), entry(*mode, text))).collect())
        };
        let trees = [
            listing(&[]),
            listing(&[("a", PathMode::File, "1"), ("d/b", PathMode::File, "2"), ("d/e/c", PathMode::Executable, "3")]),
            listing(&[("a/x/y", PathMode::File, "1"), ("d", PathMode::File, "2"), ("l", PathMode::Link, "d")]),
            listing(&[("a", PathMode::Executable, "1"), ("d/b", PathMode::File, "other"), ("l", PathMode::File, "d")]),
            listing(&[("a", PathMode::Gitlink, ""), ("d/e/c", PathMode::Executable, "3")]),
        ];
        let age = |path: &[u8]| if path.starts_with(b"d") { FileAge::Changed } else { FileAge::Unchanged };
        for (from, one) in trees.iter().enumerate() {
            for (to, other) in trees.iter().enumerate() {
                let [made, expected] =
                    ["made", "expected"].map(|name| world.path().join(format!("{name}-{from}-{to}")));
                for folder in [&made, &expected] {
                    std::fs::create_dir(folder).unwrap();
                }
                materialise(&store, one, &made).unwrap();
                rematerialise_aged(&store, (one, other), &made, &|path| path.starts_with(b"d"), &age).unwrap();
                materialise_aged(&store, other, &expected, &age).unwrap();
                assert_eq!(files(&made), files(&expected), "{from} to {to}");
            }
        }
    }
}
