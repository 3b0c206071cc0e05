//! One append-only, chained store of what happened.
//!
//! Owns the ledger file: its entries (each carries the digest of the one before it) and the `runs` table, a projection of
//! those entries that makes listing and looking up cheap. Decides nothing, prints nothing and reads no clock: times are
//! passed in as RFC 3339 UTC text, and what to write is the caller's business. Tables are private; the entry format is
//! documented in `docs/formats/ledger-entry.md`.

mod collect;
mod entry;
mod find;
mod model;
mod open;
mod runs;
mod schema;
mod verify;
mod write;

pub use collect::RunCollected;
pub use entry::{Entry, GENESIS, Position};
pub use find::Found;
pub use open::OpenLedgerError;
pub use runs::{ReadLedgerError, RunFilter, RunRow, RunStatus, Verdict};
pub use verify::{LedgerCheck, LedgerProblem};
pub use write::{AppendEntryError, RunSealed, RunStarted};

/// Kinds of entries whose meaning this crate knows. Every other kind is the caller's own.
pub mod kind {
    /// A run was accepted and its row exists.
    pub const RUN_STARTED: &str = "run.started";
    /// The engine process is about to be started; from here on an interruption is a failure.
    pub const ENGINE_STARTING: &str = "engine.starting";
    /// The run's bundle is sealed and in its final place.
    pub const EVIDENCE_SEALED: &str = "evidence.sealed";
    /// The run's bundle is about to be removed, because nothing rests on it.
    pub const EVIDENCE_COLLECTED: &str = "evidence.collected";

    /// A run has reserved what it may use of a model. Names its run in the body, so that no bundle is kept for it.
    pub const MODEL_RESERVED: &str = "model.reserved";
    /// What the run really used of it.
    pub const MODEL_SETTLED: &str = "model.settled";

    /// Appended by their own methods only, which also keep the row in `runs`.
    pub const OF_EVERY_RUN: [&str; 4] = [RUN_STARTED, ENGINE_STARTING, EVIDENCE_SEALED, EVIDENCE_COLLECTED];
}

/// An open ledger: one connection, for one thread at a time. Any number of processes and threads may each hold one.
#[derive(Debug)]
pub struct Ledger {
    connection: rusqlite::Connection,
    id: String,
}

impl Ledger {
    /// The random name this ledger got when it was made: 32 hex digits.
    pub fn ledger_id(&self) -> &str {
        &self.id
    }
}
