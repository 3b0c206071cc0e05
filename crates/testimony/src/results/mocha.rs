//! Mocha's usual report: suites and tests by indentation, then `3 passing`, `2 pending`, `1
//! failing`.

use super::suites::{Suites, indented, without_duration};
use super::tally::{RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Reader of Mocha's lines.
#[derive(Debug, Default)]
pub(super) struct MochaReader {
    suites: Suites,
    names: TestNames,
    summary: Option<Summary>,
    readings: Option<RunnerReading>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Summary {
    passing: u64,
    pending: u64,
    failing: u64,
}

impl MochaReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        let (indent, text) = indented(line);
        if let Some((number, word)) = said(indent, text) {
            self.hear_number(number, word);
        } else if let Some(summary) = self.summary.filter(|_| !text.is_empty()) {
            // What follows repeats the failures; another session may follow them.
            if summary.failing == 0 {
                self.close();
            }
        } else if indent >= 2 {
            self.hear_line(indent, text);
        }
    }

    fn hear_number(&mut self, number: u64, word: &str) {
        if word == "passing" {
            self.close();
        }
        let summary = self.summary.get_or_insert_default();
        match word {
            "passing" => summary.passing = number,
            "pending" => summary.pending = number,
            _ => summary.failing = number,
        }
    }

    fn hear_line(&mut self, indent: usize, text: &str) {
        let failed = || text::leading_number(text).and_then(|(_, rest)| rest.strip_prefix(") "));
        let told = if let Some(name) = text.strip_prefix("✔ ").or_else(|| text.strip_prefix("✓ ")) {
            Some((without_duration(name), TestOutcome::Passed))
        } else if let Some(name) = failed() {
            Some((name, TestOutcome::Failed))
        } else {
            text.strip_prefix("- ").map(|name| (name, TestOutcome::Skipped))
        };
        match told {
            Some((name, outcome)) => {
                let name = self.suites.name_test(indent, name);
                self.names.add_test(&name, outcome);
            }
            None if !text.is_empty() => self.suites.open_suite(indent, text),
            None => {}
        }
    }

    /// Others print such signs too; only a summary shows that it was Mocha.
    fn close(&mut self) {
        self.suites.clear_open();
        let Some(said) = self.summary.take() else { return };
        let names = std::mem::take(&mut self.names);
        let said = counts(said.passing + said.failing, said.failing, said.pending);
        let names = if names.counts() == said { names } else { TestNames::default() };
        let reading = RunnerReading::settle_names(Runner::Mocha, names, Some(said));
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
    }

    /// Result after the last line; none without a summary.
    pub(super) fn finish_reading(mut self) -> Option<RunnerReading> {
        self.close();
        self.readings
    }
}

/// `3 passing (23ms)`, `2 pending`, `1 failing`, each set in by two.
fn said(indent: usize, text: &str) -> Option<(u64, &str)> {
    let (number, rest) = text::leading_number(text).filter(|_| indent == 2)?;
    let word = rest.strip_prefix(' ')?;
    match word.split_once(" (") {
        Some(("passing", rest)) if rest.ends_with(')') => Some((number, "passing")),
        None if matches!(word, "pending" | "failing") => Some((number, word)),
        _ => None,
    }
}
