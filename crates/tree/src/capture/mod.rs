//! Capture of a workspace whose processes are dead: every byte it holds, without running
//! git and without following a link.

mod before;
mod beneath;
pub(crate) mod claimed;
pub(crate) mod committed;
mod intake;
mod layer;
mod link;
mod marks;
mod refuse;
mod walk;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

pub use beneath::LowerLayers;

use before::EarlierTree;
use intake::Opened;

use crate::error::{Doing, TreeError};
use crate::object::listing::Listing;
use crate::store::ObjectDatabase;
use crate::worktree::fsdir::{is_there, open_dir, open_root};
use crate::worktree::manifest::Manifest;

/// Limits on new content before a capture gives up. Content that the manifest knows is not
/// counted.
#[derive(Debug, Clone, Copy)]
pub struct CaptureLimits {
    /// New files and directories.
    pub entries: u64,
    /// Bytes of new and changed files together.
    pub total_bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Directories within each other.
    pub depth: usize,
}

impl Default for CaptureLimits {
    fn default() -> CaptureLimits {
        CaptureLimits { entries: 100_000, total_bytes: 4 << 30, file_bytes: 512 << 20, depth: 128 }
    }
}

/// Content of a workspace. Every list is sorted by path.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// The tree: everything git can carry, also what is refused unless its name folds to
    /// `.git` or it cannot be read.
    pub listing: Listing,
    /// Paths that must not be part of a result.
    pub refused: Vec<RefusedPath>,
    /// Directories other than the root with a `.git` of their own; their other files are in
    /// the listing.
    pub nested_repositories: Vec<Vec<u8>>,
    /// Sockets, devices and FIFOs: not carried.
    pub special_files: Vec<Vec<u8>>,
    /// Topmost directories that hold nothing git carries.
    pub empty_directories: Vec<Vec<u8>>,
    /// Names in the root `.git` that say a merge, rebase, cherry-pick, revert, bisect or
    /// stash is not finished.
    pub unfinished: Vec<String>,
}

impl Capture {
    /// Capture of a workspace whose root cannot be entered.
    fn shut(before: EarlierTree<'_>) -> Capture {
        let refused = vec![RefusedPath { path: b".".to_vec(), why: RefusedWhy::Unreadable }];
        Capture { listing: before.listing(), refused, ..Capture::default() }
    }
}

/// A path that must not be part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPath {
    pub path: Vec<u8>,
    pub why: RefusedWhy,
}

/// Reason for refusing a path. Except for names and unreadable entries, only new or changed
/// paths are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusedWhy {
    /// A symbolic link that is absolute, leads out of the tree or into a `.git`.
    LinkLeavesRepository,
    /// A name some file system folds to `.git`, or a link named `.gitmodules`; not carried.
    GitName,
    /// A name that is no UTF-8, which reports could not show.
    NotUtf8,
    /// A submodule's directory is gone, filled or replaced.
    GitlinkChanged,
    /// The harness may not read it; not carried.
    Unreadable,
}

/// The ref of what was put aside. In a workspace an engine left it there; in a source it is
/// the owner's.
pub(crate) const STASH: &str = "refs/stash";

const UNFINISHED: [&str; 9] = [
    "MERGE_HEAD",
    "REBASE_HEAD",
    "rebase-merge",
    "rebase-apply",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "sequencer",
    STASH,
];

/// Captures a workspace into `store`. Call it when no process can write there any more.
pub fn capture(
    root: &Path,
    manifest: &Manifest,
    store: &ObjectDatabase,
    limits: &CaptureLimits,
) -> Result<Capture, TreeError> {
    let top = match open_root(root).and_then(Opened::root_of) {
        Err(error) if error.is_shut() => return Ok(Capture::shut(EarlierTree::Manifest(manifest))),
        opened => opened?,
    };
    let unfinished = open_dir(&top.dir, b".git").map_or_else(|_| Vec::new(), |git| unfinished(&git, is_there));
    let mut capture = walk::Walk::new(manifest, store, limits).run_walk(&top)?;
    capture.unfinished = unfinished;
    Ok(capture)
}

/// Captures a workspace of layers from the one that took the changes, an overlay's upper
/// directory, without a look at the checkout: the same as `capture` would find in the whole
/// of it, but for what setup layers brought.
///
/// Captures a layer. A file that the program left as setup layers showed it is no change: the baseline's entry stays, or there is none. A
/// directory that a setup layer has is not reported as empty. Everything in the layer that the baseline does not have counts as new.
pub fn capture_layer(
    upper: BorrowedFd<'_>,
    beneath: &LowerLayers<'_>,
    store: &ObjectDatabase,
    limits: &CaptureLimits,
) -> Result<Capture, TreeError> {
    let top = match open_dir(upper, b".").doing_at("opening the layer", b"").and_then(Opened::root_of) {
        Err(error) if error.is_shut() => return Ok(Capture::shut(EarlierTree::Listing(beneath.baseline))),
        opened => opened?,
    };
    layer::LayerWalk::new(beneath, store, limits).run_walk(top)
}

/// The names in a GIT_DIR that say something was begun and not ended, as far as `there`
/// finds them in a directory.
pub(crate) fn unfinished(git_dir: &OwnedFd, there: fn(&OwnedFd, &[u8]) -> bool) -> Vec<String> {
    let refs = open_dir(git_dir, b"refs");
    let begun = |name: &str| match (name.strip_prefix("refs/"), &refs) {
        (Some(name), Ok(refs)) => there(refs, name.as_bytes()),
        (Some(_), Err(_)) => false,
        (None, _) => there(git_dir, name.as_bytes()),
    };
    UNFINISHED.iter().filter(|name| begun(name)).map(ToString::to_string).collect()
}
