//! CTest: `1/2 Test #1: name ....   Passed    0.00 sec`, and a summary.

use super::tally::{RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Reader of CTest's lines.
#[derive(Debug, Default)]
pub(super) struct CtestReader {
    names: TestNames,
    readings: Option<RunnerReading>,
}

impl CtestReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        if line.starts_with("Test project ") {
            self.close(None);
        } else if let Some((failed, all)) = summary(line) {
            self.close(Some((failed, all)));
        } else if let Some((name, outcome)) = test(line) {
            self.names.add_test(name, outcome);
        }
    }

    fn close(&mut self, said: Option<(u64, u64)>) {
        let names = std::mem::take(&mut self.names);
        if names.number() == 0 && said.is_none() {
            return;
        }
        let told = names.counts();
        let said = said.map(|(failed, all)| {
            // Disabled tests are no part of the number, skipped ones are.
            let executed = if told.executed == all { all } else { all.saturating_sub(told.skipped) };
            counts(executed, failed, told.skipped)
        });
        let reading = RunnerReading::settle_names(Runner::Ctest, names, said);
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
    }

    /// Result after the last line; none if CTest said nothing.
    pub(super) fn finish_reading(mut self) -> Option<RunnerReading> {
        self.close(None);
        self.readings
    }
}

/// `50% tests passed, 1 tests failed out of 2`.
fn summary(line: &str) -> Option<(u64, u64)> {
    let (_, rest) = text::leading_number(line)?;
    let (failed, rest) = text::leading_number(rest.strip_prefix("% tests passed, ")?)?;
    let (all, _) = text::leading_number(rest.strip_prefix(" tests failed out of ")?)?;
    Some((failed, all))
}

/// Name and end of a test. Whatever stands behind asterisks is no pass.
fn test(line: &str) -> Option<(&str, TestOutcome)> {
    let (_, rest) = text::leading_number(line.trim_start())?;
    let (_, rest) = text::leading_number(rest.strip_prefix('/')?)?;
    let (_, rest) = text::leading_number(rest.trim_start().strip_prefix("Test")?.trim_start().strip_prefix('#')?)?;
    let rest = rest.strip_prefix(": ")?;
    let (name, end) = rest.split_once(" ..").or_else(|| rest.split_once("   ")).or_else(|| rest.split_once("***"))?;
    let end = end.trim_start_matches(['.', ' ', '*']);
    let outcome = if end.starts_with("Passed") {
        TestOutcome::Passed
    } else if end.starts_with("Not Run") || end.starts_with("Skipped") {
        TestOutcome::Skipped
    } else {
        TestOutcome::Failed
    };
    Some((name.trim(), outcome))
}
