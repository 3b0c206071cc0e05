//! Counts of tests, as libtest's closing lines tell them.

use std::fmt;

use crate::ChoreResult;

/// Numbers of tests by outcome.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    /// Tests of jobs that failed beside others and passed alone. They are among those that passed.
    pub(super) unsteady: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl Counts {
    /// Fails if a test failed. Skipped tests are no failure.
    pub(crate) fn verdict(self) -> ChoreResult {
        match self.failed {
            0 => Ok(()),
            failed => Err(format!("{failed} failed")),
        }
    }

    /// Counts of a test program that was asked for this many tests, from what it printed
    /// and how it ended. A program that did not come to its closing line, or whose line
    /// does not account for every test, failed all that it does not name.
    pub(super) fn of_program(asked: usize, ended_well: bool, output: &str) -> Self {
        let mut counts = Self::default();
        if let Some(line) = output.lines().rev().find(|line| line.starts_with("test result: ")) {
            counts.add_line(line);
        }
        let told = counts.passed + counts.failed + counts.skipped;
        counts.failed += (asked as u64).saturating_sub(told);
        if !ended_well && counts.failed == 0 {
            counts.passed = counts.passed.saturating_sub(1);
            counts.failed = 1;
        }
        counts
    }

    /// The same counts of tests that needed a second try.
    pub(super) fn as_unsteady(self) -> Self {
        Self { unsteady: self.passed, ..self }
    }

    /// Line that comes directly before the closing one, so that nobody takes a second try for a first.
    pub(crate) fn unsteady_line(self) -> String {
        format!("{} unsteady", self.unsteady)
    }

    /// Adds a line such as `test result: ok. 8 passed; 0 failed; 1 ignored; 0 measured;
    /// ...`; ignores any other.
    pub(super) fn add_line(&mut self, line: &str) {
        let Some((_, result)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
            return;
        };
        for part in result.split("; ") {
            match part.split_once(' ').map(|(number, word)| (number.parse::<u64>(), word)) {
                Some((Ok(number), "passed")) => self.passed += number,
                Some((Ok(number), "failed")) => self.failed += number,
                Some((Ok(number), "ignored")) => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Adds the counts of another process.
    pub(super) fn join_counts(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.unsteady += other.unsteady;
    }

    /// A test that said it was skipped has ended well, and libtest counted it as passed.
    pub(super) fn skip_tests(&mut self, number: u64) {
        self.passed = self.passed.saturating_sub(number);
        self.skipped += number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        let mut counts = Counts::default();
        for line in [
            "test result: ok. 8 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
            "test prints::test result: ok. 100 passed ... ok",
            "running 3 tests",
        ] {
            counts.add_line(line);
        }
        counts.skip_tests(2);
        assert_eq!(counts.to_string(), "10 passed, 2 failed, 3 skipped");
        assert!(counts.verdict().is_err());
    }

    #[test]
    fn a_second_try_is_counted_openly() {
        let tried = |passed| Counts { passed, ..Counts::default() };
        let mut counts = tried(7);
        assert_eq!(counts.unsteady_line(), "0 unsteady");
        counts.join_counts(tried(2).as_unsteady());
        counts.join_counts(tried(1).as_unsteady());
        assert_eq!(
            (counts.unsteady_line(), counts.to_string()),
            ("3 unsteady".to_owned(), "10 passed, 0 failed, 0 skipped".to_owned())
        );
    }

    #[test]
    fn a_program_accounts_for_every_test() {
        const FINE: &str =
            "test a ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out\n";
        const BAD: &str = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out\n";
        for (asked, ended_well, output, expected) in [
            (2, true, FINE, "2 passed, 0 failed, 0 skipped"),
            (2, false, BAD, "1 passed, 1 failed, 0 skipped"),
            // Killed, or a crash: no line.
            (2, false, "running 2 tests\ntest a ... ok\n", "0 passed, 2 failed, 0 skipped"),
            (2, true, "", "0 passed, 2 failed, 0 skipped"),
            // A name that the program does not have.
            (3, true, FINE, "2 passed, 1 failed, 0 skipped"),
            // Its line is fine and its end is not.
            (2, false, FINE, "1 passed, 1 failed, 0 skipped"),
            // The last line counts: a test may print one of its own.
            (2, true, &format!("test result: ok. 7 passed; 0 failed\n{FINE}"), "2 passed, 0 failed, 0 skipped"),
        ] {
            assert_eq!(Counts::of_program(asked, ended_well, output).to_string(), expected, "{output}");
        }
    }
}
