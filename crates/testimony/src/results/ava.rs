//! AVA's usual report: one line for each test, and numbers at its end.

use super::suites::{indented, without_duration};
use super::tally::{RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Reader of AVA's lines.
#[derive(Debug, Default)]
pub(super) struct AvaReader {
    names: TestNames,
    summary: Option<Summary>,
    readings: Option<RunnerReading>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Summary {
    passed: Option<u64>,
    failed: u64,
}

impl AvaReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        let (indent, text) = indented(line);
        if indent != 2 {
            return;
        }
        if let Some(number) = remaining(text) {
            self.names.add_unnamed(TestOutcome::Failed, number);
        } else if let Some((number, word)) = said(text) {
            let summary = self.summary.get_or_insert_default();
            match word {
                "passed" => summary.passed = Some(number),
                "failed" => summary.failed += number,
                _ => {}
            }
        } else if let Some((name, outcome)) = test(text) {
            if self.summary.is_some() {
                self.close();
            }
            self.names.add_test(name, outcome);
        }
    }

    /// Others print such signs too; only numbers in AVA's words show that it was AVA.
    fn close(&mut self) {
        let names = std::mem::take(&mut self.names);
        let Some(said) = self.summary.take().filter(|_| names.number() > 0) else { return };
        let told = names.counts();
        // Passing tests are not counted where others failed.
        let passed = said.passed.unwrap_or(told.passed);
        let failed = said.failed.max(told.failed);
        let said = counts(passed + failed, failed, told.skipped);
        let reading = RunnerReading::settle_names(Runner::Ava, names, Some(said));
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
    }

    /// Result after the last line; none if AVA said nothing.
    pub(super) fn finish_reading(mut self) -> Option<RunnerReading> {
        self.close();
        self.readings
    }
}

/// `1 test failed`, `3 tests passed`, `1 known failure`, `1 uncaught exception`.
fn said(text: &str) -> Option<(u64, &'static str)> {
    let (number, rest) = text::leading_number(text)?;
    match rest {
        " test passed" | " tests passed" => Some((number, "passed")),
        " test failed"
        | " tests failed"
        | " uncaught exception"
        | " uncaught exceptions"
        | " unhandled rejection"
        | " unhandled rejections" => Some((number, "failed")),
        " test skipped" | " tests skipped" | " test todo" | " tests todo" | " known failure" | " known failures" => {
            Some((number, "other"))
        }
        _ => None,
    }
}

/// `✘ 2 tests remaining in a.test.mjs`: tests that did not run because their process ended.
fn remaining(text: &str) -> Option<u64> {
    let (number, rest) = text::leading_number(text.strip_prefix("✘ ")?)?;
    (rest.starts_with(" test remaining in ") || rest.starts_with(" tests remaining in ")).then_some(number)
}

fn test(text: &str) -> Option<(&str, TestOutcome)> {
    if let Some(name) = text.strip_prefix("✔ ") {
        let name = name.strip_prefix("[expected fail] ").unwrap_or(name);
        return Some((without_duration(name), TestOutcome::Passed));
    }
    if let Some(name) = text.strip_prefix("✘ [fail]: ") {
        return Some((without_duration(name), TestOutcome::Failed));
    }
    let name = text.strip_prefix("- [skip] ").or_else(|| text.strip_prefix("- [todo] "))?;
    Some((name, TestOutcome::Skipped))
}
