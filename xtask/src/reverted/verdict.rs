//! The tests of a row without its defence: those that fail, by the rows of theirs that
//! fall, and those that pass all the same.

use std::fmt;

/// Everything libtest printed.
pub(super) struct TestOutput(pub(super) String);

impl TestOutput {
    /// True if libtest printed that the test passed.
    pub(super) fn passed(&self, test: &str) -> bool {
        self.0.lines().any(|line| line.strip_prefix("test ").is_some_and(|rest| rest == format!("{test} ... ok")))
    }

    /// Rows of the test that `testkit::each_row` named; none where the test has no rows, or
    /// did not come to name them.
    fn failed_rows(&self, test: &str) -> Vec<String> {
        let header = format!("---- {test} stdout ----");
        let output = self.0.lines().skip_while(|line| *line != header).skip(1);
        let output: Vec<&str> = output.take_while(|line| !is_header(line)).collect();
        let told = output.iter().rposition(|line| line.ends_with(" rows failed")).map(|at| &output[at + 1..]);
        let names = told.into_iter().flatten().map_while(|line| line.strip_prefix("row "));
        names.map(str::to_owned).collect()
    }
}

fn is_header(line: &str) -> bool {
    line.starts_with("---- ") && line.ends_with(" stdout ----")
}

/// A test that fails without the defence.
#[derive(Debug)]
struct FailedTest {
    name: String,
    rows: Vec<String>,
}

/// Tests of a row without its defence, by their outcome.
#[derive(Debug)]
pub(super) struct RowVerdict {
    failing: Vec<FailedTest>,
    pub(super) passing: Vec<String>,
}

impl RowVerdict {
    /// Verdict from the printed output of the tests.
    pub(super) fn of_output(tests: &[String], said: &TestOutput) -> Self {
        let (passing, failing): (Vec<String>, Vec<String>) = tests.iter().cloned().partition(|test| said.passed(test));
        let failed = |name: String| FailedTest { rows: said.failed_rows(&name), name };
        Self { failing: failing.into_iter().map(failed).collect(), passing }
    }

    /// Rows that fall; a test without rows is one.
    pub(super) fn fallen(&self) -> usize {
        self.failing.iter().map(|test| test.rows.len().max(1)).sum()
    }
}

impl fmt::Display for RowVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.failing.len(), self.passing.len()) {
            (failing, 0) => write!(f, "missed by all {failing}")?,
            (failing, passing) => write!(f, "missed by {failing}, NOT by {passing}")?,
        }
        write!(f, "; {} fall", self.fallen())?;
        for test in &self.failing {
            write!(f, "\n    {}", test.name)?;
            for row in &test.rows {
                write!(f, "\n        {row}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "test a::b ... ok\ntest a::c ... FAILED\ntest a::bb ... ok\ntest a::d ... FAILED\n\nfailures:\n\n\
        ---- a::c stdout ----\n\nthread 'a::c' panicked at x.rs:1:1:\nrow of something\n\nthread 'a::c' panicked at y.rs:1:1:\n\
        2 of 3 rows failed\nrow an object\nrow a stamp, too\nnote: more\n\n---- a::d stdout ----\nrow odd\n\nfailures:\n    a::c\n";

    #[test]
    fn only_a_test_that_said_ok_has_passed() {
        let said = TestOutput(SAID.to_owned());
        assert!(said.passed("a::b"));
        assert!(!said.passed("a::c") && !said.passed("b") && !said.passed("a::e"));
    }

    #[test]
    fn rows_that_fall_are_counted_and_a_test_without_rows_is_one() {
        let tests = ["a::b", "a::c", "a::d"].map(str::to_owned);
        let verdict = RowVerdict::of_output(&tests, &TestOutput(SAID.to_owned()));
        assert_eq!((verdict.passing.as_slice(), verdict.fallen()), (&["a::b".to_owned()][..], 3));
        let expected = "missed by 2, NOT by 1; 3 fall\n    a::c\n        an object\n        a stamp, too\n    a::d";
        assert_eq!(verdict.to_string(), expected);
    }
}
