//! Intake of a capture, common to both walks: content within limits, and refusals of
//! entries that cannot be read.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use rustix::fs::{Stat, readlinkat};
use rustix::io::Errno;

use super::before::EarlierTree;
use super::{Capture, CaptureLimits, RefusedPath, RefusedWhy};
use crate::capture::link::Links;
use crate::error::{Doing, Limit, TreeError};
use crate::object::listing::ListingEntry;
use crate::oid::Oid;
use crate::store::ObjectDatabase;
use crate::worktree::fsdir::{lstat, open_dir, open_regular, read_limited, sorted_names};
use crate::worktree::stat::FileStat;

/// State of a capture while it walks.
pub(super) struct Intake<'a> {
    pub(super) before: EarlierTree<'a>,
    pub(super) store: &'a ObjectDatabase,
    limits: &'a CaptureLimits,
    pub(super) out: Capture,
    /// The targets of the links that were read.
    pub(super) links: Links,
    /// Carried paths that are not as they were.
    pub(super) changed: BTreeSet<Vec<u8>>,
    entries: u64,
    bytes: u64,
}

/// A directory of a workspace.
pub(super) struct Opened {
    pub(super) dir: OwnedFd,
    pub(super) names: Vec<Vec<u8>>,
}

impl Opened {
    /// The root, without which there is nothing to capture.
    pub(super) fn root_of(dir: OwnedFd) -> Result<Opened, TreeError> {
        Ok(Opened { names: sorted_names(&dir).doing_at("reading directory", b".")?, dir })
    }
}

impl<'a> Intake<'a> {
    /// Starts with an empty capture.
    pub(super) fn new(before: EarlierTree<'a>, store: &'a ObjectDatabase, limits: &'a CaptureLimits) -> Intake<'a> {
        let (links, changed) = (Links::new(), BTreeSet::new());
        Intake { before, store, limits, out: Capture::default(), links, changed, entries: 0, bytes: 0 }
    }

    /// Adds an entry to the captured tree, and notes it as changed if it differs from
    /// before.
    pub(super) fn carry(&mut self, path: &[u8], entry: ListingEntry) {
        if self.before.entry(path) != Some(entry) {
            self.changed.insert(path.to_vec());
        }
        self.out.listing.0.insert(path.to_vec(), entry);
    }

    /// Records that a path must not be part of a result.
    pub(super) fn refuse_path(&mut self, path: &[u8], why: RefusedWhy) {
        self.out.refused.push(RefusedPath { path: path.to_vec(), why });
    }

    /// Stat of a name; none, with a refusal, if the harness may not look at it.
    pub(super) fn look_at(&mut self, dir: &OwnedFd, name: &[u8], path: &[u8]) -> Result<Option<Stat>, TreeError> {
        let stat = lstat(dir, name);
        if matches!(stat, Err(Errno::ACCESS)) {
            self.count_entry(path)?;
            self.refuse_path(path, RefusedWhy::Unreadable);
            return Ok(None);
        }
        stat.doing_at("looking at", path).map(Some)
    }

    /// An open directory and the names in it; none, and a refusal, where the harness may
    /// not enter or not read it.
    pub(super) fn enter(&mut self, dir: &OwnedFd, name: &[u8], path: &[u8]) -> Result<Option<Opened>, TreeError> {
        let opened = open_dir(dir, name).and_then(|dir| Ok(Opened { names: sorted_names(&dir)?, dir }));
        if matches!(opened, Err(Errno::ACCESS)) {
            self.refuse_path(path, RefusedWhy::Unreadable);
            return Ok(None);
        }
        opened.doing_at("opening directory", path).map(Some)
    }

    /// Target of a link.
    pub(super) fn target(&self, dir: &OwnedFd, name: &[u8], path: &[u8]) -> Result<Vec<u8>, TreeError> {
        Ok(readlinkat(dir, name, Vec::new()).doing_at("reading link", path)?.into_bytes())
    }

    /// The bytes of a regular file; none, and a refusal, where the harness may not read it.
    pub(super) fn content(
        &mut self,
        dir: &OwnedFd,
        name: &[u8],
        path: &[u8],
        now: &FileStat,
    ) -> Result<Option<Vec<u8>>, TreeError> {
        self.count_bytes(path, now)?;
        let content = match open_regular(dir, name) {
            Ok((file, _)) => read_limited(file, self.limits.file_bytes),
            Err(e) => Err(e),
        };
        match content {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == std::io::ErrorKind::FileTooLarge => Err(limit(Limit::FileBytes, path)),
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                self.refuse_path(path, RefusedWhy::Unreadable);
                Ok(None)
            }
            Err(e) => Err(e).doing_at("reading", path),
        }
    }

    /// Stores content, unless it is what the path already had.
    pub(super) fn keep_content(&self, path: &[u8], bytes: &[u8]) -> Result<Oid, TreeError> {
        let oid = Oid::of_object("blob", bytes);
        match self.before.entry(path) {
            Some(entry) if entry.oid == oid => Ok(oid),
            _ => self.store.put_blob(bytes),
        }
    }

    /// Counts an entry that is new. Fails beyond the limit.
    pub(super) fn count_entry(&mut self, path: &[u8]) -> Result<(), TreeError> {
        self.entries += u64::from(!self.before.knows(path));
        if self.entries > self.limits.entries { Err(limit(Limit::Entries, path)) } else { Ok(()) }
    }

    fn count_bytes(&mut self, path: &[u8], now: &FileStat) -> Result<(), TreeError> {
        if now.size > self.limits.file_bytes {
            return Err(limit(Limit::FileBytes, path));
        }
        if !self.before.looks_alike(path, now) {
            self.bytes = self.bytes.saturating_add(now.size);
        }
        if self.bytes > self.limits.total_bytes { Err(limit(Limit::TotalBytes, path)) } else { Ok(()) }
    }

    /// Fails beyond the permitted depth.
    pub(super) fn require_depth(&self, depth: usize, path: &[u8]) -> Result<(), TreeError> {
        if depth > self.limits.depth { Err(limit(Limit::Depth, path)) } else { Ok(()) }
    }
}

fn limit(limit: Limit, path: &[u8]) -> TreeError {
    TreeError::Limit { limit, path: path.to_vec() }
}
