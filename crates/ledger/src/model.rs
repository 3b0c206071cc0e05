//! What runs have reserved and used of models, for limits that hold across runs.

use contract::Stamp;
use rusqlite::Connection;
use serde_json::Value;

use crate::Ledger;
use crate::entry::{self, Entry, Position};
use crate::kind::EntryKind;
use crate::write::{AppendEntryError, push};

impl Ledger {
    /// Appends what a run reserves, made from everything reserved and settled since a time. Nobody reserves anything
    /// between the looking and the appending.
    pub fn model_reserved(
        &self,
        time: Stamp,
        since: Stamp,
        make: impl FnOnce(&[Entry]) -> Value,
    ) -> Result<Position, AppendEntryError> {
        let transaction = self.begin()?;
        let body = make(&entries(&transaction, since)?);
        let position = push(&transaction, EntryKind::ModelReserved, None, time, &body)?;
        transaction.commit()?;
        Ok(position)
    }

    /// Everything reserved and settled since a time.
    pub fn model_entries(&self, since: Stamp) -> Result<Vec<Entry>, AppendEntryError> {
        entries(&self.connection, since)
    }
}

fn entries(transaction: &Connection, since: Stamp) -> Result<Vec<Entry>, AppendEntryError> {
    let sql = format!(
        "SELECT {} FROM entries WHERE kind IN ('model.reserved', 'model.settled') AND time >= ?1 ORDER BY seq",
        entry::COLUMNS
    );
    let mut statement = transaction.prepare(&sql)?;
    let stored = statement.query_map([since.to_string()], entry::from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
    stored.into_iter().map(|stored| stored.parse().map_err(AppendEntryError::from)).collect()
}
