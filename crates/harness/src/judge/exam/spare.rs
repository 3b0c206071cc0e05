//! A second copy of a check's tree, laid out while the check's command runs. The trees of
//! one exam differ in a few files, so that the next of them is made of the copy and nobody
//! waits for all its files.
//!
//! Only where a sandbox shows a command nothing but its own tree: without one, code of the
//! patch could write into the copy.

use std::fs;
use std::path::{Path, PathBuf};

use contract::decision::Profile;
use tree::{Listing, ObjectDatabase};

use super::Examiner;
use super::ages::Ages;
use crate::run::file::Stopped;

/// Trees with fewer files are laid out anew as fast.
const LEAST_FILES: usize = 200;

/// Files and their ages, in this directory.
#[derive(Debug, Clone)]
pub(super) struct LaidTree {
    root: PathBuf,
    listing: Listing,
    ages: Ages,
}

impl LaidTree {
    /// Writes the files. A copy that cannot be made is done without.
    pub(super) fn lay_out(self, store: &ObjectDatabase) -> Option<Self> {
        fs::create_dir_all(&self.root).ok()?;
        let laid = tree::materialise_aged(store, &self.listing, &self.root, &|path| self.ages.age_of(path));
        laid.ok().map(|()| self)
    }
}

/// Copies of one exam.
#[derive(Debug, Default)]
pub(super) struct SpareTrees {
    /// True while further trees are to come.
    pub(super) wanted: bool,
    /// The tree that was laid out last.
    last: Option<LaidTree>,
    ready: Option<LaidTree>,
    made: usize,
}

impl SpareTrees {
    /// Keeps a copy for the next tree.
    pub(super) fn keep_copy(&mut self, copy: Option<LaidTree>) {
        self.ready = self.ready.take().or(copy);
    }
}

impl Examiner<'_> {
    /// Lays a tree out in an empty directory: out of the copy, where there is one.
    pub(super) fn lay_out(&mut self, listing: &Listing, ages: &Ages, root: &Path) -> Result<(), Stopped> {
        let store = self.trees.store;
        let copy = self.spares.ready.take().filter(|copy| fs::rename(&copy.root, root).is_ok());
        match copy {
            Some(copy) => {
                let is_stale = |path: &[u8]| copy.ages.age_of(path) != ages.age_of(path);
                tree::rematerialise_aged(store, (&copy.listing, listing), root, &is_stale, &|path| ages.age_of(path))?;
            }
            None => tree::materialise_aged(store, listing, root, &|path| ages.age_of(path))?,
        }
        self.spares.last = self.wants_spare(listing).then(|| LaidTree {
            root: self.setting.work.join("verify-spare"),
            listing: listing.clone(),
            ages: ages.clone(),
        });
        Ok(())
    }

    fn wants_spare(&self, listing: &Listing) -> bool {
        self.spares.wanted && self.setting.profile != Profile::None && listing.0.len() >= LEAST_FILES
    }

    /// The copy to lay out while the next command runs.
    pub(super) fn next_spare(&mut self) -> Option<LaidTree> {
        if self.spares.ready.is_some() || !self.spares.wanted {
            return None;
        }
        let copy = self.spares.last.take()?;
        self.spares.made += 1;
        Some(LaidTree { root: copy.root.join(self.spares.made.to_string()), ..copy })
    }
}
