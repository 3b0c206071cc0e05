//! Durations of tests: remembered for the order of the next run, and told with `--durations`.
//!
//! `target/cache/durations.json` holds those of this machine. `xtask/slow-tests.txt` holds
//! the slowest of some other run, so that the first run on a new machine begins with them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Outcome;
use crate::process::{cache, root};

use super::plan::Suite;
use super::work::FinishedJob;

/// Time of a test of which nothing is known.
const UNKNOWN_MILLIS: u64 = 1_000;

/// Jobs in the committed table.
const IN_TABLE: usize = 60;

/// Jobs that `--durations` prints of each kind.
const PRINTED: usize = 10;

/// Milliseconds that a job took, and those of all processors that it and its children used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Taken {
    wall: u64,
    cpu: u64,
}

/// Durations by the label of a job.
#[derive(Debug, Default)]
pub(super) struct Durations {
    measured: BTreeMap<String, Taken>,
    table: BTreeMap<String, u64>,
}

impl Durations {
    /// Reads both files. A missing or damaged one costs the order and no result.
    pub(super) fn read() -> Outcome<Self> {
        // A file that is missing or damaged costs an order, and no result.
        let text = std::fs::read_to_string(measured_file()?).unwrap_or_default();
        let measured = serde_json::from_str(&text).unwrap_or_default();
        let table = parse_table(&std::fs::read_to_string(table_file()).unwrap_or_default());
        Ok(Self { measured, table })
    }

    /// Processor time, which the load of the machine changes little; at least the quarter
    /// of what it took by the clock, for tests that wait.
    pub(super) fn expected_millis(&self, label: &str, tests: usize) -> u64 {
        match self.measured.get(label) {
            Some(taken) => taken.cpu.max(taken.wall / 4),
            None => self.table.get(label).copied().unwrap_or(UNKNOWN_MILLIS.saturating_mul(tests as u64)),
        }
    }

    /// Remembers the times of a finished job.
    pub(super) fn remember(&mut self, job: &FinishedJob) {
        let taken = Taken { wall: millis(job.wall), cpu: millis(job.cpu) };
        self.measured.insert(job.label.clone(), taken);
    }

    /// Writes the measured times for the next run.
    pub(super) fn write(&self) -> Outcome {
        let file = measured_file()?;
        let text = serde_json::to_string_pretty(&self.measured).map_err(|error| error.to_string())?;
        std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// Writes the slowest of everything that was measured here into the table that is
    /// committed.
    pub(super) fn write_slow_tests(&self) -> Outcome {
        let mut known: Vec<(&String, u64)> =
            self.measured.keys().map(|label| (label, self.expected_millis(label, 1))).collect();
        known.sort_by_key(|(label, millis)| (std::cmp::Reverse(*millis), *label));
        let lines: String =
            known.iter().take(IN_TABLE).map(|(label, millis)| format!("{millis:>7} {label}\n")).collect();
        let file = table_file();
        let text = format!("# Milliseconds of the slowest tests, written by `cargo xtask test --durations`.\n{lines}");
        std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// Sets a duration for a test of the order.
    #[cfg(test)]
    pub(super) fn set(&mut self, label: &str, millis: u64) {
        self.table.insert(label.to_owned(), millis);
    }
}

fn measured_file() -> Outcome<PathBuf> {
    Ok(cache()?.join("durations.json"))
}

fn table_file() -> PathBuf {
    root().join("xtask/slow-tests.txt")
}

/// Lines of milliseconds and a label; others are passed over.
fn parse_table(text: &str) -> BTreeMap<String, u64> {
    let lines = text.lines().filter_map(|line| line.trim().split_once(' '));
    lines.filter_map(|(millis, label)| Some((label.to_owned(), millis.parse().ok()?))).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Prints the slowest jobs and the sums, each suite apart.
pub(super) fn print_slowest(finished: &[FinishedJob]) {
    for (name, suite) in Suite::NAMES {
        let mut jobs: Vec<&FinishedJob> = finished.iter().filter(|job| job.suite == suite).collect();
        if jobs.is_empty() {
            continue;
        }
        let sum = |of: fn(&FinishedJob) -> Duration| jobs.iter().map(|job| of(job)).sum::<Duration>().as_secs_f64();
        let (wall, cpu) = (sum(|job| job.wall), sum(|job| job.cpu));
        let begun = jobs.iter().map(|job| job.begun).min().unwrap_or_default();
        let ended = jobs.iter().map(|job| job.begun + job.wall).max().unwrap_or_default();
        let passed = ended.saturating_sub(begun).as_secs_f64();
        let tests: usize = jobs.iter().map(|job| job.tests).sum();
        println!("{name}: {tests} tests in {passed:.0} s; {wall:.0} s one after the other, {cpu:.0} s of processors");
        jobs.sort_by_key(|job| std::cmp::Reverse(job.wall.max(job.cpu)));
        println!("{:>9} {:>9}", "wall s", "CPU s");
        for job in jobs.iter().take(PRINTED) {
            println!("{:>9.2} {:>9.2} {}", job.wall.as_secs_f64(), job.cpu.as_secs_f64(), job.label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_counts_more_than_the_table() {
        let table = parse_table("# a comment\n   1200 cto it a::b\n 90 cto it c\nnone\n");
        let mut durations = Durations { table, ..Durations::default() };
        let labels = ["cto it a::b", "cto it c", "cto it unknown"];
        assert_eq!(labels.map(|label| durations.expected_millis(label, 3)), [1200, 90, 3 * UNKNOWN_MILLIS]);
        for (wall, cpu, expected) in [(4_000, 20, 1_000), (4_000, 6_000, 6_000)] {
            durations.measured.insert("cto it c".to_owned(), Taken { wall, cpu });
            assert_eq!(durations.expected_millis("cto it c", 1), expected);
        }
    }
}
