//! State of a workspace right after it was made, so that a capture reads only files that
//! changed.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::error::{Doing, TreeError};
use crate::object::listing::{Listing, ListingEntry};
use crate::object::name::{leaf, parent};
use crate::worktree::fsdir::{Cursor, lstat, open_root};
use crate::worktree::stat::{FileStat, StatTrust};

/// The stat and the object id of every path of a fresh workspace.
#[derive(Debug, Clone)]
pub struct Manifest {
    pub(crate) recorded: HashMap<Vec<u8>, RecordedPath>,
    directories: HashSet<Vec<u8>>,
    pub(crate) trust: StatTrust,
}

/// One path of a manifest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedPath {
    pub(crate) entry: ListingEntry,
    pub(crate) stat: FileStat,
}

impl Manifest {
    /// Records a workspace that `listing` was just written to, before anything else runs in it.
    pub fn record_workspace(root: &Path, listing: &Listing) -> Result<Manifest, TreeError> {
        let top = open_root(root)?;
        let mut trust = StatTrust::trust_below(&top, root)?;
        let mut cursor = Cursor::reading(top);
        let mut recorded = HashMap::with_capacity(listing.0.len());
        for (path, entry) in &listing.0 {
            let dir = cursor.open_at(parent(path)).doing_at("opening directory of", path)?;
            let stat = FileStat::of_stat(&lstat(dir, leaf(path)).doing_at("looking at", path)?);
            trust.note_stat(&stat);
            recorded.insert(path.clone(), RecordedPath { entry: *entry, stat });
        }
        Ok(Manifest::new(recorded, trust))
    }

    /// Derives the directories from the recorded files.
    pub(crate) fn new(recorded: HashMap<Vec<u8>, RecordedPath>, trust: StatTrust) -> Manifest {
        let directories = directories(recorded.keys());
        Manifest { recorded, directories, trust }
    }

    /// True if the path existed, as a file or a directory.
    pub(crate) fn knows(&self, path: &[u8]) -> bool {
        self.recorded.contains_key(path) || self.directories.contains(path)
    }

    /// The entry a path had.
    pub(crate) fn entry(&self, path: &[u8]) -> Option<ListingEntry> {
        self.recorded.get(path).map(|recorded| recorded.entry)
    }

    /// The entry of a path whose stat proves that it is unchanged.
    pub(crate) fn unchanged(&self, path: &[u8], now: &FileStat) -> Option<ListingEntry> {
        let recorded = self.recorded.get(path)?;
        (recorded.stat == *now && self.trust.holds_for(now)).then_some(recorded.entry)
    }

    /// True if the path's stat is as it was. That is no proof of its content.
    pub(crate) fn looks_alike(&self, path: &[u8], now: &FileStat) -> bool {
        self.recorded.get(path).is_some_and(|recorded| recorded.stat == *now)
    }
}

fn directories<'a>(paths: impl Iterator<Item = &'a Vec<u8>>) -> HashSet<Vec<u8>> {
    let mut found = HashSet::new();
    for path in paths {
        let mut above = parent(path);
        while !above.is_empty() && !found.contains(above) {
            found.insert(above.to_vec());
            above = parent(above);
        }
    }
    found
}
