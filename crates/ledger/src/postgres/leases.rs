//! The table of leases.

use std::time::Duration;

use contract::{RunId, Stamp};
use postgres::Row;

use super::PostgresStore;
use super::column::{number_column, signed_number, typed_column, unreadable_column};
use crate::fault::StoreResult;
use crate::runs::{Lease, LeaseBeat};

impl PostgresStore {
    /// Lease of a run.
    pub(crate) fn read_lease(&self, run_id: &RunId) -> StoreResult<Option<Lease>> {
        let sql = "SELECT owner, epoch, lease_until FROM cto.read_lease($1)";
        self.ask(sql, &[&run_id.as_str()])?.first().map(from_row).transpose()
    }

    /// Sets the lease of a run.
    pub(crate) fn put_lease(&self, run_id: &RunId, lease: &Lease) -> StoreResult<()> {
        let (owner, until) = (lease.owner.to_string(), lease.until.to_string());
        let epoch = signed_number(lease.epoch)?;
        self.ask("SELECT cto.put_lease($1, $2, $3, $4)", &[&run_id.as_str(), &owner, &epoch, &until])?;
        Ok(())
    }

    /// Extends a lease of this epoch; false if another instance has taken the run over.
    pub(crate) fn renew_lease(&self, run_id: &RunId, epoch: u64, until: Stamp) -> StoreResult<bool> {
        let (epoch, until) = (signed_number(epoch)?, until.to_string());
        self.ask_value("SELECT cto.renew_lease($1, $2, $3)", &[&run_id.as_str(), &epoch, &until])
    }

    /// Renews a lease by one statement and the server's clock, without the lock of changes, and looks if the run is to stop.
    pub(crate) fn keep_lease(
        &self,
        run_id: &RunId,
        epoch: u64,
        lease: Duration,
        _now: Stamp,
    ) -> StoreResult<LeaseBeat> {
        let sql = "SELECT held, stopping FROM cto.keep_lease($1, $2, $3)";
        let rows = self.ask(sql, &[&run_id.as_str(), &signed_number(epoch)?, &lease.as_secs_f64()])?;
        let row = rows.first().ok_or_else(|| unreadable_column("answer"))?;
        Ok(LeaseBeat { is_held: row.try_get(0)?, is_stopping: row.try_get(1)? })
    }

    /// Removes the lease of a run.
    pub(crate) fn remove_lease(&self, run_id: &RunId) -> StoreResult<()> {
        self.ask("SELECT cto.remove_lease($1)", &[&run_id.as_str()])?;
        Ok(())
    }
}

fn from_row(row: &Row) -> StoreResult<Lease> {
    Ok(Lease {
        owner: typed_column(row, 0, "owner")?,
        epoch: number_column(row, 1, "epoch")?,
        until: typed_column(row, 2, "lease_until")?,
    })
}
