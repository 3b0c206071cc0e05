//! Finds and kills processes without a supervisor, by a variable in their environment.
//!
//! Best effort by nature: a process that replaced its environment is not found. It is used
//! when the stage was lost, and after a crash of the harness.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Signal, getpid};

use crate::procs::{self, Process, ProcessKey};

const ROUNDS_MAX: usize = 40;
const PASSES_MAX: usize = 64;
const PAUSE: Duration = Duration::from_millis(5);

/// Kills every process, but this one, whose environment has the marker; returns how many
/// there were.
pub fn kill_marked(marker: &(String, String)) -> usize {
    let (key, value) = marker;
    if key.is_empty() || value.is_empty() {
        return 0;
    }
    let variable = format!("{key}={value}").into_bytes();
    let mut killed = BTreeSet::new();
    for _ in 0..ROUNDS_MAX {
        let found = freeze(&variable);
        if found.is_empty() {
            break;
        }
        for process in &found {
            process.signal(Signal::KILL);
        }
        killed.extend(found.iter().map(Process::key));
        sleep(PAUSE);
    }
    killed.len()
}

/// Stops all that carry the variable, until a look finds no new one.
fn freeze(variable: &[u8]) -> Vec<Process> {
    let me = getpid();
    let mut known: BTreeSet<ProcessKey> = BTreeSet::new();
    let mut found = Vec::new();
    for _ in 0..PASSES_MAX {
        let before = known.len();
        for process in procs::all_processes() {
            if process.pid == me || known.contains(&process.key()) || !process.has_variable(variable) {
                continue;
            }
            known.insert(process.key());
            if process.signal(Signal::STOP) {
                found.push(process);
            }
        }
        if known.len() == before {
            break;
        }
    }
    found
}
