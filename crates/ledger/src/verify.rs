//! Checking a ledger: the chain is computed again from the first entry, and so is every row
//! of `runs` and of `requests`.

use serde::Serialize;

use crate::entry::Position;
use crate::read::ReadLedgerError;
use crate::replay::{LedgerProblem, Replay};
use crate::store::Ledger;

/// Result of checking a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerCheck {
    pub entries: u64,
    pub problems: Vec<LedgerProblem>,
    pub head: Position,
}

impl LedgerCheck {
    /// True if no problem was found.
    pub fn is_intact(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Ledger {
    /// Reads the whole ledger as of one moment. A cut tail shows only against a [`Position`]
    /// recorded elsewhere, or where rows of `runs` name entries that are gone.
    pub fn verify(&self) -> Result<LedgerCheck, ReadLedgerError> {
        let mut replay = Replay::new();
        self.store.tell_replay(&mut replay)?;
        let (entries, head, problems) = replay.into_findings();
        Ok(LedgerCheck { entries, problems, head })
    }
}
