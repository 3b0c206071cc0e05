//! The queue as commands show it: rows with the status of their runs, and runs by name. It needs a ledger alone, which may be there
//! before any home is.

use contract::RunId;
use contract::text::show_controls;
use ledger::{FoundRuns, Ledger, QueueState, QueuedRun, ReadLedgerError, RunStatus};
use serde::Serialize;

/// Runs among which a name is looked for.
const MOST_NAMED: usize = 100_000;
/// Runs that an ambiguous name is told to stand for.
const MOST_TOLD: usize = 5;

/// One run of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueRow {
    #[serde(flatten)]
    pub run: QueuedRun,
    /// Status of a run that is sealed.
    pub status: Option<RunStatus>,
}

/// A name that stands for no run, or for several.
#[derive(Debug, thiserror::Error)]
pub enum FindQueuedError {
    #[error("there is no run `{}` in the queue", show_controls(.name))]
    Unknown {
        name: String,
        /// Ids and suffixes of the runs that there are.
        known: Vec<String>,
    },
    #[error("`{}` could be {}", show_controls(.name), .runs.join(", "))]
    Ambiguous { name: String, runs: Vec<String> },
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
}

/// Questions about the queue of a ledger.
#[derive(Debug, Clone, Copy)]
pub struct QueueView<'a> {
    ledger: &'a Ledger,
}

impl<'a> QueueView<'a> {
    /// The queue of this ledger.
    pub fn of_ledger(ledger: &'a Ledger) -> Self {
        Self { ledger }
    }

    /// Runs that have not ended, in the order in which they are taken; with `ended` those that have too, newest first and after the
    /// others.
    pub fn list_queued(&self, ended: bool, limit: usize) -> Result<Vec<QueueRow>, ReadLedgerError> {
        self.ledger.queue_runs(ended, limit)?.into_iter().map(|run| self.with_status(run)).collect()
    }

    /// One run of the queue.
    pub fn view_queued(&self, run_id: &RunId) -> Result<Option<QueueRow>, ReadLedgerError> {
        self.ledger.queue_run(run_id)?.map(|run| self.with_status(run)).transpose()
    }

    fn with_status(&self, run: QueuedRun) -> Result<QueueRow, ReadLedgerError> {
        let status = match run.state {
            QueueState::Sealed => match self.ledger.run_find(run.run_id.as_str())? {
                FoundRuns::One(row) => Some(row.status),
                _ => None,
            },
            _ => None,
        };
        Ok(QueueRow { run, status })
    }

    /// A run of the queue by id, suffix, a unique beginning of either, or `@`, the last that was submitted.
    pub fn find_queued(&self, name: &str) -> Result<QueuedRun, FindQueuedError> {
        let rows = self.ledger.queue_runs(true, MOST_NAMED)?;
        let names = |row: &QueuedRun| [row.run_id.to_string(), row.run_id.suffix().to_owned()];
        let known: Vec<String> = rows.iter().flat_map(names).collect();
        let unknown = || FindQueuedError::Unknown { name: name.to_owned(), known };
        if name == "@" {
            return rows.into_iter().max_by_key(|row| row.seq).ok_or_else(unknown);
        }
        let is_whole = |row: &&QueuedRun| row.run_id.as_str() == name || row.run_id.suffix() == name;
        let begins = |row: &&QueuedRun| row.run_id.as_str().starts_with(name) || row.run_id.suffix().starts_with(name);
        let mut found: Vec<&QueuedRun> = rows.iter().filter(is_whole).collect();
        if found.is_empty() && !name.is_empty() {
            found = rows.iter().filter(begins).collect();
        }
        match found.as_slice() {
            [row] => Ok((*row).clone()),
            [] => Err(unknown()),
            many => {
                let runs = many.iter().take(MOST_TOLD).map(|row| row.run_id.to_string()).collect();
                Err(FindQueuedError::Ambiguous { name: name.to_owned(), runs })
            }
        }
    }

    /// A run of the queue or of the ledger.
    pub fn find_any_run(&self, name: &str) -> Result<RunId, FindQueuedError> {
        match (self.find_queued(name), self.ledger.run_find(name)?) {
            (Ok(row), _) => Ok(row.run_id),
            (Err(_), FoundRuns::One(run)) => Ok(run.run_id),
            (Err(error), _) => Err(error),
        }
    }
}
