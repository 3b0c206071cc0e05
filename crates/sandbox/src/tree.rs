//! Ends a whole process tree. Stops first and kills afterwards: a stopped process can
//! neither fork nor be replaced while the scan continues.

use std::collections::{BTreeMap, HashSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, wait};

use crate::Leftovers;
use crate::procs::{self, Process, ProcessKey};

const PASSES_MAX: usize = 64;
const NAMES_MAX: usize = 32;
/// Time for one round of kills to be reaped before the tree is scanned again.
const ROUND: Duration = Duration::from_millis(100);
/// After this, what is left is not ours to kill: another user's, or uninterruptible in the
/// kernel.
const GIVE_UP: Duration = Duration::from_secs(2);

type Found = BTreeMap<ProcessKey, Process>;

/// Waits for every child of this process and remembers how the program among them ended.
#[derive(Debug)]
pub(crate) struct Reaper {
    /// Program whose end counts.
    pub(crate) program: Pid,
    /// Its wait status, once it has ended.
    pub(crate) status: Option<WaitStatus>,
}

impl Reaper {
    /// Reaps what has ended. True if no child is left, which for a subreaper proves that no
    /// descendant is.
    pub(crate) fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    fn reap_for(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            if self.reap() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(Duration::from_micros(500));
        }
    }
}

/// Kills and reaps everything below this process.
pub(crate) fn clear_below(reaper: &mut Reaper) -> Leftovers {
    let until = Instant::now() + GIVE_UP;
    let mut killed = Found::new();
    let mut last = Found::new();
    let mut clean = reaper.reap();
    while !clean && Instant::now() < until {
        last = kill_below(getpid());
        killed.extend(last.clone());
        clean = reaper.reap_for(ROUND);
    }
    let remaining = if clean { 0 } else { count(last.values().filter(|process| is_alive(process)).count()) };
    let others = || killed.values().filter(|process| process.pid != reaper.program && !process.zombie);
    let names = others().take(NAMES_MAX).map(|process| process.name.clone()).collect();
    Leftovers { killed: count(others().count()), names, remaining }
}

/// The program in its pid namespace: the first process that process 1 makes.
const PROGRAM: i32 = 2;

/// Living processes below process 1 of a pid namespace, but for the program. Nothing is
/// signalled: the death of process 1 takes all of them.
pub(crate) fn below_init(init: Pid) -> Leftovers {
    let mut all: Vec<Process> = procs::all_processes().collect();
    all.sort_by_key(Process::key);
    let mut tree = HashSet::from([init]);
    let mut found: Vec<&Process> = Vec::new();
    // Parents start before their children, but for those that were adopted: further looks
    // find what stands below them.
    loop {
        let known = found.len();
        for process in &all {
            if process.parent.is_some_and(|parent| tree.contains(&parent)) && tree.insert(process.pid) {
                found.push(process);
            }
        }
        if found.len() == known {
            break;
        }
    }
    found.retain(|process| !process.zombie && process.inner_pid() != Some(PROGRAM));
    let names = found.iter().take(NAMES_MAX).map(|process| process.name.clone()).collect();
    Leftovers { killed: count(found.len()), names, remaining: 0 }
}

/// Stops, then kills, all descendants of `root`; one round.
pub(crate) fn kill_below(root: Pid) -> Found {
    let found = freeze(root);
    for process in found.values() {
        process.signal(Signal::KILL);
    }
    found
}

fn freeze(root: Pid) -> Found {
    let mut tree = HashSet::from([root]);
    let mut found = Found::new();
    for _ in 0..PASSES_MAX {
        if !freeze_pass(&mut tree, &mut found) {
            break;
        }
    }
    found
}

/// Scans all processes once. Each descendant is stopped as soon as it is seen: one that
/// keeps forking and exiting would be gone at the end of the scan. True if anything was
/// new.
fn freeze_pass(tree: &mut HashSet<Pid>, found: &mut Found) -> bool {
    let mut news = false;
    for process in procs::all_processes() {
        if !process.parent.is_some_and(|parent| tree.contains(&parent)) || found.contains_key(&process.key()) {
            continue;
        }
        news = true;
        if process.signal(Signal::STOP) {
            tree.insert(process.pid);
            found.insert(process.key(), process);
        }
    }
    news
}

fn is_alive(process: &Process) -> bool {
    Process::read_stat(process.pid).is_some_and(|now| now.start == process.start && !now.zombie)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
