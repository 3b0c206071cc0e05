//! A ledger in one SQLite file: everything that speaks SQL, and the only code that knows the library.

mod check;
mod column;
mod entries;
mod leases;
mod open;
mod queue;
mod requests;
mod rungs;
mod runs;
mod schema;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use crate::fault::{FaultKind, StoreFault};

/// One connection to a ledger file.
#[derive(Debug)]
pub(crate) struct SqliteStore {
    connection: Connection,
    id: String,
    /// Of the file; older than this program's own only where it may not be written.
    version: i32,
}

impl SqliteStore {
    /// Id of the ledger.
    pub(crate) fn ledger_id(&self) -> &str {
        &self.id
    }

    /// Writes a compact copy of the whole database, as it is at this moment.
    pub(crate) fn copy_to(&self, path: &std::path::Path) -> Result<(), StoreFault> {
        let place = path
            .to_str()
            .ok_or_else(|| StoreFault { kind: FaultKind::Other, cause: "the path is not UTF-8".into() })?;
        self.connection.execute("VACUUM INTO ?1", [place])?;
        Ok(())
    }

    /// An immediate transaction takes the one lock for writing before anything is read, and waits for it. So no change loses its
    /// turn half-way, and `work` is done once.
    pub(crate) fn change_in_turn<T, E: From<StoreFault>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let begun = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        let transaction = begun.map_err(StoreFault::from)?;
        self.require_version()?;
        let done = work()?;
        transaction.commit().map_err(StoreFault::from)?;
        Ok(done)
    }

    /// Refuses to write by the rules of a format that the file no longer has.
    fn require_version(&self) -> Result<(), StoreFault> {
        match schema::version(&self.connection)? {
            found if found > self.version => {
                Err(StoreFault { kind: FaultKind::Newer(found), cause: "its format is newer by now".into() })
            }
            _ => Ok(()),
        }
    }
}

impl From<rusqlite::Error> for StoreFault {
    fn from(error: rusqlite::Error) -> Self {
        let kind = match error.sqlite_error_code() {
            _ if is_busy(&error) => FaultKind::Busy,
            Some(ErrorCode::DiskFull) => FaultKind::Full,
            Some(ErrorCode::ReadOnly) => FaultKind::ReadOnly,
            _ => FaultKind::Other,
        };
        Self { kind, cause: error.into() }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
