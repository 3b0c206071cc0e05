//! The name of a new ledger, and why one could not be opened.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// The name of a new ledger.
pub(crate) fn new_ledger_id() -> io::Result<String> {
    let mut id = [0_u8; 16];
    getrandom::fill(&mut id).map_err(io::Error::other)?;
    Ok(id.map(|byte| format!("{byte:02x}")).concat())
}

/// True for text that can be the id of a ledger: 32 hexadecimal digits.
pub(crate) fn is_ledger_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reason why a ledger could not be opened.
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
    /// It cannot be read or written at its place.
    #[error("the ledger {path} cannot be opened for this use: no permission")]
    ReadOnly { path: PathBuf },
    /// Others kept it locked for as long as we wait.
    #[error("the ledger {path} is locked by other commands")]
    Busy { path: PathBuf },
    /// The server does not answer, or does not let us in.
    #[error("cannot use the ledger {path}: {why}")]
    Unreachable { path: PathBuf, why: String },
    /// The connection to the server would not be confidential.
    #[error("the ledger {path} is not used: {why}")]
    Unprotected { path: PathBuf, why: String },
    /// This program was built for files alone.
    #[error("the ledger {path} is on a server, and this program was built without the feature fleet")]
    NoFleet { path: PathBuf },
    #[error("cannot open the ledger {path}: {error}")]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The database reported an error.
    #[error("cannot open the ledger {path}: {error}")]
    Store {
        path: PathBuf,
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
}

impl OpenLedgerError {
    /// Error of a build without the feature `fleet`.
    #[cfg(not(feature = "fleet"))]
    pub(crate) fn no_fleet(address: &crate::place::ServerAddress) -> Self {
        Self::NoFleet { path: address.to_string().into() }
    }

    /// Action for a person, as one sentence.
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
            Self::Unreachable { .. } => {
                "Check that the server runs, `store.url`, and the variable that `store.password_env` names."
            }
            Self::Unprotected { .. } => "Name the PEM file of the server's certificate authorities: `store.ca`.",
            Self::NoFleet { .. } => "Build it with `--features fleet`, or use a released program.",
            Self::Io { .. } | Self::Store { .. } => "Check the disk and the permissions of the home folder.",
        }
    }
}
