//! `cargo nextest run` as it talks to people: one line for each attempt at a test, and a
//! summary.

use std::collections::BTreeMap;

use contract::report::TestCounts;

use super::tally::{MOST_TESTS, RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Reader of nextest's lines.
#[derive(Debug, Default)]
pub(super) struct NextestReader {
    running: bool,
    /// Tests, each with the outcome of its last attempt.
    tests: BTreeMap<String, TestOutcome>,
    readings: Option<RunnerReading>,
}

impl NextestReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        let line = line.trim_start();
        if is_beginning(line) {
            self.close(None);
            self.running = true;
        } else if self.running {
            match summary(line) {
                Some(said) => self.close(Some(said)),
                None => self.hear_attempt(line),
            }
        }
    }

    /// True inside a run. Output of test binaries there is counted by nextest already.
    pub(super) fn is_running(&self) -> bool {
        self.running
    }

    fn hear_attempt(&mut self, line: &str) {
        if let Some((name, outcome)) = attempt(line)
            && (self.tests.len() < MOST_TESTS || self.tests.contains_key(&name))
        {
            self.tests.insert(name, outcome);
        }
    }

    fn close(&mut self, said: Option<TestCounts>) {
        let tests = std::mem::take(&mut self.tests);
        if !std::mem::take(&mut self.running) {
            return;
        }
        let mut names = TestNames::default();
        tests.iter().for_each(|(name, outcome)| names.add_test(name, *outcome));
        // Where passing tests are not shown, those that were retried still are: a part that
        // says nothing.
        let whole = said.is_none_or(|said| names.counts().executed >= said.executed);
        let names = if whole { names } else { TestNames::default() };
        let reading = RunnerReading::settle_names(Runner::Nextest, names, said);
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
    }

    /// Result after the last line; none if nextest said nothing.
    pub(super) fn finish_reading(mut self) -> Option<RunnerReading> {
        self.close(None);
        self.readings
    }
}

/// `Starting 13 tests across 4 binaries (2 tests skipped)`.
fn is_beginning(line: &str) -> bool {
    let rest = line.strip_prefix("Starting ").and_then(text::leading_number);
    rest.is_some_and(|(_, rest)| rest.starts_with(" test") && rest.contains(" across "))
}

/// `Summary [   4.173s] 13 tests run: 9 passed (1 flaky), 3 failed, 1 timed out, 2
/// skipped`; `13/20` when it was cut short.
fn summary(line: &str) -> Option<TestCounts> {
    let (_, rest) = line.strip_prefix("Summary [")?.split_once("] ")?;
    let (ran, rest) = text::leading_number(rest)?;
    let (_, numbers) = rest.split_once(" run: ")?;
    let value = |word: &str| {
        let parts = numbers.split([',', '(', ')']).filter_map(|part| text::leading_number(part.trim()));
        parts.filter_map(|(number, rest)| (rest.trim() == word).then_some(number)).next().unwrap_or(0)
    };
    Some(counts(ran, ran.saturating_sub(value("passed")), value("skipped")))
}

/// `PASS [   0.007s] (1/13) binary-id test::name`, with `TRY 2` before it when it is not
/// the first attempt.
fn attempt(line: &str) -> Option<(String, TestOutcome)> {
    let (status, rest) = line.split_once(" [")?;
    let (_, rest) = rest.split_once("] ")?;
    let outcome = outcome(status)?;
    let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((_, rest)) => rest,
        None => rest,
    };
    let (binary, name) = rest.trim().split_once(' ')?;
    let is_name = |text: &str| !text.is_empty() && !text.contains(' ');
    (is_name(binary) && is_name(name.trim())).then(|| (text::identity(&format!("{binary} > {}", name.trim())), outcome))
}

/// Outcome of a status; none if it is no end. Any other end, such as a signal, a timeout or
/// a counted leak, is a failure.
fn outcome(status: &str) -> Option<TestOutcome> {
    let mut words = status.split(' ').filter(|word| !word.is_empty());
    let mut word = words.next()?;
    if word == "TRY" {
        words.next().filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?;
        word = words.next()?;
    }
    let spoken = |word: &str| word.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'+'));
    match word {
        "PASS" | "LEAK" | "FLAKY" => Some(TestOutcome::Passed),
        "SKIP" => Some(TestOutcome::Skipped),
        "SLOW" | "TRMNTG" | "TERMINATING" | "RETRY" | "DELAY" | "START" | "SETUP" | "Summary" => None,
        word if word.len() >= 3 && spoken(word) => Some(TestOutcome::Failed),
        _ => None,
    }
}
