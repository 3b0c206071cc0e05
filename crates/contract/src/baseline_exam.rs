//! Facts of the preflight's phase D: the contract's commands on the baseline, before an
//! engine starts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::TestCounts;

/// The baseline's exam as far as the gate `baseline_exam` judges it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineExamFacts {
    /// Reason why the environment could not be made on the baseline, if it could not: then
    /// no command was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unprepared: Option<String>,
    /// True if the baseline has a test file; looked for only where a runner found no test.
    pub test_files: bool,
    pub commands: Vec<BaselineCommandFact>,
    /// One for each entry of `must_pass`, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_pass: Vec<PremiseFact>,
    /// One for each entry of `may_stay_red`, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_stay_red: Vec<PremiseFact>,
    /// True if the runners named every test that they found. A name that they did not print
    /// is then no test.
    pub all_named: bool,
}

/// One command on the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineCommandFact {
    /// Absent where it could not be started.
    pub exit: Option<i32>,
    pub timed_out: bool,
    /// The runner that it is known to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// Tests that the runner found, with `verification_files` or, where that gave none,
    /// without.
    pub collected: u64,
    /// The program or module that its output says is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_tool: Option<String>,
    /// The end of its output, where that explains a refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_lines: String,
}

/// Matches of an entry of the contract among the tests that the baseline's exam named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PremiseFact {
    pub entry: String,
    /// Tests that failed.
    pub red: u64,
    /// Tests that passed or were skipped.
    pub other: u64,
}
