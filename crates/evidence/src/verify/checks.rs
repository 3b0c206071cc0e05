//! The checks of one verification: how many were made, and those that do not hold.

use std::fmt;

use contract::{Report, Status};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::stop::has_defect;

/// Defect of a test build that believes every proof.
pub(super) const UNVERIFIED_PROOFS: &str = "proof_facts_unverified";

/// The check that fails for a bundle of a format that this program does not read; no other
/// says anything about such a one.
pub const FORMAT_VERSION: &str = "format_version";

/// The check that fails for a whole bundle in the place of another run's.
pub const RUN_MISMATCH: &str = "run_mismatch";

/// One check that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// File of the bundle that the check is about.
    pub file: String,
    /// Stable name of the check.
    pub check: String,
    /// Line in the file, from 1, for files that are read by lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub expected: String,
    pub found: String,
}

/// Collects checks as they are made.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// Number of checks, those that hold included.
    pub(super) made: u64,
    pub(super) failures: Vec<Failure>,
}

impl Checks {
    /// Counts a check; a failed one is kept with what was expected and found.
    pub(super) fn count_check(
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

    /// Checks that two values are equal; returns the result so that a caller can skip
    /// checks that depend on it.
    pub(super) fn check_same<T: PartialEq + fmt::Display>(
        &mut self,
        file: &str,
        check: &str,
        expected: T,
        found: T,
    ) -> bool {
        self.count_check(expected == found, file, check, &expected, &found)
    }

    /// Records a check that does not hold. Counts as one check.
    pub(super) fn fail(
        &mut self,
        file: &str,
        check: &str,
        line: Option<u64>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) {
        let cut =
            |value: &dyn fmt::Display| contract::text::show_controls(&value.to_string()).chars().take(300).collect();
        self.failures.push(Failure {
            file: contract::text::show_controls(file),
            check: check.to_owned(),
            line,
            expected: cut(&expected),
            found: cut(&found),
        });
    }
}

/// Compares the fields of a proof, each with the name that it has there.
pub(super) struct ProofChecks<'c> {
    /// Name of the proof's file.
    pub(super) file: &'static str,
    pub(super) checks: &'c mut Checks,
}

impl ProofChecks<'_> {
    /// Compares one field of a stage's proof as JSON, so that values of any type can be
    /// shown.
    pub(super) fn check_field(&mut self, field: &str, expected: impl Serialize, found: impl Serialize) {
        let (expected, found) = (json!(expected), json!(found));
        let holds = expected == found || has_defect(UNVERIFIED_PROOFS);
        self.checks.count_check(holds, self.file, "stage_proof", format_args!("{field} {expected}"), &found);
    }

    /// Holds in every pass, and says nothing of other runs.
    pub(super) fn holds_in_pass(&mut self, report: &Report, field: &str, found: bool) {
        let holds = found || report.status != Status::Pass || has_defect(UNVERIFIED_PROOFS);
        self.checks.count_check(holds, self.file, "stage_proof", format_args!("{field} true in a pass"), found);
    }
}
