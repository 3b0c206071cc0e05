//! Reservations and use of models by runs, for limits that hold across runs.

use contract::Stamp;
use serde_json::Value;

use crate::entry::{Entry, Position};
use crate::kind::EntryKind;
use crate::store::{Ledger, Store};
use crate::write::AppendEntryError;

impl Ledger {
    /// Appends what a run reserves, made from everything reserved and settled since a time.
    /// Nobody reserves anything between the looking and the appending; what `make` said
    /// last is what was appended.
    pub fn model_reserved(
        &self,
        time: Stamp,
        since: Stamp,
        mut make: impl FnMut(&[Entry]) -> Value,
    ) -> Result<Position, AppendEntryError> {
        self.store.change_once(|change| {
            let body = make(&entries(change.store, since)?);
            change.push_entry(EntryKind::ModelReserved, None, time, &body)
        })
    }

    /// Everything reserved and settled since a time.
    pub fn model_entries(&self, since: Stamp) -> Result<Vec<Entry>, AppendEntryError> {
        entries(&self.store, since)
    }
}

fn entries(store: &Store, since: Stamp) -> Result<Vec<Entry>, AppendEntryError> {
    let stored = store.model_entries(since)?;
    stored.into_iter().map(|stored| stored.parse_body().map_err(AppendEntryError::from)).collect()
}
