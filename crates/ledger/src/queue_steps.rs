//! Steps of runs in the queue: each is one change of the store, with the entry that says so.

use std::time::Duration;

use contract::{RunId, Stamp, Status};
use serde_json::{Value, json};

use crate::entry::Position;
use crate::kind::EntryKind;
use crate::queue::{CancelledTurn, ClaimAsk, QueueOrder, QueueRefusal, QueueTurn, QueuedRun};
use crate::read::{ReadLedgerError, parse_entries};
use crate::store::{Ledger, LedgerChange};
use crate::write::{AppendEntryError, RunSealed};

impl Ledger {
    /// Puts a run into the queue. The run's id is taken from now on.
    pub fn queue_submitted(&self, order: &QueueOrder, time: Stamp) -> Result<Position, AppendEntryError> {
        let body = serde_json::to_value(order)?;
        self.store.change_once(|change| {
            let (queued, run) = (change.store.read_queued(&order.run_id)?, change.store.read_run(&order.run_id)?);
            if queued.is_some() || run.is_some() {
                return Err(AppendEntryError::AlreadyStarted { run_id: order.run_id.clone() });
            }
            let position = change.push_entry(EntryKind::QueueSubmitted, None, time, &body)?;
            change.insert_queued(&QueuedRun::submitted(order, position.seq, time))?;
            Ok(position)
        })
    }

    /// Takes the run whose turn it is, if there is one for this worker. Claims that have lapsed are queued again first.
    pub fn queue_claimed(&self, ask: &ClaimAsk) -> Result<Option<QueuedRun>, AppendEntryError> {
        Ok(self.store.claim_queued(ask)?)
    }

    /// A number that is another once somebody may have changed the queue: a worker that waits asks again then.
    pub fn queue_mark(&self) -> Result<u64, ReadLedgerError> {
        Ok(self.store.queue_mark()?)
    }

    /// The longest time, and at most `most`, for which a worker that found nothing need not ask again while the mark stays the same.
    pub fn queue_pause(&self, most: Duration) -> Result<Duration, ReadLedgerError> {
        Ok(self.store.queue_pause(most)?)
    }

    /// The order of a queued run, as the entry that submitted it has it.
    pub fn queue_order(&self, run: &QueuedRun) -> Result<QueueOrder, ReadLedgerError> {
        let unreadable = || ReadLedgerError::Entry { seq: run.seq };
        let stored = self.store.entries_after(run.seq.saturating_sub(1), 1)?;
        let entry = parse_entries(stored)?.into_iter().next().filter(|entry| entry.is_kind(EntryKind::QueueSubmitted));
        let order: QueueOrder = serde_json::from_value(entry.ok_or_else(unreadable)?.body).map_err(|_| unreadable())?;
        if order.run_id == run.run_id { Ok(order) } else { Err(unreadable()) }
    }

    /// Queues the repetition of a run that is sealed now, where its order asks for one and nobody has cancelled it. Saying the same again
    /// changes nothing.
    pub(crate) fn repeat_sealed(&self, sealed: &RunSealed) -> Result<Option<QueueOrder>, AppendEntryError> {
        if sealed.seal.status == Status::Pass {
            return Ok(None);
        }
        let ended = self.queue_run(&sealed.run_id).ok().flatten().filter(|run| !run.stopping);
        let order = ended.and_then(|run| self.queue_order(&run).ok());
        let Some(next) = order.and_then(|order| order.next_attempt(sealed.seal.finished_at, &sealed.seal.reasons))
        else {
            return Ok(None);
        };
        self.queue_submitted(&next, sealed.time)?;
        Ok(Some(next))
    }

    /// One run of the queue.
    pub fn queue_run(&self, run_id: &RunId) -> Result<Option<QueuedRun>, ReadLedgerError> {
        Ok(self.store.read_queued(run_id)?)
    }

    /// Runs of the queue that have not ended, in the order in which they are taken; with `ended` also those that have, newest first
    /// and after the others.
    pub fn queue_runs(&self, ended: bool, limit: usize) -> Result<Vec<QueuedRun>, ReadLedgerError> {
        Ok(self.store.list_queued(ended, limit)?)
    }

    /// Takes a run out of the queue, or asks the worker that runs it to stop; `detail` says who and why.
    pub fn queue_cancelled(
        &self,
        run_id: &RunId,
        time: Stamp,
        detail: &Value,
    ) -> Result<CancelledTurn, AppendEntryError> {
        self.store.change_once(|change| {
            let Some(run) = change.store.read_queued(run_id)? else {
                return Err(AppendEntryError::NotStarted { run_id: run_id.clone() });
            };
            let (turn, outcome) = run.turn().cancel();
            if matches!(outcome, CancelledTurn::Over | CancelledTurn::Before) {
                return Ok(outcome);
            }
            let body = json!({"detail": detail, "run_id": run_id});
            change.push_entry(EntryKind::QueueCancelled, None, time, &body)?;
            change.put_turn(run_id, &turn, None)?;
            Ok(outcome)
        })
    }

    /// Takes a run out of the queue that a worker claimed under this epoch and cannot run. An epoch that no longer holds takes nothing out.
    pub fn queue_refused(
        &self,
        run_id: &RunId,
        epoch: u64,
        time: Stamp,
        detail: &Value,
    ) -> Result<(), AppendEntryError> {
        let body = json!({"detail": detail, "epoch": epoch, "run_id": run_id});
        self.store.change_once(|change| {
            let turn = change.claimed_turn(run_id, |turn| turn.refuse_run(epoch))?;
            change.push_entry(EntryKind::QueueCancelled, None, time, &body)?;
            Ok(change.put_turn(run_id, &turn, None)?)
        })
    }

    /// Lets a claim of this epoch lapse after a pause, so that the run is soon queued again.
    pub fn queue_given_back(
        &self,
        run_id: &RunId,
        epoch: u64,
        now: Stamp,
        pause: Duration,
    ) -> Result<(), AppendEntryError> {
        self.store.change_once(|change| {
            let until = change.store.read_clock(now)?.after(pause);
            let turn = change.claimed_turn(run_id, |turn| turn.give_back(epoch, until))?;
            Ok(change.shorten_claim(run_id, &turn)?)
        })
    }

    /// True where somebody has asked a started run of the queue to stop.
    pub fn queue_stopping(&self, run_id: &RunId) -> Result<bool, ReadLedgerError> {
        Ok(self.store.read_queued(run_id)?.is_some_and(|run| run.stopping))
    }

    /// Records that a step under an epoch that no longer holds was refused.
    pub fn late_refused(
        &self,
        run_id: &RunId,
        epoch: u64,
        time: Stamp,
        detail: &Value,
    ) -> Result<Position, AppendEntryError> {
        let body = json!({"detail": detail, "epoch": epoch, "run_id": run_id});
        self.store.change_once(|change| change.push_entry(EntryKind::LateRefused, None, time, &body))
    }

    /// The time by the clock of the store: that of a server where the ledger lies on one, else the caller's.
    pub fn store_time(&self, now: Stamp) -> Result<Stamp, ReadLedgerError> {
        Ok(self.store.read_clock(now)?)
    }
}

impl LedgerChange<'_> {
    /// Lets a run start: one of the queue under the epoch of its claim, every other one under none.
    pub(crate) fn start_queued(&self, run_id: &RunId, epoch: Option<u64>, time: Stamp) -> Result<(), AppendEntryError> {
        let refuse = |why| AppendEntryError::TurnRefused { run_id: run_id.clone(), why };
        let now = self.store.read_clock(time)?;
        match (self.store.read_queued(run_id)?, epoch) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(refuse(QueueRefusal::NotClaimed)),
            (Some(run), epoch) => {
                let turn = run.turn().start_run(epoch.unwrap_or_default(), now).map_err(refuse)?;
                Ok(self.put_turn(run_id, &turn, Some(now))?)
            }
        }
    }

    /// The turn of a run after a step of the worker that claimed it.
    fn claimed_turn(
        &self,
        run_id: &RunId,
        step: impl FnOnce(QueueTurn) -> Result<QueueTurn, QueueRefusal>,
    ) -> Result<QueueTurn, AppendEntryError> {
        let run = self.store.read_queued(run_id)?;
        let run = run.ok_or_else(|| AppendEntryError::NotStarted { run_id: run_id.clone() })?;
        step(run.turn()).map_err(|why| AppendEntryError::TurnRefused { run_id: run_id.clone(), why })
    }

    /// Ends the turn of a run that is sealed, where it has one.
    pub(crate) fn seal_queued(&self, run_id: &RunId) -> Result<(), AppendEntryError> {
        match self.store.read_queued(run_id)? {
            Some(run) => Ok(self.put_turn(run_id, &run.turn().seal(), None)?),
            None => Ok(()),
        }
    }
}
