//! The witness of approvals: one object for each request that was used, which says by which run. A database that was put back to an
//! earlier moment has forgotten a use; the witness has not.

use contract::text::show_controls;
use contract::{Digest, RunId};

use super::{Creation, ObjectFault, ObjectStore, UseObjectError};
use crate::open_error::new_ledger_id;

/// More than the name of a run has.
const LARGEST_WITNESS: u64 = 512;

/// The answer of the witness about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WitnessedUse {
    /// This very start used it.
    Ours,
    /// Another start used it: that of this run, by the words of the object.
    Other(String),
}

impl WitnessedUse {
    /// True of the start that asks.
    pub fn is_ours(&self) -> bool {
        *self == Self::Ours
    }
}

/// Compares a witness with the one that a start would leave. The same run is no start of ours: a database that was put back to an earlier
/// moment starts it again.
pub(crate) fn judge_witness(said: &[u8], ours: &[u8]) -> WitnessedUse {
    if said == ours {
        return WitnessedUse::Ours;
    }
    let run = said.split(|byte| *byte == b'\n').next().unwrap_or_default();
    WitnessedUse::Other(show_controls(String::from_utf8_lossy(run).as_ref()))
}

impl ObjectStore {
    /// The use of a request that the witness has, by the run that it names; `None` for a request that nobody used.
    pub fn find_witness(&self, request: Digest) -> Result<Option<WitnessedUse>, UseObjectError> {
        let said = self.read_object(&witness_name(request), LARGEST_WITNESS)?;
        Ok(said.map(|said| judge_witness(&said, b"")))
    }

    /// Leaves a witness of the use of a request by this start of a run; where there is one already, says whose.
    pub fn witness_use(&self, request: Digest, run: &RunId) -> Result<WitnessedUse, UseObjectError> {
        let name = witness_name(request);
        let token =
            new_ledger_id().map_err(|_| self.failed("name", &name, ObjectFault::Garbled("no random numbers")))?;
        let ours = format!("{run}\n{token}\n").into_bytes();
        match self.create_object(&name, &ours)? {
            Creation::Created => Ok(WitnessedUse::Ours),
            Creation::Exists => {
                // An answer may have been lost: then the object is ours.
                let said = self.read_object(&name, LARGEST_WITNESS)?.map(|said| judge_witness(&said, &ours));
                said.ok_or_else(|| self.failed("read", &name, ObjectFault::Garbled("it exists, and it is not there")))
            }
        }
    }
}

fn witness_name(request: Digest) -> String {
    format!("approval-use/{request}")
}
