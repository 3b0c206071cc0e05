//! Opening a ledger: made on first use, refused with a reason when it is not one we can use.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::sqlite::SqliteStore;
use crate::store::{Ledger, Store};

impl Ledger {
    /// Opens the ledger at `path` for reading and appending, making it when there is none. The folder must exist.
    pub fn open(path: &Path) -> Result<Ledger, OpenLedgerError> {
        Self::open_observed(path, &|_| {})
    }

    /// The same; `pass` is told each place that is passed while an older ledger is brought forward.
    pub fn open_observed(path: &Path, pass: &dyn Fn(&'static str)) -> Result<Ledger, OpenLedgerError> {
        Ok(Self { store: Store::Sqlite(SqliteStore::open(path, pass)?) })
    }

    /// Opens a ledger for commands that only look. Makes no ledger, and every write through it is refused.
    pub fn open_existing_read_only(path: &Path) -> Result<Ledger, OpenLedgerError> {
        Ok(Self { store: Store::Sqlite(SqliteStore::open_existing_read_only(path)?) })
    }

    /// Writes a whole copy of the ledger, whoever writes to it meanwhile. The file must not exist.
    pub fn copy_to(&self, path: &Path) -> Result<(), crate::ReadLedgerError> {
        match &self.store {
            Store::Sqlite(store) => Ok(store.copy_to(path)?),
        }
    }

    /// The random name this ledger got when it was made: 32 hex digits.
    pub fn ledger_id(&self) -> &str {
        self.store.ledger_id()
    }
}

/// The name of a new ledger.
pub(crate) fn new_ledger_id() -> io::Result<String> {
    let mut id = [0_u8; 16];
    getrandom::fill(&mut id).map_err(io::Error::other)?;
    Ok(id.map(|byte| format!("{byte:02x}")).concat())
}

pub(crate) fn is_ledger_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenLedgerError {
    /// There is no file (or, when making one, no folder to make it in).
    #[error("there is no ledger at {path}")]
    Missing { path: PathBuf },
    /// The path names a folder.
    #[error("the ledger {path} is a directory")]
    Directory { path: PathBuf },
    /// The file is something else.
    #[error("{path} is not a ledger")]
    NotALedger { path: PathBuf },
    /// The file is a ledger or was one, and parts of it cannot be read.
    #[error("the ledger {path} is damaged")]
    Damaged { path: PathBuf },
    /// A later version of this program wrote it.
    #[error("the ledger {path} has schema version {found}; this program knows {known}")]
    NewerVersion { path: PathBuf, found: i32, known: i32 },
    /// It cannot be written, or read, where it lies.
    #[error("the ledger {path} cannot be opened for this use: no permission")]
    ReadOnly { path: PathBuf },
    /// Others kept it locked for as long as we wait.
    #[error("the ledger {path} is locked by other commands")]
    Busy { path: PathBuf },
    #[error("cannot open the ledger {path}: {error}")]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The database failed, by its own word.
    #[error("cannot open the ledger {path}: {error}")]
    Store {
        path: PathBuf,
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
}

impl OpenLedgerError {
    /// What a person can do about it, as one sentence.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "Check the home folder that was given; the first run makes the ledger.",
            Self::Directory { .. } => "Move the folder away, or give another home.",
            Self::NotALedger { .. } => "Move the file away, or give another home; it is left as it is.",
            Self::Damaged { .. } => {
                "Keep the file, restore a copy, or move it away to start a new ledger; sealed bundles do not depend on it."
            }
            Self::NewerVersion { .. } => "Use the newer program that wrote it, or give another home.",
            Self::ReadOnly { .. } => {
                "Give this user permission to read and write the file and its folder, or give another home."
            }
            Self::Busy { .. } => "Try again when the other commands that use this home are done.",
            Self::Io { .. } | Self::Store { .. } => "Check the disk and the permissions of the home folder.",
        }
    }
}
