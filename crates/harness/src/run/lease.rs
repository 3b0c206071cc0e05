//! The lease on a live run: renewed while the run works, so that other instances on the same ledger leave it alone.
//!
//! Within one home a live run is known by its lock, which the kernel releases. Between homes there is no such lock: a run belongs to the
//! instance that started it until its lease has lapsed, wherever the ledger lies. Then any other may seal it as interrupted. A run that
//! wakes up after that has lost: its sandbox is ended, and its evidence is kept under `late/` and counts for nothing.
//!
//! The name of an instance is no proof that a run is ours: machines made from one image can bear the same. So a lease that holds is left
//! alone where the run began in another boot or another space of processes, and every step of a takeover raises the epoch.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use contract::start_detail::HostDetail;
use contract::{Digest, RunId, Stamp};
use evidence::names;
use ledger::{EntryKind, FIRST_EPOCH, Lease, LeaseBeat, OpenRun, RunRow};
use serde::Deserialize;
use untrusted_fs::own_files;

use crate::home::cause::ErrorCause;
use crate::home::clock::{ReadClockError, RunClock};
use crate::home::host::describe_host;
use crate::run::harness::Harness;
use crate::run::stop_run::ask_run_to_stop;

/// The time a lease lasts when nobody renews it.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// Renewals in the time of one lease, so that a late one or two lose nothing.
const RENEWALS: u32 = 4;

/// The claim of this process on a live run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldLease {
    pub(crate) owner: Digest,
    pub(crate) epoch: u64,
}

/// The claim of a worker on a run of the queue: the id that it was submitted under, and the epoch of the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedTurn {
    pub run_id: RunId,
    pub epoch: u64,
}

impl HeldLease {
    /// The lease of a run that this instance starts: under the epoch of its claim, where it comes from the queue.
    pub(crate) fn first(harness: &Harness, turn: Option<&ClaimedTurn>) -> Self {
        Self { owner: harness.instance, epoch: turn.map_or(FIRST_EPOCH, |turn| turn.epoch) }
    }
}

/// The state of a run that the ledger calls running, as seen from this home.
pub(crate) enum RunOwnership {
    /// To this home, by a lease or because nobody else can have it.
    Here(Option<HeldLease>),
    /// To another instance that still renews its lease.
    Elsewhere,
    /// Taken over just now from an instance whose lease has lapsed.
    TakenOver(HeldLease),
}

/// Finds out to whom an open run belongs that has no folder here, and takes over one whose lease has lapsed. A lease that holds is
/// another's wherever the ledger lies, also under our own name if another machine has begun the run. `is_quiet` says that nobody has
/// renewed it while we looked.
pub(crate) fn belongs(harness: &Harness, run: &OpenRun, is_quiet: bool) -> Result<RunOwnership, ErrorCause> {
    let owner = harness.instance;
    match run.lease {
        Some(lease) if lease.owner == owner && began_here(harness, &run.row.run_id)? => {
            Ok(RunOwnership::Here(Some(HeldLease { owner, epoch: lease.epoch })))
        }
        Some(_) if !is_quiet => Ok(RunOwnership::Elsewhere),
        Some(_) => take_over_lapsed(harness, &run.row.run_id),
        // Older than leases, or restored: nobody can say that it has lapsed.
        None if run.row.owner != Some(owner) && harness.home.shares_ledger() => Ok(RunOwnership::Elsewhere),
        None => Ok(RunOwnership::Here(None)),
    }
}

/// The same of a run whose folder and lock are here. Its lease bears another name after the home was moved or restored; then the home
/// that it was before, or was copied from, may still work on it. So may a machine that bears our name and has taken the run over.
pub(crate) fn belongs_by_folder(harness: &Harness, run_id: &RunId) -> Result<RunOwnership, ErrorCause> {
    let lease = harness.ledger().lease(run_id)?;
    match lease {
        Some(lease) if harness.home.shares_ledger() && !is_as_begun(harness, run_id, &lease)? => {
            if is_lost(harness, run_id) || !is_quiet(harness, run_id, &lease)? {
                Ok(RunOwnership::Elsewhere)
            } else {
                take_over_lapsed(harness, run_id)
            }
        }
        held => Ok(RunOwnership::Here(held.map(|lease| HeldLease { owner: lease.owner, epoch: lease.epoch }))),
    }
}

/// True of the lease that a run of this instance got when it began.
fn is_as_begun(harness: &Harness, run_id: &RunId, lease: &Lease) -> Result<bool, ErrorCause> {
    let intent = read_intent(harness, run_id)?;
    let first = intent.epoch.unwrap_or(FIRST_EPOCH);
    Ok(lease.owner == harness.instance && lease.epoch == first)
}

/// True of a run that began in this boot of this machine, and in this space of processes. A program that did not say so counts as another's.
fn began_here(harness: &Harness, run_id: &RunId) -> Result<bool, ErrorCause> {
    let intent = read_intent(harness, run_id)?;
    Ok(intent.detail == describe_host())
}

/// Body of the entry that starts a run, as far as leases need it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LeaseIntent {
    epoch: Option<u64>,
    detail: HostDetail,
}

/// Body of the entry that started the run; an empty one if there is none that can be read.
fn read_intent(harness: &Harness, run_id: &RunId) -> Result<LeaseIntent, ErrorCause> {
    let entries = harness.ledger().run_entries(run_id)?;
    let started = entries.iter().find(|entry| entry.is_kind(EntryKind::RunStarted));
    Ok(started.and_then(|entry| LeaseIntent::deserialize(&entry.body).ok()).unwrap_or_default())
}

/// False where somebody renews a lease that looks lapsed by our clock: theirs was set, or has slept. The clock of a server is one for all.
fn is_quiet(harness: &Harness, run_id: &RunId, lease: &Lease) -> Result<bool, ErrorCause> {
    wait_for_renewals(harness, &[*lease])?;
    Ok(harness.ledger().lease(run_id)?.as_ref() == Some(lease))
}

/// Gives the holder of one of these leases, if it has lapsed by our clock, the time to renew it.
pub(crate) fn wait_for_renewals(harness: &Harness, leases: &[Lease]) -> Result<(), ErrorCause> {
    let now = RunClock::start_clock()?.started();
    if harness.home.ledger_place().as_file().is_some() && leases.iter().any(|lease| lease.until <= now) {
        std::thread::sleep(harness.lease / RENEWALS + harness.lease / (2 * RENEWALS));
    }
    Ok(())
}

fn take_over_lapsed(harness: &Harness, run_id: &RunId) -> Result<RunOwnership, ErrorCause> {
    let owner = harness.instance;
    let now = harness.ledger().store_time(RunClock::start_clock()?.started())?;
    let taken = harness.ledger().lease_taken_over(run_id, owner, now, now.after(harness.lease));
    Ok(taken?.map_or(RunOwnership::Elsewhere, |epoch| RunOwnership::TakenOver(HeldLease { owner, epoch })))
}

/// True where another instance has taken the run over, or has sealed it. The instance that began it is none: this home may have been
/// that before it was moved.
pub(crate) fn is_lost(harness: &Harness, run_id: &RunId) -> bool {
    let ledger = harness.ledger();
    let Ok(ledger::FoundRuns::One(row)) = ledger.run_find(run_id.as_str()) else { return false };
    if row.sealed_seq.is_some() {
        return !is_sealed_here(harness, &row);
    }
    let is_other = |owner: Digest| owner != harness.instance;
    matches!(ledger.lease(run_id), Ok(Some(lease)) if is_other(lease.owner) && Some(lease.owner) != row.owner)
}

/// The same for a run of this very process, which knows the epoch of its lease: another machine may bear our name.
pub(crate) fn has_lost_epoch(harness: &Harness, run_id: &RunId, epoch: u64) -> bool {
    let held = harness.ledger().lease(run_id);
    matches!(held, Ok(Some(lease)) if lease.epoch > epoch) || is_lost(harness, run_id)
}

/// True if the bundle that the ledger names is the one that lies here.
fn is_sealed_here(harness: &Harness, row: &RunRow) -> bool {
    let attestation = harness.home.bundles().bundle_dir(&row.run_id).join(names::ATTESTATION);
    own_files::read_file(attestation).is_ok_and(|bytes| row.attestation_sha256 == Some(Digest::of_bytes(&bytes)))
}

impl Harness {
    /// The end of a lease that begins now, by the clock of the ledger's server where it has one. A caller that holds the ledger must
    /// not ask.
    pub(crate) fn lease_end(&self) -> Result<Stamp, ReadClockError> {
        let now = RunClock::start_clock()?.started();
        Ok(self.ledger().store_time(now).unwrap_or(now).after(self.lease))
    }

    /// Does the work while the run's lease is renewed; `lost` is called once if it belongs to somebody else. A run that is cancelled in
    /// the queue is asked to stop, as by `cto stop`.
    pub(crate) fn keeping_lease<T>(
        &self,
        run_id: &RunId,
        epoch: u64,
        lost: impl FnOnce() + Send,
        work: impl FnOnce() -> T,
    ) -> T {
        std::thread::scope(|scope| {
            // Dropped when the work is done, so that nobody waits for the next renewal.
            let (working, ended) = channel::<()>();
            scope.spawn(move || {
                while ended.recv_timeout(self.lease / RENEWALS) == Err(RecvTimeoutError::Timeout) {
                    // What cannot be asked now is asked again; only the ledger's own word ends the run.
                    let Ok(beat) = self.keep_lease(run_id, epoch) else { continue };
                    if !beat.is_held && has_lost_epoch(self, run_id, epoch) {
                        return lost();
                    }
                    if beat.is_stopping {
                        let _ = ask_run_to_stop(&self.home, run_id);
                    }
                }
            });
            let done = work();
            drop(working);
            done
        })
    }

    /// The same for work after the end of a run, whose lease is renewed at once.
    pub(crate) fn keeping_lease_now<T>(&self, run_id: &RunId, epoch: u64, work: impl FnOnce() -> T) -> T {
        let _ = self.keep_lease(run_id, epoch);
        self.keeping_lease(run_id, epoch, || {}, work)
    }

    /// Renews the lease of a run.
    pub(crate) fn keep_lease(&self, run_id: &RunId, epoch: u64) -> Result<LeaseBeat, ErrorCause> {
        let now = RunClock::start_clock()?.started();
        Ok(self.ledger().lease_kept(run_id, epoch, self.lease, now)?)
    }
}
