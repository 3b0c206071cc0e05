//! Comparing tests by identity with those of the baseline.

use contract::report::TestComparison;

use crate::results::TestResults;

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
pub fn compare(
    baseline: Option<&TestResults>,
    result: Option<&TestResults>,
    may_go: &[String],
    sameness: Sameness,
) -> Compared {
    let _ = (baseline, result, may_go, sameness);
    Compared::default()
}
