//! Vitest's reports: a line for each file, one for each test where a file failed, is the
//! only one or all were asked for, and a summary.

use super::suites::{Suites, indented, number_of, without_duration};
use super::tally::{RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Reader of Vitest's lines.
#[derive(Debug, Default)]
pub(super) struct VitestReader {
    running: bool,
    file: String,
    suites: Suites,
    names: TestNames,
    readings: Option<RunnerReading>,
}

impl VitestReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        let (indent, text) = indented(line);
        if text.starts_with("RUN  v") && indent == 1 {
            self.running = true;
            self.names = TestNames::default();
        } else if self.running {
            match text.strip_prefix("Tests ") {
                Some(list) if indent > 1 => self.close(list),
                _ => self.hear_line(indent, text),
            }
        }
    }

    fn hear_line(&mut self, indent: usize, text: &str) {
        let Some((sign, rest)) = text.split_once(' ') else { return };
        let outcome = match sign {
            "✓" => TestOutcome::Passed,
            "×" => TestOutcome::Failed,
            "↓" => TestOutcome::Skipped,
            "❯" => return self.open(indent, rest),
            _ => return,
        };
        // The verbose report has the whole name on a line of its own.
        if indent == 1 && rest.contains(" > ") {
            self.names.add_test(without_duration(rest), outcome);
        } else if indent == 1 || is_suite(rest) {
            self.open(indent, rest);
        } else if !self.file.is_empty() {
            let name = self.suites.name_test(indent, without_duration(rest));
            self.names.add_test(&format!("{} > {name}", self.file), outcome);
        }
    }

    /// ` ✓ a.test.ts (6 tests | 1 failed) 6ms` for a file, `   ❯ add (3)` for a suite below it.
    fn open(&mut self, indent: usize, rest: &str) {
        if indent == 1 {
            self.file = rest.split(" (").next().unwrap_or(rest).trim().to_owned();
            self.suites.clear_open();
        } else if is_suite(rest) {
            self.suites.open_suite(indent, rest.rsplit_once(" (").map_or(rest, |(title, _)| title));
        }
    }

    /// `1 failed | 3 passed | 1 skipped | 1 todo (6)`.
    fn close(&mut self, list: &str) {
        let list = list.trim().rsplit_once(" (").map_or(list, |(list, _)| list);
        let (passed, failed) = (number_of(list, &["passed"]), number_of(list, &["failed"]));
        let said = counts(passed + failed, failed, number_of(list, &["skipped", "todo"]));
        let names = std::mem::take(&mut self.names);
        let names = if names.counts() == said { names } else { TestNames::default() };
        let reading = RunnerReading::settle_names(Runner::Vitest, names, Some(said));
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
        self.running = false;
        self.file.clear();
        self.suites.clear_open();
    }

    /// Result after the last line; none without a summary.
    pub(super) fn finish(self) -> Option<RunnerReading> {
        self.readings
    }
}

/// True for a title with the number of its tests behind it, with or without a duration.
fn is_suite(rest: &str) -> bool {
    let number = without_duration(rest).rsplit_once(" (").and_then(|(_, rest)| text::leading_number(rest));
    number.is_some_and(|(_, rest)| rest == ")")
}
