//! Leases: the instance that a live run belongs to, for as long as it keeps saying so.
//!
//! Several homes may share one ledger. A run belongs to the instance that started it. When its
//! lease has lapsed, another instance may take it over, which raises the epoch: the holder of an
//! older one can no longer seal. Leases are no part of the chain, since they are renewed all the
//! time and mean nothing once a run is sealed.

use std::time::Duration;

use contract::{Digest, RunId, Stamp};

use crate::read::ReadLedgerError;
use crate::runs::{Lease, LeaseBeat, RunRow};
use crate::store::Ledger;
use crate::write::AppendEntryError;

/// A run that was started and not sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    pub row: RunRow,
    /// `None` for a run of a program that knew no leases.
    pub lease: Option<Lease>,
}

impl Ledger {
    /// Runs that were started and not sealed, oldest first.
    pub fn runs_open(&self) -> Result<Vec<OpenRun>, ReadLedgerError> {
        let rows = self.store.open_runs()?;
        rows.into_iter().map(|row| Ok(OpenRun { lease: self.lease(&row.run_id)?, row })).collect()
    }

    /// The lease of a live run.
    pub fn lease(&self, run_id: &RunId) -> Result<Option<Lease>, ReadLedgerError> {
        Ok(self.store.read_lease(run_id)?)
    }

    /// Prolongs a lease; false if another instance has it by now, or the run is sealed.
    pub fn lease_renewed(&self, run_id: &RunId, epoch: u64, until: Stamp) -> Result<bool, AppendEntryError> {
        self.store.change_once(|change| Ok(change.renew_lease(run_id, epoch, until)?))
    }

    /// Prolongs a lease by a length of time, by the clock of the store where it has one, and
    /// looks if the run is to stop. `now` is the caller's time.
    pub fn lease_kept(
        &self,
        run_id: &RunId,
        epoch: u64,
        lease: Duration,
        now: Stamp,
    ) -> Result<LeaseBeat, AppendEntryError> {
        Ok(self.store.keep_lease(run_id, epoch, lease, now)?)
    }

    /// Takes a live run over from another instance whose lease has lapsed; returns the new
    /// epoch, or `None` if it has not, or another instance was faster.
    pub fn lease_taken_over(
        &self,
        run_id: &RunId,
        owner: Digest,
        now: Stamp,
        until: Stamp,
    ) -> Result<Option<u64>, AppendEntryError> {
        self.store.change_once(|change| {
            let held = change.store.read_lease(run_id)?;
            let Some(lease) = held.and_then(|held| held.take_over(owner, now, until)) else { return Ok(None) };
            change.put_lease(run_id, &lease)?;
            Ok(Some(lease.epoch))
        })
    }
}
