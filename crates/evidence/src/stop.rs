//! Places before and after every effect of a run, at which a test build can be stopped dead or robbed of its disk. In any
//! other build nothing is here.
//!
//! `CTO_STOP_LIST=FILE` writes down the places as they are passed, `CTO_STOP_AT=PLACE` and `CTO_STOP_DO` say what happens at
//! one of them: `kill`, or `fill:FOLDER`, which fills the file system of the folder.

/// Passes a place.
#[cfg(not(feature = "stop-points"))]
#[inline]
pub fn here(_: &str) {}

#[cfg(feature = "stop-points")]
pub use stoppable::here;

#[cfg(feature = "stop-points")]
mod stoppable {
    use std::fs::{File, OpenOptions};
    use std::io::Write as _;
    use std::path::Path;

    use rustix::process::{Signal, getpid, kill_process};

    /// Passes a place.
    pub fn here(place: &str) {
        if let Some(list) = variable("CTO_STOP_LIST")
            && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(list)
        {
            let _ = writeln!(file, "{place}");
        }
        if variable("CTO_STOP_AT").as_deref() != Some(place) {
            return;
        }
        match variable("CTO_STOP_DO").as_deref().map(|what| what.split_once(':').unwrap_or((what, ""))) {
            Some(("fill", folder)) => fill(Path::new(folder)),
            _ => drop(kill_process(getpid(), Signal::KILL)),
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
