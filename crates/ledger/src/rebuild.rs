//! Making the rows of runs and requests again, from the entries alone.

use crate::store::Ledger;
use crate::verify::{LedgerProblem, Replay};
use crate::write::AppendEntryError;

/// The rows that were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebuiltRows {
    pub runs: u64,
    pub requests: u64,
}

impl Ledger {
    /// Throws the rows away and makes them again, all or none; refused where an entry does not hold. Leases stay: they are no part
    /// of the chain.
    pub fn rebuild_rows(&self) -> Result<RebuiltRows, AppendEntryError> {
        self.store.change(|change| {
            let mut replay = Replay::new();
            change.store.tell_entries(&mut replay)?;
            if let Some(LedgerProblem { seq, what }) = replay.first_problem() {
                return Err(AppendEntryError::BrokenChain { seq: *seq, what: what.clone() });
            }
            change.clear_rows()?;
            let (mut runs, mut requests) = (0, 0);
            for run in replay.runs() {
                change.put_run(run)?;
                change.count_run()?;
                runs += 1;
            }
            for request in replay.requests() {
                change.put_request(request)?;
                requests += 1;
            }
            Ok(RebuiltRows { runs, requests })
        })
    }
}
