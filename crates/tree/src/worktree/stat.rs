//! Stats of files, and the conditions under which an equal stat proves equal content.

use std::os::fd::AsFd;

use rustix::fs::{Stat, fstatfs};

use crate::error::{Doing, TreeError};
use crate::object::listing::PathMode;

/// Wider than any kernel's clock tick.
const SLACK_NANOSECONDS: i128 = 100_000_000;

/// File systems that move ctime whenever content moves. tmpfs does not: a page that was
/// read through a shared mapping is written without a trace in mtime or ctime.
const HONEST: [u64; 5] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x794C_7630];

/// The part of `lstat` that changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStat {
    pub(crate) size: u64,
    /// Seconds and nanoseconds of the last change of content.
    pub(crate) mtime: (i64, u32),
    /// Seconds and nanoseconds of the last change of any kind; programs cannot set it.
    pub(crate) ctime: (i64, u32),
    pub(crate) inode: u64,
    /// Type and permission bits.
    pub(crate) mode: u32,
}

impl FileStat {
    /// The part of a stat by which a change shows.
    #[expect(clippy::unnecessary_cast, reason = "the integer types of stat differ between platforms")]
    pub(crate) fn of_stat(stat: &Stat) -> FileStat {
        FileStat {
            size: stat.st_size as u64,
            mtime: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            ctime: (stat.st_ctime as i64, stat.st_ctime_nsec as u32),
            inode: stat.st_ino as u64,
            mode: stat.st_mode as u32,
        }
    }

    /// Git's mode of a regular file with these permissions.
    pub(crate) fn regular_mode(&self) -> PathMode {
        if self.mode & 0o100 != 0 { PathMode::Executable } else { PathMode::File }
    }

    fn changed_at(&self) -> i128 {
        i128::from(self.ctime.0) * 1_000_000_000 + i128::from(self.ctime.1)
    }
}

/// Condition under which equal stats prove equal content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatTrust {
    honest: bool,
    newest: i128,
}

impl StatTrust {
    /// Trust that the file system below `root` permits; some do not keep honest times.
    pub(crate) fn trust_below(root: impl AsFd, at: &std::path::Path) -> Result<StatTrust, TreeError> {
        let kind = fstatfs(root).doing("asking for the file system of", at)?.f_type;
        Ok(StatTrust { honest: HONEST.contains(&(kind as u64)), newest: i128::MIN })
    }

    /// Restores a trust that was written with a manifest.
    pub(crate) fn from_parts(honest: bool, newest: i128) -> StatTrust {
        StatTrust { honest, newest }
    }

    /// Parts to write with a manifest.
    pub(crate) fn parts(&self) -> (bool, i128) {
        (self.honest, self.newest)
    }

    /// Notes a stat that was read. The newest ctime seen is not later than the reading, so
    /// a later change cannot get an older one: no clock is needed.
    pub(crate) fn note_stat(&mut self, stat: &FileStat) {
        self.newest = self.newest.max(stat.changed_at());
    }

    /// True if an unchanged stat of this file proves unchanged content.
    pub(crate) fn holds_for(&self, stat: &FileStat) -> bool {
        self.honest && stat.changed_at() < self.newest.saturating_sub(SLACK_NANOSECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_proves_content_only_if_it_is_older_than_a_tick_and_the_file_system_is_honest() {
        let at = |seconds, nanoseconds| FileStat {
            size: 1,
            mtime: (0, 0),
            ctime: (seconds, nanoseconds),
            inode: 1,
            mode: 0o100_644,
        };
        let trust = |honest| {
            let mut trust = StatTrust { honest, newest: i128::MIN };
            [at(90, 0), at(100, 500_000_000), at(95, 0)].iter().for_each(|stat| trust.note_stat(stat));
            trust
        };
        for (seconds, nanoseconds, honest, expected) in [
            (90, 0, true, true),
            (100, 399_999_999, true, true),
            (100, 400_000_000, true, false),
            (100, 500_000_000, true, false),
            (101, 0, true, false),
            (90, 0, false, false),
        ] {
            assert_eq!(
                trust(honest).holds_for(&at(seconds, nanoseconds)),
                expected,
                "{seconds}.{nanoseconds} {honest}"
            );
        }
    }
}
