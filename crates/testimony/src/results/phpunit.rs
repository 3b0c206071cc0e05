//! PHPUnit's reports: numbers always, and with `--testdox` one line for each test below the
//! name of its class.

use contract::report::TestCounts;

use super::suites::indented;
use super::tally::{RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Reader of PHPUnit's lines.
#[derive(Debug, Default)]
pub(super) struct PhpunitReader {
    class: String,
    names: TestNames,
    /// The list of tests is over; those that did not pass are repeated.
    over: bool,
    readings: Option<RunnerReading>,
}

impl PhpunitReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        if let Some(said) = summary(line) {
            return self.close(said);
        }
        let (indent, text) = indented(line);
        match indent {
            0 if text.starts_with("Summary of ") => self.over = true,
            0 if !text.is_empty() => text.clone_into(&mut self.class),
            1 if !self.over => self.hear_test(text),
            _ => {}
        }
    }

    fn hear_test(&mut self, text: &str) {
        let Some((sign, name)) = text.split_once(' ') else { return };
        let outcome = match sign {
            "✔" => TestOutcome::Passed,
            "✘" => TestOutcome::Failed,
            "↩" | "∅" => TestOutcome::Skipped,
            _ => return,
        };
        // `Adds [0.05 ms]`, where it was asked for.
        let name = name.rsplit_once(" [").filter(|(_, rest)| rest.ends_with("s]")).map_or(name, |(name, _)| name);
        self.names.add_test(&format!("{} > {name}", self.class), outcome);
    }

    /// Names count if all of them were printed.
    fn close(&mut self, said: TestCounts) {
        let names = std::mem::take(&mut self.names);
        let names = if names.counts() == said { names } else { TestNames::default() };
        let reading = RunnerReading::settle_names(Runner::Phpunit, names, Some(said));
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
        self.over = false;
    }

    /// Result after the last line; none without a summary.
    pub(super) fn finish(self) -> Option<RunnerReading> {
        self.readings
    }
}

/// `OK (12 tests, 34 assertions)`, or `Tests: 12, Assertions: 34, Failures: 1, Errors: 1,
/// Skipped: 2.`
fn summary(line: &str) -> Option<TestCounts> {
    if let Some(rest) = line.strip_prefix("OK (") {
        let (tests, rest) = text::leading_number(rest)?;
        return (rest.starts_with(" test") && rest.contains(" assertion")).then(|| counts(tests, 0, 0));
    }
    let rest = line.strip_prefix("Tests: ").filter(|rest| rest.contains(", Assertions: "))?;
    let (tests, rest) = text::leading_number(rest)?;
    let value = |word: &str| text::labelled_number(rest, word).unwrap_or(0);
    let skipped = value("Skipped") + value("Incomplete");
    Some(counts(tests.saturating_sub(skipped), value("Failures") + value("Errors"), skipped))
}
