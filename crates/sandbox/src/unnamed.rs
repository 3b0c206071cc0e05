//! Files without a name that the processes of a run hold: made without one (`O_TMPFILE`,
//! memory files), or removed since.
//!
//! They take space, and no walk of directories meets them. The kernel shows them in the
//! descriptor tables of the processes that hold them. A file that is only mapped, or on its
//! way through a socket, is in no table: [`Holders::may_hide`] tells whether there is one.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, fstatfs, openat, stat, statat};
use rustix::io::Errno;
use rustix::process::Pid;
use untrusted_fs::own_files;

use crate::Watched;
use crate::confinement::{Confinement, Upper, WorkspaceFrom};
use crate::kernel::process::share_descriptors;
use crate::procs;

/// Descriptors that one look asks about. A process with more may hide something.
const DESCRIPTORS_MAX: u64 = 1 << 20;
/// Upper bound on the text that is read of mappings and of the list of shared memory
/// segments.
const TEXT_MAX: u64 = 16 << 20;
/// Unit of `st_blocks`.
const BLOCK: u64 = 512;

const TMPFS: u64 = 0x0102_1994;
const HUGETLBFS: u64 = 0x9584_58f6;
const OVERLAYFS: u64 = 0x794c_7630;

/// Mapped memory that is no file of any directory. It counts as memory, not as disk.
const MEMORY_NAMES: [&str; 3] = ["/memfd:", "/dev/zero", "/SYSV"];

/// The processes of a run, and which of the files they hold count.
#[derive(Debug)]
pub(crate) struct Holders {
    stage: Pid,
    /// Process 1 of a confinement stands between the stage and the program. It is ours, and
    /// closed to an ordinary user.
    confined: bool,
    /// Devices of the watched directories: what lies there counts, whatever its file system is.
    devices: HashSet<u64>,
    /// The workspace is an overlay whose changes lie in a file system of limited size.
    overlay_is_limited: bool,
    memory: UnnamedMemory,
}

/// Memory files and shared memory segments.
#[derive(Debug)]
pub(crate) enum UnnamedMemory {
    /// A control group charges them as memory.
    Charged,
    /// No other limit holds for them, so they count here. The list of segments is that of
    /// the run's own ipc namespace.
    Counted { segments: Option<File> },
}

/// Space that files without a name take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unnamed {
    pub(crate) bytes: u64,
    pub(crate) inodes: u64,
    /// True if a process could not be examined, or holds too many files.
    pub(crate) partial: bool,
}

impl Unnamed {
    fn add(&mut self, bytes: u64) {
        self.inodes += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Holders {
    /// Prepares the search for one run; `watched` names the file systems that count.
    pub(crate) fn new(stage: Pid, confinement: Option<&Confinement>, watched: &Watched, memory: UnnamedMemory) -> Self {
        let overlay_is_limited = confinement.is_some_and(|confinement| {
            matches!(confinement.workspace.from, WorkspaceFrom::Layers { upper: Upper::Memory(_), .. })
        });
        let devices = watched.roots.iter().filter_map(|root| stat(root).ok()).map(|stat| stat.st_dev).collect();
        Self { stage, confined: confinement.is_some(), devices, overlay_is_limited, memory }
    }

    /// Counts the files without a name that are held now, each once.
    pub(crate) fn count_held(&self, give_up: &dyn Fn() -> bool) -> Unnamed {
        let mut look = Look::new(self, give_up);
        for process in self.processes() {
            if look.process(process).is_break() {
                look.found.partial = true;
                break;
            }
        }
        self.add_segments(&mut look.found);
        look.found
    }

    /// Counts what stays without a process that holds it.
    pub(crate) fn segments(&self) -> Unnamed {
        let mut found = Unnamed::default();
        self.add_segments(&mut found);
        found
    }

    /// True if a process holds a removed file by a mapping alone, or descriptors wait in a
    /// socket. Asked only in doubt, because it takes longer than a look.
    pub(crate) fn may_hide(&self) -> bool {
        self.processes()
            .into_iter()
            .any(|process| tasks(process).into_iter().any(|task| hides_something(process, task)))
    }

    /// Everything below the stage but process 1 of a confinement.
    fn processes(&self) -> Vec<Pid> {
        let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
        for process in procs::all_processes() {
            if let Some(parent) = process.parent {
                children.entry(parent).or_default().push(process.pid);
            }
        }
        let below = |level: &[Pid]| level.iter().filter_map(|pid| children.get(pid)).flatten().copied().collect();
        let mut level: Vec<Pid> = below(&[self.stage]);
        if self.confined {
            level = below(&level);
        }
        let mut all = HashSet::new();
        while !level.is_empty() {
            // A number that was given to another process meanwhile could lead round in a
            // circle.
            level.retain(|pid| all.insert(*pid));
            level = below(&level);
        }
        all.into_iter().collect()
    }

    fn add_segments(&self, found: &mut Unnamed) {
        let UnnamedMemory::Counted { segments: Some(file) } = &self.memory else { return };
        let (mut file, mut text) = (file, String::new());
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(TEXT_MAX).read_to_string(&mut text));
        if read.is_ok() {
            segment_bytes(&text).for_each(|bytes| found.add(bytes));
        }
    }

    fn is_counted(&self, device: u64, kind: u64, blocks: u64) -> bool {
        match kind {
            _ if self.devices.contains(&device) => true,
            HUGETLBFS => self.counts_memory(),
            // The kernel's own file system of memory files has no size.
            TMPFS if blocks == 0 => self.counts_memory(),
            TMPFS => false,
            OVERLAYFS => !self.overlay_is_limited,
            _ => true,
        }
    }

    fn counts_memory(&self) -> bool {
        matches!(self.memory, UnnamedMemory::Counted { .. })
    }
}

struct Look<'a> {
    holders: &'a Holders,
    give_up: &'a dyn Fn() -> bool,
    found: Unnamed,
    looked: u64,
    /// Device and number.
    met: HashSet<(u64, u64)>,
    /// True if files of a device count.
    devices: HashMap<u64, bool>,
}

impl<'a> Look<'a> {
    fn new(holders: &'a Holders, give_up: &'a dyn Fn() -> bool) -> Self {
        let (met, devices) = (HashSet::new(), HashMap::new());
        Self { holders, give_up, found: Unnamed::default(), looked: 0, met, devices }
    }

    /// Threads can have tables of their own, and the first one may have ended before the
    /// others.
    fn process(&mut self, process: Pid) -> ControlFlow<()> {
        let mut last = None;
        for task in tasks(process) {
            if last.is_some_and(|last| share_descriptors(last, task)) {
                continue;
            }
            last = Some(task);
            self.table(process, task)?;
        }
        ControlFlow::Continue(())
    }

    fn table(&mut self, process: Pid, task: Pid) -> ControlFlow<()> {
        let mut directory = match open_table(process, task, "fd") {
            Ok(directory) => directory,
            Err(Errno::NOENT | Errno::SRCH) => return ControlFlow::Continue(()),
            Err(_) => {
                self.found.partial |= !procs::has_left(process, task);
                return ControlFlow::Continue(());
            }
        };
        while let Some(Ok(entry)) = directory.next() {
            self.looked += 1;
            if self.looked > DESCRIPTORS_MAX || (self.give_up)() {
                return ControlFlow::Break(());
            }
            let Ok(table) = directory.fd() else { return ControlFlow::Continue(()) };
            // What is closed meanwhile holds nothing.
            if let Ok(stat) = statat(table, entry.file_name(), AtFlags::empty())
                && is_unnamed(&stat)
            {
                self.file(table, entry.file_name(), &stat);
            }
        }
        ControlFlow::Continue(())
    }

    fn file(&mut self, table: BorrowedFd<'_>, name: &CStr, stat: &Stat) {
        if self.met.contains(&(stat.st_dev, stat.st_ino)) || self.is_counted(table, name, stat) != Some(true) {
            return;
        }
        self.met.insert((stat.st_dev, stat.st_ino));
        self.found.add(u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(BLOCK));
    }

    /// `None` if the descriptor is another file meanwhile.
    fn is_counted(&mut self, table: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> Option<bool> {
        if let Some(known) = self.devices.get(&stat.st_dev) {
            return Some(*known);
        }
        let file = openat(table, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let device = fstat(&file).ok()?.st_dev;
        let system = fstatfs(&file).ok()?;
        let kind = u64::try_from(system.f_type).unwrap_or(0);
        let counted = self.holders.is_counted(device, kind, system.f_blocks);
        self.devices.insert(device, counted);
        (device == stat.st_dev).then_some(counted)
    }
}

fn is_unnamed(stat: &Stat) -> bool {
    stat.st_nlink == 0 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn tasks(process: Pid) -> Vec<Pid> {
    let entries = own_files::read_dir(format!("/proc/{}/task", process.as_raw_pid())).into_iter().flatten().flatten();
    let task = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw);
    entries.filter_map(task).collect()
}

fn open_table(process: Pid, task: Pid, name: &str) -> rustix::io::Result<Dir> {
    let path = format!("/proc/{}/task/{}/{name}", process.as_raw_pid(), task.as_raw_pid());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Dir::new(openat(CWD, path, flags, Mode::empty())?)
}

fn hides_something(process: Pid, task: Pid) -> bool {
    let mappings = read_text(&format!("/proc/{}/task/{}/maps", process.as_raw_pid(), task.as_raw_pid()));
    if mappings.lines().any(maps_removed_file) {
        return true;
    }
    let Ok(mut table) = open_table(process, task, "fdinfo") else { return false };
    while let Some(Ok(entry)) = table.next() {
        let Ok(directory) = table.fd() else { return false };
        let Ok(file) = openat(directory, entry.file_name(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
            continue;
        };
        let mut text = String::new();
        let read = File::from(file).take(TEXT_MAX).read_to_string(&mut text);
        if read.is_ok() && text.lines().any(descriptors_wait) {
            return true;
        }
    }
    false
}

fn read_text(path: &str) -> String {
    let mut bytes = Vec::new();
    let read = own_files::open_file(path).and_then(|file| file.take(TEXT_MAX).read_to_end(&mut bytes));
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// A line of `maps`: address, rights, offset, device, number, and the name behind spaces.
fn maps_removed_file(line: &str) -> bool {
    let name = line.splitn(6, ' ').nth(5).unwrap_or_default().trim_start();
    name.ends_with(" (deleted)") && !MEMORY_NAMES.iter().any(|memory| name.starts_with(memory))
}

/// A line of a socket's `fdinfo`: how many descriptors wait to be received.
fn descriptors_wait(line: &str) -> bool {
    line.strip_prefix("scm_fds:").is_some_and(|count| count.trim().parse().is_ok_and(|count: u64| count > 0))
}

/// Resident and swapped bytes of each segment: the last two columns of the list.
fn segment_bytes(text: &str) -> impl Iterator<Item = u64> {
    text.lines().skip(1).map(|line| {
        let held = line.split_whitespace().rev().take(2);
        held.fold(0_u64, |sum, column| sum.saturating_add(column.parse().unwrap_or(0)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_and_sockets_that_hide_files_are_told() {
        for (line, hides) in [
            ("7f0-7f1 rw-s 00000000 fe:00 12                         /workspace/file (deleted)", true),
            ("7f0-7f1 rw-s 00000000 fe:00 12                         /workspace/#12 (deleted)", true),
            ("7f0-7f1 r-xp 00000000 fe:00 12                         /workspace/a b c (deleted)", true),
            ("7f0-7f1 r-xp 00000000 fe:00 12                         /usr/bin/sh", false),
            ("7f0-7f1 rw-s 00000000 00:01 12                         /memfd:x (deleted)", false),
            ("7f0-7f1 rw-s 00000000 00:01 12                         /dev/zero (deleted)", false),
            ("7f0-7f1 rw-p 00000000 00:00 0", false),
            ("7f0-7f1 rw-p 00000000 00:00 0                          [heap]", false),
        ] {
            assert_eq!(maps_removed_file(line), hides, "{line}");
        }
        for (line, wait) in [("scm_fds: 2", true), ("scm_fds: 0", false), ("pos:\t0", false), ("scm_fds: x", false)] {
            assert_eq!(descriptors_wait(line), wait, "{line}");
        }
    }

    #[test]
    fn segments_are_summed_by_what_they_hold() {
        let text = "  key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n\
                    0 0 600 99999999 1 1 0 0 0 0 0 0 0 0 8192 4096\n 0 1 600 1 1 1 0 0 0 0 0 0 0 0 100 0\nrubbish\n";
        assert_eq!(segment_bytes(text).collect::<Vec<_>>(), [12_288, 100, 0]);
        assert_eq!(segment_bytes("").count(), 0);
    }
}
