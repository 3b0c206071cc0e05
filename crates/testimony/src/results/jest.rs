//! Jest's usual report: a line for each file, with `--verbose` one for each test, and a
//! summary.

use std::collections::BTreeSet;

use super::suites::{Suites, indented, number_of, without_duration};
use super::tally::{MOST_TESTS, Names, Reading, counts};
use super::{Outcome, Runner};

/// Reader of Jest's lines.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Set between the line of a file and the next.
    file: Option<String>,
    suites: Suites,
    names: Names,
    /// Files that could not be loaded.
    unloaded: BTreeSet<String>,
    /// The line before told how many files there were.
    ends: bool,
    readings: Option<Reading>,
}

impl Reader {
    /// Takes the next line.
    pub(super) fn hear(&mut self, line: &str) {
        let (indent, text) = indented(line);
        let ends = std::mem::replace(&mut self.ends, indent == 0 && text.starts_with("Test Suites: "));
        if ends && let Some(list) = text.strip_prefix("Tests: ") {
            self.close(list);
        } else if indent == 0
            && let Some(file) = file_line(text)
        {
            self.suites.clear();
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
            return self.suites.open(indent, text);
        };
        let (name, outcome) = match sign {
            "✓" | "√" => (without_duration(name), Outcome::Passed),
            "✕" | "×" => (without_duration(name), Outcome::Failed),
            "○" => (name.strip_prefix("skipped ").unwrap_or(name), Outcome::Skipped),
            "✎" => (name.strip_prefix("todo ").unwrap_or(name), Outcome::Skipped),
            // The details of a failure, which was told before.
            "●" => return self.suites.clear(),
            _ => return self.suites.open(indent, text),
        };
        let name = self.suites.name(indent, name);
        let file = self.file.as_deref().unwrap_or_default();
        self.names.add(&format!("{file} > {name}"), outcome);
    }

    /// The numbers of a session. Names count where all of them were told, which `--verbose`
    /// or a single file does.
    fn close(&mut self, list: &str) {
        let (passed, failed) = (number_of(list, &["passed"]), number_of(list, &["failed"]));
        let said = counts(passed + failed, failed, number_of(list, &["skipped", "todo", "pending"]));
        let names = std::mem::take(&mut self.names);
        let names = if names.counts() == said { names } else { Names::default() };
        let unloaded = std::mem::take(&mut self.unloaded);
        let reading = Reading::settle(Runner::Jest, names, Some(said)).without(unloaded, 0);
        self.readings = Reading::all(self.readings.take().into_iter().chain([reading]));
        self.file = None;
        self.suites.clear();
    }

    /// Result after the last line; none without a summary.
    pub(super) fn finish(self) -> Option<Reading> {
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
