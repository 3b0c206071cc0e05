//! A call of the database that failed, in words that every database shares.

use std::error::Error;

/// Result of a call of the database.
pub(crate) type StoreResult<T> = Result<T, StoreFault>;

/// The database's own word, whichever it is; shown only as the cause of a public error.
pub(crate) type StoreCause = Box<dyn Error + Send + Sync>;

/// A call of the database that failed.
#[derive(Debug)]
pub(crate) struct StoreFault {
    pub(crate) kind: FaultKind,
    pub(crate) cause: StoreCause,
}

/// The kinds of faults that callers tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// Others kept the database locked for as long as we wait.
    Busy,
    /// The disk is full.
    Full,
    /// It was opened for reading only, or may no longer be written.
    ReadOnly,
    /// A newer program brought it to this format after it was opened.
    Newer(i32),
    Other,
}

impl StoreFault {
    /// A row that names an entry that is not there.
    pub(crate) fn no_entry() -> Self {
        Self { kind: FaultKind::Other, cause: "a row names an entry that is not there".into() }
    }
}
