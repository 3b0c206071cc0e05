//! A confinement as the stage holds it: its first process, the channel to it, its records,
//! and its end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use untrusted_fs::own_files;

use super::canary::{CanaryLog, LOOK};
use super::cgroup::Cgroup;
use super::channel::{Channel, InnerMessage, send_with_fds};
use super::seccomp::CallLog;
use crate::applied::Applied;
use crate::death::{self, BURIAL};
use crate::wire::{self, StagePrepared};

/// Pause between two checks of a dying process or an emptying group.
const PAUSE: Duration = Duration::from_millis(10);
/// Interval at which the stage looks around while nothing happens.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Dropped, it takes everything inside with it.
#[derive(Debug)]
pub(crate) struct ConfinedProcess {
    /// Process 1, until it has been waited for.
    pub(super) init: Option<Pid>,
    /// Process 1 as the harness sees its end, also when this stage is gone; none on kernels
    /// without such descriptors.
    death: Option<OwnedFd>,
    /// The mount namespace. Held, it is taken down after the report: the kernel would do it
    /// before it ends process 1.
    mounts: Option<File>,
    /// Channel to the confined side.
    pub(super) channel: Channel,
    /// Log of system calls; `None` if the kernel cannot pass them on.
    pub(super) calls: Option<CallLog>,
    /// Log of the decoys; `None` without decoys.
    pub(super) canaries: Option<CanaryLog>,
    /// Control group; `None` if only rlimits are available.
    pub(super) cgroup: Option<Cgroup>,
    /// Account for the harness.
    pub(super) applied: Applied,
    /// Listening socket inside, until the harness takes it.
    pub(super) listener: Option<OwnedFd>,
    /// Directory of the changes, until the harness takes it.
    pub(super) upper: Option<OwnedFd>,
    /// The list of shared memory segments inside.
    pub(super) segments: Option<OwnedFd>,
    /// The harness has received the facts of what was built.
    pub(super) announced: bool,
}

/// Event at which the stage wakes up.
#[derive(Debug)]
pub(super) enum StageEvent {
    /// Message of the confined side, with its descriptors.
    Said(Box<InnerMessage>, Vec<OwnedFd>),
    /// Nobody is left inside.
    Silence,
    /// The harness wants something: go the first time, stop the second.
    Asked,
    /// The harness closed its end of the line.
    HarnessGone,
    /// The wait timed out.
    Nothing,
}

impl ConfinedProcess {
    /// Confined process around a first process that has not reported yet.
    pub(super) fn new(init: Pid, channel: Channel, cgroup: Option<Cgroup>, applied: Applied) -> Self {
        Self {
            init: Some(init),
            death: death::descriptor_of(init),
            // While nothing has happened inside: later an ordinary user may not look at
            // this process.
            mounts: own_files::open_file(format!("/proc/{}/ns/mnt", init.as_raw_pid())).ok(),
            channel,
            calls: None,
            canaries: None,
            cgroup,
            applied,
            listener: None,
            upper: None,
            segments: None,
            announced: false,
        }
    }

    /// Tells the harness what was built, once.
    pub(super) fn announce_built(&mut self, mut control: &UnixStream) -> io::Result<()> {
        if std::mem::replace(&mut self.announced, true) {
            return Ok(());
        }
        let (listener, upper, segments) = (self.listener.take(), self.upper.take(), self.segments.take());
        let ready = StagePrepared::Ready {
            applied: Box::new(self.applied.clone()),
            death: self.death.is_some(),
            listener: listener.is_some(),
            upper: upper.is_some(),
            segments: segments.is_some(),
        };
        let frame = wire::encode_frame(&ready)?;
        let given = [&self.death, &listener, &upper, &segments];
        let fds: Vec<_> = given.into_iter().flatten().map(AsFd::as_fd).collect();
        // Descriptors travel with the first byte.
        let sent = send_with_fds(control.as_fd(), &frame, &fds)?;
        control.write_all(frame.get(sent..).unwrap_or_default())
    }

    /// The confined process waits for the harness; so does the stage.
    pub(super) fn wait_for_go(&mut self, control: &UnixStream) -> io::Result<()> {
        loop {
            match self.next_event(control, TICK) {
                StageEvent::Asked => return self.channel.release(),
                StageEvent::Nothing => {}
                StageEvent::Said(..) | StageEvent::Silence | StageEvent::HarnessGone => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }

    /// Waits for the next event, at most this long. Calls and decoys are served meanwhile,
    /// unless a message arrives.
    pub(super) fn next_event(&mut self, control: &UnixStream, time: Duration) -> StageEvent {
        let time = if self.canaries.is_some() { time.min(LOOK) } else { time };
        let time = Timespec::try_from(time).ok();
        let fds = [Some(self.channel.as_fd()), Some(control.as_fd()), self.calls.as_ref().and_then(CallLog::fd)];
        let mut polled: Vec<_> = fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        match poll(&mut polled, time.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return StageEvent::Nothing,
            // Nothing can be waited for any more: end rather than spin.
            Err(_) => return StageEvent::HarnessGone,
        }
        let mut events = polled.iter().map(|fd| !fd.revents().is_empty());
        let [channel, harness, calls] = fds.map(|fd| fd.is_some() && events.next().unwrap_or(false));
        // What the confined side said before a call comes before the call.
        if channel {
            return self.hear();
        }
        if calls && let Some(log) = &mut self.calls {
            log.serve_call();
        }
        if let Some(log) = &mut self.canaries {
            log.look_again();
        }
        if harness { heed(control) } else { StageEvent::Nothing }
    }

    fn hear(&self) -> StageEvent {
        match self.channel.receive() {
            Ok(Some((said, fds))) => StageEvent::Said(Box::new(said), fds),
            Ok(None) | Err(_) => StageEvent::Silence,
        }
    }

    /// Kills process 1, and with it everything inside, and waits until the kernel says that
    /// all of it is gone.
    ///
    /// The kernel lets process 1 of a pid namespace end only after every other process of
    /// the namespace, so its exit status is the proof. An empty control group is asked for
    /// as well, where there is one. False if that takes too long.
    pub(super) fn kill_all(&mut self) -> bool {
        let until = Instant::now() + BURIAL;
        self.reap_first_process(until) && self.await_empty_group(until)
    }

    /// Lets the mounts inside go. Nothing may live there any more.
    pub(super) fn release_mounts(&mut self) {
        self.mounts = None;
    }

    fn reap_first_process(&mut self, until: Instant) -> bool {
        let Some(init) = self.init else { return true };
        let _ = kill_process(init, Signal::KILL);
        loop {
            match waitpid(Some(init), WaitOptions::NOHANG) {
                Ok(None) | Err(Errno::INTR) => {}
                Ok(Some(_)) | Err(_) => {
                    self.init = None;
                    return true;
                }
            }
            if Instant::now() >= until {
                return false;
            }
            death::wait_for(self.death.as_ref(), PAUSE);
        }
    }

    fn await_empty_group(&self, until: Instant) -> bool {
        let Some(cgroup) = &self.cgroup else { return true };
        while !cgroup.is_empty() {
            if Instant::now() >= until {
                return false;
            }
            death::wait_for(None, PAUSE / 10);
        }
        true
    }
}

impl Drop for ConfinedProcess {
    fn drop(&mut self) {
        self.kill_all();
    }
}

fn heed(mut control: &UnixStream) -> StageEvent {
    match control.read(&mut [0]) {
        Ok(1..) => StageEvent::Asked,
        Ok(0) | Err(_) => StageEvent::HarnessGone,
    }
}
