//! Options of a bench, and the table that it prints.

use std::path::PathBuf;
use std::time::Duration;

use super::rounds::CandidateTimes;
use crate::ChoreResult;
use crate::process::{cargo, run_command, target};

/// Program, rounds and place, which every bench is given.
pub(super) struct Bench {
    /// Our program, built as it is shipped.
    pub(super) cto: PathBuf,
    pub(super) rounds: Option<usize>,
    /// Folder for the worlds; the disk below it is part of the measurement.
    pub(super) place: PathBuf,
    /// True to try a bench: programs are then not optimised, and figures mean nothing.
    pub(super) is_trial: bool,
    /// Runs of a large ledger, and viewers of one run, where those of the bench are too many for a trial.
    pub(super) runs: Option<u32>,
    pub(super) viewers: Option<u16>,
}

impl Bench {
    /// Builds an example of a package, and gives its place.
    pub(super) fn example(&self, package: &str, name: &str) -> ChoreResult<PathBuf> {
        let mut command = cargo(&["build", "--quiet", "--package", package, "--example", name]);
        let profile = if self.is_trial { "debug" } else { "release" };
        run_command(command.args((!self.is_trial).then_some("--release")))?;
        Ok(target().join(profile).join("examples").join(name))
    }
}

/// A Markdown table: each row's times, and how it compares with each of the others that
/// serve as a measure.
pub(super) fn bench_table(rows: &[CandidateTimes], measures: &[usize]) -> String {
    let mut text = String::from("| | p50 | min |");
    for measure in measures {
        text.push_str(&format!(" p50 / {} |", rows[*measure].short));
    }
    text.push_str(&format!("\n| --- | --- | --- |{}\n", " --- |".repeat(measures.len())));
    for row in rows {
        text.push_str(&format!("| {} | {} | {} |", row.name, format_millis(row.p50()), format_millis(row.min())));
        for measure in measures {
            text.push_str(&format!(" {:.2} |", row.p50().as_secs_f64() / rows[*measure].p50().as_secs_f64()));
        }
        text.push('\n');
    }
    text
}

/// Duration in milliseconds with two decimals.
pub(super) fn format_millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
