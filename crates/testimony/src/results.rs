//! Results of test runners: the tests and the outcome of each.
//!
//! Runners are recognised by their output, not by the command, since `make test`, `npm
//! test` and `sh -c` hide the runner. Each reader in the folder below gets every line and
//! keeps its own. Results of several runners in one output are added up, and if two sources
//! report the same tests, the worse one counts.

mod asking;
mod ava;
mod cargo;
mod ctest;
mod go;
mod jest;
mod junit;
mod messages;
mod mocha;
mod nextest;
mod node;
mod outcome;
mod phpunit;
mod pytest;
mod rspec;
mod spec;
mod stream_readers;
mod suites;
mod surefire;
mod tally;
mod tap;
mod text;
mod unittest;
mod unloaded;
mod vitest;
mod xml;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use self::messages::failure_messages;
pub use self::outcome::{Runner, TestOutcome, TestResults};
pub use self::unloaded::list_unloaded;

use self::junit::JunitReport;
use self::stream_readers::{StreamReaders, Streams};
use self::tally::RunnerReading;

/// Everything a command left that may name tests.
#[derive(Debug, Clone, Copy)]
pub struct RunnerOutput<'a> {
    pub argv: &'a [String],
    pub stdout: &'a [u8],
    pub stderr: &'a [u8],
    /// Name and content of the files in the folder that [`asking`] named, and of report files that argv itself names. Folders have no
    /// content.
    pub files: &'a [(String, Vec<u8>)],
}

/// Variables that ask known runners to name their tests; argv stays as the contract has it. `folder` is where they may
/// write reports.
pub fn asking(folder: &Path) -> Vec<(&'static str, String)> {
    asking::naming_variables(folder)
}

/// Report files that a command's own arguments name, relative to its working directory.
pub fn report_files(argv: &[String]) -> Vec<String> {
    asking::named_files(argv)
}

/// Folders in which runners of these commands leave reports without being told to, relative to the working directory, and how the
/// names of the reports begin.
pub fn report_folders(argv: &[String]) -> &'static [(&'static str, &'static str)] {
    asking::known_folders(argv)
}

/// None where nothing in it looks like a runner's words.
pub fn read(heard: &RunnerOutput<'_>) -> Option<TestResults> {
    let mut streams =
        Streams { stdout: StreamReaders::hear_output(heard.stdout), stderr: StreamReaders::hear_output(heard.stderr) };
    let mut pytest_reports = Vec::new();
    let mut others = Vec::new();
    let mut readings = Vec::new();
    let has_nested = heard.files.iter().any(|(name, _)| asking::is_nested_report(name));
    for (name, bytes) in heard.files.iter().filter(|(name, _)| !asking::is_nested_report(name)) {
        match junit::read_junit(bytes, asking::is_pytest_report(name)) {
            Some(report) if report.of_pytest => pytest_reports.push(report),
            Some(report) => others.push((asking::is_expected(heard.argv, name), report)),
            None => readings.extend(StreamReaders::hear_output(bytes).alone()),
        }
    }
    let printed = [heard.stdout, heard.stderr].into_iter().filter_map(junit::find_in_output);
    for report in printed {
        match report.of_pytest {
            true => pytest_reports.push(report),
            false => others.push((false, report)),
        }
    }
    readings.extend(streams.pytest(pytest_reports, has_nested));
    readings.extend(streams.rest());
    told_twice(&mut readings, &mut others);
    readings.extend(others.into_iter().map(|(_, report)| report.reading(Runner::Junit)));
    tally::total(readings)
}

/// A command that names a report file itself, or whose runner always leaves some, writes there what it also prints: the printed names
/// stay, those of the reports stand in where none were printed, and the worse numbers count.
fn told_twice(readings: &mut [RunnerReading], others: &mut Vec<(bool, JunitReport)>) {
    if let [reading] = readings
        && others.iter().all(|(is_expected, _)| *is_expected)
    {
        let reports = others.drain(..).map(|(_, report)| report.reading(Runner::Junit));
        if let Some(reports) = RunnerReading::all(reports) {
            reading.confirm(reports);
        }
    }
}
