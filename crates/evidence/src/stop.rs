//! Places before and after every effect of a run, at which a test build can be stopped dead
//! or robbed of its disk. In any other build nothing is here.
//!
//! `CTO_STOP_LIST=FILE` writes down the places as they are passed, `CTO_STOP_AT=PLACE` and
//! `CTO_STOP_DO` say what happens at one of them: `kill`; `fill:FOLDER`, which fills the
//! file system of the folder; or `wait:FILE`, which makes `FILE.here` and goes on once
//! there is `FILE`. `CTO_CLOCK_OFFSET=SECONDS` sets the wall clock off, back where it is
//! negative. `CTO_DEFECT=NAME,NAME` plants named defects, so that a test sees who notices
//! them.

/// Passes a place.
#[cfg(not(feature = "stop-points"))]
#[inline]
pub fn pass_place(_: &str) {}

/// The wall clock, since 1970.
#[cfg(not(feature = "stop-points"))]
#[inline]
pub fn set_off(clock: std::time::Duration) -> std::time::Duration {
    clock
}

/// True if a test build has been given this defect.
#[cfg(not(feature = "stop-points"))]
#[inline]
pub fn has_defect(_: &str) -> bool {
    false
}

#[cfg(feature = "stop-points")]
pub use stoppable::{has_defect, pass_place, set_off};

#[cfg(feature = "stop-points")]
mod stoppable {
    use std::fs::{File, OpenOptions};
    use std::io::Write as _;
    use std::path::Path;
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};

    /// Passes a place.
    pub fn pass_place(place: &str) {
        if let Some(list) = variable("CTO_STOP_LIST")
            && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(list)
        {
            // In one write: threads pass places at the same time.
            let _ = file.write_all(format!("{place}\n").as_bytes());
        }
        if variable("CTO_STOP_AT").as_deref() != Some(place) {
            return;
        }
        match variable("CTO_STOP_DO").as_deref().map(|what| what.split_once(':').unwrap_or((what, ""))) {
            Some(("fill", folder)) => fill(Path::new(folder)),
            Some(("wait", file)) => wait_for(file),
            _ => drop(kill_process(getpid(), Signal::KILL)),
        }
    }

    /// The wall clock, since 1970, as far off as the test wants it.
    pub fn set_off(clock: Duration) -> Duration {
        let offset: i64 = variable("CTO_CLOCK_OFFSET").and_then(|text| text.parse().ok()).unwrap_or(0);
        let by = Duration::from_secs(offset.unsigned_abs());
        if offset < 0 { clock.saturating_sub(by) } else { clock.saturating_add(by) }
    }

    /// True if the environment plants this defect.
    pub fn has_defect(name: &str) -> bool {
        variable("CTO_DEFECT").is_some_and(|planted| planted.split(',').any(|one| one == name))
    }

    /// Says that the place is reached, and stays there until the test has done what it
    /// wants to.
    fn wait_for(file: &str) {
        drop(File::create(format!("{file}.here")));
        while !Path::new(file).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Writes until nothing more fits, not even a byte.
    fn fill(folder: &Path) {
        let Ok(mut file) = File::create(folder.join("filler")) else { return };
        let mut size = 1 << 20;
        while size > 0 {
            if file.write_all(&vec![1; size]).is_err() {
                size /= 2;
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a test build is told by the environment where to stop")]
    fn variable(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
