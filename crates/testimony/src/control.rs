//! A failing test of random name, for runners we know: an exam that holds it must fail.

use crate::results::TestResults;

/// An exam altered so that it must fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlTest {
    /// The file to write, relative to the repository root.
    pub path: String,
    /// Its whole new content.
    pub content: Vec<u8>,
    /// The random part of the test's identity.
    pub name: String,
}

/// Where a control test is made from.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    pub argv: &'a [String],
    /// Working directory of the command relative to the repository root; empty for the root itself.
    pub cwd: &'a str,
    /// Every path of the exam's tree.
    pub paths: &'a [String],
    /// The content of one of them.
    pub read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl std::fmt::Debug for Room<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room").field("argv", &self.argv).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// A failing test that the same command will run, put where tests that ran stand. `name` is random, lower-case letters only.
/// None where the runner is not known well enough.
pub fn control_test(exam: &TestResults, room: &Room<'_>, name: &str) -> Option<ControlTest> {
    let _ = (exam, room, name);
    None
}

impl ControlTest {
    /// Whether the runner ran it and saw it fail.
    pub fn failed_in(&self, results: &TestResults) -> bool {
        let _ = results;
        false
    }
}
