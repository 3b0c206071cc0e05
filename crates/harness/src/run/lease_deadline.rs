//! The time in which a run may do what cannot be taken back, on a lease that was just renewed.

use std::time::{Duration, Instant};

use crate::run::file::{RunFile, Stopped};

/// Measured by the monotonic clock, and shorter than the lease: a process that was stopped in between finds it passed.
#[derive(Debug)]
pub(crate) struct LeaseDeadline {
    renewed: Instant,
    most: Duration,
}

impl LeaseDeadline {
    /// Renews the lease: others could take the run over once it has lapsed. Refused where somebody has.
    pub(crate) fn begin_lease(run: &RunFile<'_>) -> Result<Self, Stopped> {
        let deadline = Self { renewed: Instant::now(), most: run.harness.lease / 2 };
        let Some(lease) = run.lease else {
            return Ok(Self { most: Duration::MAX, ..deadline });
        };
        match run.harness.keep_lease(run.id(), lease.epoch).map_err(Stopped::Lease)?.is_held {
            true => Ok(deadline),
            false => Err(Stopped::LeaseDeadline),
        }
    }

    /// Refuses what comes too late.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        if self.renewed.elapsed() < self.most { Ok(()) } else { Err(Stopped::LeaseDeadline) }
    }
}
