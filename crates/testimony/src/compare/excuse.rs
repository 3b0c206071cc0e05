//! Failing tests that do not count against a patch: those that the contract declares, and
//! those that fail now and then without it.

use std::collections::BTreeSet;

use super::pattern::Patterns;
use crate::results::{TestOutcome, TestResults};

/// More excused tests than this are a suite that proves nothing.
const MOST_EXCUSED: usize = 5;
/// Upper bound on excused tests in a hundred; one is always permitted.
const MOST_PER_HUNDRED: u64 = 2;

/// Failing tests that failed in the baseline too and that `may_stay_red` names.
pub fn known_failures(baseline: &TestResults, result: &TestResults, may_stay_red: &[String]) -> BTreeSet<String> {
    let declared = Patterns::new(may_stay_red);
    let is_known = |name: &&str| declared.matches(name) && baseline.tests.get(*name) == Some(&TestOutcome::Failed);
    result.failed().filter(is_known).map(str::to_owned).collect()
}

/// Failing tests that passed in the baseline.
pub fn newly_failing(baseline: &TestResults, result: &TestResults) -> BTreeSet<String> {
    let passed = |name: &&str| baseline.tests.get(*name) == Some(&TestOutcome::Passed);
    result.failed().filter(passed).map(str::to_owned).collect()
}

/// True if so many tests may not be excused as flaky in a suite of this size.
pub fn too_many_excused(excused: usize, executed: u64) -> bool {
    let share = (excused as u64).saturating_mul(100);
    excused > MOST_EXCUSED || excused > 1 && share > executed.saturating_mul(MOST_PER_HUNDRED)
}

/// A command repeated on one tree, with the result of each repetition.
#[derive(Debug, Clone, Copy)]
pub struct Repetitions<'a>(pub &'a [Option<TestResults>]);

impl Repetitions<'_> {
    fn ended(&self, name: &str, outcome: TestOutcome) -> bool {
        self.0.iter().flatten().any(|results| results.tests.get(name) == Some(&outcome))
    }
}

/// Tests that failed at least once on the baseline and passed at least once with the patch.
pub fn excused_by_repetition(
    tests: &BTreeSet<String>,
    baseline: Repetitions<'_>,
    result: Option<Repetitions<'_>>,
) -> BTreeSet<String> {
    let fails_without = |name: &&String| baseline.ended(name, TestOutcome::Failed);
    let passes_with = |name: &&String| result.is_none_or(|result| result.ended(name, TestOutcome::Passed));
    tests.iter().filter(fails_without).filter(passes_with).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::named;
    use super::*;

    fn set(names: &str) -> BTreeSet<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn only_declared_failures_of_the_baseline_are_known() {
        for (before, after, declared, known, new) in [
            ("-a +b", "-a +b", "a", "a", ""),
            ("-a +b", "-a +b", "*", "a", ""),
            ("-a +b", "-a -b", "*", "a", "b"),
            ("-a +b", "-a +b", "", "", ""),
            ("+a +b", "-a +b", "a", "", "a"),
            (".a +b", "-a +b", "a", "", ""),
            ("+b", "-a +b", "a", "", ""),
        ] {
            let (before, after) = (named(before), named(after));
            let declared: Vec<String> = declared.split_whitespace().map(str::to_owned).collect();
            assert_eq!(known_failures(&before, &after, &declared), set(known), "{before:?} {after:?}");
            assert_eq!(newly_failing(&before, &after), set(new), "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_suite_bears_only_a_few_flaky_tests() {
        for (excused, executed, expected) in
            [(0, 0, false), (1, 1, false), (2, 99, true), (2, 100, false), (5, 250, false), (6, 100_000, true)]
        {
            assert_eq!(too_many_excused(excused, executed), expected, "{excused} of {executed}");
        }
    }

    /// Broken on purpose, broken only with the patch, flaky on both.
    #[test]
    fn a_flaky_test_fails_without_the_patch_and_passes_with_it() {
        for (without, with, expected) in [
            (&["+a", "-a"][..], &["-a", "+a"][..], "a"),
            (&["+a", "+a"], &["-a", "+a"], ""),
            (&["-a", "-a"], &["-a", "-a"], ""),
            (&["-a"], &[".a"], ""),
            (&["-a"], &[], ""),
            (&[".a"], &["+a"], ""),
            (&["+b"], &["+a"], ""),
        ] {
            let held = |said: &[&str]| said.iter().map(|said| Some(named(said))).chain([None]).collect::<Vec<_>>();
            let (without, with) = (held(without), held(with));
            let excused = excused_by_repetition(&set("a"), Repetitions(&without), Some(Repetitions(&with)));
            assert_eq!(excused, set(expected), "{without:?} {with:?}");
        }
    }
}
