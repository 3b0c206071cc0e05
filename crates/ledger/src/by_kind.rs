//! Entries by their kind, for those who read the whole story of something.

use contract::Stamp;

use crate::entry::Entry;
use crate::kind::EntryKind;
use crate::read::{ReadLedgerError, parse_entries};
use crate::store::Ledger;

impl Ledger {
    /// Entries of some kinds, in order; those of a time and later where one is given.
    pub fn entries_of(&self, kinds: &[EntryKind], since: Option<Stamp>) -> Result<Vec<Entry>, ReadLedgerError> {
        parse_entries(self.store.entries_of(kinds, since)?)
    }
}
