//! Reading entries and lists of runs.

use std::error::Error;

use contract::{Digest, RunId};

use crate::entry::{Entry, Position, StoredEntry};
use crate::fault::StoreFault;
use crate::replay::LedgerProblem;
use crate::runs::{RunFilter, RunRow};
use crate::store::Ledger;

impl Ledger {
    /// Position of the last entry; [`Position::GENESIS`] if there is none.
    pub fn head(&self) -> Result<Position, ReadLedgerError> {
        Ok(self.store.read_head()?)
    }

    /// The hash of the entry at this place, for comparison with one recorded elsewhere; that
    /// of genesis before the first.
    pub fn hash_at(&self, seq: u64) -> Result<Option<Digest>, ReadLedgerError> {
        if seq == 0 {
            return Ok(Some(Position::GENESIS.hash));
        }
        Ok(self.store.read_position(seq)?.map(|position| position.hash))
    }

    /// Every entry that names this run, in order.
    pub fn run_entries(&self, run_id: &RunId) -> Result<Vec<Entry>, ReadLedgerError> {
        parse_entries(self.store.run_entries(run_id)?)
    }

    /// Names of all engines that have a run, in their order. Each costs one look-up, however many runs it has.
    pub fn engine_names(&self) -> Result<Vec<String>, ReadLedgerError> {
        let mut found: Vec<String> = Vec::new();
        while let Some(next) = self.store.next_engine(found.last().map_or("", String::as_str))? {
            found.push(next);
        }
        Ok(found)
    }

    /// Runs that pass a filter, in the order of their starts that it asks for.
    pub fn runs_recent(&self, filter: &RunFilter, limit: usize) -> Result<Vec<RunRow>, ReadLedgerError> {
        Ok(self.store.recent_runs(filter, limit)?)
    }

    /// Rows of runs that lists of this ledger passed over so far. Rungs and approvals pass over none: they fail.
    pub fn unreadable_rows(&self) -> Vec<LedgerProblem> {
        self.store.unreadable_rows()
    }

    /// Runs that entries behind one place and up to another sealed, in no order.
    pub fn runs_sealed_between(&self, after: u64, up_to: u64) -> Result<Vec<RunRow>, ReadLedgerError> {
        Ok(self.store.sealed_between(after, up_to)?)
    }

    /// Number of runs, from a counter.
    pub fn runs_total(&self) -> Result<u64, ReadLedgerError> {
        Ok(self.store.count_runs()?)
    }
}

/// Reads bodies as JSON.
pub(crate) fn parse_entries(stored: Vec<StoredEntry>) -> Result<Vec<Entry>, ReadLedgerError> {
    let parse = |stored: StoredEntry| {
        let seq = stored.entry.seq;
        stored.parse_body().map_err(|_| ReadLedgerError::Entry { seq })
    };
    stored.into_iter().map(parse).collect()
}

/// Failure to read the ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadLedgerError {
    /// This entry's body is not JSON: the file was changed by something else.
    #[error("ledger entry {seq} cannot be read: its body is not JSON")]
    Entry { seq: u64 },
    /// The database reported an error.
    #[error("cannot read the ledger: {0}")]
    Store(#[source] Box<dyn Error + Send + Sync>),
}

impl From<StoreFault> for ReadLedgerError {
    fn from(fault: StoreFault) -> Self {
        Self::Store(fault.cause)
    }
}
