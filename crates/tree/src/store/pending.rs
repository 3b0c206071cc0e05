//! Objects that were added and are not on disk yet, and small ones kept in memory.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::TreeError;
use crate::object::loose::{Object, ObjectKind};
use crate::object::pack::Pack;
use crate::oid::Oid;

const LARGEST_UNWRITTEN: usize = 32 << 20;
const LARGEST_CACHED_OBJECT: usize = 256 << 10;
const LARGEST_CACHE: usize = 32 << 20;

/// Shared by the clones of a store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pending(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    unwritten: Pack,
    put: HashSet<Oid>,
    cache: HashMap<Oid, Object>,
    cached_bytes: usize,
}

impl Pending {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of the state is complete in itself, so one that a panic cut short
        // left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an object in; `dir` gets a pack when enough has come together.
    pub(crate) fn put_object(&self, kind: ObjectKind, body: &[u8], dir: &Path) -> Result<Oid, TreeError> {
        let oid = Oid::of_object(kind.word(), body);
        let mut state = self.state();
        if state.put.contains(&oid) {
            return Ok(oid);
        }
        state.unwritten.add_object(oid, kind, body)?;
        state.put.insert(oid);
        if body.len() <= LARGEST_CACHED_OBJECT && state.cached_bytes + body.len() <= LARGEST_CACHE {
            state.cached_bytes += body.len();
            state.cache.insert(oid, (kind, body.to_vec()));
        }
        if state.unwritten.len() > LARGEST_UNWRITTEN { write_out(&mut state, dir).map(|()| oid) } else { Ok(oid) }
    }

    /// Writes everything out, so that a git child finds it.
    pub(crate) fn flush(&self, dir: &Path) -> Result<(), TreeError> {
        write_out(&mut self.state(), dir)
    }

    /// Object in memory; none does not mean that the store lacks it.
    pub(crate) fn cached(&self, oid: Oid) -> Option<Object> {
        self.state().cache.get(&oid).cloned()
    }
}

fn write_out(state: &mut State, dir: &Path) -> Result<(), TreeError> {
    if state.unwritten.is_empty() { Ok(()) } else { std::mem::take(&mut state.unwritten).write_pack(dir) }
}
