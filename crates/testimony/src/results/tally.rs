//! Adding up: names of tests with their outcomes, the numbers of a summary, and both
//! together.

use std::collections::{BTreeMap, BTreeSet};

use contract::report::TestCounts;

use super::{Runner, TestOutcome, TestResults, text};

/// Beyond this many tests only their number is kept.
pub(super) const MOST_TESTS: usize = 200_000;

/// Tests by name. A name may occur more than once: then its outcomes are counted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct TestNames {
    by_name: BTreeMap<String, Told>,
    number: [u64; 3],
    too_many: bool,
}

/// Results of one name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Told {
    /// Number of results by outcome.
    times: [u32; 3],
    last: Option<TestOutcome>,
}

impl TestNames {
    /// Adds a test under its bounded, printable identity.
    pub(super) fn add_test(&mut self, name: &str, outcome: TestOutcome) {
        self.add_times(text::identity(name), outcome, 1);
    }

    /// Counts a test that began and never ended. It has no name that a comparison could
    /// take for a test that ran.
    pub(super) fn cut_off(&mut self) {
        self.add_unnamed(TestOutcome::Failed, 1);
    }

    /// Adds tests of which only the number is known.
    pub(super) fn add_unnamed(&mut self, outcome: TestOutcome, times: u64) {
        self.number[outcome as usize] += times;
    }

    fn add_times(&mut self, name: String, outcome: TestOutcome, times: u32) {
        self.number[outcome as usize] += u64::from(times);
        if self.number() > MOST_TESTS as u64 {
            self.forget();
        }
        if !self.too_many {
            let told = self.by_name.entry(name).or_default();
            told.times[outcome as usize] += times;
            told.last = Some(outcome);
        }
    }

    fn absorb(&mut self, other: Self) {
        for (name, told) in other.by_name {
            for (outcome, times) in OUTCOMES.into_iter().zip(told.times) {
                if times > 0 {
                    self.add_times(name.clone(), outcome, times);
                }
            }
            if let Some(here) = self.by_name.get_mut(&name) {
                here.last = told.last;
            }
        }
        if other.too_many {
            self.forget();
        }
    }

    /// Keeps the number alone.
    pub(super) fn forget(&mut self) {
        self.too_many = true;
        self.by_name.clear();
    }

    /// The same tests, named as parts of something.
    pub(super) fn below_parent(self, parent: &str) -> Self {
        let mut below = Self { too_many: self.too_many, ..Self::default() };
        for (name, told) in self.by_name {
            let entry = below.by_name.entry(text::identity(&format!("{parent} > {name}"))).or_default();
            entry.times.iter_mut().zip(told.times).for_each(|(sum, times)| *sum += times);
            entry.last = told.last;
        }
        Self { number: self.number, ..below }
    }

    /// Number of tests with any outcome.
    pub(super) fn number(&self) -> u64 {
        self.number.iter().sum()
    }

    /// Counts by outcome.
    pub(super) fn counts(&self) -> TestCounts {
        let [passed, failed, skipped] = self.number;
        TestCounts { executed: passed + failed, passed, failed, skipped }
    }

    fn into_tests(self) -> BTreeMap<String, TestOutcome> {
        let each = self.by_name.into_iter().flat_map(|(name, told)| {
            let outcomes = OUTCOMES.into_iter().zip(told.times);
            let outcomes = outcomes.flat_map(|(outcome, times)| (0..times).map(move |_| outcome));
            outcomes.enumerate().map(move |(before, outcome)| match before {
                0 => (name.clone(), outcome),
                _ => (format!("{name} ⟨{}⟩", before + 1), outcome),
            })
        });
        each.collect()
    }
}

/// In the order in which equal names are numbered.
pub(super) const OUTCOMES: [TestOutcome; 3] = [TestOutcome::Passed, TestOutcome::Failed, TestOutcome::Skipped];

/// Result of one runner in one output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunnerReading {
    runner: Runner,
    names: TestNames,
    counts: TestCounts,
    /// Tests that the runner found, whether they ran or not.
    collected: u64,
    /// Files, modules and packages whose tests could not be loaded.
    unloaded: BTreeSet<String>,
}

impl RunnerReading {
    /// Names and a summary of the same tests. Where they disagree, fewer were executed and
    /// more have failed.
    pub(super) fn settle_names(runner: Runner, names: TestNames, said: Option<TestCounts>) -> Self {
        let counts = match said {
            Some(said) if names.number() == 0 => said,
            Some(said) => worse(names.counts(), said),
            None => names.counts(),
        };
        let collected = counts.executed.saturating_add(counts.skipped);
        Self { runner, names, counts, collected, unloaded: BTreeSet::new() }
    }

    /// Adds units that could not be loaded; the runner counted some of them as tests.
    pub(super) fn without(mut self, unloaded: BTreeSet<String>, counted: u64) -> Self {
        self.collected = self.collected.saturating_sub(counted);
        self.unloaded = unloaded;
        self
    }

    /// The same with the number of tests that the runner said it found.
    pub(super) fn having_collected(mut self, collected: u64) -> Self {
        self.collected = self.collected.max(collected);
        self
    }

    /// Runner that the output belongs to.
    pub(super) fn runner(&self) -> Runner {
        self.runner
    }

    /// Failures, less those of tests whose last attempt passed.
    fn standing_failures(&self) -> u64 {
        if !self.runner.retries() {
            return self.counts.failed;
        }
        let attempts = self.names.by_name.values().filter(|told| told.last == Some(TestOutcome::Passed));
        let settled: u64 = attempts.map(|told| u64::from(told.times[TestOutcome::Failed as usize])).sum();
        self.counts.failed.saturating_sub(settled)
    }

    /// More of the same runner.
    pub(super) fn absorb(&mut self, other: Self) {
        self.names.absorb(other.names);
        self.counts = sum(self.counts, other.counts);
        self.collected = self.collected.saturating_add(other.collected);
        self.unloaded.extend(other.unloaded);
    }

    /// Another telling of the same tests, which may have names that this one has not.
    pub(super) fn confirm(&mut self, other: Self) {
        if self.names.number() == 0 && other.counts == self.counts {
            self.names = other.names;
        }
        self.counts = worse(self.counts, other.counts);
    }

    /// All of one runner's sessions as one.
    pub(super) fn all(readings: impl IntoIterator<Item = Self>) -> Option<Self> {
        readings.into_iter().reduce(|mut first, next| {
            first.absorb(next);
            first
        })
    }
}

/// Everything that was heard of a command.
pub(super) fn total(readings: Vec<RunnerReading>) -> Option<TestResults> {
    // The first of those that executed most.
    let runner = readings.iter().rev().max_by_key(|reading| reading.counts.executed)?.runner;
    let mut standing = BTreeMap::new();
    for reading in &readings {
        *standing.entry(reading.runner).or_default() += reading.standing_failures();
    }
    standing.retain(|_, failures| *failures > 0);
    let runners = readings.iter().map(RunnerReading::runner).collect();
    let RunnerReading { names, counts, collected, unloaded, .. } = RunnerReading::all(readings.iter().cloned())?;
    let tests = names.into_tests();
    Some(TestResults { runner, runners, tests, counts, standing, collected, unloaded, parts: Parts(readings) })
}

/// Words of each runner, apart.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Parts(Vec<RunnerReading>);

impl Parts {
    /// Words of these runners.
    pub(super) fn results_of(&self, runners: &BTreeSet<Runner>) -> Option<TestResults> {
        total(self.0.iter().filter(|reading| runners.contains(&reading.runner)).cloned().collect())
    }
}

/// Numbers that a summary gives, made to fit together.
pub(super) fn counts(executed: u64, failed: u64, skipped: u64) -> TestCounts {
    let failed = failed.min(executed);
    TestCounts { executed, passed: executed - failed, failed, skipped }
}

fn worse(one: TestCounts, other: TestCounts) -> TestCounts {
    counts(one.executed.min(other.executed), one.failed.max(other.failed), one.skipped.max(other.skipped))
}

/// Sum of two counts, without overflow.
pub(super) fn sum(one: TestCounts, other: TestCounts) -> TestCounts {
    TestCounts {
        executed: one.executed.saturating_add(other.executed),
        passed: one.passed.saturating_add(other.passed),
        failed: one.failed.saturating_add(other.failed),
        skipped: one.skipped.saturating_add(other.skipped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TestOutcome::{Failed, Passed, Skipped};

    fn names(tests: &[(&str, TestOutcome)]) -> TestNames {
        let mut names = TestNames::default();
        tests.iter().for_each(|(name, outcome)| names.add_test(name, *outcome));
        names
    }

    #[test]
    fn equal_names_are_numbered_those_that_ran_first() {
        let names = names(&[("a", Skipped), ("a", Failed), ("b", Skipped), ("a", Passed)]);
        let expected = [("a", Passed), ("a ⟨2⟩", Failed), ("a ⟨3⟩", Skipped), ("b", Skipped)];
        assert_eq!(names.into_tests(), expected.map(|(name, outcome)| (name.to_owned(), outcome)).into());
    }

    #[test]
    fn the_worse_numbers_count() {
        let check = |said: TestCounts, expected: TestCounts| {
            let names = names(&[("a", Passed), ("b", Passed), ("c", Skipped)]);
            assert_eq!(RunnerReading::settle_names(Runner::Go, names, Some(said)).counts, expected, "{said:?}");
        };
        check(counts(2, 0, 1), counts(2, 0, 1));
        check(counts(1, 0, 0), counts(1, 0, 1));
        check(counts(5, 1, 3), counts(2, 1, 3));
        check(counts(0, 0, 0), counts(0, 0, 1));
        let unnamed = RunnerReading::settle_names(Runner::Go, TestNames::default(), Some(counts(5, 1, 3)));
        assert_eq!(unnamed.counts, counts(5, 1, 3));
    }

    #[test]
    fn a_failure_stands_unless_another_attempt_passed() {
        let retried = names(&[("a", Failed), ("a", Passed), ("b", Failed)]);
        let readings = vec![
            RunnerReading::settle_names(Runner::Nextest, retried.clone(), None),
            RunnerReading::settle_names(Runner::Pytest, TestNames::default(), Some(counts(3, 2, 0))),
            RunnerReading::settle_names(Runner::Go, names(&[("c", Passed), ("c", Failed)]), None),
            // Equal names are no attempts here, but tests of their own.
            RunnerReading::settle_names(Runner::Node, retried, None),
        ];
        let total = total(readings).unwrap();
        let failures = [None, Some(Runner::Nextest), Some(Runner::Pytest), Some(Runner::Go), Some(Runner::Node)];
        assert_eq!(failures.map(|runner| total.standing_failures(runner)), [6, 1, 2, 1, 2]);
    }

    #[test]
    fn the_last_attempt_counts_across_sessions() {
        let sessions = |first: TestOutcome, second: TestOutcome| {
            let session = |outcome| RunnerReading::settle_names(Runner::Pytest, names(&[("a", outcome)]), None);
            total(RunnerReading::all([session(first), session(second)]).into_iter().collect()).unwrap()
        };
        assert_eq!(sessions(Failed, Passed).standing_failures(None), 0);
        assert_eq!(sessions(Passed, Failed).standing_failures(None), 1);
    }

    #[test]
    fn one_runner_can_be_heard_alone() {
        let readings = vec![
            RunnerReading::settle_names(Runner::Pytest, names(&[("a", Passed)]), None),
            RunnerReading::settle_names(Runner::Junit, names(&[("b", Failed), ("c", Passed)]), None),
        ];
        let total = total(readings).unwrap();
        assert_eq!(total.runner, Runner::Junit);
        let only = total.only(&BTreeSet::from([Runner::Pytest])).unwrap();
        assert_eq!((only.runner, only.tests.len(), only.counts), (Runner::Pytest, 1, counts(1, 0, 0)));
        assert_eq!(total.only(&BTreeSet::from([Runner::Go])), None);
    }

    #[test]
    fn too_many_names_leave_their_number() {
        let mut many = TestNames::default();
        (0..=MOST_TESTS).for_each(|number| many.add_test(&number.to_string(), Passed));
        let readings = vec![
            RunnerReading::settle_names(Runner::Go, names(&[("a", Failed)]), None),
            RunnerReading::settle_names(Runner::Node, many, None),
        ];
        let total = total(readings).unwrap();
        assert_eq!((total.runner, total.tests.len()), (Runner::Node, 0));
        assert_eq!(total.counts, counts(MOST_TESTS as u64 + 2, 1, 0));
    }
}
