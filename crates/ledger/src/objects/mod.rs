//! Objects: named bytes that are created once, in a folder or in a bucket that any number of machines share.
//!
//! Owns the place of an object store, the few things that are asked of one, the probe that finds out if it keeps what it promises,
//! and the witness of approvals. Nothing about a store is trusted that its answers do not show. Decides nothing: the caller says what a
//! probe or a witness means for a run.

mod fault;
mod folder;
mod place;
mod probe;
#[cfg(feature = "fleet")]
mod s3;
mod witness;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use contract::Stamp;

pub use fault::{ObjectFault, UseObjectError};
pub use place::{BucketAccess, BucketAddress, BucketEndpoint, BucketPlace, EvidencePlace, ParsePlaceError};
pub use probe::{ProbeStoreError, StoreProbe};
pub use witness::WitnessedUse;
#[cfg(test)]
pub(crate) use witness::judge_witness;

use folder::FolderObjects;

/// Reads the wall clock, which signatures are dated by. `None` for a moment that cannot be written.
pub type ReadClock = fn() -> Option<Stamp>;

/// An object store. Making one says nothing to it; clones share what a probe found.
#[derive(Debug, Clone)]
pub struct ObjectStore {
    place: EvidencePlace,
    objects: Objects,
    probed: Arc<Mutex<Option<(Instant, StoreProbe)>>>,
}

#[derive(Debug, Clone)]
enum Objects {
    Folder(FolderObjects),
    #[cfg(feature = "fleet")]
    Bucket(s3::BucketObjects),
    /// A bucket, for a program that cannot speak to one.
    #[cfg(not(feature = "fleet"))]
    Unspoken,
}

/// The answer to the creation of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    Created,
    /// An object of this name is there and stays as it is.
    Exists,
}

impl ObjectStore {
    /// The store at a place.
    pub fn at_place(place: EvidencePlace, clock: ReadClock) -> Self {
        let objects = match &place {
            EvidencePlace::Folder(root) => Objects::Folder(FolderObjects::in_folder(root)),
            #[cfg(feature = "fleet")]
            EvidencePlace::Bucket(bucket) => Objects::Bucket(s3::BucketObjects::at_place(bucket, clock)),
            #[cfg(not(feature = "fleet"))]
            EvidencePlace::Bucket(_) => {
                let _ = clock;
                Objects::Unspoken
            }
        };
        Self { place, objects, probed: Arc::default() }
    }

    /// Address that the store was opened with.
    pub fn place(&self) -> &EvidencePlace {
        &self.place
    }

    /// Makes an object, unless one of this name is there.
    pub fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Creation, UseObjectError> {
        let created = match &self.objects {
            Objects::Folder(folder) => folder.create_object(name, bytes).map_err(ObjectFault::Io),
            #[cfg(feature = "fleet")]
            Objects::Bucket(bucket) => bucket.create_object(name, bytes),
            #[cfg(not(feature = "fleet"))]
            Objects::Unspoken => Err(ObjectFault::NoFleet),
        };
        created.map_err(|fault| self.failed("create", name, fault))
    }

    /// The bytes of an object; `None` where there is none. One of more than `limit` bytes is refused.
    pub fn read_object(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, UseObjectError> {
        let read = match &self.objects {
            Objects::Folder(folder) => Ok(folder.read_object(name, limit)),
            #[cfg(feature = "fleet")]
            Objects::Bucket(bucket) => bucket.read_object(name, limit),
            #[cfg(not(feature = "fleet"))]
            Objects::Unspoken => Err(ObjectFault::NoFleet),
        };
        read.map_err(|fault| self.failed("read", name, fault))
    }

    /// Tries to put other bytes in the place of an object, which a guarded store refuses; true if it says that it did. Only the probe
    /// does.
    fn try_overwrite(&self, name: &str, bytes: &[u8]) -> Result<bool, UseObjectError> {
        let tried = match &self.objects {
            Objects::Folder(folder) => folder.overwrite_object(name, bytes).map(|()| true).map_err(ObjectFault::Io),
            #[cfg(feature = "fleet")]
            Objects::Bucket(bucket) => bucket.overwrite_object(name, bytes),
            #[cfg(not(feature = "fleet"))]
            Objects::Unspoken => Err(ObjectFault::NoFleet),
        };
        tried.map_err(|fault| self.failed("overwrite", name, fault))
    }

    /// Tries to remove an object, which a guarded store refuses; true if it says that it did. Only the probe does.
    fn try_remove(&self, name: &str) -> Result<bool, UseObjectError> {
        let tried = match &self.objects {
            Objects::Folder(folder) => folder.remove_object(name).map(|()| true).map_err(ObjectFault::Io),
            #[cfg(feature = "fleet")]
            Objects::Bucket(bucket) => bucket.remove_object(name),
            #[cfg(not(feature = "fleet"))]
            Objects::Unspoken => Err(ObjectFault::NoFleet),
        };
        tried.map_err(|fault| self.failed("remove", name, fault))
    }

    fn failed(&self, doing: &'static str, name: &str, fault: ObjectFault) -> UseObjectError {
        UseObjectError { store: self.place.to_string(), doing, name: name.to_owned(), fault }
    }
}
