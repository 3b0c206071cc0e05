//! The rules again, oldest first: a run raises the rung, lowers it, makes it wait, or leaves it as it is.

use contract::approval::OutcomeVerdict;
use contract::{Purpose, Reason, Stage, Status};

use super::super::RungStatus;
use super::{PINS, Past, Pin, STAGES};

/// Reasons that count against a rung whatever the status is, beside a failure for any reason.
pub(super) const AGAINST: [Reason; 4] =
    [Reason::Timeout, Reason::LifecycleTimeoutAfterValidPatch, Reason::BudgetExceeded, Reason::ReviewerRejected];

/// True for a run that speaks against its rung, if no bundle clears the rung of it.
pub(super) fn speaks_against(past: &Past) -> bool {
    let is_failure = past.status == Status::Fail && past.reason != Some(Reason::HarnessInterrupted);
    is_failure || past.reason.is_some_and(|reason| AGAINST.contains(&reason))
}

/// The state of a rung while the history is read.
#[derive(Default)]
struct Standing {
    passes: usize,
    lost: bool,
    waits: bool,
}

pub(super) fn model_status(history: &[Past], pin: Pin, stage: Stage, required: usize) -> RungStatus {
    let counts = |past: &&Past| past.stage == stage && past.purpose == Purpose::Governed && past.is_sealed;
    let mut standing = Standing::default();
    for past in history.iter().filter(counts).filter(|past| past.pin == pin) {
        standing.take(past, stage);
    }
    match (standing.waits, standing.passes) {
        (true, _) => RungStatus::Blocked,
        (false, passes) if passes >= required => RungStatus::Validated,
        (false, passes) if passes > 0 || standing.lost => RungStatus::Blocked,
        _ if PINS.into_iter().any(|other| other != pin && is_proven(history, other, stage)) => RungStatus::Stale,
        _ => RungStatus::NotStarted,
    }
}

impl Standing {
    fn take(&mut self, past: &Past, stage: Stage) {
        let is_exempt = is_readable(past) && past.is_exempt();
        let earns_nothing = is_readable(past) && past.earns_nothing();
        let is_rejected = past.outcome == Some(OutcomeVerdict::Rejected) && stage == STAGES[1];
        let falls = match past.status {
            _ if past.is_deleted => true,
            Status::Pass if past.is_collected => false,
            Status::Pass => past.is_damaged || is_rejected && !earns_nothing,
            _ => speaks_against(past) && !is_exempt,
        };
        let is_pass = past.status == Status::Pass && is_readable(past) && !earns_nothing && !falls;
        if falls {
            *self = Self { passes: 0, lost: true, waits: false };
        } else if is_pass && stage == STAGES[1] && past.outcome.is_none() {
            self.waits = true;
        } else if is_pass {
            (self.passes, self.waits) = (self.passes + 1, false);
        }
    }
}

fn is_readable(past: &Past) -> bool {
    !past.is_deleted && !past.is_collected && !past.is_damaged
}

/// True if a pass of this pin can be read, and no pass of it that is gone or damaged is newer.
fn is_proven(history: &[Past], pin: Pin, stage: Stage) -> bool {
    let of = |past: &&Past| past.stage == stage && past.pin == pin && past.purpose == Purpose::Governed;
    let passes = history.iter().filter(of).filter(|past| past.is_sealed && past.status == Status::Pass);
    passes.fold(false, |proven, past| match past {
        past if past.is_collected => proven,
        past if !is_readable(past) => false,
        past if past.earns_nothing() => proven,
        _ => true,
    })
}
