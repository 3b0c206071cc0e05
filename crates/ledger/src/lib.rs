//! One append-only, chained store of what happened.
//!
//! Owns the ledger file: its entries (each carries the digest of the one before it) and the `runs` table, a projection of
//! those entries that makes listing and looking up cheap; and the leases of live runs. Beside it, [`Bundles`] owns the folders that
//! the ledger speaks of. Decides nothing, prints nothing and reads no
//! clock: times are passed in, and what to write is the caller's business. Tables are private; the entry format is documented in
//! `docs/formats/ledger-entry.md`.

mod bundles;
mod collect;
mod entry;
mod find;
mod kind;
mod lease;
mod model;
mod open;
mod request;
mod runs;
mod schema;
mod verify;
mod write;

pub use bundles::{
    BUNDLES_FOLDER, BundleOrigin, Bundles, IMPORT_SIGNER_FILE, KeptBundle, PlaceBundleError, SealedFolder, hold_bundle,
};
pub use collect::{Collection, RunCollected};
pub use entry::{Entry, Position};
pub use find::Found;
pub use kind::{EntryKind, KindRole};
pub use lease::{Lease, OpenRun};
pub use open::OpenLedgerError;
pub use request::{ApprovalUse, RequestIntent, RequestRow, RequestStep, UnusableRequest};
pub use runs::{ReadLedgerError, RunFilter, RunPlace, RunRow, RunStatus};
pub use verify::{LedgerCheck, LedgerProblem};
pub use write::{AppendEntryError, FIRST_EPOCH, RunIntent, RunSeal, RunSealed, RunStarted};

/// An open ledger: one connection, for one thread at a time. Any number of processes and threads may each hold one.
#[derive(Debug)]
pub struct Ledger {
    connection: rusqlite::Connection,
    id: String,
    /// Of the file; older than this program's own only where it may not be written.
    version: i32,
}

impl Ledger {
    /// The random name this ledger got when it was made: 32 hex digits.
    pub fn ledger_id(&self) -> &str {
        &self.id
    }
}
