//! The store behind a ledger: the one place that chooses between databases.
//!
//! The work of a store is small: read and write rows, and give one writer at a time its turn. Chaining, states and checks
//! are the same for every store and stand outside, so that a second database is a second folder and a second arm here.
//!
//! A store promises that
//! - a [`Change`] is made whole or not at all, and nobody else writes between its beginning and its end, so that what it reads
//!   first still holds when it is committed, and no unique key is ever met by surprise;
//! - a change that could not be begun or lost its turn is tried again for as long as others are waited for;
//! - texts (ids, times) compare by their bytes, whatever language the database was set up for;
//! - sequence numbers and counts up to `i64::MAX` come back as they were given.

use std::collections::BTreeSet;

use contract::{Digest, Purpose, RunId, Stage, Stamp, TaskId};

use crate::entry::{Hashed, Position, StoredEntry};
use crate::fault::{StoreFault, StoreResult};
use crate::kind::EntryKind;
use crate::lease::Lease;
use crate::request::RequestRow;
use crate::runs::{EngineIdentity, IdentifiedRun, RunFilter, RunMatch, RunPlace, RunRow, RungRuns};
use crate::sqlite::SqliteStore;
use crate::verify::Replay;

/// An open ledger: one connection, for one thread at a time. Any number of processes and threads may each hold one.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) store: Store,
}

/// A database that holds a ledger: one connection, so that a read inside of a change sees what the change wrote.
#[derive(Debug)]
pub(crate) enum Store {
    Sqlite(SqliteStore),
}

impl Store {
    pub(crate) fn ledger_id(&self) -> &str {
        match self {
            Self::Sqlite(store) => store.ledger_id(),
        }
    }

    /// Makes a change in one transaction: committed where `work` succeeds, else as if it had never begun. A store may have to begin
    /// anew, so `work` rests on nothing but what it reads in this turn.
    pub(crate) fn change<T, E: From<StoreFault>>(
        &self,
        mut work: impl FnMut(&Change<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Self::Sqlite(store) => store.change(|| work(&Change { store: self })),
        }
    }

    /// The last entry's place; [`Position::GENESIS`] when there is none.
    pub(crate) fn read_head(&self) -> StoreResult<Position> {
        match self {
            Self::Sqlite(store) => store.read_head(),
        }
    }

    pub(crate) fn read_position(&self, seq: u64) -> StoreResult<Option<Position>> {
        match self {
            Self::Sqlite(store) => store.read_position(seq),
        }
    }

    /// Every entry that names this run, in order.
    pub(crate) fn run_entries(&self, run_id: &RunId) -> StoreResult<Vec<StoredEntry>> {
        match self {
            Self::Sqlite(store) => store.run_entries(run_id),
        }
    }

    /// The first entry of this kind that names this run.
    pub(crate) fn first_entry(&self, run_id: &RunId, kind: EntryKind) -> StoreResult<Option<StoredEntry>> {
        match self {
            Self::Sqlite(store) => store.first_entry(run_id, kind),
        }
    }

    /// Every entry about this request, in order.
    pub(crate) fn request_entries(&self, request: Digest) -> StoreResult<Vec<StoredEntry>> {
        match self {
            Self::Sqlite(store) => store.request_entries(request),
        }
    }

    /// Everything reserved and settled of models since a time, in order.
    pub(crate) fn model_entries(&self, since: Stamp) -> StoreResult<Vec<StoredEntry>> {
        match self {
            Self::Sqlite(store) => store.model_entries(since),
        }
    }

    /// Entries of some kinds, in order; those of a time and later where one is given.
    pub(crate) fn entries_of(&self, kinds: &[EntryKind], since: Option<Stamp>) -> StoreResult<Vec<StoredEntry>> {
        match self {
            Self::Sqlite(store) => store.entries_of(kinds, since),
        }
    }

    /// The latest time of the entries since time last went back.
    pub(crate) fn latest_time(&self) -> StoreResult<Option<Stamp>> {
        match self {
            Self::Sqlite(store) => store.latest_time(),
        }
    }

    pub(crate) fn read_run(&self, run_id: &RunId) -> StoreResult<Option<RunRow>> {
        match self {
            Self::Sqlite(store) => store.read_run(run_id),
        }
    }

    /// The runs that were started last, newest first.
    pub(crate) fn recent_runs(&self, filter: &RunFilter, limit: usize) -> StoreResult<Vec<RunRow>> {
        match self {
            Self::Sqlite(store) => store.recent_runs(filter, limit),
        }
    }

    /// Runs that match, at most `limit`, in any order.
    pub(crate) fn matching_runs(&self, wanted: &RunMatch<'_>, limit: usize) -> StoreResult<Vec<RunRow>> {
        match self {
            Self::Sqlite(store) => store.matching_runs(wanted, limit),
        }
    }

    /// The run that was started `steps` before the newest; of one purpose where one is named.
    pub(crate) fn run_back(&self, purpose: Option<Purpose>, steps: u32) -> StoreResult<Option<RunRow>> {
        match self {
            Self::Sqlite(store) => store.run_back(purpose, steps),
        }
    }

    /// Runs of a rung, newest first.
    pub(crate) fn rung_runs(
        &self,
        rung: &RungRuns<'_>,
        after: Option<RunPlace>,
        limit: usize,
    ) -> StoreResult<Vec<RunRow>> {
        match self {
            Self::Sqlite(store) => store.rung_runs(rung, after, limit),
        }
    }

    /// The first identity of an engine at a stage that comes after this one.
    pub(crate) fn next_identity(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        after: Option<&EngineIdentity>,
    ) -> StoreResult<Option<EngineIdentity>> {
        match self {
            Self::Sqlite(store) => store.next_identity(engine, purpose, stage, after),
        }
    }

    /// Passes at a stage that were not collected, newest first.
    pub(crate) fn stage_passes(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        limit: usize,
    ) -> StoreResult<Vec<RunRow>> {
        match self {
            Self::Sqlite(store) => store.stage_passes(engine, purpose, stage, limit),
        }
    }

    /// The newest identified run with the first model that comes after that of this identity.
    pub(crate) fn next_model(
        &self,
        engine: &str,
        purpose: Purpose,
        after: Option<&EngineIdentity>,
    ) -> StoreResult<Option<IdentifiedRun>> {
        match self {
            Self::Sqlite(store) => store.next_model(engine, purpose, after),
        }
    }

    /// Governed passes from stage 5 on without a signed outcome, newest first.
    pub(crate) fn unanswered_runs(&self, limit: usize) -> StoreResult<Vec<RunRow>> {
        match self {
            Self::Sqlite(store) => store.unanswered_runs(limit),
        }
    }

    /// Runs that are not sealed, oldest first.
    pub(crate) fn open_runs(&self) -> StoreResult<Vec<RunRow>> {
        match self {
            Self::Sqlite(store) => store.open_runs(),
        }
    }

    /// Shows every run, oldest first, one at a time.
    pub(crate) fn each_run(&self, show: impl FnMut(RunRow)) -> StoreResult<()> {
        match self {
            Self::Sqlite(store) => store.each_run(show),
        }
    }

    pub(crate) fn count_runs(&self) -> StoreResult<u64> {
        match self {
            Self::Sqlite(store) => store.count_runs(),
        }
    }

    /// Runs that an entry of another kind than these names.
    pub(crate) fn runs_named_beside(&self, kinds: &[EntryKind]) -> StoreResult<BTreeSet<String>> {
        match self {
            Self::Sqlite(store) => store.runs_named_beside(kinds),
        }
    }

    pub(crate) fn read_lease(&self, run_id: &RunId) -> StoreResult<Option<Lease>> {
        match self {
            Self::Sqlite(store) => store.read_lease(run_id),
        }
    }

    pub(crate) fn read_request(&self, request: Digest) -> StoreResult<Option<RequestRow>> {
        match self {
            Self::Sqlite(store) => store.read_request(request),
        }
    }

    /// Requests that nobody used, denied or revoked, newest first; `before` is the number of an entry.
    pub(crate) fn undecided_requests(&self, before: Option<u64>, limit: usize) -> StoreResult<Vec<RequestRow>> {
        match self {
            Self::Sqlite(store) => store.undecided_requests(before, limit),
        }
    }

    pub(crate) fn count_requests(&self) -> StoreResult<u64> {
        match self {
            Self::Sqlite(store) => store.count_requests(),
        }
    }

    /// Requests, newest first; those of one task where one is named.
    pub(crate) fn recent_requests(&self, task_id: Option<&TaskId>, limit: usize) -> StoreResult<Vec<RequestRow>> {
        match self {
            Self::Sqlite(store) => store.recent_requests(task_id, limit),
        }
    }

    /// Tells a replay every entry.
    pub(crate) fn tell_entries(&self, replay: &mut Replay) -> StoreResult<()> {
        match self {
            Self::Sqlite(store) => store.tell_entries(replay),
        }
    }

    /// Tells a replay every entry and then every row, as of one moment, and what the database says of its own state.
    pub(crate) fn tell_replay(&self, replay: &mut Replay) -> StoreResult<()> {
        match self {
            Self::Sqlite(store) => store.tell_replay(replay),
        }
    }
}

/// The right to write: had inside of [`Store::change`] and nowhere else.
pub(crate) struct Change<'a> {
    pub(crate) store: &'a Store,
}

impl Change<'_> {
    pub(crate) fn insert_entry(&self, entry: &Hashed<'_>, hash: Digest) -> StoreResult<()> {
        match self.store {
            Store::Sqlite(store) => store.insert_entry(entry, hash),
        }
    }

    /// Removes every row of runs and requests.
    pub(crate) fn clear_rows(&self) -> StoreResult<()> {
        match self.store {
            Store::Sqlite(store) => store.clear_rows(),
        }
    }

    /// Writes a row, in place of the run's earlier one if there is one.
    pub(crate) fn put_run(&self, run: &RunRow) -> StoreResult<()> {
        match self.store {
            Store::Sqlite(store) => store.put_run(run),
        }
    }

    pub(crate) fn count_run(&self) -> StoreResult<()> {
        match self.store {
            Store::Sqlite(store) => store.count_run(),
        }
    }

    /// Writes a row, in place of the request's earlier one if there is one.
    pub(crate) fn put_request(&self, request: &RequestRow) -> StoreResult<()> {
        match self.store {
            Store::Sqlite(store) => store.put_request(request),
        }
    }

    /// Notes the entry by which time went back.
    pub(crate) fn put_time_base(&self, seq: u64) -> StoreResult<()> {
        match self.store {
            Store::Sqlite(store) => store.put_time_base(seq),
        }
    }

    /// Writes a lease, in place of the run's earlier one if there is one.
    pub(crate) fn put_lease(&self, run_id: &RunId, lease: &Lease) -> StoreResult<()> {
        match self.store {
            Store::Sqlite(store) => store.put_lease(run_id, lease),
        }
    }

    /// Prolongs the lease of this epoch; false where there is none.
    pub(crate) fn renew_lease(&self, run_id: &RunId, epoch: u64, until: Stamp) -> StoreResult<bool> {
        match self.store {
            Store::Sqlite(store) => store.renew_lease(run_id, epoch, until),
        }
    }

    pub(crate) fn remove_lease(&self, run_id: &RunId) -> StoreResult<()> {
        match self.store {
            Store::Sqlite(store) => store.remove_lease(run_id),
        }
    }
}
