//! Moving a ledger to another place: the same entries, the same name, the same rows.

use std::path::Path;

use crate::entry::Position;
use crate::fault::StoreFault;
use crate::open_error::OpenLedgerError;
use crate::read::ReadLedgerError;
use crate::rebuild::RebuiltRows;
use crate::replay::LedgerProblem;
use crate::store::Ledger;
use crate::write::AppendEntryError;

/// A ledger that was copied whole into another place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedLedger {
    pub ledger_id: String,
    /// The head of both.
    pub head: Position,
    pub runs: u64,
    pub requests: u64,
}

/// Reason why nothing was moved. The destination is left empty.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveLedgerError {
    #[error("the new place already has a ledger with {entries} entries")]
    NotEmpty { entries: u64 },
    #[error("{runs} runs are not sealed: they would continue in the old ledger")]
    RunsGoOn { runs: usize },
    #[error("{runs} runs wait in the queue: workers would take them from the old ledger")]
    RunsWait { runs: usize },
    #[error("the ledger does not hold at entry {seq}: {what}", seq = .0.seq, what = .0.what)]
    Broken(LedgerProblem),
    #[error("entries came in while the ledger was moved: head {before} and then {after}")]
    Changed { before: u64, after: u64 },
    #[error("the new ledger differs: its head is {made}, and it should be {expected}")]
    Different { expected: u64, made: u64 },
    #[error(transparent)]
    Read(#[from] ReadLedgerError),
    #[error(transparent)]
    Write(#[from] AppendEntryError),
    #[error(transparent)]
    Open(#[from] OpenLedgerError),
}

impl From<StoreFault> for MoveLedgerError {
    fn from(fault: StoreFault) -> Self {
        Self::Read(fault.into())
    }
}

/// Entries that are read at a time.
const PAGE: usize = 2000;

impl Ledger {
    /// Copies this ledger whole into an empty one, which takes its name, and checks both before and after. This one is left as it
    /// is: a home that goes on using it makes a second ledger of the same name.
    pub fn move_to(&self, to: &Ledger) -> Result<MovedLedger, MoveLedgerError> {
        let runs = self.store.open_runs()?.len();
        if runs > 0 {
            return Err(MoveLedgerError::RunsGoOn { runs });
        }
        let runs = self.store.list_queued(false, usize::MAX)?.len();
        if runs > 0 {
            return Err(MoveLedgerError::RunsWait { runs });
        }
        let before = self.require_intact()?;
        let rows = self.copy_into(to, Some(before))?;
        let head = to.require_intact()?;
        Ok(MovedLedger { ledger_id: self.ledger_id().to_owned(), head, runs: rows.runs, requests: rows.requests })
    }

    /// Writes a whole copy of the ledger as a file, no matter who writes to it meanwhile. The file must not exist.
    pub fn copy_to(&self, path: &Path) -> Result<(), ReadLedgerError> {
        match self.store.copy_to(path) {
            Some(copied) => Ok(copied?),
            None => self.copy_by_entries(path).map_err(|error| ReadLedgerError::Store(error.into())),
        }
    }

    fn copy_by_entries(&self, path: &Path) -> Result<(), MoveLedgerError> {
        self.copy_into(&Ledger::open_file(path)?, None).map(drop)
    }

    fn require_intact(&self) -> Result<Position, MoveLedgerError> {
        let check = self.verify()?;
        check.problems.into_iter().next().map_or(Ok(check.head), |problem| Err(MoveLedgerError::Broken(problem)))
    }

    /// All or nothing: one change of the ledger that is filled. With an expected head, a copy that ends elsewhere is not committed.
    fn copy_into(&self, to: &Ledger, expected: Option<Position>) -> Result<RebuiltRows, MoveLedgerError> {
        to.store.change_once(|change| {
            let entries = change.store.read_head()?.seq;
            if entries > 0 {
                return Err(MoveLedgerError::NotEmpty { entries });
            }
            change.adopt_ledger(self.ledger_id())?;
            let mut last = 0;
            loop {
                let page = self.store.entries_after(last, PAGE)?;
                let Some(end) = page.last() else { break };
                last = end.entry.seq;
                change.copy_entries(&page)?;
            }
            let rows = change.make_rows()?;
            // Rows of the queue have what no entry has: the epochs of claims.
            for run in self.store.list_queued(true, usize::MAX)? {
                change.copy_queued(&run)?;
            }
            for run in self.store.open_runs()? {
                if let Some(lease) = self.store.read_lease(&run.run_id)? {
                    change.put_lease(&run.run_id, &lease)?;
                }
            }
            expected.map_or(Ok(()), |expected| self.check_moved(change.store.read_head()?, expected))?;
            Ok(rows)
        })
    }

    /// Refuses a copy, before it is committed, that is not the ledger which was verified.
    fn check_moved(&self, made: Position, expected: Position) -> Result<(), MoveLedgerError> {
        let after = self.store.read_head()?;
        if after != expected {
            return Err(MoveLedgerError::Changed { before: expected.seq, after: after.seq });
        }
        match made == expected {
            true => Ok(()),
            false => Err(MoveLedgerError::Different { expected: expected.seq, made: made.seq }),
        }
    }
}
