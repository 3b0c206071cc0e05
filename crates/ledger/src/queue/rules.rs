//! The steps of a queued run as pure functions, and the choice of the next one.

use contract::{Digest, RunId, Stamp};

use super::order::{ClaimAsk, QueueState, QueuedRun};

/// The part of a row that steps change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueTurn {
    pub state: QueueState,
    pub epoch: u64,
    pub owner: Option<Digest>,
    pub lease_until: Option<Stamp>,
    pub stopping: bool,
}

/// Reason why a step is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueueRefusal {
    #[error("it is not claimed")]
    NotClaimed,
    #[error("epoch {epoch} has passed, and {held} holds")]
    OldEpoch { epoch: u64, held: u64 },
    #[error("the claim has lapsed")]
    Lapsed,
}

/// Result of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelledTurn {
    /// It will not be started.
    Cancelled,
    /// It is started, and its worker is asked to end it.
    Stopping,
    /// Somebody has asked before.
    Before,
    /// It has ended.
    Over,
}

impl QueueTurn {
    /// State of a run that was just submitted.
    pub const SUBMITTED: Self =
        Self { state: QueueState::Queued, epoch: 0, owner: None, lease_until: None, stopping: false };

    /// Queues a claim again whose lease has ended; the epoch stays, so that the next claim is above it.
    #[must_use]
    pub fn lapse(self, now: Stamp) -> Self {
        match self.state == QueueState::Claimed && self.is_past(now) {
            true => Self { state: QueueState::Queued, owner: None, lease_until: None, ..self },
            false => self,
        }
    }

    /// Claims a run that waits.
    pub fn claim_run(self, owner: Digest, until: Stamp) -> Option<Self> {
        let claimed = || Self {
            state: QueueState::Claimed,
            epoch: self.epoch + 1,
            owner: Some(owner),
            lease_until: Some(until),
            ..self
        };
        (self.state == QueueState::Queued).then(claimed)
    }

    /// Starts a run under the epoch of its claim. From here on its lease is that of a live run.
    pub fn start_run(self, epoch: u64, now: Stamp) -> Result<Self, QueueRefusal> {
        self.check_claim(epoch)?;
        if self.is_past(now) {
            return Err(QueueRefusal::Lapsed);
        }
        Ok(Self { state: QueueState::Started, lease_until: None, ..self })
    }

    /// Refuses a step of a worker under another epoch than that of the claim that holds.
    fn check_claim(self, epoch: u64) -> Result<(), QueueRefusal> {
        match self.state {
            _ if self.epoch != epoch => Err(QueueRefusal::OldEpoch { epoch, held: self.epoch }),
            QueueState::Claimed => Ok(()),
            _ => Err(QueueRefusal::NotClaimed),
        }
    }

    /// Takes a claimed run out of the queue, by the word of the worker that claimed it.
    pub fn refuse_run(self, epoch: u64) -> Result<Self, QueueRefusal> {
        self.check_claim(epoch)?;
        Ok(self.cancel().0)
    }

    /// Ends a claim early: it lapses at `until`, if it would not lapse before.
    pub fn give_back(self, epoch: u64, until: Stamp) -> Result<Self, QueueRefusal> {
        self.check_claim(epoch)?;
        Ok(Self { lease_until: self.lease_until.map(|held| held.min(until)), ..self })
    }

    /// Ends the turn of a started run; whether its epoch holds is for the lease of the run to say.
    #[must_use]
    pub fn seal(self) -> Self {
        match self.state {
            QueueState::Started => Self { state: QueueState::Sealed, lease_until: None, ..self },
            _ => self,
        }
    }

    /// Takes a run out of the queue that nobody has started, or asks for the end of one that is started.
    #[must_use]
    pub fn cancel(self) -> (Self, CancelledTurn) {
        match self.state {
            QueueState::Queued | QueueState::Claimed => (
                Self { state: QueueState::Cancelled, owner: None, lease_until: None, ..self },
                CancelledTurn::Cancelled,
            ),
            QueueState::Started if self.stopping => (self, CancelledTurn::Before),
            QueueState::Started => (Self { stopping: true, ..self }, CancelledTurn::Stopping),
            QueueState::Sealed | QueueState::Cancelled => (self, CancelledTurn::Over),
        }
    }

    fn is_past(self, now: Stamp) -> bool {
        self.lease_until.is_none_or(|until| until <= now)
    }
}

/// The run whose turn it is for a worker, of all rows after their lapse: the highest priority first, then the oldest. `is_open` is true
/// for a run in no row that still goes on.
pub fn pick_turn<'a>(rows: &'a [QueuedRun], ask: &ClaimAsk, is_open: &dyn Fn(&RunId) -> bool) -> Option<&'a QueuedRun> {
    let fits = |run: &&QueuedRun| {
        run.state == QueueState::Queued
            && run.not_before.is_none_or(|time| time <= ask.now)
            && ask.engines.as_ref().is_none_or(|engines| engines.contains(&run.engine))
            && run.labels.iter().all(|label| ask.labels.contains(label))
            && run.after.as_ref().is_none_or(|after| !goes_on(rows, after, is_open))
            && is_target_free(rows, run)
            && is_within_limits(rows, run, ask)
    };
    rows.iter().filter(fits).min_by_key(|run| (std::cmp::Reverse(run.priority), run.seq))
}

fn goes_on(rows: &[QueuedRun], run_id: &RunId, is_open: &dyn Fn(&RunId) -> bool) -> bool {
    let row = rows.iter().find(|row| row.run_id == *run_id);
    row.map_or_else(|| is_open(run_id), |row| !row.state.has_ended())
}

fn is_target_free(rows: &[QueuedRun], run: &QueuedRun) -> bool {
    let keeps = |row: &&QueuedRun| row.state.is_active() && row.target_key == run.target_key;
    run.target_key.is_none() || !rows.iter().any(|row| keeps(&row))
}

fn is_within_limits(rows: &[QueuedRun], run: &QueuedRun, ask: &ClaimAsk) -> bool {
    let count = |counts: &dyn Fn(&QueuedRun) -> bool| rows.iter().filter(|row| counts(row)).count();
    let is_below = |count: usize, most: Option<&u32>| most.is_none_or(|most| count < *most as usize);
    let today = ask.now.to_string();
    let is_today = |row: &QueuedRun| {
        let started = row.started_at.map(|time| time.to_string());
        started.is_some_and(|time| time.get(..10) >= today.get(..10)) || row.state == QueueState::Claimed
    };
    is_below(count(&|row| row.state.is_active() && row.engine == run.engine), ask.limits.engines.get(&run.engine))
        && is_below(
            count(&|row| row.state.is_active() && row.workspace == run.workspace),
            ask.limits.workspace.as_ref(),
        )
        && is_below(count(&is_today), ask.limits.day.as_ref())
}
