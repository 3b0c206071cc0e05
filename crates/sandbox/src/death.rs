//! The kernel's word that nothing of a confined program lives.
//!
//! A descriptor of process 1 of a pid namespace becomes readable when that process has
//! ended, and the kernel ends it only after every other process of the namespace. Nothing
//! that a program could have touched is read before.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Time the kernel gets to end a whole namespace: thousands of processes on a loaded
/// machine take seconds.
pub(crate) const BURIAL: Duration = Duration::from_secs(8);

/// A descriptor of the process; none on kernels before 5.3.
pub(crate) fn descriptor_of(process: Pid) -> Option<OwnedFd> {
    pidfd_open(process, PidfdFlags::empty()).ok()
}

/// Waits until the process has ended, at most so long; true if it has. Without a descriptor
/// this only passes the time.
pub(crate) fn wait_for(process: Option<&OwnedFd>, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        let mut fds: Vec<_> =
            process.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).into_iter().collect();
        let _ = poll(&mut fds, left.as_ref());
        if fds.first().is_some_and(|fd| !fd.revents().is_empty()) {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
    }
}
