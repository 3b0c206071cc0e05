//! Runs whose bundles were removed on purpose: recorded before the removal, and found again by a
//! reader who misses one.

use std::collections::{BTreeMap, BTreeSet};

use contract::{RunId, Stamp};

use crate::entry::Position;
use crate::kind::{EntryKind, KindRole};
use crate::read::ReadLedgerError;
use crate::runs::{Collection, RunRow};
use crate::store::{Ledger, LedgerChange};
use crate::write::AppendEntryError;

/// A bundle that is about to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCollected {
    pub run_id: RunId,
    pub time: Stamp,
    pub collection: Collection,
}

impl Ledger {
    /// Records that these bundles are removed, all or none. A run that was recorded before
    /// is passed over; gives the place of the last entry.
    pub fn runs_collected(&self, collected: &[RunCollected]) -> Result<Position, AppendEntryError> {
        self.store.change_once(|change| {
            for one in collected {
                change.collect(one)?;
            }
            Ok(change.store.read_head()?)
        })
    }

    /// Time and reason of the removal of a run's bundle; none if it was not removed.
    pub fn run_collection(&self, run_id: &RunId) -> Result<Option<RunCollected>, ReadLedgerError> {
        let Some(stored) = self.store.first_entry(run_id, EntryKind::EvidenceCollected)? else { return Ok(None) };
        let unreadable = || ReadLedgerError::Entry { seq: stored.entry.seq };
        let collection: Collection = serde_json::from_str(&stored.body).map_err(|_| unreadable())?;
        let time = stored.entry.time.parse().map_err(|_| unreadable())?;
        Ok(Some(RunCollected { run_id: run_id.clone(), time, collection }))
    }

    /// Removals of the bundles of these runs.
    pub fn collections_of(&self, runs: &[RunRow]) -> Result<BTreeMap<RunId, RunCollected>, ReadLedgerError> {
        let found = runs.iter().map(|run| Ok(self.run_collection(&run.run_id)?.map(|it| (run.run_id.clone(), it))));
        found.filter_map(Result::transpose).collect()
    }

    /// Shows every run, oldest first. One at a time: there may be very many.
    pub fn runs_each(&self, show: impl FnMut(RunRow)) -> Result<(), ReadLedgerError> {
        Ok(self.store.each_run(show)?)
    }

    /// Runs that an entry mentions which is not part of every run's life: something relies
    /// on them.
    pub fn runs_spoken_of(&self) -> Result<BTreeSet<String>, ReadLedgerError> {
        let own: Vec<EntryKind> = EntryKind::of_role(KindRole::Life).collect();
        Ok(self.store.runs_named_beside(&own)?)
    }
}

impl LedgerChange<'_> {
    fn collect(&self, one: &RunCollected) -> Result<(), AppendEntryError> {
        let run = self.started_run(&one.run_id)?;
        match run.attestation_sha256 {
            None => return Err(AppendEntryError::NotSealed { run_id: run.run_id }),
            Some(recorded) if recorded != one.collection.attestation_sha256 => {
                return Err(AppendEntryError::AlreadySealed { run_id: run.run_id, recorded });
            }
            Some(_) => {}
        }
        if run.collected_seq.is_none() {
            let body = serde_json::to_value(&one.collection)?;
            let position = self.push_entry(EntryKind::EvidenceCollected, Some(&one.run_id), one.time, &body)?;
            self.put_run(&run.collected(position.seq))?;
        }
        Ok(())
    }
}
