//! The table of leases.

use std::time::Duration;

use contract::{RunId, Stamp};
use rusqlite::{OptionalExtension as _, Row, params};

use super::SqliteStore;
use super::column::typed_column;
use super::schema::WITH_LEASES;
use crate::fault::StoreResult;
use crate::runs::{Lease, LeaseBeat};

impl SqliteStore {
    /// Lease of a run; none in a file older than leases.
    pub(crate) fn read_lease(&self, run_id: &RunId) -> StoreResult<Option<Lease>> {
        if self.version < WITH_LEASES {
            return Ok(None);
        }
        let sql = "SELECT owner, epoch, lease_until FROM leases WHERE run_id = ?1";
        Ok(self.connection.prepare_cached(sql)?.query_row([run_id.as_str()], from_row).optional()?)
    }

    /// Sets the lease of a run.
    pub(crate) fn put_lease(&self, run_id: &RunId, lease: &Lease) -> StoreResult<()> {
        let sql = "INSERT OR REPLACE INTO leases (run_id, owner, epoch, lease_until) VALUES (?1, ?2, ?3, ?4)";
        let values = params![run_id.as_str(), lease.owner.to_string(), lease.epoch, lease.until.to_string()];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// Extends a lease of this epoch; false if another instance has taken the run over.
    pub(crate) fn renew_lease(&self, run_id: &RunId, epoch: u64, until: Stamp) -> StoreResult<bool> {
        let Some(lease) = self.read_lease(run_id)?.and_then(|held| held.renew(epoch, until)) else { return Ok(false) };
        self.put_lease(run_id, &lease).map(|()| true)
    }

    /// Renews a lease in a change of its own, and looks if the run is to stop.
    pub(crate) fn keep_lease(&self, run_id: &RunId, epoch: u64, lease: Duration, now: Stamp) -> StoreResult<LeaseBeat> {
        let is_held = self.change_in_turn(|| self.renew_lease(run_id, epoch, now.after(lease)))?;
        let is_stopping = self.read_queued(run_id)?.is_some_and(|run| run.stopping);
        Ok(LeaseBeat { is_held, is_stopping })
    }

    /// Removes the lease of a run.
    pub(crate) fn remove_lease(&self, run_id: &RunId) -> StoreResult<()> {
        self.connection.prepare_cached("DELETE FROM leases WHERE run_id = ?1")?.execute([run_id.as_str()])?;
        Ok(())
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Lease> {
    Ok(Lease { owner: typed_column(row, 0, "owner")?, epoch: row.get(1)?, until: typed_column(row, 2, "lease_until")? })
}
