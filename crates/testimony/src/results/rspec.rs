//! RSpec's reports: numbers always, and with `--format documentation` groups and examples
//! by indentation.

use contract::report::TestCounts;

use super::suites::{Suites, indented, number_of};
use super::tally::{RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Beyond this many lines that may be examples only the numbers are read.
const MOST_EXAMPLES: u64 = 50_000;

/// Reader of RSpec's lines.
#[derive(Debug, Default)]
pub(super) struct RspecReader {
    suites: Suites,
    /// A line without a mark: a group if the next one is set in further, else an example
    /// that passed.
    unmarked: Option<(usize, String)>,
    names: TestNames,
    /// The list of examples is over; failures follow.
    over: bool,
    readings: Option<RunnerReading>,
}

impl RspecReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        if let Some(said) = summary(line) {
            return self.close(said);
        }
        let (indent, text) = indented(line);
        if self.over || text.is_empty() {
            return;
        }
        self.settle(indent);
        let ends = text == "Failures:" || text.starts_with("Pending: (") || text.starts_with("Finished in ");
        self.over = (indent == 0 && ends) || self.names.number() > MOST_EXAMPLES;
        match marked(text).filter(|_| indent >= 2) {
            Some((name, outcome)) => self.add(indent, name, outcome),
            None => self.unmarked = Some((indent, text.to_owned())),
        }
    }

    /// Tells what the line before was by the indentation of this one.
    fn settle(&mut self, indent: usize) {
        match self.unmarked.take() {
            Some((before, title)) if indent > before => self.suites.open_suite(before, &title),
            Some((before, name)) if before >= 2 => self.add(before, &name, TestOutcome::Passed),
            _ => {}
        }
    }

    fn add(&mut self, indent: usize, name: &str, outcome: TestOutcome) {
        let name = self.suites.name_test(indent, name);
        self.names.add_test(&name, outcome);
    }

    /// Names count if all of them were printed.
    fn close(&mut self, said: TestCounts) {
        self.settle(0);
        let names = std::mem::take(&mut self.names);
        self.suites.clear_open();
        self.over = false;
        let names = if names.counts() == said { names } else { TestNames::default() };
        let reading = RunnerReading::settle_names(Runner::Rspec, names, Some(said));
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
    }

    /// Result after the last line; none without a summary.
    pub(super) fn finish(self) -> Option<RunnerReading> {
        self.readings
    }
}

/// `adds (FAILED - 1)`, `later (PENDING: Not yet implemented)`.
fn marked(text: &str) -> Option<(&str, TestOutcome)> {
    let text = text.strip_suffix(')')?;
    if let Some((name, number)) = text.rsplit_once(" (FAILED - ") {
        return text::leading_number(number)
            .is_some_and(|(_, rest)| rest.is_empty())
            .then_some((name, TestOutcome::Failed));
    }
    text.rsplit_once(" (PENDING: ").map(|(name, _)| (name, TestOutcome::Skipped))
}

/// `12 examples, 1 failure, 2 pending, 1 error occurred outside of examples`.
fn summary(line: &str) -> Option<TestCounts> {
    let (examples, rest) = text::leading_number(line)?;
    let rest = rest.strip_prefix(" examples, ").or_else(|| rest.strip_prefix(" example, "))?;
    let value = |words: &[&str]| number_of(rest, words);
    let failed = value(&["failure", "failures"]);
    let outside = value(&["error occurred outside of examples", "errors occurred outside of examples"]);
    let pending = value(&["pending"]);
    let executed = examples.saturating_sub(pending);
    Some(counts(executed + outside, failed + outside, pending))
}
