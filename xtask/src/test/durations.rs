//! Durations of tests: remembered for the order of the next run, and printed with `--durations`.
//!
//! `target/cache/durations.json` holds those of this machine. `xtask/slow-tests.txt` holds
//! the slowest of some other run, so that the first run on a new machine begins with them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ChoreResult;
use crate::process::{cache, repository_root};

use super::plan::TestSuite;
use super::work::FinishedJob;

/// Time of a test of which nothing is known.
const UNKNOWN_MILLIS: u64 = 1_000;

/// Jobs in the committed table.
const IN_TABLE: usize = 200;

/// A job is idle where its processor time is less than this part of its time by the clock.
const IDLE_PART: u64 = 4;

/// Shorter jobs are never idle: their slots are soon free.
const LEAST_IDLE_MILLIS: u64 = 2_000;

/// Word of the committed table before the label of an idle job.
const IDLE_WORD: &str = "idle ";

/// Jobs that `--durations` prints of each kind.
const PRINTED: usize = 10;

/// Milliseconds that a job took, and those of all processors that it and its children used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Taken {
    wall: u64,
    cpu: u64,
}

impl Taken {
    fn is_idle(self) -> bool {
        self.wall >= LEAST_IDLE_MILLIS && self.cpu < self.wall / IDLE_PART
    }

    /// Processor time, which the load of the machine changes little; at least the quarter
    /// of what it took by the clock, for tests that wait.
    fn expected_millis(self) -> u64 {
        self.cpu.max(self.wall / IDLE_PART)
    }
}

/// Row of the committed table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SlowTest {
    millis: u64,
    is_idle: bool,
}

/// Durations by the label of a job.
#[derive(Debug, Default)]
pub(super) struct Durations {
    measured: BTreeMap<String, Taken>,
    table: BTreeMap<String, SlowTest>,
}

impl Durations {
    /// Reads both files. A missing or damaged one costs the order and no result.
    pub(super) fn read_times() -> ChoreResult<Self> {
        // A file that is missing or damaged costs an order, and no result.
        let text = std::fs::read_to_string(measured_file()?).unwrap_or_default();
        let measured = serde_json::from_str(&text).unwrap_or_default();
        let table = parse_table(&std::fs::read_to_string(table_file()).unwrap_or_default());
        Ok(Self { measured, table })
    }

    /// Time by which a job is ordered.
    pub(super) fn expected_millis(&self, label: &str, tests: usize) -> u64 {
        let measured = self.measured.get(label).map(|taken| taken.expected_millis());
        let known = measured.or_else(|| self.table.get(label).map(|row| row.millis));
        known.unwrap_or(UNKNOWN_MILLIS.saturating_mul(tests as u64))
    }

    /// True of a job that is known to wait most of its time.
    pub(super) fn is_idle(&self, label: &str) -> bool {
        let measured = self.measured.get(label).map(|taken| taken.is_idle());
        measured.or_else(|| self.table.get(label).map(|row| row.is_idle)).unwrap_or_default()
    }

    /// Forgets tests that are no more.
    pub(super) fn keep_only(&mut self, labels: &BTreeSet<String>) {
        self.measured.retain(|label, _| labels.contains(label));
    }

    /// Remembers the times of a finished job.
    pub(super) fn remember_job(&mut self, job: &FinishedJob) {
        let taken = Taken { wall: millis(job.wall), cpu: millis(job.cpu) };
        self.measured.insert(job.label.clone(), taken);
    }

    /// Writes the measured times for the next run.
    pub(super) fn write(&self) -> ChoreResult {
        let file = measured_file()?;
        let text = serde_json::to_string_pretty(&self.measured).map_err(|error| error.to_string())?;
        std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// Writes the slowest of everything that was measured here into the table that is
    /// committed.
    pub(super) fn write_slow_tests(&self) -> ChoreResult {
        let mut known: Vec<(&String, &Taken)> = self.measured.iter().collect();
        known.sort_by_key(|(label, taken)| (std::cmp::Reverse(taken.expected_millis()), *label));
        let line = |(label, taken): &(&String, &Taken)| {
            let word = if taken.is_idle() { IDLE_WORD } else { "" };
            format!("{:>7} {word}{label}\n", taken.expected_millis())
        };
        let lines: String = known.iter().take(IN_TABLE).map(line).collect();
        let file = table_file();
        let text = format!("# Milliseconds of the slowest tests, written by `cargo xtask test --durations`.\n{lines}");
        std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// Sets a duration for a test of the order.
    #[cfg(test)]
    pub(super) fn set(&mut self, label: &str, millis: u64) {
        self.table.insert(label.to_owned(), SlowTest { millis, is_idle: false });
    }
}

fn measured_file() -> ChoreResult<PathBuf> {
    Ok(cache()?.join("durations.json"))
}

fn table_file() -> PathBuf {
    repository_root().join("xtask/slow-tests.txt")
}

/// Lines of milliseconds and a label; others are passed over.
fn parse_table(text: &str) -> BTreeMap<String, SlowTest> {
    let lines = text.lines().filter_map(|line| line.trim().split_once(' '));
    let row = |(millis, rest): (&str, &str)| {
        let label = rest.strip_prefix(IDLE_WORD);
        let row = SlowTest { millis: millis.parse().ok()?, is_idle: label.is_some() };
        Some((label.unwrap_or(rest).to_owned(), row))
    };
    lines.filter_map(row).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Prints the slowest jobs and the sums, each suite apart.
pub(super) fn print_slowest(finished: &[FinishedJob]) {
    for (name, suite) in TestSuite::NAMES {
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
        let table = parse_table("# a comment\n   1200 cto it a::b\n 90 idle cto it c\nnone\n");
        let mut durations = Durations { table, ..Durations::default() };
        let labels = ["cto it a::b", "cto it c", "cto it unknown"];
        assert_eq!(labels.map(|label| durations.expected_millis(label, 3)), [1200, 90, 3 * UNKNOWN_MILLIS]);
        assert_eq!(labels.map(|label| durations.is_idle(label)), [false, true, false]);
        for (wall, cpu, expected) in [(4_000, 20, 1_000), (4_000, 6_000, 6_000)] {
            durations.measured.insert("cto it c".to_owned(), Taken { wall, cpu });
            assert_eq!(durations.expected_millis("cto it c", 1), expected);
            assert_eq!(durations.is_idle("cto it c"), cpu == 20, "what was measured counts");
        }
        durations.keep_only(&BTreeSet::new());
        assert_eq!(durations.expected_millis("cto it c", 1), 90, "one that was measured and is no more");
    }
}
