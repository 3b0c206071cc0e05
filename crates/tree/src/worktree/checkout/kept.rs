//! The manifest of a checkout on disk: its files, those of its `.git` too, with the stat
//! that each had when it was built.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::FileType;

use crate::error::{Doing, TreeError, malformed};
use crate::object::listing::{Listing, ListingEntry, PathMode};
use crate::object::name::descend;
use crate::oid::Oid;
use crate::worktree::fsdir::{kind, lstat, open_dir, open_regular, open_root, sorted_names};
use crate::worktree::manifest::{Manifest, RecordedPath};
use crate::worktree::stat::{FileStat, StatTrust};

const GIT: &[u8] = b".git";

/// The listing of a checkout together with the files of the repository it was given.
pub(super) fn with_repository(root: &Path, listing: &Listing) -> Result<Listing, TreeError> {
    let mut all = listing.clone();
    let git = open_dir(open_root(root)?, GIT).doing("opening directory", &root.join(".git"))?;
    add_files(&git, &mut GIT.to_vec(), &mut all)?;
    Ok(all)
}

fn add_files(dir: &OwnedFd, path: &mut Vec<u8>, into: &mut Listing) -> Result<(), TreeError> {
    for name in sorted_names(dir).doing_at("reading directory", path)? {
        let length = descend(path, &name);
        let stat = lstat(dir, &name).doing_at("looking at", path)?;
        if kind(&stat) == FileType::Directory {
            add_files(&open_dir(dir, &name).doing_at("opening directory", path)?, path, into)?;
        } else {
            let (file, _) = open_regular(dir, &name).doing_at("opening", path)?;
            let now = FileStat::of_stat(&stat);
            let oid = Oid::of_file(file, now.size).doing_at("reading", path)?;
            into.0.insert(path.clone(), ListingEntry { mode: now.regular_mode(), oid });
        }
        path.truncate(length);
    }
    Ok(())
}

/// True if a kept manifest fits this listing: the same paths except `.git`, each with the
/// same entry.
pub(super) fn manifest_fits(manifest: &Manifest, listing: &Listing) -> bool {
    let own = manifest.recorded.keys().filter(|path| !path.starts_with(b".git/")).count();
    own == listing.0.len() && listing.0.iter().all(|(path, entry)| manifest.entry(path) == Some(*entry))
}

/// Rows sorted by path: bits of the mode, id, stat, length of the path, path; before them
/// what the stats are worth.
pub(super) fn encode_manifest(manifest: &Manifest) -> Vec<u8> {
    let mut rows: Vec<_> = manifest.recorded.iter().collect();
    rows.sort_unstable_by_key(|(path, _)| *path);
    let mut out = Vec::with_capacity(rows.len() * 120);
    let (honest, newest) = manifest.trust.parts();
    out.push(u8::from(honest));
    out.extend_from_slice(&newest.to_be_bytes());
    for (path, RecordedPath { entry, stat }) in rows {
        out.extend_from_slice(&entry.mode.bits().to_be_bytes());
        out.extend_from_slice(&entry.oid.0);
        for number in [stat.size, stat.inode, stat.mtime.0 as u64, stat.ctime.0 as u64] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        for number in [stat.mtime.1, stat.ctime.1, stat.mode, path.len() as u32] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(path);
    }
    out
}

/// Reads a manifest back. Any deviation in form is an error, so that the checkout is built
/// anew.
pub(super) fn decode_manifest(bytes: &[u8]) -> Result<Manifest, TreeError> {
    Reader(bytes).manifest().ok_or_else(|| malformed("manifest", "truncated or of another form"))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn short(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    fn manifest(mut self) -> Option<Manifest> {
        let honest = self.take(1)? == [1];
        let newest = i128::from_be_bytes(self.take(16)?.try_into().ok()?);
        let mut recorded = HashMap::new();
        while !self.0.is_empty() {
            let (path, row) = self.row()?;
            recorded.insert(path, row);
        }
        Some(Manifest::new(recorded, StatTrust::from_parts(honest, newest)))
    }

    fn row(&mut self) -> Option<(Vec<u8>, RecordedPath)> {
        let mode = PathMode::from_bits(self.short()?)?;
        let oid = Oid::from_slice(self.take(20)?)?;
        let [size, inode, mtime, ctime] = [self.long()?, self.long()?, self.long()?, self.long()?];
        let [mtime_part, ctime_part, bits, length] = [self.short()?, self.short()?, self.short()?, self.short()?];
        let (mtime, ctime) = ((mtime as i64, mtime_part), (ctime as i64, ctime_part));
        let path = self.take(length as usize)?.to_vec();
        let stat = FileStat { size, mtime, ctime, inode, mode: bits };
        Some((path, RecordedPath { entry: ListingEntry { mode, oid }, stat }))
    }
}
