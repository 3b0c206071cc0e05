//! A control group for the run, where one may be made: limits for the tree as a whole, and
//! word of them being hit.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::process::{Pid, getpid};
use sandbox_facts::{HeldLimit, LimitBy, LimitKind};
use serde::Serialize;
use untrusted_fs::own_files::{self, OwnOptions as _, OwnPath as _};

/// Prefix of a group's name; the pid of its stage follows.
const PREFIX: &str = "sandbox-run-";
const MOUNTS: &str = "/proc/self/mountinfo";
const MEMBERSHIP: &str = "/proc/self/cgroup";
/// Killed processes leave their group a moment after they are reaped.
const REMOVE_TRIES: u32 = 50;
const REMOVE_PAUSE: Duration = Duration::from_millis(2);

/// Version of the control group interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupVersion {
    /// Version 1, with one hierarchy for each controller.
    One,
    /// Version 2, the unified hierarchy.
    Two,
}

/// A group of the run's own; removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    version: CgroupVersion,
    /// Kinds of limits that the group can hold.
    kinds: Vec<LimitKind>,
    /// Limits that the group holds.
    pub(crate) rules: Vec<HeldLimit>,
}

/// Entry into a group that needs no other process to move it. A move makes the kernel wait
/// until every processor has passed through a quiet state: milliseconds, and more than all
/// the rest of a start.
#[derive(Debug)]
pub(crate) enum GroupEntry {
    /// A process that writes 0 to this file enters.
    Open(File),
    /// A process can be made in this directory.
    Birth(File),
}

/// A directory in which a group can be made, and what can be limited in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupPlace {
    /// Directory of the parent group.
    pub path: PathBuf,
    pub version: CgroupVersion,
    /// Kinds of limits that a group there can hold.
    pub kinds: Vec<LimitKind>,
}

impl Cgroup {
    /// A group that enforces as many of the rules as it can; `None` where no group can be
    /// made or none of them is asked for.
    pub(crate) fn make_group(asked: &[HeldLimit]) -> Option<Self> {
        if !needs_group(asked) {
            return None;
        }
        places().into_iter().find_map(|place| {
            if !asked.iter().any(|rule| place.kinds.contains(&rule.kind)) {
                return None;
            }
            let mut group = Self::in_place(place)?;
            group.enforce(asked).ok()?;
            Some(group)
        })
    }

    /// A group that enforces nothing yet, in the first place there is.
    pub(crate) fn begin_group() -> Option<Self> {
        Self::in_place(places().into_iter().next()?)
    }

    /// True if a group for these rules would be made at the same place.
    pub(crate) fn fits_rules(&self, asked: &[HeldLimit]) -> bool {
        !needs_group(asked) || asked.iter().any(|rule| self.kinds.contains(&rule.kind))
    }

    /// Enforces the rules that it can.
    pub(crate) fn enforce(&mut self, asked: &[HeldLimit]) -> io::Result<()> {
        for rule in asked {
            if self.kinds.contains(&rule.kind) {
                self.set(*rule)?;
            }
        }
        Ok(())
    }

    fn in_place(place: GroupPlace) -> Option<Self> {
        remove_abandoned(&place.path);
        let path = place.path.join(format!("{PREFIX}{}", getpid().as_raw_pid()));
        fs::create_dir(&path).ok()?;
        Some(Self { path, version: place.version, kinds: place.kinds, rules: Vec::new() })
    }

    /// Opens the entry that this version of control groups has.
    pub(crate) fn door(&self) -> io::Result<GroupEntry> {
        match self.version {
            CgroupVersion::One => File::options().write(true).own_open(self.path.join("tasks")).map(GroupEntry::Open),
            CgroupVersion::Two => own_files::open_file(&self.path).map(GroupEntry::Birth),
        }
    }

    /// Moves another process, where it could not come by itself.
    pub(crate) fn add_process(&self, process: Pid) -> io::Result<()> {
        own_files::write_file(self.path.join("cgroup.procs"), process.as_raw_pid().to_string())
    }

    /// True if no process is in it, by the kernel's own word; a group that cannot be read
    /// is not known to be empty.
    pub(crate) fn is_empty(&self) -> bool {
        match self.version {
            CgroupVersion::One => own_files::read_file(self.path.join("tasks")).is_ok_and(|tasks| tasks.is_empty()),
            CgroupVersion::Two => {
                let events = own_files::read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
                events.lines().any(|line| line == "populated 0")
            }
        }
    }

    /// Limits that were run into.
    pub(crate) fn hits(&self) -> Vec<LimitKind> {
        let (memory, processes) = match self.version {
            CgroupVersion::One => (self.counter("memory.oom_control", "oom_kill"), 0),
            CgroupVersion::Two => (self.counter("memory.events", "oom_kill"), self.counter("pids.events", "max")),
        };
        let hits = [(memory, LimitKind::Memory), (processes, LimitKind::Processes)];
        hits.into_iter().filter_map(|(count, kind)| (count > 0).then_some(kind)).collect()
    }

    fn set(&mut self, rule: HeldLimit) -> io::Result<()> {
        let (file, swap) = match (self.version, rule.kind) {
            (CgroupVersion::One, LimitKind::Memory) => {
                ("memory.limit_in_bytes", Some(("memory.memsw.limit_in_bytes", rule.value)))
            }
            (CgroupVersion::Two, LimitKind::Memory) => ("memory.max", Some(("memory.swap.max", 0))),
            (CgroupVersion::Two, LimitKind::Processes) => ("pids.max", None),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        own_files::write_file(self.path.join(file), rule.value.to_string())?;
        if let Some((file, value)) = swap {
            // Absent where the kernel does not account swap.
            let _ = own_files::write_file(self.path.join(file), value.to_string());
        }
        self.rules.push(HeldLimit { by: LimitBy::Cgroup, ..rule });
        Ok(())
    }

    fn counter(&self, file: &str, key: &str) -> u64 {
        let text = own_files::read_to_string(self.path.join(file)).unwrap_or_default();
        let value = |line: &str| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok();
        text.lines().find_map(value).unwrap_or(0)
    }
}

fn needs_group(asked: &[HeldLimit]) -> bool {
    asked.iter().any(|rule| matches!(rule.kind, LimitKind::Memory | LimitKind::Processes))
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..REMOVE_TRIES {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => sleep(REMOVE_PAUSE),
                _ => return,
            }
        }
    }
}

/// Removes groups of stages that were killed. The kernel refuses to remove a group with
/// processes, so a live one is safe.
fn remove_abandoned(place: &Path) {
    for entry in own_files::read_dir(place).into_iter().flatten().flatten() {
        let stage = entry.file_name().to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if stage.is_some_and(|stage| !Path::new(&format!("/proc/{stage}")).own_exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Places where this process may make groups, the better version first.
pub(crate) fn places() -> Vec<GroupPlace> {
    let (mounts, membership) = (
        own_files::read_to_string(MOUNTS).unwrap_or_default(),
        own_files::read_to_string(MEMBERSHIP).unwrap_or_default(),
    );
    let two = mounted(&mounts, "cgroup2", None).zip(member(&membership, ""));
    let one = mounted(&mounts, "cgroup", Some("memory")).zip(member(&membership, "memory"));
    let two = two.into_iter().flat_map(|(mount, own)| second_version(&mount, &own));
    let one = one.into_iter().filter_map(|(mount, own)| first_version(&mount, &own));
    two.chain(one).collect()
}

/// In the own group if its children are already controlled, else beside it: a group that
/// holds processes can control no children. Moving a process needs the right to write to
/// the group above both.
fn second_version(mount: &Path, own: &str) -> Vec<GroupPlace> {
    let own = mount.join(own.trim_start_matches('/'));
    let above = own.parent().filter(|above| above.starts_with(mount)).map(Path::to_owned);
    let place = |path: PathBuf| {
        let controlled = own_files::read_to_string(path.join("cgroup.subtree_control")).unwrap_or_default();
        let controls = |name: &str| controlled.split_whitespace().any(|controller| controller == name);
        let kinds = [("memory", LimitKind::Memory), ("pids", LimitKind::Processes)];
        let kinds: Vec<_> = kinds.into_iter().filter_map(|(name, kind)| controls(name).then_some(kind)).collect();
        let writable = writable(&path) && access(path.join("cgroup.procs"), Access::WRITE_OK).is_ok();
        (writable && !kinds.is_empty()).then_some(GroupPlace { path, version: CgroupVersion::Two, kinds })
    };
    [Some(own), above].into_iter().flatten().filter_map(place).collect()
}

fn first_version(mount: &Path, own: &str) -> Option<GroupPlace> {
    let path = mount.join(own.trim_start_matches('/'));
    writable(&path).then_some(GroupPlace { path, version: CgroupVersion::One, kinds: vec![LimitKind::Memory] })
}

fn writable(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

/// The place at which a hierarchy of this type, with this controller, is mounted whole.
fn mounted(mounts: &str, kind: &str, controller: Option<&str>) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, target) = (fields.next()?, fields.next()?);
        let mut after = after.split(' ');
        let options = (after.next()? == kind).then(|| after.nth(1)).flatten()?;
        let fits = controller.is_none_or(|controller| options.split(',').any(|option| option == controller));
        (root == "/" && fits).then(|| PathBuf::from(target))
    })
}

/// The own group in the hierarchy of a controller; the empty name means version two.
fn member(membership: &str, controller: &str) -> Option<String> {
    membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_by_type_and_controller() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:3 - cgroup2 cgroup2 rw\n\
                      50 31 0:39 /part /other rw - cgroup2 cgroup2 rw\nrubbish\n";
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(mounted(mounts, "cgroup", Some("memory")), path("/sys/fs/cgroup/memory"));
        assert_eq!(mounted(mounts, "cgroup", Some("pids")), None);
        assert_eq!(mounted(mounts, "cgroup2", None), path("/sys/fs/cgroup/unified"));
        let membership = "8:pids:/\n4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/user.slice\n";
        assert_eq!(member(membership, "memory").as_deref(), Some("/a/b"));
        assert_eq!(member(membership, "cpuacct").as_deref(), Some("/c"));
        assert_eq!(member(membership, "").as_deref(), Some("/user.slice"));
        assert_eq!(member(membership, "io"), None);
    }
}
