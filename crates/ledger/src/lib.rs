//! One append-only, chained store of what happened.
//!
//! Owns the ledger: its entries (each carries the digest of the one before it), rows of runs and of requests, a projection of
//! those entries that makes listing and looking up cheap; and the leases of live runs. `store.rs` chooses the database, and only the folder of
//! that database speaks SQL. Beside it, [`Bundles`] owns the folders that
//! the ledger speaks of. Decides nothing, prints nothing and reads no
//! clock: times are passed in, and what to write is the caller's business. Tables are private; the entry format is documented in
//! `docs/formats/ledger-entry.md`.

mod bundles;
mod by_kind;
mod collect;
mod entry;
mod fault;
mod find;
mod kind;
mod lease;
mod model;
mod open;
mod read;
mod rebuild;
mod request;
mod rungs;
mod runs;
mod sqlite;
mod store;
mod time_base;
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
pub use read::ReadLedgerError;
pub use rebuild::RebuiltRows;
pub use request::{ApprovalUse, RequestIntent, RequestRow, RequestStep, UnusableRequest};
pub use runs::{
    EngineIdentity, IdentifiedRun, RunFilter, RunIntent, RunPlace, RunRow, RunSeal, RunStatus, RungPart, RungRuns,
};
pub use store::Ledger;
pub use verify::{LedgerCheck, LedgerProblem};
pub use write::{AppendEntryError, FIRST_EPOCH, RunSealed, RunStarted};
