//! Detection of an idle engine: no output, no model request and no changed file for a time
//! is reported while it lasts.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Stat, fstat};
use untrusted_fs::{Bounds, Met, Next, open_root, walk};

/// Idle time before it is reported, unless the configuration says otherwise.
pub(super) const AFTER: Duration = Duration::from_secs(60);
/// Upper bound on the files that are checked for a change; a larger tree is judged by
/// these.
const MOST_FILES: u64 = 20_000;
/// Time limit for checking all of them.
const MOST_TIME: Duration = Duration::from_secs(2);

/// Seconds and nanoseconds since the epoch, as the file system has them.
type Time = (i64, u64);

/// Last sign of life of an engine.
#[derive(Debug)]
pub(super) struct Idle {
    after: Duration,
    /// Folders that it writes to.
    places: Vec<PathBuf>,
    newest: Option<Time>,
    /// On the run's clock.
    last: Duration,
    told: bool,
}

impl Idle {
    /// Starts watching at time `at` of the run's clock.
    pub(super) fn new(after: Duration, places: Vec<PathBuf>, at: Duration) -> Self {
        let newest = newest(&places);
        Self { after, places, newest, last: at, told: false }
    }

    /// Something was seen.
    pub(super) fn note_activity(&mut self, at: Duration) {
        (self.last, self.told) = (at, false);
    }

    /// Seconds without activity, once for each such period. Files are checked only if
    /// everything else was silent.
    pub(super) fn look_for_silence(&mut self, at: Duration) -> Option<u64> {
        let silent = at.saturating_sub(self.last);
        if self.told || silent < self.after {
            return None;
        }
        let newest = newest(&self.places);
        if newest != self.newest {
            self.newest = newest;
            self.note_activity(at);
            return None;
        }
        self.told = true;
        Some(silent.as_secs())
    }
}

fn newest(places: &[PathBuf]) -> Option<Time> {
    let mut bounds = Bounds { entries: MOST_FILES, ..Bounds::within(MOST_TIME) };
    places.iter().filter_map(|place| newest_below(place, &mut bounds)).max()
}

fn newest_below(place: &Path, bounds: &mut Bounds) -> Option<Time> {
    let root = open_root(place).ok()?;
    let mut newest = modified(&fstat(&root).ok()?);
    let mut met = 0;
    let walked = walk::<Infallible>(root, bounds, |next| {
        if let Met::Entry(entry) = next {
            met += 1;
            newest = newest.max(modified(entry.stat));
        }
        Ok(Next::Enter)
    });
    let _ = walked;
    bounds.entries = bounds.entries.saturating_sub(met);
    Some(newest)
}

fn modified(stat: &Stat) -> Time {
    (stat.st_mtime, stat.st_mtime_nsec)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn nothing_for_a_time_is_told_once_and_again_after_a_stir() {
        let place = tempfile::tempdir().unwrap();
        let seconds = Duration::from_secs;
        let mut idle = Idle::new(seconds(10), vec![place.path().to_owned()], seconds(0));
        assert_eq!(idle.look_for_silence(seconds(9)), None);
        assert_eq!(idle.look_for_silence(seconds(10)), Some(10));
        assert_eq!(idle.look_for_silence(seconds(30)), None, "once");
        idle.note_activity(seconds(31));
        assert_eq!(idle.look_for_silence(seconds(40)), None);
        untrusted_fs::own_files::write_file(place.path().join("a"), "x").unwrap();
        assert_eq!(idle.look_for_silence(seconds(41)), None, "a file changed");
        assert_eq!(idle.look_for_silence(seconds(51)), Some(10));
    }
}
