//! Stages that have reported and are ending.
//!
//! There is no hurry to wait for them: no process of the program is left when a stage
//! reports, and it then takes down only its own mounts and groups.

use std::os::fd::AsFd as _;
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Time for a stage to end after its report.
const GRACE: Duration = Duration::from_secs(5);

/// Dropped, it waits for all of them.
#[derive(Debug, Default)]
pub(crate) struct Leaving(Mutex<Vec<Child>>);

impl Leaving {
    /// Takes over a stage that has reported, to reap it later.
    pub(crate) fn add_stage(&self, stage: Child) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(stage);
    }

    /// Waits until all have ended; one that does not is killed.
    pub(crate) fn reap_all(&self) {
        let stages = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for mut stage in stages {
            if !ends(&stage) {
                let _ = stage.kill();
            }
            let _ = stage.wait();
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.reap_all();
    }
}

/// True if it ends within its time; false also if that cannot be awaited.
fn ends(stage: &Child) -> bool {
    let pid = i32::try_from(stage.id()).ok().and_then(Pid::from_raw);
    let Some(pidfd) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return false };
    let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
    let _ = poll(&mut fds, Timespec::try_from(GRACE).ok().as_ref());
    !fds[0].revents().is_empty()
}
