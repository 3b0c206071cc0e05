//! The witness of approvals: one object for each request that was used, which says by which run. A database that was put back to an
//! earlier moment has forgotten a use; the witness has not.

use contract::text::show_controls;
use contract::{Digest, RunId};

use super::{Creation, ObjectFault, ObjectStore, UseObjectError};

/// More than the name of a run has.
const LARGEST_WITNESS: u64 = 512;

/// The answer of the witness about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WitnessedUse {
    /// This run used it.
    Ours,
    /// Another run used it, by the words of the object.
    Other(String),
}

impl ObjectStore {
    /// The use of a request that the witness has; `None` for a request that nobody used.
    pub fn find_witness(&self, request: Digest, run: &RunId) -> Result<Option<WitnessedUse>, UseObjectError> {
        let said = self.read_object(&witness_name(request), LARGEST_WITNESS)?;
        Ok(said.map(|said| match said.trim_ascii_end() == run.as_str().as_bytes() {
            true => WitnessedUse::Ours,
            false => WitnessedUse::Other(show_controls(String::from_utf8_lossy(said.trim_ascii_end()).as_ref())),
        }))
    }

    /// Leaves a witness of the use of a request by a run; where there is one already, says whose.
    pub fn witness_use(&self, request: Digest, run: &RunId) -> Result<WitnessedUse, UseObjectError> {
        let name = witness_name(request);
        match self.create_object(&name, format!("{run}\n").as_bytes())? {
            Creation::Created => Ok(WitnessedUse::Ours),
            Creation::Exists => {
                let said = self.find_witness(request, run)?;
                said.ok_or_else(|| self.failed("read", &name, ObjectFault::Garbled("it exists, and it is not there")))
            }
        }
    }
}

fn witness_name(request: Digest) -> String {
    format!("approval-use/{request}")
}
