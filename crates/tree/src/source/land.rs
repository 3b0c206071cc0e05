//! Puts one commit into a foreign repository: its new objects, and a branch that did not
//! exist; and removes that branch again. Nothing else of the repository is touched, no
//! program of it runs, and its configuration is only read as data.

mod branch_name;
mod clear;
mod forward;
mod loose;
mod ref_name;
mod reference;
mod remove;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode as FileMode, fchmod, fstat};

pub use self::branch_name::{BranchName, BranchNameProblem};
pub use self::forward::Forwarding;
pub use self::ref_name::UsedMark;
pub use self::reference::Landing;
pub use self::remove::Removal;
use crate::error::TreeError;
use crate::object::listing::{Listing, PathMode, changes};
use crate::object::loose::ObjectKind;
use crate::oid::Oid;
use crate::source::SourceRepository;
use crate::store::ObjectDatabase;
use loose::LooseObjects;

impl SourceRepository {
    /// Writes what `commit`, whose tree is `after`, has beyond `before`, which this
    /// repository holds. Objects that no branch names are garbage to git, so that stopping
    /// here leaves nothing that matters; files that are not whole yet bear `token`, by
    /// which `clear_landing` finds them.
    pub fn put_objects(
        &self,
        store: &ObjectDatabase,
        before: &Listing,
        after: &Listing,
        commit: Oid,
        token: &str,
    ) -> Result<usize, TreeError> {
        let objects = LooseObjects::open_folder(self, token)?;
        let mut reader = store.reader();
        let new: Vec<Oid> = new_blobs(before, after).into_iter().chain(new_trees(before, after)).collect();
        for oid in new.iter().chain([&commit]) {
            let (kind, body) = reader.object(*oid)?;
            objects.put_object(kind, *oid, &body)?;
        }
        objects.settle()?;
        Ok(new.len() + 1)
    }

    /// Writes those objects of a landing again that are not there as files any more, once a
    /// branch names the commit. Somebody may have pruned what no branch named; what was
    /// packed meanwhile is then there twice, which git takes for one.
    pub fn put_pruned_objects(
        &self,
        store: &ObjectDatabase,
        before: &Listing,
        after: &Listing,
        commit: Oid,
        token: &str,
    ) -> Result<usize, TreeError> {
        let objects = LooseObjects::open_folder(self, token)?;
        let mut new = new_blobs(before, after).into_iter().chain(new_trees(before, after)).chain([commit]);
        match new.all(|oid| objects.has_object(oid)) {
            true => Ok(0),
            false => self.put_objects(store, before, after, commit, token),
        }
    }
}

/// A directory made here is as open to others as the one it lies in: a repository may be a
/// group's.
fn open_like(dir: &OwnedFd, parent: &OwnedFd) {
    let mode = fstat(parent).map(|stat| FileMode::from_raw_mode(stat.st_mode & 0o7777));
    // A user who may not set it keeps what the system gave.
    let _ = mode.and_then(|mode| fchmod(dir, mode));
}

fn new_blobs(before: &Listing, after: &Listing) -> BTreeSet<Oid> {
    let changed = changes(before, after).into_iter().filter_map(|change| after.0.get(&change.path).copied());
    changed.filter(|entry| entry.mode != PathMode::Gitlink).map(|entry| entry.oid).collect()
}

fn new_trees(before: &Listing, after: &Listing) -> BTreeSet<Oid> {
    let known = trees(before);
    trees(after).into_iter().filter(|tree| !known.contains(tree)).collect()
}

fn trees(listing: &Listing) -> BTreeSet<Oid> {
    let mut found = BTreeSet::new();
    let Ok(_) = listing.fold_trees::<Infallible>(&mut |bytes| {
        let oid = Oid::of_object(ObjectKind::Tree.word(), bytes);
        found.insert(oid);
        Ok(oid)
    });
    found
}
