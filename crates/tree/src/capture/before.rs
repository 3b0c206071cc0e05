//! Reference of a capture: the state of a tree before anybody worked in it.

use crate::object::listing::{Listing, ListingEntry, PathMode};
use crate::worktree::manifest::Manifest;
use crate::worktree::stat::FileStat;

/// A tree as it was.
#[derive(Clone, Copy)]
pub(super) enum EarlierTree<'a> {
    /// The same directory, just made.
    Manifest(&'a Manifest),
    /// A checkout beneath a layer: a file that lies in the layer was written there.
    Listing(&'a Listing),
}

impl<'a> EarlierTree<'a> {
    /// Everything that was there.
    pub(super) fn listing(&self) -> Listing {
        match self {
            EarlierTree::Manifest(manifest) => {
                Listing(manifest.recorded.iter().map(|(path, recorded)| (path.clone(), recorded.entry)).collect())
            }
            EarlierTree::Listing(listing) => (*listing).clone(),
        }
    }

    /// The entry a path had.
    pub(super) fn entry(&self, path: &[u8]) -> Option<ListingEntry> {
        match self {
            EarlierTree::Manifest(manifest) => manifest.entry(path),
            EarlierTree::Listing(listing) => listing.0.get(path).copied(),
        }
    }

    /// True if the path existed, as a file or a directory.
    pub(super) fn knows(&self, path: &[u8]) -> bool {
        match self {
            EarlierTree::Manifest(manifest) => manifest.knows(path),
            EarlierTree::Listing(listing) => listing.0.contains_key(path) || listing.has_below(path),
        }
    }

    /// The entry of a path whose stat proves that it is unchanged.
    pub(super) fn unchanged(&self, path: &[u8], now: &FileStat) -> Option<ListingEntry> {
        match self {
            EarlierTree::Manifest(manifest) => manifest.unchanged(path, now),
            EarlierTree::Listing(_) => None,
        }
    }

    /// True if the path's stat is as it was. That is no proof of its content.
    pub(super) fn looks_alike(&self, path: &[u8], now: &FileStat) -> bool {
        match self {
            EarlierTree::Manifest(manifest) => manifest.looks_alike(path, now),
            EarlierTree::Listing(_) => false,
        }
    }

    /// Every path that had this mode.
    pub(super) fn of_mode(&self, mode: PathMode) -> Vec<(&'a [u8], ListingEntry)> {
        match self {
            EarlierTree::Manifest(manifest) => {
                let all = manifest.recorded.iter().map(|(path, recorded)| (path.as_slice(), recorded.entry));
                all.filter(|(_, entry)| entry.mode == mode).collect()
            }
            EarlierTree::Listing(listing) => {
                let all = listing.0.iter().map(|(path, entry)| (path.as_slice(), *entry));
                all.filter(|(_, entry)| entry.mode == mode).collect()
            }
        }
    }
}
