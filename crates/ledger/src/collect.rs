//! Runs whose bundles were removed on purpose: said before it is done, and found again by whoever misses one.

use std::collections::{BTreeMap, BTreeSet};

use contract::{Digest, RunId, Stamp};
use rusqlite::OptionalExtension as _;
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::entry::Position;
use crate::kind::{EntryKind, KindRole};
use crate::runs::{ReadLedgerError, RunRow, from_row};
use crate::write::{AppendEntryError, push, started_run};

/// A bundle that is about to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCollected {
    pub run_id: RunId,
    pub time: Stamp,
    pub collection: Collection,
}

/// The body of its entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// Of the bundle; the same as in the entry that sealed it.
    pub attestation_sha256: Digest,
    /// Why it may go.
    pub reason: String,
    pub bytes: u64,
}

impl Ledger {
    /// Records that these bundles are removed, all or none. A run that was recorded before is passed over; gives the place
    /// of the last entry.
    pub fn runs_collected(&self, collected: &[RunCollected]) -> Result<Position, AppendEntryError> {
        let transaction = self.begin()?;
        for one in collected {
            let run = started_run(&transaction, &one.run_id)?;
            match run.attestation_sha256 {
                None => return Err(AppendEntryError::NotSealed { run_id: run.run_id }),
                Some(recorded) if recorded != one.collection.attestation_sha256 => {
                    return Err(AppendEntryError::AlreadySealed { run_id: run.run_id, recorded });
                }
                Some(_) => {}
            }
            if collection(&transaction, &one.run_id)?.is_none() {
                let body = serde_json::to_value(&one.collection)?;
                push(&transaction, EntryKind::EvidenceCollected, Some(&one.run_id), one.time, &body)?;
            }
        }
        let head = crate::entry::head(&transaction)?;
        transaction.commit()?;
        Ok(head)
    }

    /// When and why the bundle of this run was removed, if it was.
    pub fn run_collection(&self, run_id: &RunId) -> Result<Option<RunCollected>, ReadLedgerError> {
        let Some((seq, time, body)) = collection(&self.connection, run_id)? else { return Ok(None) };
        let unreadable = || ReadLedgerError::Entry { seq };
        let collection: Collection = serde_json::from_str(&body).map_err(|_| unreadable())?;
        let time = time.parse().map_err(|_| unreadable())?;
        Ok(Some(RunCollected { run_id: run_id.clone(), time, collection }))
    }

    /// Of these runs, those whose bundles were removed.
    pub fn collections_of(&self, runs: &[RunRow]) -> Result<BTreeMap<RunId, RunCollected>, ReadLedgerError> {
        let found = runs.iter().map(|run| Ok(self.run_collection(&run.run_id)?.map(|it| (run.run_id.clone(), it))));
        found.filter_map(Result::transpose).collect()
    }

    /// Shows every run, oldest first. One at a time: there may be very many.
    pub fn runs_each(&self, mut show: impl FnMut(RunRow)) -> Result<(), ReadLedgerError> {
        let mut statement =
            self.connection.prepare(&format!("SELECT {} FROM runs ORDER BY started_at, seq", self.columns()))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            show(from_row(row)?);
        }
        Ok(())
    }

    /// Runs that an entry speaks of which is not part of every run's life: something rests on them.
    pub fn runs_spoken_of(&self) -> Result<BTreeSet<String>, ReadLedgerError> {
        let own: Vec<String> = EntryKind::of_role(KindRole::Life).map(|kind| format!("'{kind}'")).collect();
        let own = own.join(", ");
        let sql = format!("SELECT DISTINCT run_id FROM entries WHERE run_id IS NOT NULL AND kind NOT IN ({own})");
        let mut statement = self.connection.prepare(&sql)?;
        let runs = statement.query_map([], |row| row.get(0))?;
        Ok(runs.collect::<Result<_, _>>()?)
    }
}

fn collection(connection: &rusqlite::Connection, run_id: &RunId) -> rusqlite::Result<Option<(u64, String, String)>> {
    let sql = "SELECT seq, time, body FROM entries WHERE run_id = ?1 AND kind = ?2 ORDER BY seq LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    statement
        .query_row([run_id.as_str(), EntryKind::EvidenceCollected.name()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()
}
