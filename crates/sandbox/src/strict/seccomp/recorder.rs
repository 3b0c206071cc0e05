//! The stage's side of the filter: each call that is passed on gets its answer and is counted.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sandbox_facts::{Connection, ENTRIES_KEPT, ObservedConduct, RefusedCall};
use untrusted_fs::own_files;

use super::executed::{Caller, PathStart};
use super::executions::Executions;
use super::family::is_own_process;
use super::memory::ProcessMemory;
use super::table::{Action, rules};
use crate::kernel::seccomp::{CallAnswer, WaitingCall, answer_call, receive_call, still_waits};

/// Log of calls that the filter passed on.
#[derive(Debug)]
pub(crate) struct CallLog {
    listener: OwnedFd,
    /// Nobody is left under the filter.
    over: bool,
    recording: bool,
    /// Arguments could not be read at least once.
    blind: bool,
    executions: Executions,
    seen: ObservedConduct,
}

impl CallLog {
    /// Starts without recording, so that calls of the probe are not counted.
    pub(crate) fn new(listener: OwnedFd, executions: Executions) -> Self {
        Self { listener, over: false, recording: false, blind: false, executions, seen: ObservedConduct::default() }
    }

    /// Descriptor to wait for, as long as calls can come.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.over).then(|| self.listener.as_fd())
    }

    /// Begins to record. Until then calls are answered only: what the probe tries is not
    /// the program's doing.
    pub(crate) fn start_recording(&mut self) {
        self.recording = true;
    }

    /// Returns the observations so far and starts anew.
    pub(crate) fn take_observed(&mut self) -> ObservedConduct {
        ObservedConduct { executions: self.executions.take_list(), ..std::mem::take(&mut self.seen) }
    }

    /// True if arguments could not be read at least once, so that lists may lack entries
    /// which the counts include.
    pub(crate) fn is_blind(&self) -> bool {
        self.blind
    }

    /// Answers one waiting call; to be called when the listener is ready.
    pub(crate) fn serve_call(&mut self) {
        match receive_call(self.listener.as_fd()) {
            Ok(call) => {
                let given = self.note(&call);
                // A caller that is gone needs no answer.
                let _ = answer_call(self.listener.as_fd(), call.id, given);
            }
            // Ready without a call: its caller was killed meanwhile, or nobody is left.
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.over = abandoned(self.listener.as_fd()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.over = true,
        }
    }

    fn note(&mut self, call: &WaitingCall) -> CallAnswer {
        let number = libc::c_long::from(call.number);
        let rule = rules().find(|rule| rule.fits_call(number, &call.args));
        let given = match rule.map(|rule| rule.action) {
            Some(Action::Record | Action::Note) => CallAnswer::Continue,
            Some(Action::Report(errno) | Action::Refuse(errno)) => CallAnswer::Refuse(errno),
            Some(Action::OwnThread { pid_arg, errno }) => self.judge_process(call, pid_arg, false, errno),
            Some(Action::OwnFamily { pid_arg, errno }) => self.judge_process(call, pid_arg, true, errno),
            None => CallAnswer::Refuse(libc::EPERM),
        };
        match number {
            _ if !self.recording => {}
            libc::SYS_execve => self.note_execution(call, PathStart::WorkingDirectory, call.args[0], call.args[1]),
            libc::SYS_execveat => self.note_execution(call, from(call.args[0]), call.args[1], call.args[2]),
            libc::SYS_connect => self.note_connection(call),
            _ if given == CallAnswer::Continue => {}
            libc::SYS_socket | libc::SYS_socketpair => {
                self.note_refusal(call, format!("socket family {}", call.args[0]))
            }
            _ => self.note_refusal(call, rule.map_or_else(|| format!("call {number}"), |rule| rule.name.to_owned())),
        }
        given
    }

    /// Allows a call on the caller's own process. The pid is in a register, which cannot
    /// change while the call waits, and pids of process 1 never reach this.
    fn judge_process(&self, call: &WaitingCall, pid_arg: usize, with_children: bool, errno: i32) -> CallAnswer {
        let named = call.args.get(pid_arg).and_then(|arg| i32::try_from(arg & u64::from(u32::MAX)).ok());
        let own = named.is_some_and(|named| is_own_process(call.pid, named, with_children));
        if own && still_waits(self.listener.as_fd(), call.id) {
            CallAnswer::Continue
        } else {
            CallAnswer::Refuse(errno)
        }
    }

    fn note_refusal(&mut self, call: &WaitingCall, name: String) {
        let list = &mut self.seen.refused;
        match list.iter().position(|refused| refused.name == name) {
            Some(index) => list[index].count += 1,
            None if list.len() < ENTRIES_KEPT => list.push(RefusedCall { name, count: 1, comm: comm(call.pid) }),
            None => {}
        }
    }

    fn note_execution(&mut self, call: &WaitingCall, from: PathStart, path: u64, argv: u64) {
        self.seen.executions_total += 1;
        let Some(memory) = self.memory_of(call) else { return };
        let (path, argv) = (memory.read_path(path).unwrap_or_default(), memory.texts(argv));
        let (weight, execution) = self.executions.describe_execution(Caller { pid: call.pid }, from, &path, argv);
        if still_waits(self.listener.as_fd(), call.id) {
            self.executions.add_execution(weight, execution);
        }
    }

    fn memory_of(&mut self, call: &WaitingCall) -> Option<ProcessMemory> {
        let memory = ProcessMemory::open_memory(call.pid);
        self.blind |= memory.is_none() && still_waits(self.listener.as_fd(), call.id);
        memory
    }

    fn note_connection(&mut self, call: &WaitingCall) {
        let address = self.memory_of(call).and_then(|memory| memory.address(call.args[1], call.args[2]));
        let Some(address) = address.filter(|_| still_waits(self.listener.as_fd(), call.id)) else { return };
        self.seen.connections_total += 1;
        let list = &mut self.seen.connections;
        match list.iter().position(|connection| connection.address == address) {
            Some(index) => list[index].count += 1,
            None if list.len() < ENTRIES_KEPT => list.push(Connection { address, count: 1, comm: comm(call.pid) }),
            None => {}
        }
    }
}

/// Start of the path of `execveat`; the kernel reads the low half of the argument.
fn from(directory: u64) -> PathStart {
    let low = u32::try_from(directory & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    match low.cast_signed() {
        libc::AT_FDCWD => PathStart::WorkingDirectory,
        number => PathStart::Descriptor(number),
    }
}

/// True if the last process under the filter is gone.
fn abandoned(listener: BorrowedFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::from_borrowed_fd(listener, PollFlags::IN)];
    poll(&mut polled, Some(&now)).is_err() || polled[0].revents().contains(PollFlags::HUP)
}

/// The kernel's name of a process, at most 15 bytes.
fn comm(pid: u32) -> String {
    let name = own_files::read_file(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
}
