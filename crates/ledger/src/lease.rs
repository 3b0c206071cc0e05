//! Leases: the instance that a live run belongs to, for as long as it keeps saying so.
//!
//! Several homes may share one ledger. A run belongs to the instance that started it. When its lease has lapsed, another instance
//! may take it over, which raises the epoch: whoever holds an older one can no longer seal. Leases are no part of the chain, since they
//! are renewed all the time and mean nothing once a run is sealed.

use contract::{Digest, RunId, Stamp};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::Ledger;
use crate::runs::{ReadLedgerError, RunRow, typed};
use crate::schema::WITH_LEASES;
use crate::write::AppendEntryError;

/// The claim of an instance on a live run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The instance: a home on a machine.
    pub owner: Digest,
    /// One more with every take-over.
    pub epoch: u64,
    pub until: Stamp,
}

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
        let of_runs = format!("SELECT {} FROM runs WHERE status = 'running' ORDER BY started_at, seq", self.columns());
        let rows = self.rows(&of_runs, &[])?;
        rows.into_iter().map(|row| Ok(OpenRun { lease: self.lease(&row.run_id)?, row })).collect()
    }

    /// The lease of a live run.
    pub fn lease(&self, run_id: &RunId) -> Result<Option<Lease>, ReadLedgerError> {
        match self.version < WITH_LEASES {
            true => Ok(None),
            false => Ok(lease_of(&self.connection, run_id)?),
        }
    }

    /// Prolongs a lease; false where it belongs to somebody else by now, or the run is sealed.
    pub fn lease_renewed(&self, run_id: &RunId, epoch: u64, until: Stamp) -> Result<bool, AppendEntryError> {
        let sql = "UPDATE leases SET lease_until = ?1 WHERE run_id = ?2 AND epoch = ?3";
        let changed = self.connection.execute(sql, params![until.to_string(), run_id.as_str(), epoch])?;
        Ok(changed == 1)
    }

    /// Takes a live run over from another instance whose lease has lapsed; gives the new epoch, or `None` where it has not, or
    /// somebody else was faster.
    pub fn lease_taken_over(
        &self,
        run_id: &RunId,
        owner: Digest,
        now: Stamp,
        until: Stamp,
    ) -> Result<Option<u64>, AppendEntryError> {
        let transaction = self.begin()?;
        let taken = match lease_of(&transaction, run_id)? {
            Some(lease) if lease.until <= now => {
                put(&transaction, run_id, &Lease { owner, epoch: lease.epoch + 1, until })?;
                Some(lease.epoch + 1)
            }
            _ => None,
        };
        transaction.commit()?;
        Ok(taken)
    }
}

pub(crate) fn put(connection: &Connection, run_id: &RunId, lease: &Lease) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO leases (run_id, owner, epoch, lease_until) VALUES (?1, ?2, ?3, ?4)";
    let values = params![run_id.as_str(), lease.owner.to_string(), lease.epoch, lease.until.to_string()];
    connection.prepare_cached(sql)?.execute(values).map(|_| ())
}

pub(crate) fn remove(connection: &Connection, run_id: &RunId) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM leases WHERE run_id = ?1")?.execute([run_id.as_str()]).map(|_| ())
}

pub(crate) fn lease_of(connection: &Connection, run_id: &RunId) -> rusqlite::Result<Option<Lease>> {
    let sql = "SELECT owner, epoch, lease_until FROM leases WHERE run_id = ?1";
    connection.prepare_cached(sql)?.query_row([run_id.as_str()], lease_from_row).optional()
}

fn lease_from_row(row: &Row<'_>) -> rusqlite::Result<Lease> {
    Ok(Lease { owner: typed(row, 0, "owner")?, epoch: row.get(1)?, until: typed(row, 2, "lease_until")? })
}
