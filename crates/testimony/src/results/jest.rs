//! Jest's usual report: a line for each file, with `--verbose` one for each test, and a
//! summary.

use std::collections::BTreeSet;

use super::suites::{Suites, indented, number_of, without_duration};
use super::tally::{MOST_TESTS, RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome};

/// Reader of Jest's lines.
#[derive(Debug, Default)]
pub(super) struct JestReader {
    /// Set between the line of a file and the next.
    file: Option<String>,
    suites: Suites,
    names: TestNames,
    /// Files that could not be loaded.
    unloaded: BTreeSet<String>,
    /// The line before had the number of files.
    ends: bool,
    readings: Option<RunnerReading>,
}

impl JestReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        let (indent, text) = indented(line);
        let ends = std::mem::replace(&mut self.ends, indent == 0 && text.starts_with("Test Suites: "));
        if ends && let Some(list) = text.strip_prefix("Tests: ") {
            self.close(list);
        } else if indent == 0
            && let Some(file) = file_line(text)
        {
            self.suites.clear_open();
            self.file = Some(file.to_owned());
        } else if let Some(file) = &self.file {
            if text == "● Test suite failed to run" && self.unloaded.len() < MOST_TESTS {
                self.unloaded.insert(super::text::identity(file));
            } else if indent >= 2 {
                self.hear_test(indent, text);
            }
        }
    }

    fn hear_test(&mut self, indent: usize, text: &str) {
        let Some((sign, name)) = text.split_once(' ') else {
            return self.suites.open_suite(indent, text);
        };
        let (name, outcome) = match sign {
            "✓" | "√" => (without_duration(name), TestOutcome::Passed),
            "✕" | "×" => (without_duration(name), TestOutcome::Failed),
            "○" => (name.strip_prefix("skipped ").unwrap_or(name), TestOutcome::Skipped),
            "✎" => (name.strip_prefix("todo ").unwrap_or(name), TestOutcome::Skipped),
            // The details of a failure, which was reported before.
            "●" => return self.suites.clear_open(),
            _ => return self.suites.open_suite(indent, text),
        };
        let name = self.suites.name_test(indent, name);
        let file = self.file.as_deref().unwrap_or_default();
        self.names.add_test(&format!("{file} > {name}"), outcome);
    }

    /// The numbers of a session. Names count if all of them were printed, which `--verbose`
    /// or a single file does.
    fn close(&mut self, list: &str) {
        let (passed, failed) = (number_of(list, &["passed"]), number_of(list, &["failed"]));
        let said = counts(passed + failed, failed, number_of(list, &["skipped", "todo", "pending"]));
        let names = std::mem::take(&mut self.names);
        let names = if names.counts() == said { names } else { TestNames::default() };
        let unloaded = std::mem::take(&mut self.unloaded);
        let reading = RunnerReading::settle_names(Runner::Jest, names, Some(said)).without(unloaded, 0);
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
        self.file = None;
        self.suites.clear_open();
    }

    /// Result after the last line; none without a summary.
    pub(super) fn finish(self) -> Option<RunnerReading> {
        self.readings
    }
}

/// `PASS test/a.test.js` or `FAIL a.test.js (5.1 s)`.
fn file_line(text: &str) -> Option<&str> {
    let file = text.strip_prefix("PASS ").or_else(|| text.strip_prefix("FAIL "))?;
    let file = without_duration(file.trim());
    let file = file.strip_prefix("./").unwrap_or(file);
    (!file.contains(' ') && file.contains('.')).then_some(file)
}
