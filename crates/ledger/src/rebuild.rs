//! Making the rows of runs and requests again, from the entries alone.

use crate::replay::{LedgerProblem, Replay};
use crate::store::{Ledger, LedgerChange};
use crate::write::AppendEntryError;

/// The rows that were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebuiltRows {
    pub runs: u64,
    pub requests: u64,
}

impl Ledger {
    /// Throws the rows away and makes them again, all or none; refused where an entry does
    /// not hold. Leases stay: they are no part of the chain.
    pub fn rebuild_rows(&self) -> Result<RebuiltRows, AppendEntryError> {
        self.store.change_once(|change| change.make_rows())
    }
}

impl LedgerChange<'_> {
    /// Makes all rows again. Fails at the first entry at which the chain does not hold.
    pub(crate) fn make_rows(&self) -> Result<RebuiltRows, AppendEntryError> {
        let mut replay = Replay::new();
        self.store.tell_entries(&mut replay)?;
        if let Some(LedgerProblem { seq, what }) = replay.first_problem() {
            return Err(AppendEntryError::BrokenChain { seq: *seq, what: what.clone() });
        }
        self.clear_rows()?;
        let (mut runs, mut requests) = (0, 0);
        for run in replay.runs() {
            self.put_run(run)?;
            self.count_run()?;
            runs += 1;
        }
        for request in replay.requests() {
            self.put_request(request)?;
            requests += 1;
        }
        if let Some(seq) = replay.time_base() {
            self.put_time_base(seq)?;
        }
        Ok(RebuiltRows { runs, requests })
    }
}
