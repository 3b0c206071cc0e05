//! Comparing tests by identity with those of the baseline.
//!
//! Names are compared where both sides have them, and beside them the number of tests that
//! were executed and not named. Where one side has no names, numbers are all there is.

mod excuse;
mod pattern;
#[cfg(test)]
mod tests;
mod unstable;

use std::collections::BTreeMap;

use contract::report::TestComparison;

pub use self::excuse::{Repetitions, excused_by_repetition, known_failures, newly_failing, too_many_excused};
pub use self::pattern::Patterns;
pub(crate) use self::pattern::function as function_of;
pub use self::unstable::UnstableNames;
use crate::results::{TestOutcome, TestResults};

/// Entries of each kind that a report lists at most.
const MOST_LISTED: usize = 1000;

/// A way in which the result's exam is less than the baseline's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Weakness {
    NoneExecuted,
    Missing(Vec<String>),
    NewlySkipped(Vec<String>),
    FewerExecuted {
        baseline: u64,
        result: u64,
    },
    /// Files, modules or packages whose tests the baseline could not load, and of which nothing ran in the result.
    NothingRan(Vec<String>),
}

/// The terms of a comparison.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// Patterns of identities that may disappear.
    pub may_go: &'a [String],
    /// True for an identity whose parameters may differ from the baseline's: the patch may change the file it stands in.
    pub is_relaxed: &'a dyn Fn(&str) -> bool,
    /// True if the command is known to start a runner, whether or not that spoke on the baseline.
    pub known_runner: bool,
}

impl std::fmt::Debug for Terms<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms").field("may_go", &self.may_go).finish_non_exhaustive()
    }
}

/// Result of the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    pub tests: TestComparison,
    pub weaknesses: Vec<Weakness>,
    /// True if there was anything to compare with; otherwise `tests_not_compared` belongs into the coverage.
    pub compared: bool,
}

/// Compares what ran. In a pattern of `may_go` `*` stands for any characters and nothing else is special. A pattern without `*`
/// also matches an identity that ends with it behind `::`, ` > `, `/` or `.`, and one that does so without its parameters:
/// `test_a` lets `tests/test_x.py::TestB::test_a[1]` go.
pub fn compare(baseline: Option<&TestResults>, result: Option<&TestResults>, terms: &Terms<'_>) -> Compared {
    let mut compared = Compared {
        tests: TestComparison {
            baseline: baseline.map(|baseline| baseline.counts),
            result: result.map(|result| result.counts),
            ..TestComparison::default()
        },
        ..Compared::default()
    };
    let has = result.map(|result| result.counts.executed > 0);
    // A runner that spoke on the baseline and now says nothing one can read ran none as far as anybody knows.
    if has == Some(false) || has.is_none() && (baseline.is_some() || terms.known_runner) {
        compared.weaknesses.push(Weakness::NoneExecuted);
    }
    // Where the baseline ran none, or could not load some, the result cannot be held to all of its tests.
    compared.compared = baseline.is_some_and(|baseline| ran(baseline) > 0 && baseline.unloaded.is_empty());
    if let (Some(baseline), Some(result)) = (baseline, result) {
        let may_go = Patterns::new(terms.may_go);
        match baseline.tests.is_empty() || result.tests.is_empty() {
            true => compare_numbers(&mut compared, baseline, result, &may_go),
            false => compare_names(&mut compared, baseline, result, &may_go, terms),
        }
        compare_unloaded(&mut compared, baseline, result);
    }
    compared
}

/// Tests that ran. Some runners count what could not be loaded as one.
fn ran(results: &TestResults) -> u64 {
    results.counts.executed.saturating_sub(results.unloaded.len() as u64)
}

/// Tests that could not be loaded must run now: code that is still to be written was what it lacked.
fn compare_unloaded(compared: &mut Compared, baseline: &TestResults, result: &TestResults) {
    // Without names nobody can say what ran; of a runner that tells no file nobody can say where.
    let told = |place: &&String| !result.tests.is_empty() && (place.ends_with(".py") || !place.contains(".js"));
    let ran =
        |place: &str| result.tests.iter().any(|(identity, outcome)| outcome.executed() && stands_in(identity, place));
    let silent = baseline.unloaded.iter().filter(told).filter(|place| !ran(place)).cloned();
    let silent: Vec<String> = silent.chain(result.unloaded.iter().cloned()).collect();
    if !silent.is_empty() {
        compared.weaknesses.push(Weakness::NothingRan(silent));
    }
}

/// True if a test stands in a file, module or package.
fn stands_in(identity: &str, place: &str) -> bool {
    identity.strip_prefix(place).is_some_and(|rest| rest.starts_with("::") || rest.starts_with('.'))
        || identity.starts_with(&format!("{}.", place.trim_end_matches(".py").replace('/', ".")))
}

fn compare_names(
    compared: &mut Compared,
    baseline: &TestResults,
    result: &TestResults,
    may_go: &Patterns<'_>,
    terms: &Terms<'_>,
) {
    let before = grouped(baseline, terms);
    let after = grouped(result, terms);
    let weaker = |executed: Option<bool>| {
        let ran = before.iter().filter(|(_, ran)| **ran).map(|(name, _)| *name);
        let ran = ran.filter(|name| !baseline.unloaded.contains(*name));
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
    let lost = unnamed(baseline).saturating_sub(baseline.unloaded.len() as u64).saturating_sub(unnamed(result));
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
    if result.counts.executed >= ran(baseline) || result.counts.executed == 0 {
        return;
    }
    let executed = baseline.tests.iter().filter(|(_, outcome)| outcome.executed());
    let may_go = executed.filter(|(name, _)| may_go.matches(name)).count() as u64;
    if result.counts.executed < ran(baseline).saturating_sub(may_go) {
        compared.fewer(baseline, result.counts.executed);
    }
}

impl Compared {
    fn fewer(&mut self, baseline: &TestResults, result: u64) {
        self.weaknesses.push(Weakness::FewerExecuted { baseline: baseline.counts.executed, result });
    }
}

/// Each test, and whether any of those that count as it was executed.
fn grouped<'r>(results: &'r TestResults, terms: &Terms<'_>) -> BTreeMap<&'r str, bool> {
    let mut grouped = BTreeMap::new();
    for (identity, outcome) in &results.tests {
        let name = if (terms.is_relaxed)(identity) { pattern::function(identity) } else { identity.as_str() };
        *grouped.entry(name).or_default() |= outcome.executed();
    }
    grouped
}

fn named(results: &TestResults) -> u64 {
    results.tests.values().copied().filter(|outcome| TestOutcome::executed(*outcome)).count() as u64
}

fn unnamed(results: &TestResults) -> u64 {
    results.counts.executed.saturating_sub(named(results))
}
