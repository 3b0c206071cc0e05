//! One run as the harness follows it: the stage's channel and both outputs in one poll
//! loop, so that nothing is shared.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Pid;
use sandbox_facts::Posture;

use crate::death::{self, BURIAL};
use crate::leaving::Leaving;
use crate::lines::{Line, OutputStream};
use crate::tap::OutputPipe;
use crate::watched::{Watched, Watcher};
use crate::wire::{self, Records, StageReport};
use crate::{Applied, Ended, How, Leftovers, Spec, SuperviseError, SupervisorWatch, kill_marked, tree};

/// Interval at which the flags in [`Watch`] are read.
const TICK: Duration = Duration::from_millis(50);
/// A stage that has not reported this long after it should have is killed. Longer than it
/// may wait for the kernel.
const REPORT_GRACE: Duration = Duration::from_secs(10);
/// Time for which output is read after the end, if another process still holds it open.
const DRAIN: Duration = Duration::from_secs(1);
/// Most programs say little.
const BUFFER: usize = 4 << 10;

/// State of one run in the harness.
pub(crate) struct Run<'a> {
    spec: &'a Spec,
    stage: Child,
    control: UnixStream,
    stdout: OutputPipe<ChildStdout>,
    stderr: OutputPipe<ChildStderr>,
    started: Instant,
    inbox: Vec<u8>,
    watcher: Option<Watcher>,
    /// Confinement of the program, if it has one.
    applied: Option<Applied>,
    /// Process 1 of a confined program.
    death: Option<OwnedFd>,
    /// Time after which the report is overdue; `None` for a run without a deadline.
    overdue: Option<Instant>,
    asked: Asked,
    end: Option<End>,
    swept: usize,
}

/// Reasons for which the stage was told to stop; all false if it was not.
#[derive(Debug, Default)]
struct Asked {
    cancelled: bool,
    stopped: bool,
    output_exceeded: bool,
    disk_exceeded: bool,
}

impl Asked {
    fn any(&self) -> bool {
        self.cancelled || self.stopped || self.output_exceeded || self.disk_exceeded
    }
}

#[derive(Debug)]
enum End {
    Reported(Box<StageReport>),
    Lost { overdue: bool },
}

#[derive(Debug, Default)]
struct Ready {
    control: bool,
    stdout: bool,
    stderr: bool,
}

impl<'a> Run<'a> {
    /// `watcher` has begun before the program, if the spec wants one.
    pub(crate) fn new(spec: &'a Spec, mut stage: Child, control: UnixStream, watcher: Option<Watcher>) -> Self {
        let started = Instant::now();
        Self {
            stdout: OutputPipe::new(stage.stdout.take(), OutputStream::Stdout, spec.keep_head, spec.keep_tail),
            stderr: OutputPipe::new(stage.stderr.take(), OutputStream::Stderr, spec.keep_head, spec.keep_tail),
            spec,
            stage,
            control,
            started,
            inbox: Vec::new(),
            watcher,
            applied: None,
            death: None,
            overdue: started.checked_add(spec.wall).and_then(|deadline| deadline.checked_add(REPORT_GRACE)),
            asked: Asked::default(),
            end: None,
            swept: 0,
        }
    }

    /// The same for a confined program; `inbox` is what has arrived from the stage behind
    /// the word that it is ready.
    pub(crate) fn confined(self, applied: Applied, death: Option<OwnedFd>, inbox: Vec<u8>) -> Self {
        Self { applied: Some(applied), death, inbox, ..self }
    }

    /// Follows the run until nothing of the program lives. `told` is whether the stage took
    /// its order; one that has reported goes to those that leave.
    pub(crate) fn follow_to_end(
        mut self,
        told: bool,
        watch: &mut SupervisorWatch<'_>,
        leaving: &Leaving,
    ) -> Result<Ended, SuperviseError> {
        let mut buffer = vec![0; BUFFER];
        if told {
            self.take_report();
        } else {
            self.lose(false);
        }
        watch.run_tick();
        while self.end.is_none() {
            let ready = self.wait();
            self.read_output(&ready, &mut buffer, &mut watch.on_line);
            if ready.control {
                self.read_report();
            }
            self.ask(watch);
            watch.run_tick();
            if self.end.is_none() && self.overdue.is_some_and(|overdue| Instant::now() >= overdue) {
                self.lose(true);
            }
        }
        self.require_gone()?;
        self.drain(&mut buffer, &mut watch.on_line);
        watch.run_tick();
        Ok(self.into_ended(watch, leaving))
    }

    /// Fails unless the kernel has confirmed, to the stage or here, that no process of the
    /// program lives. An unconfined program whose stage was lost cannot be confirmed: the
    /// sweep has to be enough.
    fn require_gone(&mut self) -> Result<(), SuperviseError> {
        let leftovers = match &self.end {
            Some(End::Reported(report)) if report.gone => return Ok(()),
            Some(End::Lost { .. }) | None if self.applied.is_none() => return Ok(()),
            Some(End::Reported(report)) => report.leftovers.clone(),
            Some(End::Lost { .. }) | None => Leftovers::default(),
        };
        self.bury_stage();
        let gone = self.applied.is_some() && death::wait_for(self.death.as_ref(), BURIAL);
        if gone { Ok(()) } else { Err(SuperviseError::StillAlive { leftovers }) }
    }

    fn wait(&self) -> Ready {
        let fds = [self.end.is_none().then(|| self.control.as_fd()), self.stdout.fd(), self.stderr.fd()];
        let [control, stdout, stderr] = wait_for(fds);
        Ready { control, stdout, stderr }
    }

    fn read_output(&mut self, ready: &Ready, buffer: &mut Vec<u8>, to: &mut Option<&mut dyn FnMut(Line<'_>)>) {
        if ready.stdout {
            self.stdout.read_available(buffer, to);
        }
        if ready.stderr {
            self.stderr.read_available(buffer, to);
        }
    }

    fn read_report(&mut self) {
        let mut buffer = [0; 4096];
        match self.control.read(&mut buffer) {
            Ok(0) => self.lose(false),
            Ok(length) => {
                self.inbox.extend_from_slice(&buffer[..length]);
                self.take_report();
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.lose(false),
        }
    }

    fn take_report(&mut self) {
        match wire::take_frame(&mut self.inbox) {
            Ok(report) => self.end = report.map(Box::new).map(End::Reported),
            Err(_) => self.lose(false),
        }
    }

    /// Tells the stage to stop, once, if there is a reason.
    fn ask(&mut self, watch: &SupervisorWatch<'_>) {
        if self.asked.any() || self.end.is_some() {
            return;
        }
        self.asked = Asked {
            cancelled: watch.cancelled(),
            stopped: watch.stopped(),
            output_exceeded: self.output() > self.spec.output_bytes,
            disk_exceeded: self.watcher.as_mut().is_some_and(Watcher::limit_exceeded),
        };
        if self.asked.any() {
            // If the signal cannot be sent, the process is gone, which the next read notices.
            let _ = self.control.write_all(b"s");
            let overdue = Instant::now() + REPORT_GRACE;
            self.overdue = Some(self.overdue.map_or(overdue, |earlier| earlier.min(overdue)));
        }
    }

    /// The stage is gone or useless: do its work from here, as far as that is possible.
    fn lose(&mut self, overdue: bool) {
        self.end = Some(End::Lost { overdue });
        if overdue && let Some(stage) = i32::try_from(self.stage.id()).ok().and_then(Pid::from_raw) {
            // It still adopts what it supervises, so its tree is complete, whatever became
            // of the marker.
            self.swept += tree::kill_below(stage).len();
        }
        self.bury_stage();
        self.swept += kill_marked(&self.spec.marker);
    }

    /// A stage that is lost must not be able to keep the harness waiting.
    fn bury_stage(&mut self) {
        let _ = self.stage.kill();
        let _ = self.stage.wait();
    }

    fn drain(&mut self, buffer: &mut Vec<u8>, to: &mut Option<&mut dyn FnMut(Line<'_>)>) {
        let until = Instant::now() + DRAIN;
        while self.output_open() && Instant::now() < until {
            let ready = self.wait();
            self.read_output(&ready, buffer, to);
        }
        if self.output_open() {
            self.swept += kill_marked(&self.spec.marker);
        }
    }

    fn output_open(&self) -> bool {
        self.stdout.fd().is_some() || self.stderr.fd().is_some()
    }

    fn output(&self) -> u64 {
        self.stdout.total().saturating_add(self.stderr.total())
    }

    fn into_ended(self, watch: &mut SupervisorWatch<'_>, leaving: &Leaving) -> Ended {
        let output_open = self.output_open();
        // What was written last may only have been read after the program had ended.
        let output_exceeded = self.output() > self.spec.output_bytes;
        let disk_hits = self.watcher.map(Watcher::finish).unwrap_or_default();
        let mut report = match self.end {
            Some(End::Reported(report)) => {
                leaving.add_stage(self.stage);
                *report
            }
            Some(End::Lost { overdue }) => lost(overdue && !self.asked.any(), self.started.elapsed()),
            None => lost(false, self.started.elapsed()),
        };
        report.limit_hits.retain(|hit| !disk_hits.contains(hit));
        report.limit_hits.extend(&disk_hits);
        let applied = self.applied.zip(report.records).map(|(applied, records)| brought_up(applied, records));
        let limits = match &applied {
            Some(applied) => applied.posture.limits.clone(),
            None => report.limits.into_iter().chain(self.spec.watched.iter().flat_map(Watched::rules)).collect(),
        };
        Ended {
            how: report.how,
            timed_out: report.timed_out,
            cancelled: self.asked.cancelled,
            stopped: self.asked.stopped,
            output_exceeded,
            disk_exceeded: !disk_hits.is_empty(),
            output_open,
            leftovers: report.leftovers,
            swept: self.swept,
            elapsed: report.elapsed,
            cpu: report.cpu,
            limits,
            limit_hits: report.limit_hits,
            applied,
            inherited_fds: report.inherited_fds,
            stdout: self.stdout.finish_tap(&mut watch.on_line),
            stderr: self.stderr.finish_tap(&mut watch.on_line),
        }
    }
}

/// Confinement as applied, with the observations made since.
fn brought_up(applied: Applied, records: Records) -> Applied {
    let posture = Posture { recorders: records.recorders, ..applied.posture };
    Applied { posture, seen: records.seen, ..applied }
}

fn lost(timed_out: bool, elapsed: Duration) -> StageReport {
    StageReport { timed_out, elapsed, ..StageReport::new(How::SupervisorLost) }
}

/// Flags of the descriptors that are readable or closed, after at most one tick.
fn wait_for<const N: usize>(fds: [Option<BorrowedFd<'_>>; N]) -> [bool; N] {
    let tick = Timespec::try_from(TICK).ok();
    let mut polled: Vec<_> = fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    match poll(&mut polled, tick.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return [false; N],
        // Nothing can be waited for any more; reading tells which of them ended.
        Err(_) => return fds.map(|fd| fd.is_some()),
    }
    let mut events = polled.iter().map(|fd| !fd.revents().is_empty());
    fds.map(|fd| fd.is_some() && events.next().unwrap_or(false))
}
