//! An engine that does nothing is told of while it does nothing: no output, no model request and no changed file for a time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long, unless the configuration says otherwise.
pub(super) const AFTER: Duration = Duration::from_secs(60);
/// Files that are looked at for a change; a larger tree is judged by these.
const MOST_FILES: usize = 20_000;

/// What was last seen of an engine.
#[derive(Debug)]
pub(super) struct Idle {
    after: Duration,
    /// Where it writes.
    places: Vec<PathBuf>,
    newest: Option<SystemTime>,
    /// On the run's clock.
    last: Duration,
    told: bool,
}

impl Idle {
    pub(super) fn new(after: Duration, places: Vec<PathBuf>, at: Duration) -> Self {
        let newest = newest(&places);
        Self { after, places, newest, last: at, told: false }
    }

    /// Something was seen.
    pub(super) fn stir(&mut self, at: Duration) {
        (self.last, self.told) = (at, false);
    }

    /// Seconds of nothing, once for each stretch of it. Files are looked at only when everything else was silent.
    pub(super) fn look(&mut self, at: Duration) -> Option<u64> {
        let silent = at.saturating_sub(self.last);
        if self.told || silent < self.after {
            return None;
        }
        let newest = newest(&self.places);
        if newest != self.newest {
            self.newest = newest;
            self.stir(at);
            return None;
        }
        self.told = true;
        Some(silent.as_secs())
    }
}

fn newest(places: &[PathBuf]) -> Option<SystemTime> {
    let mut left = MOST_FILES;
    places.iter().filter_map(|place| newest_below(place, &mut left)).max()
}

fn newest_below(path: &Path, left: &mut usize) -> Option<SystemTime> {
    *left = left.checked_sub(1)?;
    let stat = fs::symlink_metadata(path).ok()?;
    let own = stat.modified().ok();
    if !stat.is_dir() {
        return own;
    }
    let below = fs::read_dir(path).ok()?.flatten().filter_map(|entry| newest_below(&entry.path(), left)).max();
    own.max(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_for_a_time_is_told_once_and_again_after_a_stir() {
        let place = tempfile::tempdir().unwrap();
        let seconds = Duration::from_secs;
        let mut idle = Idle::new(seconds(10), vec![place.path().to_owned()], seconds(0));
        assert_eq!(idle.look(seconds(9)), None);
        assert_eq!(idle.look(seconds(10)), Some(10));
        assert_eq!(idle.look(seconds(30)), None, "once");
        idle.stir(seconds(31));
        assert_eq!(idle.look(seconds(40)), None);
        fs::write(place.path().join("a"), "x").unwrap();
        assert_eq!(idle.look(seconds(41)), None, "a file changed");
        assert_eq!(idle.look(seconds(51)), Some(10));
    }
}
