//! The supervising stage: the process between the harness and the program. Single-threaded,
//! without a runtime, started fresh for each run, so that it may change limits of its own
//! and fork into namespaces.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, MemfdFlags, access, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitStatus, getpid, pidfd_open, set_child_subreaper, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use sandbox_facts::HeldLimit;
use untrusted_fs::own_files::OwnOptions as _;

use crate::supervisor::CONFINES;
use crate::tree::{self, Reaper};
use crate::wire::{self, Order, StageReport};
use crate::{Cpu, ExecutionRules, How, SpawnFailure, SpawnFailureKind, limits, procs, strict};

/// Exit code if nothing was supervised, or the harness is gone and cannot get a report.
const NO_REPORT: u8 = 70;
/// Interval at which adopted children that ended are reaped while the program still runs.
const TICK: Duration = Duration::from_secs(1);
/// `USER_HZ`, which is part of the kernel's interface.
const TICK_MS: u64 = 10;

/// Runs the stage; to be called first thing in `main` when the first argument is
/// [`crate::STAGE_ARG`]. The rules say which executions its recorder must not lose.
pub fn stage_main(rules: ExecutionRules) -> ExitCode {
    match supervise(rules) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(NO_REPORT),
    }
}

fn supervise(rules: ExecutionRules) -> io::Result<()> {
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let confines = std::env::args_os().nth(2).is_some_and(|word| word == CONFINES);
    let ahead = if confines { strict::Ahead::begin_ahead() } else { None };
    let order: Order = wire::receive_frame(&mut control)?;
    let stdin = order.stdin_bytes.map(|length| take_stdin(&mut control, length)).transpose()?;
    if let Some(confinement) = &order.confinement {
        return strict::supervise_order(&order, confinement, stdin, control, ahead, rules);
    }
    drop(ahead);
    let started = Instant::now();
    let mut report = match start(&order, stdin) {
        Ok(running) => follow(running, &mut control, started.checked_add(order.wall))?,
        Err(failure) => StageReport::new(How::SpawnFailed(failure)),
    };
    report.elapsed = started.elapsed();
    report.cpu = cpu(None);
    conclude(&mut control, &report)
}

/// The last word to the harness, which goes on with it. The program's outputs end before,
/// though this process is still there.
pub(crate) fn conclude(control: &mut UnixStream, report: &StageReport) -> io::Result<()> {
    let nowhere = File::options().write(true).own_open("/dev/null")?;
    dup2_stdout(&nowhere)?;
    dup2_stderr(&nowhere)?;
    wire::send_frame(control, report)
}

/// From the start of the program until nothing of it is left.
fn follow(running: Running, control: &mut UnixStream, deadline: Option<Instant>) -> io::Result<StageReport> {
    let Running { mut reaper, limits, inherited_fds } = running;
    let cause = watch(control, &mut reaper, deadline);
    let leftovers = tree::clear_below(&mut reaper);
    if cause == Cause::HarnessGone {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let timed_out = cause == Cause::Deadline;
    let gone = leftovers.remaining == 0 && reaper.status.is_some();
    Ok(StageReport { gone, timed_out, leftovers, limits, inherited_fds, ..StageReport::new(how(reaper.status)) })
}

/// Standard input as an anonymous file: complete before the program starts, so that no pipe
/// has to be fed, and not in the memory that the limits count.
fn take_stdin(control: &mut UnixStream, length: u64) -> io::Result<File> {
    // Kernels that insist on the seal and kernels that do not know it both exist.
    let fd = memfd_create("stdin", MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| memfd_create("stdin", MemfdFlags::CLOEXEC))?;
    let mut file = File::from(fd);
    if io::copy(&mut control.take(length), &mut file)? != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    file.flush()?;
    file.rewind()?;
    Ok(file)
}

struct Running {
    reaper: Reaper,
    limits: Vec<HeldLimit>,
    inherited_fds: Vec<u32>,
}

fn start(order: &Order, stdin: Option<File>) -> Result<Running, SpawnFailure> {
    // A session of its own: no signal from the terminal arrives, and the program has no
    // terminal to type into.
    setsid().map_err(|errno| failure("could not open a session", &errno.into()))?;
    set_child_subreaper(Some(getpid())).map_err(|errno| failure("could not become subreaper", &errno.into()))?;
    enter(&order.cwd)?;
    let inherited_fds = procs::inheritable_fds();
    let limits = limits::apply_rules(&order.limits).map_err(|error| failure("could not set the limits", &error))?;
    let program = spawn(order, stdin)?;
    Ok(Running { reaper: Reaper { program, status: None }, limits, inherited_fds })
}

/// Asked apart, because a missing directory and a missing program give the same error.
fn enter(directory: &Path) -> Result<(), SpawnFailure> {
    let text = format!("working directory {}", directory.display());
    access(directory.join("."), Access::EXEC_OK)
        .map_err(|errno| SpawnFailure { kind: SpawnFailureKind::Directory, ..failure(&text, &errno.into()) })
}

#[expect(clippy::disallowed_methods, reason = "this is the one door through which untrusted programs start")]
fn spawn(order: &Order, stdin: Option<File>) -> Result<Pid, SpawnFailure> {
    let name = order.argv.first().map_or("", String::as_str);
    // The control socket is descriptor 0 here, and is always replaced.
    let stdin = stdin.map_or_else(Stdio::null, Stdio::from);
    let child = Command::new(order.cwd.join(name))
        .arg0(name)
        .args(order.argv.iter().skip(1))
        .env_clear()
        .envs(order.env.iter().map(|(key, value)| (key, value)))
        .current_dir(&order.cwd)
        .process_group(0)
        .stdin(stdin)
        .spawn()
        .map_err(|error| failure(name, &error))?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| failure(name, &io::Error::other("the child has no pid")))
}

/// Failure to start, classified for the caller.
pub(crate) fn failure(what: &str, error: &io::Error) -> SpawnFailure {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => SpawnFailureKind::NotFound,
        io::ErrorKind::PermissionDenied => SpawnFailureKind::Permission,
        _ => SpawnFailureKind::Other,
    };
    SpawnFailure { kind, errno: error.raw_os_error(), text: format!("{what}: {error}") }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Ended,
    Deadline,
    Stopped,
    HarnessGone,
}

fn watch(control: &mut UnixStream, reaper: &mut Reaper, deadline: Option<Instant>) -> Cause {
    // Without a pidfd (kernels before 5.3) the tick still notices the end.
    let pidfd = pidfd_open(reaper.program, PidfdFlags::empty()).ok();
    loop {
        reaper.reap();
        if reaper.status.is_some() {
            return Cause::Ended;
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Cause::Deadline;
        }
        if wait_for_control(control, pidfd.as_ref(), left.map_or(TICK, |left| left.min(TICK))) {
            return match control.read(&mut [0]) {
                Ok(1..) => Cause::Stopped,
                Ok(0) | Err(_) => Cause::HarnessGone,
            };
        }
    }
}

/// Waits for either to become ready; true if the control socket has.
fn wait_for_control(control: &UnixStream, pidfd: Option<&OwnedFd>, time: Duration) -> bool {
    let time = Timespec::try_from(time).ok();
    let mut fds = [Some(control.as_fd()), pidfd.map(AsFd::as_fd)]
        .into_iter()
        .flatten()
        .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
        .collect::<Vec<_>>();
    match poll(&mut fds, time.as_ref()) {
        Ok(_) => fds.first().is_some_and(|control| !control.revents().is_empty()),
        Err(Errno::INTR) => false,
        // Waiting has become impossible; reading blocks or fails, and either ends the run
        // rather than spinning.
        Err(_) => true,
    }
}

/// Way in which a process ended, from its wait status.
pub(crate) fn how(status: Option<WaitStatus>) -> How {
    match status.map(|status| (status.exit_status(), status.terminating_signal())) {
        Some((Some(code), _)) => How::Exited { code },
        Some((None, Some(signal))) => How::Signaled { signal },
        // Killed by this stage and not seen to end: the report says that it is not gone.
        Some((None, None)) | None => How::Signaled { signal: libc::SIGKILL },
    }
}

/// Processor time of the children of a process; of the own children if none is named.
pub(crate) fn cpu(pid: Option<Pid>) -> Option<Cpu> {
    let (user, system) = procs::children_ticks(pid)?;
    let time = |ticks: u64| Duration::from_millis(ticks.saturating_mul(TICK_MS));
    Some(Cpu { user: time(user), system: time(system) })
}
