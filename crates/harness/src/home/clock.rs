//! The run's one clock: wall time read once, monotonic time after that.

use std::time::{Duration, Instant, SystemTime};

use contract::Stamp;
use evidence::stop;

/// Times of a run never go backwards, whatever the machine's clock does meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    start: Stamp,
    /// Moment from which `now` counts.
    base: Stamp,
    began: Instant,
}

/// The wall clock is set to a moment that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system clock is before 1970 or beyond the year 9999")]
pub struct ReadClockError;

impl RunClock {
    /// Reads the wall clock, once. Everything later is measured by the monotonic clock, so
    /// that times of a run never go backwards.
    #[expect(clippy::disallowed_methods, reason = "the one door to the wall clock")]
    pub fn start_clock() -> Result<Self, ReadClockError> {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_err(|_| ReadClockError)?;
        let start = Stamp::from_unix(stop::set_off(since_epoch)).ok_or(ReadClockError)?;
        Ok(Self { start, base: start, began: Instant::now() })
    }

    /// Clock of a run that another process began: never earlier than `last`, the last
    /// moment it recorded.
    pub(crate) fn resume_at(start: Stamp, last: Stamp) -> Result<Self, ReadClockError> {
        let now = Self::start_clock()?;
        Ok(Self { start, base: now.base.max(last).max(start), ..now })
    }

    /// Start of the run.
    pub fn started(&self) -> Stamp {
        self.start
    }

    /// Current moment on the run's own clock.
    pub fn now(&self) -> Stamp {
        self.base.after(self.began.elapsed())
    }

    /// Since the run started.
    pub fn elapsed(&self) -> Duration {
        let micros = self.now().timestamp().as_microsecond() - self.start.timestamp().as_microsecond();
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }
}
