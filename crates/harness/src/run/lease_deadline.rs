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
    /// Begins the time; the lease is renewed by the change that needs it.
    pub(crate) fn begin_now(run: &RunFile<'_>) -> Self {
        let most = if run.lease.is_some() { run.harness.lease / 2 } else { Duration::MAX };
        Self { renewed: Instant::now(), most }
    }

    /// Renews the lease: others could take the run over once it has lapsed. Refused where somebody has.
    pub(crate) fn begin_lease(run: &RunFile<'_>) -> Result<Self, Stopped> {
        let deadline = Self::begin_now(run);
        let Some(lease) = run.lease else { return Ok(deadline) };
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
