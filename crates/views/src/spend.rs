//! Model use by day, engine and pair, from the accounts that runs keep in the ledger.
//!
//! A run keeps one where a day is limited. It reserves before it asks anything and settles
//! when it has ended; until then, and for good where it died without an account to rely on,
//! it counts with all that it reserved.

use std::collections::BTreeMap;

use contract::Stamp;
use ledger::{AppendEntryError, Entry, EntryKind, FoundRuns, Ledger, ReadLedgerError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Views;

/// The body of an entry about model use: what a run reserved, with nothing where it is not
/// limited, or what it used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAccount {
    /// `yyyy-mm-dd`, UTC: the day it was reserved.
    pub day: String,
    pub pair: String,
    pub run: String,
    pub requests: Option<u64>,
    pub tokens: Option<u64>,
    pub money_micros: Option<u64>,
}

/// Accounts that count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedAccounts {
    /// Each run of a day once.
    pub settled: Vec<ModelAccount>,
    /// Reserved and not settled.
    pub open: Vec<ModelAccount>,
}

/// Counts each run of a day with what it settled, else with what it reserved.
pub fn count_accounts(entries: &[Entry]) -> CountedAccounts {
    let read = |kind: EntryKind| {
        let of_kind = entries.iter().filter(move |entry| entry.is_kind(kind));
        of_kind.filter_map(|entry| serde_json::from_value::<ModelAccount>(entry.body.clone()).ok())
    };
    let key = |account: &ModelAccount| (account.day.clone(), account.run.clone());
    // Two recoveries of one run may both have settled for it; the last one counts.
    let settled: BTreeMap<_, _> = read(EntryKind::ModelSettled).map(|account| (key(&account), account)).collect();
    let open = read(EntryKind::ModelReserved).filter(|account| !settled.contains_key(&key(account))).collect();
    CountedAccounts { settled: settled.into_values().collect(), open }
}

/// Model use of one engine and pair on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpendRow {
    pub day: String,
    /// `None` where the ledger does not know the run.
    pub engine: Option<String>,
    pub pair: String,
    pub runs: u64,
    /// Runs among them that count with what they reserved.
    pub open_runs: u64,
    pub requests: u64,
    pub tokens: u64,
    pub money_micros: u64,
}

/// Reason why model use could not be summed up.
#[derive(Debug, thiserror::Error)]
pub enum ViewSpendError {
    #[error(transparent)]
    Accounts(#[from] AppendEntryError),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
}

impl Views {
    /// Model use of runs that reserved or settled since a time, by day, engine and pair.
    pub fn view_spend(&self, since: Stamp) -> Result<Vec<SpendRow>, ViewSpendError> {
        let Some(ledger) = self.ledger() else { return Ok(Vec::new()) };
        let CountedAccounts { settled, open } = count_accounts(&ledger.model_entries(since)?);
        let all = settled.into_iter().map(|account| (account, 0)).chain(open.into_iter().map(|account| (account, 1)));
        let mut rows: BTreeMap<(String, Option<String>, String), SpendRow> = BTreeMap::new();
        for (account, open_runs) in all {
            let engine = engine_of(ledger, &account.run)?;
            let key = (account.day.clone(), engine.clone(), account.pair.clone());
            rows.entry(key).or_insert_with(|| SpendRow::new(&account, engine)).add(&account, open_runs);
        }
        Ok(rows.into_values().collect())
    }
}

impl SpendRow {
    fn new(account: &ModelAccount, engine: Option<String>) -> Self {
        let ModelAccount { day, pair, .. } = account.clone();
        Self { day, engine, pair, runs: 0, open_runs: 0, requests: 0, tokens: 0, money_micros: 0 }
    }

    fn add(&mut self, account: &ModelAccount, open_runs: u64) {
        let add = |sum: &mut u64, more: Option<u64>| *sum = sum.saturating_add(more.unwrap_or_default());
        add(&mut self.runs, Some(1));
        add(&mut self.open_runs, Some(open_runs));
        add(&mut self.requests, account.requests);
        add(&mut self.tokens, account.tokens);
        add(&mut self.money_micros, account.money_micros);
    }
}

fn engine_of(ledger: &Ledger, run: &str) -> Result<Option<String>, ReadLedgerError> {
    match ledger.run_find(run)? {
        FoundRuns::One(row) if row.run_id.as_str() == run => Ok(Some(row.engine)),
        _ => Ok(None),
    }
}
