//! Comparing tests by identity with those of the baseline.
//!
//! Names are compared where both sides have them, and beside them the number of tests that were executed and not named.
//! Where one side has no names, numbers are all there is.

mod pattern;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use contract::report::TestComparison;

use self::pattern::Patterns;
use crate::results::{Outcome, TestResults};

/// What a report lists of each kind.
const MOST_LISTED: usize = 1000;

/// When two tests count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sameness {
    /// The whole identity, parameters included: the exam's own files are as in the baseline.
    Exact,
    /// The function: the patch may have changed what a test is parametrised with.
    Function,
}

/// A way in which the result's exam is less than the baseline's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Weakness {
    NoneExecuted,
    Missing(Vec<String>),
    NewlySkipped(Vec<String>),
    FewerExecuted { baseline: u64, result: u64 },
}

/// What the comparison shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    pub tests: TestComparison,
    pub weaknesses: Vec<Weakness>,
    /// Whether there was anything to compare with; if not, `tests_not_compared` belongs into the coverage.
    pub compared: bool,
}

/// `may_go`: patterns of identities that may disappear, in which `*` stands for any characters and nothing else is special.
/// A pattern without `*` also matches an identity that ends with it behind `::`, ` > `, `/` or `.`, and one that does so
/// without its parameters: `test_a` lets `tests/test_x.py::TestB::test_a[1]` go.
pub fn compare(
    baseline: Option<&TestResults>,
    result: Option<&TestResults>,
    may_go: &[String],
    sameness: Sameness,
) -> Compared {
    let mut compared = Compared {
        tests: TestComparison {
            baseline: baseline.map(|baseline| baseline.counts),
            result: result.map(|result| result.counts),
            ..TestComparison::default()
        },
        ..Compared::default()
    };
    let had = baseline.is_some_and(|baseline| baseline.counts.executed > 0);
    let has = result.map(|result| result.counts.executed > 0);
    // A runner that spoke on the baseline and now says nothing one can read ran none as far as anybody knows.
    if has == Some(false) || has.is_none() && baseline.is_some() {
        compared.weaknesses.push(Weakness::NoneExecuted);
    }
    // Where the baseline ran none, because it cannot even load its tests, nothing can be missed in the result.
    compared.compared = had;
    if let (Some(baseline), Some(result)) = (baseline, result) {
        let may_go = Patterns::new(may_go);
        match baseline.tests.is_empty() || result.tests.is_empty() {
            true => compare_numbers(&mut compared, baseline, result, &may_go),
            false => compare_names(&mut compared, baseline, result, &may_go, sameness),
        }
    }
    compared
}

fn compare_names(
    compared: &mut Compared,
    baseline: &TestResults,
    result: &TestResults,
    may_go: &Patterns<'_>,
    sameness: Sameness,
) {
    let before = grouped(baseline, sameness);
    let after = grouped(result, sameness);
    let weaker = |executed: Option<bool>| {
        let ran = before.iter().filter(|(_, ran)| **ran).map(|(name, _)| *name);
        let weaker = ran.filter(|name| after.get(name).copied() == executed && !may_go.matches(name));
        weaker.map(str::to_owned).collect::<Vec<String>>()
    };
    let (missing, newly_skipped) = (weaker(None), weaker(Some(false)));
    compared.tests.missing = missing.iter().take(MOST_LISTED).cloned().collect();
    compared.tests.newly_skipped = newly_skipped.iter().take(MOST_LISTED).cloned().collect();
    if !missing.is_empty() {
        compared.weaknesses.push(Weakness::Missing(missing));
    }
    if !newly_skipped.is_empty() {
        compared.weaknesses.push(Weakness::NewlySkipped(newly_skipped));
    }
    let lost = unnamed(baseline).saturating_sub(unnamed(result));
    if lost > 0 {
        // Tests that are new in the result and have names make up for none of them.
        compared.fewer(baseline, baseline.counts.executed.saturating_sub(lost));
    } else if result.counts.executed < named(result) {
        // The result's own sources disagree, and the names are then the better of the two stories.
        compare_numbers(compared, baseline, result, may_go);
    }
}

fn compare_numbers(compared: &mut Compared, baseline: &TestResults, result: &TestResults, may_go: &Patterns<'_>) {
    // None at all is a weakness of its own.
    if result.counts.executed >= baseline.counts.executed || result.counts.executed == 0 {
        return;
    }
    let ran = baseline.tests.iter().filter(|(_, outcome)| outcome.executed());
    let may_go = ran.filter(|(name, _)| may_go.matches(name)).count() as u64;
    if result.counts.executed < baseline.counts.executed.saturating_sub(may_go) {
        compared.fewer(baseline, result.counts.executed);
    }
}

impl Compared {
    fn fewer(&mut self, baseline: &TestResults, result: u64) {
        self.weaknesses.push(Weakness::FewerExecuted { baseline: baseline.counts.executed, result });
    }
}

/// Each test, and whether any of those that count as it was executed.
fn grouped(results: &TestResults, sameness: Sameness) -> BTreeMap<&str, bool> {
    let mut grouped = BTreeMap::new();
    for (identity, outcome) in &results.tests {
        let name = match sameness {
            Sameness::Exact => identity.as_str(),
            Sameness::Function => pattern::function(identity),
        };
        *grouped.entry(name).or_default() |= outcome.executed();
    }
    grouped
}

fn named(results: &TestResults) -> u64 {
    results.tests.values().copied().filter(|outcome| Outcome::executed(*outcome)).count() as u64
}

fn unnamed(results: &TestResults) -> u64 {
    results.counts.executed.saturating_sub(named(results))
}
