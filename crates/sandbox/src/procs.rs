//! Reads `/proc` and signals exactly the processes that were read: a pid alone may have
//! been reused by then.

use std::fs;
use std::io::Read;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use untrusted_fs::own_files;

use crate::kernel::process::is_inherited;

/// An environment larger than the kernel's default stack limit allows is not read to its end.
const ENVIRON_MAX: u64 = 8 << 20;

/// Some fifty numbers and a short name.
const STAT_MAX: usize = 4096;

/// Start time and pid: in the order of their start, and never the same for two processes.
pub(crate) type ProcessKey = (u64, i32);

/// A process as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    /// Parent; `None` for process 1 and the kernel's own.
    pub(crate) parent: Option<Pid>,
    /// No thread of it runs. A process whose first thread has ended while others run shows
    /// the same letter.
    pub(crate) zombie: bool,
    /// The kernel's name of the process, which it can change itself.
    pub(crate) name: String,
    /// Start time in clock ticks since boot; tells reused pids apart.
    pub(crate) start: u64,
}

impl Process {
    /// Reads `/proc/PID/stat`; none if the process is gone.
    pub(crate) fn read_stat(pid: Pid) -> Option<Self> {
        let mut file = own_files::open_file(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
        // All of it comes at once. There are many processes, and more reads for each would
        // be felt.
        let mut stat = [0; STAT_MAX];
        let read = file.read(&mut stat).ok()?;
        parse_stat(stat.get(..read)?)
    }

    /// Identity of the process over its lifetime: a pid alone can be reused, together with
    /// the start time it cannot.
    pub(crate) fn key(&self) -> ProcessKey {
        (self.start, self.pid.as_raw_pid())
    }

    /// Pid in the innermost pid namespace of the process.
    pub(crate) fn inner_pid(&self) -> Option<i32> {
        let status = own_files::read_to_string(format!("/proc/{}/status", self.pid.as_raw_pid())).ok()?;
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        numbers.split_whitespace().last()?.parse().ok()
    }

    /// False if this very process is gone. One that may not be signalled (set-uid) is still
    /// there, and its children are ours.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        // The descriptor pins the pid, so what is read after opening it is what will be
        // signalled.
        let Ok(pidfd) = pidfd_open(self.pid, PidfdFlags::empty()) else { return false };
        let same = Self::read_stat(self.pid).is_some_and(|now| now.start == self.start);
        same && matches!(pidfd_send_signal(pidfd, signal), Ok(()) | Err(Errno::PERM))
    }

    /// True if the process was started with this entry (`NAME=value`) in its environment.
    pub(crate) fn has_variable(&self, variable: &[u8]) -> bool {
        let mut environ = Vec::new();
        let read = own_files::open_file(format!("/proc/{}/environ", self.pid.as_raw_pid()))
            .and_then(|file| file.take(ENVIRON_MAX).read_to_end(&mut environ));
        read.is_ok() && environ.split(|byte| *byte == 0).any(|entry| entry == variable)
    }
}

/// All processes, each read only when the iterator reaches it, so that it can be acted on
/// at once.
pub(crate) fn all_processes() -> impl Iterator<Item = Process> {
    let entries = own_files::read_dir("/proc").into_iter().flatten().flatten();
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw);
    entries.filter_map(pid).filter_map(Process::read_stat)
}

/// User and system time, in clock ticks, of the children a process has waited for; this
/// one, where none is named.
pub(crate) fn children_ticks(pid: Option<Pid>) -> Option<(u64, u64)> {
    let name = pid.map_or_else(|| "self".to_owned(), |pid| pid.as_raw_pid().to_string());
    let stat = own_files::read_file(format!("/proc/{name}/stat")).ok()?;
    let (_, _, rest) = split_stat(&stat)?;
    let mut fields = rest.split(' ').skip(13);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// True of a thread that has given its memory back: it is ending, or waits to be reaped. Its tables are root's then, and are closed.
pub(crate) fn has_left(process: Pid, task: Pid) -> bool {
    let path = format!("/proc/{}/task/{}/stat", process.as_raw_pid(), task.as_raw_pid());
    own_files::read_file(path).map_or(true, |stat| has_no_memory(&stat) == Some(true))
}

fn has_no_memory(stat: &[u8]) -> Option<bool> {
    let (_, _, rest) = split_stat(stat)?;
    Some(rest.split(' ').nth(20)? == "0")
}

/// Descriptors above 2 of this process that a program started by it would get.
pub(crate) fn inheritable_fds() -> Vec<u32> {
    let entries = own_files::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    let inherited = entries.filter_map(number).filter(|fd| *fd > 2 && is_inherited(*fd));
    let mut fds: Vec<u32> = inherited.filter_map(|fd| u32::try_from(fd).ok()).collect();
    fds.sort_unstable();
    fds
}

fn parse_stat(stat: &[u8]) -> Option<Process> {
    let (pid, name, rest) = split_stat(stat)?;
    let mut fields = rest.split(' ');
    let ended = fields.next()? == "Z";
    let parent = Pid::from_raw(fields.next()?.parse().ok()?);
    let threads: u64 = fields.nth(15)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    Some(Process { pid: Pid::from_raw(pid.parse().ok()?)?, parent, zombie: ended && threads <= 1, name, start })
}

/// `pid (name) rest`; the name is the program's to choose and may hold spaces, parentheses
/// and any byte.
fn split_stat(stat: &[u8]) -> Option<(&str, String, &str)> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(stat.get(..open)?).ok()?.trim_end();
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?.trim();
    Some((pid, name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_whatever_the_name_is() {
        let cases: [(&[u8], &str, u32, bool); 6] = [
            (b"(sh) S", "sh", 1, false),
            (b"(a) Z 7 (b) S", "a) Z 7 (b", 1, false),
            (b"(\xff\n) Z", "\u{fffd}\n", 1, true),
            (b"(gone) Z", "gone", 0, true),
            (b"(threads) Z", "threads", 2, false),
            (b"() R", "", 1, false),
        ];
        for (middle, name, threads, zombie) in cases {
            let rest = format!("1 9 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 {threads} 0 4242 99");
            let stat = [b"12 ", middle, b" ", rest.as_bytes(), b"\n"].concat();
            let process = parse_stat(&stat).unwrap();
            assert_eq!((process.pid.as_raw_pid(), process.start), (12, 4242));
            assert_eq!((process.name.as_str(), process.zombie), (name, zombie));
            assert_eq!(process.parent.map(Pid::as_raw_pid), Some(1));
            assert_eq!(has_no_memory(&stat), Some(false));
            assert_eq!(
                has_no_memory(&[b"12 ", middle, b" ", rest.replace(" 99", " 0").as_bytes()].concat()),
                Some(true)
            );
        }
        assert_eq!(parse_stat(b"12 sh S"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn this_process_is_found() {
        let me = rustix::process::getpid();
        assert!(all_processes().any(|process| process.pid == me && process.parent == rustix::process::getppid()));
    }

    #[test]
    fn a_reused_pid_is_not_signalled() {
        let mut me = Process::read_stat(rustix::process::getpid()).unwrap();
        assert!(me.signal(Signal::CONT));
        me.start += 1;
        assert!(!me.signal(Signal::CONT));
    }
}
