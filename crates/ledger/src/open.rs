//! Opening a ledger: made on first use, refused with a reason when it is not one we can use.

use std::path::Path;

use crate::open_error::OpenLedgerError;
use crate::place::LedgerPlace;
#[cfg(feature = "fleet")]
use crate::postgres::PostgresStore;
use crate::read::ReadLedgerError;
use crate::sqlite::SqliteStore;
use crate::store::{Ledger, Store};

impl Ledger {
    /// Opens the ledger at `path` for reading and appending, making it when there is none.
    /// The folder must exist.
    pub fn open_file(path: &Path) -> Result<Ledger, OpenLedgerError> {
        Self::open_observed(path, &|_| {})
    }

    /// Same as [`Ledger::open_file`]; `pass` is called at each step while an older ledger is
    /// migrated.
    pub fn open_observed(path: &Path, pass: &dyn Fn(&'static str)) -> Result<Ledger, OpenLedgerError> {
        Ok(Self { store: Store::Sqlite(SqliteStore::open_file(path, pass)?) })
    }

    /// Opens a ledger for commands that only look. Makes no ledger, and every write through
    /// it is refused.
    pub fn open_existing_read_only(path: &Path) -> Result<Ledger, OpenLedgerError> {
        Ok(Self { store: Store::Sqlite(SqliteStore::open_existing_read_only(path)?) })
    }

    /// Opens the ledger at a place, as [`Self::open_observed`] does for a file.
    pub fn open_place(place: &LedgerPlace, pass: &dyn Fn(&'static str)) -> Result<Ledger, OpenLedgerError> {
        match place {
            LedgerPlace::File(path) => Self::open_observed(path, pass),
            #[cfg(feature = "fleet")]
            LedgerPlace::Server(server) => {
                Ok(Self { store: Store::Postgres(Box::new(PostgresStore::open_server(server)?)) })
            }
            #[cfg(not(feature = "fleet"))]
            LedgerPlace::Server(server) => Err(OpenLedgerError::no_fleet(&server.address)),
        }
    }

    /// Opens the ledger at a place, as [`Self::open_existing_read_only`] does for a file.
    pub fn open_place_read_only(place: &LedgerPlace) -> Result<Ledger, OpenLedgerError> {
        match place {
            LedgerPlace::File(path) => Self::open_existing_read_only(path),
            #[cfg(feature = "fleet")]
            LedgerPlace::Server(server) => {
                Ok(Self { store: Store::Postgres(Box::new(PostgresStore::open_existing_read_only(server)?)) })
            }
            #[cfg(not(feature = "fleet"))]
            LedgerPlace::Server(server) => Err(OpenLedgerError::no_fleet(&server.address)),
        }
    }

    /// The ledger's name; of one on a server with the timeline that the server writes on,
    /// `NAME@TIMELINE`. A standby that was promoted writes on another, and may lack what
    /// the one before it had.
    pub fn identity(&self) -> Result<String, ReadLedgerError> {
        let timeline = self.store.read_timeline()?;
        Ok(timeline.map_or_else(|| self.ledger_id().to_owned(), |timeline| format!("{}@{timeline}", self.ledger_id())))
    }

    /// The object store that witnesses of approvals lie in, by the ledger's own word: the one at `place` where none was named before,
    /// or where it is named anew. `None` of a ledger in a file, which keeps no such name.
    pub fn bind_evidence(&self, place: &str, anew: bool) -> Result<Option<String>, ReadLedgerError> {
        Ok(self.store.bind_evidence(place, anew)?)
    }

    /// The random name this ledger got when it was made: 32 hex digits.
    pub fn ledger_id(&self) -> &str {
        self.store.ledger_id()
    }
}
