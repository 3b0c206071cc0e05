//! What a test runner said: which tests there were and how each ended.

use std::collections::BTreeMap;
use std::path::Path;

use contract::report::TestCounts;

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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// The tests of one command.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TestResults {
    pub runner: Runner,
    /// By identity. Empty where the runner gave only numbers.
    pub tests: BTreeMap<String, Outcome>,
    pub counts: TestCounts,
}

/// Everything a command left that may name tests.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    pub argv: &'a [String],
    pub stdout: &'a [u8],
    pub stderr: &'a [u8],
    /// Name and content of the files in the folder that [`asking`] named, and of report files that argv itself names.
    pub files: &'a [(String, Vec<u8>)],
}

/// Variables that ask known runners to name their tests; argv stays as the contract has it. `folder` is where they may
/// write reports.
pub fn asking(folder: &Path) -> Vec<(&'static str, String)> {
    let _ = folder;
    Vec::new()
}

/// Report files that a command's own arguments name, relative to its working directory.
pub fn report_files(argv: &[String]) -> Vec<String> {
    let _ = argv;
    Vec::new()
}

/// None where nothing in it looks like a runner's words.
pub fn read(heard: &Heard<'_>) -> Option<TestResults> {
    let _ = heard;
    None
}
