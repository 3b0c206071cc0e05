//! Processes as /proc shows them: the time that one has used, those that descend from it,
//! and the ending of all of these.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// Clock ticks in which the kernel tells times, on every architecture that the sandbox knows.
const TICKS_PER_SECOND: u64 = 100;

/// One line of /proc.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessLine {
    pid: i32,
    parent: i32,
    is_zombie: bool,
    /// Clock ticks of the process and of those children that it has waited for.
    ticks: u64,
}

impl ProcessLine {
    /// Reads `pid (name) state ppid ...`; the name may hold anything, so fields are counted
    /// from its end.
    fn parse(text: &str) -> Option<Self> {
        let (pid, _) = text.split_once(' ')?;
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().unwrap_or_default()).sum();
        let parent = fields.get(1)?.parse().ok()?;
        Some(Self { pid: pid.parse().ok()?, parent, is_zombie: *fields.first()? == "Z", ticks })
    }

    fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn read_all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Self::read).collect()
    }
}

/// Processor time of a child that has ended and was not waited for yet, with that of its
/// own children.
pub(super) fn cpu_time(pid: Pid) -> Duration {
    let ticks = ProcessLine::read(pid.as_raw_pid()).map_or(0, |line| line.ticks);
    Duration::from_millis(ticks.saturating_mul(1_000) / TICKS_PER_SECOND)
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

/// Processes that descend from one, the nearest first.
fn descendants(all: &[ProcessLine], ancestor: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut parents = BTreeSet::from([ancestor]);
    while !parents.is_empty() {
        let children = all.iter().filter(|line| parents.contains(&line.parent) && !found.contains(&line.pid));
        let children: BTreeSet<i32> = children.map(|line| line.pid).collect();
        found.extend(&children);
        parents = children;
    }
    found
}

/// Kills a child and everything that descends from it.
pub(super) fn end_tree(pid: Pid) {
    let mut doomed = descendants(&ProcessLine::read_all(), pid.as_raw_pid());
    doomed.insert(0, pid.as_raw_pid());
    doomed.into_iter().for_each(kill);
}

fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Waits for orphans that came to us and have ended: without it they would stay as zombies.
pub(super) fn reap_orphans(children: &BTreeSet<i32>) {
    let me = own_pid();
    for line in ProcessLine::read_all() {
        if line.parent == me && line.is_zombie && !children.contains(&line.pid) {
            let _ = waitpid(Pid::from_raw(line.pid), WaitOptions::NOHANG);
        }
    }
}

/// Waits until nothing descends from us, and kills what still does after a while. Gives the
/// names of those that were killed.
pub(super) fn end_descendants(patience: Duration) -> Vec<String> {
    let (start, me) = (Instant::now(), own_pid());
    let mut killed = BTreeSet::new();
    // What is killed now may have children that only then become ours.
    while start.elapsed() < patience + Duration::from_secs(10) {
        reap_orphans(&BTreeSet::new());
        let left = descendants(&ProcessLine::read_all(), me);
        if left.is_empty() {
            break;
        }
        if start.elapsed() >= patience {
            killed.extend(left.iter().map(|pid| named(*pid)));
            left.into_iter().for_each(kill);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.into_iter().collect()
}

fn named(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&words).replace('\0', " ");
    format!("{pid} {}", words.trim().chars().take(120).collect::<String>().escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_are_read_whatever_the_name() {
        let fields = "S 7 1 1 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1";
        let expected = ProcessLine { pid: 42, parent: 7, is_zombie: false, ticks: 127 };
        for name in ["sh", "a b", "x) Z 9 9", "(("] {
            assert_eq!(ProcessLine::parse(&format!("42 ({name}) {fields}")), Some(expected.clone()), "{name}");
        }
        let zombie = ProcessLine::parse(&format!("42 (sh) {}", fields.replace('S', "Z")));
        assert!(zombie.is_some_and(|line| line.is_zombie));
        assert_eq!(ProcessLine::parse("42 (sh) S 7"), None);
        assert!(ProcessLine::read(own_pid()).is_some());
    }

    #[test]
    fn descendants_are_found_at_any_distance() {
        let line = |pid, parent| ProcessLine { pid, parent, is_zombie: false, ticks: 0 };
        let all = [line(5, 4), line(2, 1), line(3, 2), line(4, 2), line(9, 8)];
        assert_eq!(descendants(&all, 2), [3, 4, 5]);
        assert_eq!(descendants(&all, 9), [0; 0]);
    }
}
