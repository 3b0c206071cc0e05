//! The harness' side: starting the stage and giving it its order.

use std::fmt;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Pid;

use crate::leaving::Leaving;
use crate::run::Run;
use crate::unnamed::{Holders, UnnamedMemory};
use crate::watched::{Watched, Watcher};
use crate::wire::{self, Order};
use crate::{Confined, Ended, Line, Spec, SuperviseError};

/// The hidden first argument with which the own executable becomes the stage.
pub const STAGE_ARG: &str = "__supervise";

/// Process name of the stage.
const STAGE_NAME: &str = "supervise";

/// The second argument of a stage that will be asked to confine its program.
pub(crate) const CONFINES: &str = "strict";

/// A stage that does not even take its order for this long is given up.
const ORDER_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs programs under supervision, each through a stage of its own.
#[derive(Debug, Clone)]
pub struct Supervisor {
    exe: PathBuf,
    leaving: Arc<Leaving>,
}

/// Ways to end a run early, and callbacks while it goes on.
#[derive(Default)]
pub struct SupervisorWatch<'a> {
    /// Set if the operator wants everything to end; read every 50 ms or more often.
    pub cancel: Option<&'a AtomicBool>,
    /// Set if the harness wants this program to end, for instance because its work is done;
    /// read as often.
    pub stop: Option<&'a AtomicBool>,
    /// Called for each line of output, between reads: it must not block.
    pub on_line: Option<&'a mut dyn FnMut(Line<'_>)>,
    /// Called while the program runs, as often as the flags are read, and once after the
    /// end: it must not block.
    pub on_tick: Option<&'a mut dyn FnMut()>,
}

impl SupervisorWatch<'_> {
    /// True once the operator wants everything to end.
    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Calls the caller's tick, if there is one.
    pub(crate) fn run_tick(&mut self) {
        if let Some(on_tick) = &mut self.on_tick {
            on_tick();
        }
    }

    /// True once the harness wants this program to end.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for SupervisorWatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("cancel", &self.cancel).field("stop", &self.stop).finish_non_exhaustive()
    }
}

impl Supervisor {
    /// `exe` is an executable that calls [`crate::stage_main`] when its first argument is
    /// [`STAGE_ARG`]: the own one.
    pub fn new(exe: PathBuf) -> Self {
        Self { exe, leaving: Arc::default() }
    }

    /// Waits until the stages of programs that have ended have ended too. What they still
    /// do, taking down watches and groups, can take the kernel longer than everything else
    /// about a small program.
    pub fn settle_stages(&self) {
        self.leaving.reap_all();
    }

    /// Runs the program to its end, on this thread. An [`Ended`] means that nothing of it
    /// lives; its stage may be tidying up.
    pub fn run_program(&self, spec: &Spec, watch: &mut SupervisorWatch<'_>) -> Result<Ended, SuperviseError> {
        self.prepare()?.run_program(spec, watch)
    }

    /// Starts a stage that waits for its order, so that it is ready when the order comes.
    pub fn prepare(&self) -> Result<SandboxStage, SuperviseError> {
        self.prepare_with(&[STAGE_ARG])
    }

    /// The same for a program that is to be confined: what every confinement has is built
    /// before there is an order.
    pub fn prepare_confined(&self) -> Result<SandboxStage, SuperviseError> {
        self.prepare_with(&[STAGE_ARG, CONFINES])
    }

    fn prepare_with(&self, words: &[&str]) -> Result<SandboxStage, SuperviseError> {
        let (control, theirs) = channel().map_err(|source| SuperviseError::OpenChannel { source })?;
        let child = start_stage(&self.exe, words, theirs)
            .map_err(|source| SuperviseError::StartStage { exe: self.exe.clone(), source })?;
        Ok(SandboxStage { waiting: Some((child, control)), leaving: Arc::clone(&self.leaving) })
    }
}

/// A stage that waits for its order. Dropped without one, it sees the end of its channel
/// and ends.
#[derive(Debug)]
pub struct SandboxStage {
    waiting: Option<(Child, UnixStream)>,
    leaving: Arc<Leaving>,
}

impl SandboxStage {
    /// Gives the order and follows the program to its end, as [`Supervisor::run_program`] does.
    pub fn run_program(self, spec: &Spec, watch: &mut SupervisorWatch<'_>) -> Result<Ended, SuperviseError> {
        if spec.confinement.is_some() {
            return self.run_confined(spec.clone(), watch);
        }
        spec.check()?;
        let begin = |watched| Watcher::begin_watch(watched, self.holders(watched)?);
        let watcher = spec.watched.as_ref().map(begin).transpose()?;
        let leaving = Arc::clone(&self.leaving);
        let (child, control, told) = self.order(spec, false)?;
        Run::new(spec, child, control, watcher).follow_to_end(told, watch, &leaving)
    }

    /// The processes of a program without a confinement, and so without a control group.
    fn holders(&self, watched: &Watched) -> Result<Holders, SuperviseError> {
        let (stage, _) = self.waiting.as_ref().ok_or_else(|| SuperviseError::bad_spec("the stage is gone"))?;
        Ok(Holders::new(stage_pid(stage)?, None, watched, UnnamedMemory::Counted { segments: None }))
    }

    fn run_confined(self, spec: Spec, watch: &mut SupervisorWatch<'_>) -> Result<Ended, SuperviseError> {
        // What is watched has to be looked at between building and starting.
        if spec.watched.is_some() {
            return self.confine_spec(spec)?.start_program(watch);
        }
        spec.check()?;
        let leaving = Arc::clone(&self.leaving);
        let (child, control, told) = self.order(&spec, true)?;
        Confined::receive_stage(spec, child, control, told, leaving)?.follow_started(watch)
    }

    /// Builds the spec's confinement and probes it from inside. The program does not run yet.
    pub fn confine_spec(self, spec: Spec) -> Result<Confined, SuperviseError> {
        if spec.confinement.is_none() {
            return Err(SuperviseError::bad_spec("there is no confinement to build"));
        }
        spec.check()?;
        let leaving = Arc::clone(&self.leaving);
        let (child, control, told) = self.order(&spec, false)?;
        Confined::receive_stage(spec, child, control, told, leaving)
    }

    /// The spec was checked. Whether the stage took its order is true or false; a stage
    /// that did not is lost.
    fn order(mut self, spec: &Spec, at_once: bool) -> Result<(Child, UnixStream, bool), SuperviseError> {
        let order = Order { at_once, ..Order::from(spec) };
        let order = wire::encode_frame(&order).map_err(|error| SuperviseError::bad_spec(error.to_string()))?;
        let Some((child, mut control)) = self.waiting.take() else {
            return Err(SuperviseError::bad_spec("the stage is gone"));
        };
        let told =
            control.write_all(&order).and_then(|()| control.write_all(spec.stdin.as_deref().unwrap_or_default()));
        Ok((child, control, told.is_ok()))
    }
}

impl Drop for SandboxStage {
    fn drop(&mut self) {
        if let Some((child, control)) = self.waiting.take() {
            drop(control);
            // It ends by itself.
            self.leaving.add_stage(child);
        }
    }
}

/// Pid of the stage, in the type of the system calls.
pub(crate) fn stage_pid(stage: &Child) -> Result<Pid, SuperviseError> {
    let pid = i32::try_from(stage.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| SuperviseError::bad_spec("the stage has no pid"))
}

fn channel() -> io::Result<(UnixStream, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_write_timeout(Some(ORDER_TIMEOUT))?;
    Ok((ours, theirs))
}

#[expect(clippy::disallowed_methods, reason = "the stage is the door; it is started here and nowhere else")]
fn start_stage(exe: &Path, words: &[&str], control: UnixStream) -> io::Result<Child> {
    Command::new(exe)
        // Process 1 of a confinement has the stage's command line, which the program can
        // read: no path of the host's in it.
        .arg0(STAGE_NAME)
        .args(words)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(control)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}
