//! One append-only, chained store of what happened.
//!
//! Owns the ledger: its entries (each carries the digest of the one before it), rows of runs and of requests, a projection of those entries
//! that makes listing and looking up cheap; the leases of live runs; and the queue of submitted ones. `store.rs` chooses the database, and
//! only the folder of that database speaks SQL. Beside it, [`Bundles`] owns the folders that the ledger names, and [`ObjectStore`] the
//! objects that several machines share. Decides nothing, prints nothing and reads no clock: times are passed in, and what to write is the
//! caller's business. Tables are private; the entry format is documented in `docs/formats/ledger-entry.md`.

mod bundles;
mod by_kind;
mod collect;
mod entry;
mod fault;
mod find;
mod kind;
mod lease;
mod model;
mod objects;
mod open;
mod open_error;
mod place;
#[cfg(feature = "fleet")]
mod postgres;
mod queue;
mod queue_steps;
mod read;
mod rebuild;
mod replay;
mod request;
mod request_row;
mod rungs;
mod runs;
mod sealed_reason;
mod sqlite;
mod store;
mod time_base;
#[cfg(feature = "fleet")]
mod tls;
mod transfer;
mod verify;
mod write;

pub use bundles::{
    BUNDLES_FOLDER, BundleOrigin, Bundles, EVIDENCE_FOLDERS, HandedIn, IMPORT_SIGNER_FILE, KeptBundle,
    PlaceBundleError, SealedFolder, ShareBundleError, UnpackBundleError, hold_bundle,
};
pub use collect::RunCollected;
pub use entry::{Entry, Position};
pub use find::FoundRuns;
pub use kind::{EntryKind, KindRole};
pub use lease::OpenRun;
pub use objects::{
    BucketAccess, BucketAddress, BucketEndpoint, BucketPlace, Creation, EvidencePlace, ObjectFault, ObjectStore,
    ParsePlaceError, ProbeStoreError, ReadClock, StoreProbe, UseObjectError, WitnessedUse,
};
pub use open_error::OpenLedgerError;
pub use place::{LedgerPlace, ParseAddressError, ServerAddress, ServerPlace};
pub use queue::{
    CancelledTurn, ClaimAsk, QueueLimits, QueueOrder, QueueRefusal, QueueState, QueueTurn, QueuedRun, pick_turn,
};
pub use read::ReadLedgerError;
pub use rebuild::RebuiltRows;
pub use replay::LedgerProblem;
pub use request::{ApprovalUse, RequestBytes, RequestStep};
pub use request_row::{RequestIntent, RequestRow, UnusableRequest};
pub use runs::{
    Collection, EngineIdentity, IdentifiedRun, Lease, LeaseBeat, LeaseRenewal, ListOrder, LongPlace, RunFilter,
    RunIntent, RunPlace, RunRow, RunSeal, RunStatus, RungPart, RungRuns, TaskRuns,
};
pub use sealed_reason::{ParseSealedReasonError, SealedReason};
pub use store::Ledger;
pub use transfer::{MoveLedgerError, MovedLedger};
pub use verify::LedgerCheck;
pub use write::{AppendEntryError, FIRST_EPOCH, RunSealed, RunStarted};
