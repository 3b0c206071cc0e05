//! A program that is confined and has not started: the moment in which the harness examines
//! the confinement, takes the sockets it serves, and decides.

use std::fs::File;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use crate::leaving::Leaving;
use crate::run::Run;
use crate::strict::channel::receive_with_fds;
use crate::supervisor::stage_pid;
use crate::unnamed::{Holders, UnnamedMemory};
use crate::watched::{Watched, Watcher};
use crate::wire::{self, StagePrepared};
use crate::{Applied, ConfineFailure, ConfineStep, Ended, LimitBy, LimitKind, Spec, SuperviseError, SupervisorWatch};

/// A stage that is not ready by then never will be.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
const BUFFER: usize = 16 << 10;

/// Dropped without a start, everything that was built is gone.
#[derive(Debug)]
pub struct Confined {
    spec: Spec,
    waiting: Option<(Child, UnixStream)>,
    leaving: Arc<Leaving>,
    applied: Applied,
    /// Process 1, whose end is the end of everything inside.
    death: Option<OwnedFd>,
    listener: Option<TcpListener>,
    upper: Option<OwnedFd>,
    /// The list of shared memory segments of the run.
    segments: Option<OwnedFd>,
    /// Bytes that arrived from the stage after its message "ready".
    rest: Vec<u8>,
}

impl Confined {
    /// Waits until the stage reports the confinement as built and probed. Nothing of the
    /// program has run yet.
    ///
    /// Fails if the confinement could not be built, if the probe found something open, or
    /// if the stage is lost.
    pub(crate) fn receive_stage(
        spec: Spec,
        mut child: Child,
        control: UnixStream,
        told: bool,
        leaving: Arc<Leaving>,
    ) -> Result<Self, SuperviseError> {
        let lost = |text: String| SuperviseError::ConfineProgram {
            failure: ConfineFailure::new(ConfineStep::Lost, text),
            probes: Vec::new(),
        };
        let received = if told { receive(&control) } else { Err(io::ErrorKind::BrokenPipe.into()) };
        match received {
            Ok((StagePrepared::Ready { mut applied, death, listener, upper, segments }, fds, rest)) => {
                applied.posture.limits.extend(spec.watched.iter().flat_map(Watched::rules));
                let mut fds = fds.into_iter();
                let death = death.then(|| fds.next()).flatten();
                let listener = listener.then(|| fds.next()).flatten().map(TcpListener::from);
                let upper = upper.then(|| fds.next()).flatten();
                let segments = segments.then(|| fds.next()).flatten();
                let waiting = Some((child, control));
                Ok(Self { spec, waiting, leaving, applied: *applied, death, listener, upper, segments, rest })
            }
            Ok((StagePrepared::Failed { failure, probes }, ..)) => {
                bury(&mut child);
                Err(SuperviseError::ConfineProgram { failure, probes })
            }
            Err(error) => {
                bury(&mut child);
                Err(lost(format!("the supervising stage was lost: {error}")))
            }
        }
    }

    /// Confinement in force, and the findings of the probe. The recorders' observations
    /// come with the end.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// The socket that listens inside, for the harness to accept on.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// The directory that takes the changes of a workspace of layers. It stays readable as
    /// long as it is held, also after the end; what lies in it was written by the program.
    pub fn take_upper(&mut self) -> Option<OwnedFd> {
        self.upper.take()
    }

    /// Starts the program and follows it to its end, on this thread.
    pub fn start_program(mut self, watch: &mut SupervisorWatch<'_>) -> Result<Ended, SuperviseError> {
        let segments = self.segments.take();
        let begin = |watched| Watcher::begin_watch(watched, self.holders(watched, segments)?);
        let watcher = self.spec.watched.as_ref().map(begin).transpose()?;
        let Some((child, mut control)) = self.waiting.take() else {
            return Err(SuperviseError::bad_spec("the stage is gone"));
        };
        let told = control.write_all(b"g").is_ok();
        let leaving = Arc::clone(&self.leaving);
        self.run(child, control, watcher).follow_to_end(told, watch, &leaving)
    }

    fn holders(&self, watched: &Watched, segments: Option<OwnedFd>) -> Result<Holders, SuperviseError> {
        let (stage, _) = self.waiting.as_ref().ok_or_else(|| SuperviseError::bad_spec("the stage is gone"))?;
        let charged =
            self.applied.posture.limits.iter().any(|rule| rule.kind == LimitKind::Memory && rule.by == LimitBy::Cgroup);
        let counted = || UnnamedMemory::Counted { segments: segments.map(File::from) };
        let memory = if charged { UnnamedMemory::Charged } else { counted() };
        Ok(Holders::new(stage_pid(stage)?, self.spec.confinement.as_ref(), watched, memory))
    }

    /// Follows a program that was ordered to start at once.
    pub(crate) fn follow_started(mut self, watch: &mut SupervisorWatch<'_>) -> Result<Ended, SuperviseError> {
        let Some((child, control)) = self.waiting.take() else {
            return Err(SuperviseError::bad_spec("the stage is gone"));
        };
        let leaving = Arc::clone(&self.leaving);
        self.run(child, control, None).follow_to_end(true, watch, &leaving)
    }

    fn run(&mut self, child: Child, control: UnixStream, watcher: Option<Watcher>) -> Run<'_> {
        let (applied, rest) = (self.applied.clone(), std::mem::take(&mut self.rest));
        let death = self.death.take();
        Run::new(&self.spec, child, control, watcher).confined(applied, death, rest)
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if let Some((mut child, control)) = self.waiting.take() {
            drop(control);
            // It takes down what it has built and ends.
            let _ = child.wait();
        }
    }
}

/// Whatever the stage has built dies with it.
fn bury(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn receive(control: &UnixStream) -> io::Result<(StagePrepared, Vec<OwnedFd>, Vec<u8>)> {
    control.set_read_timeout(Some(READY_TIMEOUT))?;
    let (mut bytes, mut fds) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; BUFFER];
    loop {
        let (length, received) = receive_with_fds(control.as_fd(), &mut buffer)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        fds.extend(received);
        bytes.extend_from_slice(buffer.get(..length).unwrap_or_default());
        if let Some(prepared) = wire::take_frame(&mut bytes)? {
            control.set_read_timeout(None)?;
            return Ok((prepared, fds, bytes));
        }
    }
}
