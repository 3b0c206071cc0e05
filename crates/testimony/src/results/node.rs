//! Common parts of the two reporters of Node's test runner: tests within tests, and the
//! numbers at the end.

use std::collections::BTreeSet;

use contract::report::TestCounts;

use super::tally::{RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Deeper tests are named as if they stood here.
const DEEPEST: usize = 64;

/// Separator between a test and its parent.
const WITHIN: &str = " > ";

/// Tests of one run as they come in: nested tests are reported before their parent's own
/// outcome.
#[derive(Debug, Default)]
pub(super) struct NestedTests {
    parents: Vec<Parent>,
    names: TestNames,
    /// Files that failed before any of their tests was reported.
    unloaded: BTreeSet<String>,
}

#[derive(Debug)]
struct Parent {
    name: String,
    children: u64,
    failed: bool,
}

impl NestedTests {
    /// A test, suite or file begins at this depth.
    pub(super) fn open_node(&mut self, depth: usize, name: &str) {
        let depth = depth.min(DEEPEST);
        self.parents.truncate(depth);
        let name = plain_name(name).to_owned();
        self.parents.push(Parent { name, children: 0, failed: false });
    }

    /// Something ended at this depth. A suite, file or test with tests inside is no test
    /// itself, unless it failed on its own.
    pub(super) fn close_node(&mut self, depth: usize, name: &str, outcome: Option<TestOutcome>) {
        let depth = depth.min(DEEPEST);
        let name = plain_name(name);
        let own = self.parents.get(depth).filter(|parent| parent.name == name);
        let (children, child_failed) = own.map_or((0, false), |parent| (parent.children, parent.failed));
        self.parents.truncate(depth);
        if let Some(outcome) = outcome
            && (children == 0 || outcome == TestOutcome::Failed && !child_failed)
        {
            self.names.add_test(&self.path(name), outcome);
            if depth == 0 && children == 0 && outcome == TestOutcome::Failed && is_file(name) {
                self.unloaded.insert(text::identity(name));
            }
        }
        if let Some(parent) = self.parents.last_mut() {
            parent.children += 1;
            parent.failed |= outcome == Some(TestOutcome::Failed) || child_failed;
        }
    }

    /// Old versions show each file as a test that holds the tests in it, new ones do not:
    /// it is no part of a name.
    fn path(&self, name: &str) -> String {
        let parents = self.parents.iter().map(|parent| parent.name.as_str());
        let parents = parents.enumerate().filter(|(depth, parent)| *depth > 0 || !is_file(parent));
        let mut path = String::new();
        for part in parents.map(|(_, parent)| parent).chain([name]) {
            if !path.is_empty() {
                path.push_str(WITHIN);
            }
            path.push_str(part);
            if path.len() > text::LONGEST_IDENTITY {
                break;
            }
        }
        path
    }

    /// Result of one run, from its names and its summary.
    pub(super) fn settle_run(&mut self, summary: &NodeSummary) -> Option<RunnerReading> {
        let Self { names, unloaded, .. } = std::mem::take(self);
        let (said, counted) = (summary.counts(), unloaded.len() as u64);
        let told = names.number() > 0 || said.is_some();
        told.then(|| RunnerReading::settle_names(Runner::Node, names, said).without(unloaded, counted))
    }
}

/// A file as Node names it: before version 22 with the place where the tree happens to lie.
fn plain_name(name: &str) -> &str {
    if is_file(name) { text::stable_path(name) } else { name }
}

fn is_file(name: &str) -> bool {
    let script = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"].iter().any(|ending| name.ends_with(ending));
    script && !name.contains(' ')
}

/// `tests 3`, `pass 2` and so on, each in a line of its own.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct NodeSummary {
    said: bool,
    /// True if it says how tests ended. A number of tests alone says nothing of those that ran.
    ended: bool,
    pass: u64,
    fail: u64,
    cancelled: u64,
    skipped: u64,
    todo: u64,
}

impl NodeSummary {
    /// Gives whether the line was the last of a summary. Others than Node line the numbers
    /// up with spaces.
    pub(super) fn take_line(&mut self, line: &str) -> bool {
        let Some((word, value)) = line.split_once(' ') else { return false };
        if word == "duration_ms" {
            return self.said;
        }
        let Some((number, "")) = text::leading_number(value.trim_start_matches(' ')) else { return false };
        match word {
            "tests" => self.said = true,
            "pass" => (self.pass, self.ended) = (number, true),
            "fail" => (self.fail, self.ended) = (number, true),
            "cancelled" => self.cancelled = number,
            "skipped" => self.skipped = number,
            "todo" => self.todo = number,
            _ => {}
        }
        false
    }

    /// Counts of the summary. A `todo` test checks nothing, whatever its outcome: it counts
    /// as skipped.
    fn counts(&self) -> Option<TestCounts> {
        let failed = self.fail.saturating_add(self.cancelled);
        (self.said && self.ended)
            .then(|| counts(self.pass.saturating_add(failed), failed, self.skipped.saturating_add(self.todo)))
    }

    /// True if the summary has begun.
    pub(super) fn is_said(&self) -> bool {
        self.said
    }
}
