//! What a test runner said: which tests there were and how each ended.
//!
//! Runners are told apart by their words, not by the command, since `make test`, `npm test` and `sh -c` hide who runs. Each
//! reader in the folder below hears every line and keeps what is its own. What several runners said in one output is put
//! together, and where two sources tell of the same tests the worse one counts.

mod asking;
mod ava;
mod cargo;
mod counted;
mod ctest;
mod go;
mod jest;
mod junit;
mod messages;
mod mocha;
mod nextest;
mod node;
mod outcome;
mod pytest;
mod spec;
mod suites;
mod tally;
mod tap;
mod text;
mod unittest;
mod vitest;
mod voice;
mod xml;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use self::messages::failure_messages;
pub use self::outcome::{Outcome, Runner, TestResults};

use self::junit::Report;
use self::tally::Reading;
use self::voice::{Streams, Voice};

/// Everything a command left that may name tests.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
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
    asking::variables(folder)
}

/// Report files that a command's own arguments name, relative to its working directory.
pub fn report_files(argv: &[String]) -> Vec<String> {
    asking::named_files(argv)
}

/// None where nothing in it looks like a runner's words.
pub fn read(heard: &Heard<'_>) -> Option<TestResults> {
    let mut streams = Streams { stdout: Voice::hear(heard.stdout), stderr: Voice::hear(heard.stderr) };
    let mut pytest_reports = Vec::new();
    let mut others = Vec::new();
    let mut readings = Vec::new();
    let has_nested = heard.files.iter().any(|(name, _)| asking::is_nested_report(name));
    for (name, bytes) in heard.files.iter().filter(|(name, _)| !asking::is_nested_report(name)) {
        match junit::read(bytes, asking::is_pytest_report(name)) {
            Some(report) if report.of_pytest => pytest_reports.push(report),
            Some(report) => others.push((asking::is_named_by(heard.argv, name), report)),
            None => readings.extend(Voice::hear(bytes).alone()),
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

/// A command that names a report file itself writes there what it also prints: the printed names stay, and the worse numbers.
fn told_twice(readings: &mut [Reading], others: &mut Vec<(bool, Report)>) {
    if let ([reading], [(true, _)]) = (readings, others.as_slice()) {
        for (_, report) in others.drain(..) {
            reading.doubt(&report.reading(Runner::Junit));
        }
    }
}
