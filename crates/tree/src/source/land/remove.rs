//! Removing a branch that a landing made, for as long as it still names the landing's commit.

use std::path::PathBuf;
use std::rc::Rc;

use rustix::fs::fsync;
use rustix::io::Errno;

use super::BranchName;
use super::clear::remove_file;
use super::ref_name::RefName;
use super::reference::{Landing, PACKED, RefLock, is_empty, lock_name};
use crate::error::{Doing, TreeError};
use crate::oid::Oid;
use crate::source::SourceRepository;

/// Result of removing a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    Removed,
    /// The branch does not exist.
    Gone,
    /// The branch names something else by now; none if that is no plain commit.
    Moved(Option<Oid>),
    /// A work tree has it checked out; its git directory.
    CheckedOut(PathBuf),
    /// Somebody holds this lock.
    Locked(PathBuf),
}

impl SourceRepository {
    /// Removes a branch that names exactly this commit, loose or packed, under git's own locks.
    pub fn remove_branch(&self, branch: &BranchName, commit: Oid, token: &str) -> Result<Removal, TreeError> {
        let name = RefName::branch(branch);
        match self.find_reference(&name)? {
            None | Some(Landing::InTheWay(_)) => return Ok(Removal::Gone),
            _ => {}
        }
        let (dir, lock) = match self.lock_reference(&name, token)? {
            Ok(locked) => locked,
            Err(Landing::Locked(lock)) => return Ok(Removal::Locked(lock)),
            Err(_) => return Ok(Removal::Gone),
        };
        // Under the lock: the wait for it leaves time for a checkout.
        if let Some(at) = self.find_checkout(&name)? {
            return Ok(Removal::CheckedOut(at));
        }
        match self.look_up_ref(&dir, &name, is_empty)? {
            Some(Landing::There(Some(found))) if found == commit => {}
            Some(Landing::There(found)) => return Ok(Removal::Moved(found)),
            _ => return Ok(Removal::Gone),
        }
        // The packed value first: a branch must not come back as what it was before.
        if !self.unpack_reference(&name, token)? {
            return Ok(Removal::Locked(self.common_path().join(lock_name(PACKED))));
        }
        remove_file(&dir, name.split().1.as_bytes()).doing_at("removing branch", name.as_str().as_bytes())?;
        fsync(&*dir).doing_at("writing out the folder of branch", name.as_str().as_bytes())?;
        drop(lock);
        self.remove_empty_folders(&name)?;
        Ok(Removal::Removed)
    }

    /// Removes a reference from the packed ones, if it is there; false if another process
    /// holds their lock.
    fn unpack_reference(&self, name: &RefName, token: &str) -> Result<bool, TreeError> {
        if without(&self.packed_refs()?, &name.full()).is_none() {
            return Ok(true);
        }
        let dir = Rc::new(self.common().try_clone().doing("opening", self.root())?);
        let mut lock = match RefLock::take_lock(&dir, PACKED, token) {
            Err(Errno::EXIST) => return Ok(false),
            taken => taken.doing("locking the packed references of", self.root())?,
        };
        // Read again under the lock: somebody may have packed more in the meantime.
        let packed = self.packed_refs()?;
        let text = without(&packed, &name.full()).unwrap_or(packed);
        lock.replace_content(&text).doing("writing the packed references of", self.root())?;
        Ok(true)
    }
}

/// Packed references without one of them and the line about the object it was peeled to;
/// none where it is not among them.
fn without(packed: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let (mut kept, mut found, mut skipping) = (Vec::with_capacity(packed.len()), false, false);
    for line in packed.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        skipping = match text.first() {
            Some(b'^') => skipping,
            _ => text.iter().position(|byte| *byte == b' ').is_some_and(|space| &text[space + 1..] == name),
        };
        found |= skipping;
        if !skipping {
            kept.extend_from_slice(line);
        }
    }
    found.then_some(kept)
}
