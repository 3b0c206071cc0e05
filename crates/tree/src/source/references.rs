//! A digest of every reference of a source, to show that none was made, moved or removed.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::FileType;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::blame::BlameReading as _;
use super::{SourceRepository, packed_rows};
use crate::error::TreeError;
use crate::source_problem::SourceProblem;
use crate::worktree::fsdir::{kind, lstat, open_dir, read_beneath, sorted_names};

/// Names of references are no deeper than this.
const DEEPEST: usize = 64;
/// Bytes of a loose reference.
const LARGEST: u64 = 4096;

/// Names and values of references.
pub type References = BTreeMap<Vec<u8>, Vec<u8>>;

/// SHA-256, in hexadecimal, of names and values.
pub fn digest_references(references: &References) -> String {
    let mut hash = Sha256::new();
    for part in references.iter().flat_map(|(name, value)| [name, value]) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl SourceRepository {
    /// HEAD and each reference by name, wherever git keeps it.
    pub fn references(&self) -> Result<References, TreeError> {
        let mut found = BTreeMap::new();
        let packed = self.packed_refs()?;
        for row in packed_rows(&packed) {
            let (value, name) = row.map_err(|error| self.refuse_reference(error.to_string()))?;
            found.insert(name.to_vec(), value.to_vec());
        }
        self.read_loose(self.common(), b"refs", &mut b"refs".to_vec(), 0, &mut found)?;
        let head = read_beneath(self.git_dir().as_fd(), b"HEAD", LARGEST).reading(self.root(), b"HEAD")?;
        found.insert(b"HEAD".to_vec(), head.unwrap_or_default());
        found.values_mut().for_each(|value| value.truncate(value.trim_ascii_end().len()));
        Ok(found)
    }

    /// SHA-256, in hexadecimal, of the name and value of HEAD and of each reference.
    pub fn references_digest(&self) -> Result<String, TreeError> {
        Ok(digest_references(&self.references()?))
    }

    fn read_loose(
        &self,
        above: &OwnedFd,
        folder: &[u8],
        path: &mut Vec<u8>,
        depth: usize,
        found: &mut BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Result<(), TreeError> {
        if depth > DEEPEST {
            return Err(self.refuse_reference(format!("a reference is more than {DEEPEST} folders deep")));
        }
        let dir = match open_dir(above, folder) {
            // Git removes a folder with the last reference in it.
            Err(Errno::NOENT) => return Ok(()),
            opened => opened.reading(self.root(), path)?,
        };
        let length = path.len();
        for name in sorted_names(&dir).reading(self.root(), path)? {
            path.push(b'/');
            path.extend_from_slice(&name);
            match lstat(&dir, &name).map(|stat| kind(&stat)) {
                Ok(FileType::Directory) => self.read_loose(&dir, &name, path, depth + 1, found)?,
                Ok(FileType::RegularFile) => {
                    let value = read_beneath(dir.as_fd(), &name, LARGEST).reading(self.root(), path)?;
                    found.insert(path.clone(), value.unwrap_or_default());
                }
                Ok(_) => return Err(self.refuse_reference(format!("{} is no plain file", path.escape_ascii()))),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error).reading(self.root(), path),
            }
            path.truncate(length);
        }
        Ok(())
    }

    fn refuse_reference(&self, why: String) -> TreeError {
        TreeError::Source { path: self.root().to_path_buf(), problem: SourceProblem::UnsafeReference(why) }
    }
}
