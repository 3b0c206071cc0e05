//! Exit code and results of a command must agree: each alone can be hidden, by a pipe, by
//! `|| true`, or by the patch.

use contract::report::TestCounts;
use contract::text::{listed, show_controls};

use super::exam_tree::Ran;

/// At most this many tests are named.
const NAMED: usize = 5;

impl Ran {
    /// Failures that the runner tells of and no further attempt turned green.
    fn standing_failures(&self) -> u64 {
        self.tests.as_ref().map_or(0, |tests| tests.standing_failures(None))
    }

    /// True if the command says that the exam was not passed, by its exit code or by its
    /// results.
    pub(super) fn refuses(&self) -> bool {
        let failed = self.exit.is_some_and(|exit| exit != 0) || self.exit == Some(0) && self.standing_failures() > 0;
        self.unready || failed && !self.timed_out
    }

    /// Contradiction between exit code and results, in words; none if they agree.
    pub(super) fn disagreement(&self) -> Option<String> {
        let (exit, tests) = (self.exit.filter(|_| !self.timed_out)?, self.tests.as_ref()?);
        let failures = self.standing_failures();
        let TestCounts { executed, .. } = tests.counts;
        match (exit, failures) {
            (0, 0) => None,
            (0, _) => {
                let names = listed(tests.failed().map(show_controls), NAMED);
                let named = if names.is_empty() { names } else { format!(": {names}") };
                Some(format!("the exit code is 0, and {failures} of {executed} tests failed{named}"))
            }
            (_, 0) if executed > 0 && tests.counts.failed == 0 => {
                Some(format!("the exit code is {exit}, although all of {executed} tests passed"))
            }
            _ => None,
        }
    }

    /// Counts for the report. Of a test that passed at last, the attempts before are no
    /// failures.
    pub(super) fn settled_counts(&self, counts: Option<TestCounts>) -> Option<TestCounts> {
        let settled = self.exit == Some(0) && self.standing_failures() == 0;
        counts.map(|counts| match settled {
            true => TestCounts { executed: counts.passed, failed: 0, ..counts },
            false => counts,
        })
    }
}
