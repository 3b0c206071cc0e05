//! The checks of one verification: how many were made, and those that do not hold.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// The check that fails for a bundle of a format that this program does not read; no other says anything about such a one.
pub const FORMAT_VERSION: &str = "format_version";

/// The check that fails for a whole bundle in the place of another run's.
pub const RUN_MISMATCH: &str = "run_mismatch";

/// One check that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    pub file: String,
    pub check: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub expected: String,
    pub found: String,
}

/// Collects checks as they are made.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) made: u64,
    pub(super) failures: Vec<Failure>,
}

impl Checks {
    /// Counts a check; a failed one is kept with what was expected and found.
    pub(super) fn check(
        &mut self,
        holds: bool,
        file: &str,
        check: &str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> bool {
        self.made += 1;
        if !holds {
            self.fail(file, check, None, expected, found);
        }
        holds
    }

    pub(super) fn same<T: PartialEq + fmt::Display>(&mut self, file: &str, check: &str, expected: T, found: T) -> bool {
        self.check(expected == found, file, check, &expected, &found)
    }

    pub(super) fn fail(
        &mut self,
        file: &str,
        check: &str,
        line: Option<u64>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) {
        let cut = |value: &dyn fmt::Display| contract::text::shown(&value.to_string()).chars().take(300).collect();
        self.failures.push(Failure {
            file: contract::text::shown(file),
            check: check.to_owned(),
            line,
            expected: cut(&expected),
            found: cut(&found),
        });
    }
}
