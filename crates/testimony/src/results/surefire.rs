//! Maven Surefire's output: numbers alone. The names are in the report files beside it.

use contract::report::TestCounts;

use super::tally::{RunnerReading, TestNames, counts};
use super::{Runner, text};

/// Reader of Surefire's lines.
#[derive(Debug, Default)]
pub(super) struct SurefireReader {
    /// Surefire tells of every class, and of all of them after this line.
    results: bool,
    readings: Option<RunnerReading>,
}

impl SurefireReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        let plain = without_level(line);
        if plain == "Results:" || plain == "Results :" {
            self.results = true;
        } else if self.results
            && let Some(said) = summary(plain)
        {
            self.results = false;
            let reading = RunnerReading::settle_names(Runner::Surefire, TestNames::default(), Some(said));
            self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
        }
    }

    /// Result after the last line; none without a summary.
    pub(super) fn finish(self) -> Option<RunnerReading> {
        self.readings
    }
}

/// Maven puts the level before each line.
fn without_level(line: &str) -> &str {
    let rest = ["[INFO]", "[ERROR]", "[WARNING]"].iter().find_map(|level| line.strip_prefix(level));
    rest.unwrap_or(line).trim()
}

/// `Tests run: 3, Failures: 1, Errors: 0, Skipped: 1`.
fn summary(line: &str) -> Option<TestCounts> {
    let rest = line.strip_prefix("Tests run: ").filter(|rest| !rest.contains("Time elapsed"))?;
    let (ran, rest) = text::leading_number(rest)?;
    let value = |word: &str| text::labelled_number(rest, word);
    let (failed, skipped) = (value("Failures")? + value("Errors")?, value("Skipped")?);
    Some(counts(ran.saturating_sub(skipped), failed, skipped))
}
