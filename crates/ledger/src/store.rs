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
use std::path::Path;
use std::time::Duration;

use contract::{Digest, Purpose, RunId, Stage, Stamp, TaskId};
use serde_json::Value;

use crate::entry::{Hashed, Position, StoredEntry};
use crate::fault::{StoreFault, StoreResult};
use crate::kind::EntryKind;
#[cfg(feature = "fleet")]
use crate::postgres::PostgresStore;
use crate::queue::{ClaimAsk, QueueTurn, QueuedRun};
use crate::replay::{LedgerProblem, Replay};
use crate::request_row::RequestRow;
use crate::runs::{EngineIdentity, IdentifiedRun, Lease, LeaseBeat, RunFilter, RunMatch, RunRow, RungRuns, TaskRuns};
use crate::sqlite::SqliteStore;
use crate::write::RunStarted;

/// An open ledger: one connection, for one thread at a time. Any number of processes and threads may each hold one.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) store: Store,
}

/// A database that holds a ledger: one connection, so that a read inside of a change sees what the change wrote.
#[derive(Debug)]
pub(crate) enum Store {
    Sqlite(SqliteStore),
    #[cfg(feature = "fleet")]
    Postgres(Box<PostgresStore>),
}

/// Asks whichever database it is: each of them can do everything.
macro_rules! in_store {
    ($database:expr, $store:ident => $asked:expr) => {
        match $database {
            Store::Sqlite($store) => $asked,
            #[cfg(feature = "fleet")]
            Store::Postgres($store) => $asked,
        }
    };
}

impl Store {
    /// Id of the ledger.
    pub(crate) fn ledger_id(&self) -> &str {
        in_store!(self, store => store.ledger_id())
    }

    /// The history that the server writes on; `None` of a file, which has no other.
    pub(crate) fn read_timeline(&self) -> StoreResult<Option<String>> {
        match self {
            Self::Sqlite(_) => Ok(None),
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => store.read_timeline().map(Some),
        }
    }

    /// True if the server writes on the history that [`Self::read_timeline`] gave last.
    pub(crate) fn keeps_timeline(&self) -> StoreResult<bool> {
        match self {
            Self::Sqlite(_) => Ok(true),
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => store.keeps_timeline(),
        }
    }

    /// The object store that the witnesses of this ledger lie in, which is this one where none was named before or it is named anew;
    /// `None` of a file, which keeps no such name.
    pub(crate) fn bind_evidence(&self, place: &str, anew: bool) -> StoreResult<Option<String>> {
        match self {
            Self::Sqlite(_) => {
                let _ = (place, anew);
                Ok(None)
            }
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => store.bind_evidence(place, anew).map(Some),
        }
    }

    /// Makes a change in one transaction: committed where `work` succeeds, else as if it had never begun. A store may have to begin
    /// anew, so `work` rests on nothing but what it reads in this turn.
    pub(crate) fn change_once<T, E: From<StoreFault>>(
        &self,
        mut work: impl FnMut(&LedgerChange<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        in_store!(self, store => store.change_in_turn(|| work(&LedgerChange { store: self })))
    }

    /// Starts a run in one step, with its entry, its row and its lease. `None` of a file, and of a server that refused: the steps one by
    /// one name the reason.
    pub(crate) fn start_run(&self, run: &RunStarted, body: &Value) -> StoreResult<Option<Position>> {
        match self {
            Self::Sqlite(_) => {
                let _ = (run, body);
                Ok(None)
            }
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => store.start_run(run, body),
        }
    }

    /// The last entry's place; [`Position::GENESIS`] when there is none.
    pub(crate) fn read_head(&self) -> StoreResult<Position> {
        in_store!(self, store => store.read_head())
    }

    /// Position of an entry.
    pub(crate) fn read_position(&self, seq: u64) -> StoreResult<Option<Position>> {
        in_store!(self, store => store.read_position(seq))
    }

    /// Every entry that names this run, in order.
    pub(crate) fn run_entries(&self, run_id: &RunId) -> StoreResult<Vec<StoredEntry>> {
        in_store!(self, store => store.run_entries(run_id))
    }

    /// The first entry of this kind that names this run.
    pub(crate) fn first_entry(&self, run_id: &RunId, kind: EntryKind) -> StoreResult<Option<StoredEntry>> {
        in_store!(self, store => store.first_entry(run_id, kind))
    }

    /// Every entry about this request, in order.
    pub(crate) fn request_entries(&self, request: Digest) -> StoreResult<Vec<StoredEntry>> {
        in_store!(self, store => store.request_entries(request))
    }

    /// Everything reserved and settled of models since a time, in order.
    pub(crate) fn model_entries(&self, since: Stamp) -> StoreResult<Vec<StoredEntry>> {
        in_store!(self, store => store.model_entries(since))
    }

    /// Entries of some kinds, in order; those of a time and later where one is given.
    pub(crate) fn entries_of(&self, kinds: &[EntryKind], since: Option<Stamp>) -> StoreResult<Vec<StoredEntry>> {
        in_store!(self, store => store.entries_of(kinds, since))
    }

    /// The latest time of the entries since time last went back.
    pub(crate) fn latest_time(&self) -> StoreResult<Option<Stamp>> {
        in_store!(self, store => store.latest_time())
    }

    /// Number of the entry by which time last went back; 0 if it never did.
    pub(crate) fn time_base(&self) -> StoreResult<u64> {
        in_store!(self, store => store.time_base())
    }

    /// The latest time of the entries between two, the second left out, that is later than a time.
    pub(crate) fn read_later_time(&self, from: u64, before: u64, than: Stamp) -> StoreResult<Option<Stamp>> {
        in_store!(self, store => store.read_later_time(from, before, than))
    }

    /// Row of a run.
    pub(crate) fn read_run(&self, run_id: &RunId) -> StoreResult<Option<RunRow>> {
        in_store!(self, store => store.read_run(run_id))
    }

    /// The next engine after a name, of all engines with runs.
    pub(crate) fn next_engine(&self, after: &str) -> StoreResult<Option<String>> {
        in_store!(self, store => store.next_engine(after))
    }

    /// The runs that were started last, newest first.
    pub(crate) fn recent_runs(&self, filter: &RunFilter, limit: usize) -> StoreResult<Vec<RunRow>> {
        in_store!(self, store => store.recent_runs(filter, limit))
    }

    /// Runs that match, at most `limit`, in any order.
    pub(crate) fn matching_runs(&self, wanted: &RunMatch<'_>, limit: usize) -> StoreResult<Vec<RunRow>> {
        in_store!(self, store => store.matching_runs(wanted, limit))
    }

    /// The run that was started `steps` before the newest; of one purpose where one is named.
    pub(crate) fn run_back(&self, purpose: Option<Purpose>, steps: u32) -> StoreResult<Option<RunRow>> {
        in_store!(self, store => store.run_back(purpose, steps))
    }

    /// Runs of a rung, newest first.
    pub(crate) fn rung_runs(&self, rung: &RungRuns<'_>, before: Option<u64>, limit: usize) -> StoreResult<Vec<RunRow>> {
        in_store!(self, store => store.rung_runs(rung, before, limit))
    }

    /// Runs of a task, newest first.
    pub(crate) fn task_runs(&self, task: TaskRuns<'_>, before: Option<u64>, limit: usize) -> StoreResult<Vec<RunRow>> {
        in_store!(self, store => store.task_runs(task, before, limit))
    }

    /// The first identity of an engine at a stage that comes after this one.
    pub(crate) fn next_identity(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        after: Option<&EngineIdentity>,
    ) -> StoreResult<Option<EngineIdentity>> {
        in_store!(self, store => store.next_identity(engine, purpose, stage, after))
    }

    /// Passes at a stage that were not collected, newest first.
    pub(crate) fn stage_passes(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        limit: usize,
    ) -> StoreResult<Vec<RunRow>> {
        in_store!(self, store => store.stage_passes(engine, purpose, stage, limit))
    }

    /// The newest identified run with the first model that comes after that of this identity.
    pub(crate) fn next_model(
        &self,
        engine: &str,
        purpose: Purpose,
        after: Option<&EngineIdentity>,
    ) -> StoreResult<Option<IdentifiedRun>> {
        in_store!(self, store => store.next_model(engine, purpose, after))
    }

    /// Governed passes from stage 5 on without a signed outcome, newest first.
    pub(crate) fn unanswered_runs(&self, limit: usize) -> StoreResult<Vec<RunRow>> {
        in_store!(self, store => store.unanswered_runs(limit))
    }

    /// Runs that are not sealed, oldest first.
    pub(crate) fn open_runs(&self) -> StoreResult<Vec<RunRow>> {
        in_store!(self, store => store.open_runs())
    }

    /// Rows of runs that lists passed over, since they cannot be read. A file is its home's own: there a list fails.
    pub(crate) fn unreadable_rows(&self) -> Vec<LedgerProblem> {
        match self {
            Self::Sqlite(_) => Vec::new(),
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => store.unreadable_rows(),
        }
    }

    /// Runs that entries between two places sealed.
    pub(crate) fn sealed_between(&self, after: u64, up_to: u64) -> StoreResult<Vec<RunRow>> {
        in_store!(self, store => store.sealed_between(after, up_to))
    }

    /// Shows every run, oldest first, one at a time.
    pub(crate) fn each_run(&self, show: impl FnMut(RunRow)) -> StoreResult<()> {
        in_store!(self, store => store.each_run(show))
    }

    /// Number of runs.
    pub(crate) fn count_runs(&self) -> StoreResult<u64> {
        in_store!(self, store => store.count_runs())
    }

    /// Runs that an entry of another kind than these names.
    pub(crate) fn runs_named_beside(&self, kinds: &[EntryKind]) -> StoreResult<BTreeSet<String>> {
        in_store!(self, store => store.runs_named_beside(kinds))
    }

    /// Lease of a run.
    pub(crate) fn read_lease(&self, run_id: &RunId) -> StoreResult<Option<Lease>> {
        in_store!(self, store => store.read_lease(run_id))
    }

    /// Renews a lease in a step of its own, and looks if the run is to stop.
    pub(crate) fn keep_lease(&self, run_id: &RunId, epoch: u64, lease: Duration, now: Stamp) -> StoreResult<LeaseBeat> {
        in_store!(self, store => store.keep_lease(run_id, epoch, lease, now))
    }

    /// The time by the database's own clock; that of the caller where it has none.
    pub(crate) fn read_clock(&self, now: Stamp) -> StoreResult<Stamp> {
        in_store!(self, store => store.read_clock(now))
    }

    /// Row of a run in the queue, in any state.
    pub(crate) fn read_queued(&self, run_id: &RunId) -> StoreResult<Option<QueuedRun>> {
        in_store!(self, store => store.read_queued(run_id))
    }

    /// Runs of the queue in the order in which they are taken; those that have ended last.
    pub(crate) fn list_queued(&self, ended: bool, limit: usize) -> StoreResult<Vec<QueuedRun>> {
        in_store!(self, store => store.list_queued(ended, limit))
    }

    /// A number that is another once the queue may have changed. Cheap enough to be asked many times a second.
    pub(crate) fn queue_mark(&self) -> StoreResult<u64> {
        in_store!(self, store => store.queue_mark())
    }

    /// The longest time for which a worker that found nothing need not ask again while the mark stays the same.
    pub(crate) fn queue_pause(&self, most: Duration) -> StoreResult<Duration> {
        in_store!(self, store => store.queue_pause(most))
    }

    /// Claims the run whose turn it is, in a transaction of its own: no two who ask get the same.
    pub(crate) fn claim_queued(&self, ask: &ClaimAsk) -> StoreResult<Option<QueuedRun>> {
        in_store!(self, store => store.claim_queued(ask))
    }

    /// Row of a request by its digest.
    pub(crate) fn read_request(&self, request: Digest) -> StoreResult<Option<RequestRow>> {
        in_store!(self, store => store.read_request(request))
    }

    /// Requests that nobody used, denied or revoked, newest first; `before` is the number of an entry.
    pub(crate) fn undecided_requests(&self, before: Option<u64>, limit: usize) -> StoreResult<Vec<RequestRow>> {
        in_store!(self, store => store.undecided_requests(before, limit))
    }

    /// Number of requests.
    pub(crate) fn count_requests(&self) -> StoreResult<u64> {
        in_store!(self, store => store.count_requests())
    }

    /// Requests, newest first; those of one task where one is named.
    pub(crate) fn recent_requests(&self, task_id: Option<&TaskId>, limit: usize) -> StoreResult<Vec<RequestRow>> {
        in_store!(self, store => store.recent_requests(task_id, limit))
    }

    /// Entries that come after this one, in order.
    pub(crate) fn entries_after(&self, seq: u64, limit: usize) -> StoreResult<Vec<StoredEntry>> {
        in_store!(self, store => store.entries_after(seq, limit))
    }

    /// Writes a whole copy as a file; `None` where the database cannot do that by itself.
    pub(crate) fn copy_to(&self, path: &Path) -> Option<StoreResult<()>> {
        match self {
            Self::Sqlite(store) => Some(store.copy_to(path)),
            #[cfg(feature = "fleet")]
            Self::Postgres(_) => None,
        }
    }

    /// Tells a replay every entry.
    pub(crate) fn tell_entries(&self, replay: &mut Replay) -> StoreResult<()> {
        in_store!(self, store => store.tell_entries(replay))
    }

    /// Gives a replay every entry and then every row, as of one moment, and what the database reports about its own state.
    pub(crate) fn tell_replay(&self, replay: &mut Replay) -> StoreResult<()> {
        in_store!(self, store => store.tell_replay(replay))
    }
}

/// The right to write: had inside of [`Store::change`] and nowhere else.
pub(crate) struct LedgerChange<'a> {
    pub(crate) store: &'a Store,
}

impl LedgerChange<'_> {
    /// Appends an entry that the caller has chained.
    pub(crate) fn insert_entry(&self, entry: &Hashed<'_>, hash: Digest) -> StoreResult<()> {
        in_store!(self.store, store => store.insert_entry(entry, hash))
    }

    /// Takes entries of another ledger as they stand; their rows are made by [`Self::make_rows`].
    pub(crate) fn copy_entries(&self, entries: &[StoredEntry]) -> StoreResult<()> {
        in_store!(self.store, store => store.copy_entries(entries))
    }

    /// Gives an empty ledger the name of the one that is copied into it.
    pub(crate) fn adopt_ledger(&self, id: &str) -> StoreResult<()> {
        in_store!(self.store, store => store.adopt_ledger(id))
    }

    /// Removes every row of runs and requests.
    pub(crate) fn clear_rows(&self) -> StoreResult<()> {
        in_store!(self.store, store => store.clear_rows())
    }

    /// Writes a row, in place of the run's earlier one if there is one.
    pub(crate) fn put_run(&self, run: &RunRow) -> StoreResult<()> {
        in_store!(self.store, store => store.put_run(run))
    }

    /// Adds one to the counter of runs.
    pub(crate) fn count_run(&self) -> StoreResult<()> {
        in_store!(self.store, store => store.count_run())
    }

    /// Writes a row, in place of the request's earlier one if there is one.
    pub(crate) fn put_request(&self, request: &RequestRow) -> StoreResult<()> {
        in_store!(self.store, store => store.put_request(request))
    }

    /// Notes the entry by which time went back.
    pub(crate) fn put_time_base(&self, seq: u64) -> StoreResult<()> {
        in_store!(self.store, store => store.put_time_base(seq))
    }

    /// Writes a lease, in place of the run's earlier one if there is one.
    pub(crate) fn put_lease(&self, run_id: &RunId, lease: &Lease) -> StoreResult<()> {
        in_store!(self.store, store => store.put_lease(run_id, lease))
    }

    /// Writes the row of a run that was just submitted.
    pub(crate) fn insert_queued(&self, run: &QueuedRun) -> StoreResult<()> {
        in_store!(self.store, store => store.insert_queued(run))
    }

    /// Writes the row of a queued run of another ledger as it is.
    pub(crate) fn copy_queued(&self, run: &QueuedRun) -> StoreResult<()> {
        in_store!(self.store, store => store.copy_queued(run))
    }

    /// Writes what a step of a queued run changed, and the time at which it started.
    pub(crate) fn put_turn(&self, run_id: &RunId, turn: &QueueTurn, started: Option<Stamp>) -> StoreResult<()> {
        in_store!(self.store, store => store.put_turn(run_id, turn, started))
    }

    /// Writes the earlier end of a claim.
    pub(crate) fn shorten_claim(&self, run_id: &RunId, turn: &QueueTurn) -> StoreResult<()> {
        in_store!(self.store, store => store.shorten_claim(run_id, turn))
    }

    /// Prolongs the lease of this epoch; false where there is none.
    pub(crate) fn renew_lease(&self, run_id: &RunId, epoch: u64, until: Stamp) -> StoreResult<bool> {
        in_store!(self.store, store => store.renew_lease(run_id, epoch, until))
    }

    /// Removes the lease of a run.
    pub(crate) fn remove_lease(&self, run_id: &RunId) -> StoreResult<()> {
        in_store!(self.store, store => store.remove_lease(run_id))
    }
}
