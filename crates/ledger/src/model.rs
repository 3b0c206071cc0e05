//! What runs have reserved and used of models, for limits that hold across runs.

use rusqlite::Connection;
use serde_json::Value;

use crate::entry::{self, Entry, Position};
use crate::write::{AppendEntryError, push};
use crate::{Ledger, kind};

/// Made when it is first needed: most ledgers have no such entry, and an older program writes on without it.
const INDEX: &str = "CREATE INDEX IF NOT EXISTS entries_of_models ON entries (time) \
                     WHERE kind IN ('model.reserved', 'model.settled')";

impl Ledger {
    /// Appends what a run reserves, made from everything reserved and settled since a time. Nobody reserves anything
    /// between the looking and the appending.
    pub fn model_reserved(
        &self,
        time: &str,
        since: &str,
        make: impl FnOnce(&[Entry]) -> Value,
    ) -> Result<Position, AppendEntryError> {
        let transaction = self.begin()?;
        transaction.execute_batch(INDEX)?;
        let body = make(&entries(&transaction, since)?);
        let position = push(&transaction, kind::MODEL_RESERVED, None, time, &body)?;
        transaction.commit()?;
        Ok(position)
    }

    /// Everything reserved and settled since a time.
    pub fn model_entries(&self, since: &str) -> Result<Vec<Entry>, AppendEntryError> {
        let transaction = self.begin()?;
        entries(&transaction, since)
    }
}

fn entries(transaction: &Connection, since: &str) -> Result<Vec<Entry>, AppendEntryError> {
    let sql = format!(
        "SELECT {} FROM entries WHERE kind IN ('model.reserved', 'model.settled') AND time >= ?1 ORDER BY seq",
        entry::COLUMNS
    );
    let mut statement = transaction.prepare(&sql)?;
    let stored = statement.query_map([since], entry::from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
    stored.into_iter().map(|stored| stored.parse().map_err(AppendEntryError::from)).collect()
}
