//! The time in which a run may do what cannot be taken back, on a lease that was just renewed.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::run::file::{RunFile, Stopped};

/// Measured by the clock that also counts the sleep of the machine, and shorter than the lease: a process that was stopped in between
/// finds it passed.
#[derive(Debug)]
pub(crate) struct LeaseDeadline {
    renewed: Duration,
    most: Duration,
}

/// Time since the machine was started, its sleep included. Nobody can set this clock.
fn read_boot_time() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl LeaseDeadline {
    /// Begins the time; the lease is renewed by the change that needs it.
    pub(crate) fn begin_now(run: &RunFile<'_>) -> Self {
        let most = if run.lease().is_some() { run.harness().lease / 2 } else { Duration::MAX };
        Self { renewed: read_boot_time(), most }
    }

    /// Renews the lease: others could take the run over once it has lapsed. Refused where somebody has.
    pub(crate) fn begin_lease(run: &RunFile<'_>) -> Result<Self, Stopped> {
        let deadline = Self::begin_now(run);
        let Some(lease) = run.lease() else { return Ok(deadline) };
        match run.harness().keep_lease(run.id(), lease.epoch).map_err(Stopped::Lease)?.is_held {
            true => Ok(deadline),
            false => Err(Stopped::LeaseDeadline),
        }
    }

    /// Refuses what comes too late.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        if read_boot_time().saturating_sub(self.renewed) < self.most { Ok(()) } else { Err(Stopped::LeaseDeadline) }
    }
}
