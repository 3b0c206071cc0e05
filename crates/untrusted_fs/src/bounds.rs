//! Limits on reading files that somebody else made.

use std::time::{Duration, Instant};

/// Limits in bytes, entries, depth and time. Every call of this crate ends within them.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes that are read, counted as they come: neither a sparse nor a growing file has more.
    pub bytes: u64,
    /// Names that are met.
    pub entries: u64,
    /// Directories within each other.
    pub depth: usize,
    pub until: Instant,
}

impl Bounds {
    /// Bounds in time alone.
    pub fn within(time: Duration) -> Self {
        // A time that no clock reaches is as good as an hour.
        let now = Instant::now();
        let until = now.checked_add(time).or_else(|| now.checked_add(Duration::from_secs(3600))).unwrap_or(now);
        Self { bytes: u64::MAX, entries: u64::MAX, depth: usize::MAX, until }
    }

    /// True once the deadline has passed.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}
