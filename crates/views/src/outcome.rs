//! Statements of people about a run after its seal, as the ledger has it.

use contract::RunId;
use contract::approval::OutcomeVerdict;
use ledger::{Entry, EntryKind, Ledger, ReadLedgerError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Views;

/// The last answer to a run, and the rollback of what it landed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_outcome: Option<OutcomeVerdict>,
    /// True if a person signed it; a variable's word counts for nothing.
    pub signed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rolled_back: bool,
}

impl RunAnswer {
    /// One word for lists.
    pub fn word(&self) -> String {
        let outcome = match (self.operator_outcome, self.signed) {
            (None, _) => "pending".to_owned(),
            (Some(verdict), true) => verdict.as_str().to_owned(),
            (Some(verdict), false) => format!("{}-unsigned", verdict.as_str()),
        };
        if self.rolled_back { format!("{outcome}, rolled back") } else { outcome }
    }
}

/// Reads the answer to a run: the last signed one, else the last.
pub fn read_answer(ledger: &Ledger, run_id: &RunId) -> Result<RunAnswer, ReadLedgerError> {
    let entries = ledger.run_entries(run_id)?;
    let outcomes: Vec<&Entry> = entries.iter().filter(|entry| entry.is_kind(EntryKind::OutcomeRecorded)).collect();
    let is_signed = |entry: &&&Entry| entry.body["signature"].is_string();
    let last = outcomes.iter().rev().find(is_signed).or_else(|| outcomes.last());
    let verdict = |entry: &&Entry| entry.body["operator_outcome"].as_str().and_then(OutcomeVerdict::from_word);
    Ok(RunAnswer {
        operator_outcome: last.and_then(verdict),
        signed: last.is_some_and(|entry| is_signed(&entry)),
        rolled_back: entries.iter().any(|entry| entry.is_kind(EntryKind::ChangeRolledBack)),
    })
}

impl Views {
    /// The answer to a run; an empty one without a ledger.
    pub fn view_answer(&self, run_id: &RunId) -> Result<RunAnswer, ReadLedgerError> {
        self.ledger().map_or_else(|| Ok(RunAnswer::default()), |ledger| read_answer(ledger, run_id))
    }
}
