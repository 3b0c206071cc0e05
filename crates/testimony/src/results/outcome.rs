//! Runners, outcomes, and the tests of one command by name.

use std::collections::{BTreeMap, BTreeSet};

use contract::report::TestCounts;

use super::tally::Parts;

/// A runner whose words we can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runner {
    Pytest,
    Unittest,
    Cargo,
    Nextest,
    Node,
    Go,
    Junit,
    Mocha,
    Jest,
    Vitest,
    Ava,
    Ctest,
    Rspec,
    Phpunit,
    Surefire,
}

impl Runner {
    /// The name that people know it by.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Cargo => "cargo test",
            Self::Nextest => "cargo nextest",
            Self::Node => "node --test",
            Self::Go => "go test",
            Self::Junit => "a runner that writes JUnit XML",
            Self::Mocha => "mocha",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Ava => "ava",
            Self::Ctest => "ctest",
            Self::Rspec => "rspec",
            Self::Phpunit => "phpunit",
            Self::Surefire => "maven surefire",
        }
    }

    /// True if a name that comes again may be another attempt at the same test. With the
    /// others it is another test.
    pub(super) const fn retries(self) -> bool {
        match self {
            Self::Pytest | Self::Nextest | Self::Go | Self::Junit => true,
            Self::Unittest | Self::Cargo | Self::Node => false,
            Self::Mocha | Self::Jest | Self::Vitest | Self::Ava | Self::Ctest => false,
            Self::Rspec | Self::Phpunit | Self::Surefire => false,
        }
    }
}

/// Outcome of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestOutcome {
    Passed,
    Failed,
    Skipped,
}

impl TestOutcome {
    /// True if the test ran.
    pub fn executed(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }

    /// Worse of two outcomes of one test: neither a failure nor a skip is ever lost.
    pub(super) fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed, _) | (_, Self::Failed) => Self::Failed,
            (Self::Skipped, _) | (_, Self::Skipped) => Self::Skipped,
            (Self::Passed, Self::Passed) => Self::Passed,
        }
    }
}

/// The tests of one command. Where several runners spoke, `runner` is the one that executed
/// most.
///
/// An identity that comes more than once is followed by ` ⟨2⟩`, ` ⟨3⟩`, those that ran
/// first: which of the equals it was is unknown, their number is known.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TestResults {
    pub runner: Runner,
    /// Outcomes by identity. Empty if the runner gave only numbers; if it named a part of
    /// its tests, `counts` covers more.
    pub tests: BTreeMap<String, TestOutcome>,
    pub counts: TestCounts,
    /// Failures that no later attempt of the same test turned green, by the runner that
    /// reported them.
    pub standing: BTreeMap<Runner, u64>,
    /// Every runner that spoke.
    pub runners: BTreeSet<Runner>,
    /// Tests that were found, whether they ran or not.
    pub collected: u64,
    /// Files, modules and packages whose tests could not be loaded, as identities of their
    /// tests begin.
    pub unloaded: BTreeSet<String>,
    #[serde(skip)]
    pub(super) parts: Parts,
}

impl TestResults {
    /// Failures that stand by this runner's report; all of them if the runner is unknown.
    /// Results of other runners in the same output were printed by a test.
    pub fn standing_failures(&self, runner: Option<Runner>) -> u64 {
        let told = self.standing.iter().filter(|(told_by, _)| runner.is_none_or(|runner| runner == **told_by));
        told.map(|(_, failures)| failures).sum()
    }

    /// Results of named tests of one runner, without its summary.
    pub fn of_tests(runner: Runner, tests: BTreeMap<String, TestOutcome>) -> Self {
        let number = |wanted: TestOutcome| tests.values().filter(|outcome| **outcome == wanted).count() as u64;
        let (passed, failed, skipped) =
            (number(TestOutcome::Passed), number(TestOutcome::Failed), number(TestOutcome::Skipped));
        let counts = TestCounts { executed: passed + failed, passed, failed, skipped };
        Self {
            runner,
            counts,
            standing: BTreeMap::from_iter((failed > 0).then_some((runner, failed))),
            runners: BTreeSet::from([runner]),
            collected: tests.len() as u64,
            unloaded: BTreeSet::new(),
            tests,
            parts: Parts::default(),
        }
    }

    /// Words of these runners; None where none of them spoke. The rest of the same output
    /// was printed by a test.
    pub fn only(&self, runners: &BTreeSet<Runner>) -> Option<Self> {
        self.parts.results_of(runners)
    }

    /// Names of tests that failed.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().filter(|(_, outcome)| **outcome == TestOutcome::Failed).map(|(name, _)| name.as_str())
    }
}
