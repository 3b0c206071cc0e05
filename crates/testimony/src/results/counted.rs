//! Runners whose usual output gives numbers and names what failed: RSpec, PHPUnit, Maven Surefire.

use contract::report::TestCounts;

use super::tally::{Names, Reading, counts};
use super::{Runner, text};

/// The last numbers of each runner; each gives them once a session.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Surefire tells of every class, and of all of them after this line.
    results: bool,
    rspec: Option<Reading>,
    phpunit: Option<Reading>,
    surefire: Option<Reading>,
}

impl Reader {
    pub(super) fn hear(&mut self, line: &str) {
        let plain = without_level(line);
        if plain == "Results:" || plain == "Results :" {
            self.results = true;
        } else if self.results
            && let Some(said) = surefire(plain)
        {
            self.results = false;
            add(&mut self.surefire, Runner::Surefire, said);
        } else if let Some(said) = rspec(line) {
            add(&mut self.rspec, Runner::Rspec, said);
        } else if let Some(said) = phpunit(line) {
            add(&mut self.phpunit, Runner::Phpunit, said);
        }
    }

    pub(super) fn finish(self) -> impl Iterator<Item = Reading> {
        [self.rspec, self.phpunit, self.surefire].into_iter().flatten()
    }
}

fn add(readings: &mut Option<Reading>, runner: Runner, said: TestCounts) {
    let reading = Reading::settle(runner, Names::default(), Some(said));
    *readings = Reading::all(readings.take().into_iter().chain([reading]));
}

/// Maven puts the level before each line.
fn without_level(line: &str) -> &str {
    let rest = ["[INFO]", "[ERROR]", "[WARNING]"].iter().find_map(|level| line.strip_prefix(level));
    rest.unwrap_or(line).trim()
}

/// `Tests run: 3, Failures: 1, Errors: 0, Skipped: 1`.
fn surefire(line: &str) -> Option<TestCounts> {
    let rest = line.strip_prefix("Tests run: ").filter(|rest| !rest.contains("Time elapsed"))?;
    let (ran, rest) = text::number(rest)?;
    let value = |word: &str| labelled(rest, word);
    let (failed, skipped) = (value("Failures")? + value("Errors")?, value("Skipped")?);
    Some(counts(ran.saturating_sub(skipped), failed, skipped))
}

/// `12 examples, 1 failure, 2 pending, 1 error occurred outside of examples`.
fn rspec(line: &str) -> Option<TestCounts> {
    let (examples, rest) = text::number(line)?;
    let rest = rest.strip_prefix(" examples, ").or_else(|| rest.strip_prefix(" example, "))?;
    let value = |words: &[&str]| super::suites::number_of(rest, words);
    let failed = value(&["failure", "failures"]);
    let outside = value(&["error occurred outside of examples", "errors occurred outside of examples"]);
    let pending = value(&["pending"]);
    let executed = examples.saturating_sub(pending);
    Some(counts(executed + outside, failed + outside, pending))
}

/// `OK (12 tests, 34 assertions)`, or `Tests: 12, Assertions: 34, Failures: 1, Errors: 1, Skipped: 2.`
fn phpunit(line: &str) -> Option<TestCounts> {
    if let Some(rest) = line.strip_prefix("OK (") {
        let (tests, rest) = text::number(rest)?;
        return (rest.starts_with(" test") && rest.contains(" assertion")).then(|| counts(tests, 0, 0));
    }
    let rest = line.strip_prefix("Tests: ").filter(|rest| rest.contains(", Assertions: "))?;
    let (tests, rest) = text::number(rest)?;
    let value = |word: &str| labelled(rest, word).unwrap_or(0);
    let skipped = value("Skipped") + value("Incomplete");
    Some(counts(tests.saturating_sub(skipped), value("Failures") + value("Errors"), skipped))
}

/// The number behind `Word: ` in a list.
fn labelled(list: &str, word: &str) -> Option<u64> {
    let mut parts = list.split(',').map(str::trim);
    parts.find_map(|part| text::number(part.strip_prefix(word)?.strip_prefix(": ")?).map(|(number, _)| number))
}
