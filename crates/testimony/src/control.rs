//! A failing test of random name, for runners we know: an exam that holds it must fail.
//!
//! It goes where tests that ran stand, so that the same command runs it too. Where that is not sure, because the command picks
//! its tests by an expression or nothing shows which file ran, there is no control rather than one that proves nothing.

mod command;
mod go;
mod node;
mod pytest;
mod python;
mod rust;
mod rust_packages;
mod tree;
mod unittest;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use self::command::Commands;
use self::tree::Tree;
use crate::results::{Outcome, Runner, TestResults};

/// Beyond this many places where tests ran none is looked at.
const MOST_PLACES: usize = 500;

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
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let tree = Tree::of(room);
    let commands = Commands::of(room, &tree);
    let wanted = Wanted { exam, tree: &tree, commands: &commands, name };
    match exam.runner {
        Runner::Pytest => pytest::control(&wanted),
        Runner::Unittest => unittest::control(&wanted),
        Runner::Cargo => rust::control_of_cargo(&wanted),
        Runner::Nextest => rust::control_of_nextest(&wanted),
        Runner::Node => node::control(&wanted),
        Runner::Go => go::control(&wanted),
        // The report does not say who wrote it; the command may.
        Runner::Junit if commands.after(&["node"]).is_some() => node::control(&wanted),
        Runner::Junit => None,
    }
}

impl ControlTest {
    /// Whether the runner ran it and saw it fail. Where the runner gives numbers alone, one that failed must be it: the
    /// exam without it passed.
    pub fn failed_in(&self, results: &TestResults) -> bool {
        let failed = || results.tests.iter().filter(|(_, outcome)| **outcome == Outcome::Failed);
        failed().any(|(identity, _)| identity.to_ascii_lowercase().contains(&self.name))
            || results.counts.failed > failed().count() as u64
    }
}

/// What every runner's part is given.
struct Wanted<'a> {
    exam: &'a TestResults,
    tree: &'a Tree<'a>,
    commands: &'a Commands,
    name: &'a str,
}

impl<'a> Wanted<'a> {
    /// Identities of tests that ran, those that passed first.
    fn ran(&self) -> impl Iterator<Item = &'a str> {
        let of = |wanted: Outcome| {
            let tests = self.exam.tests.iter().filter(move |(_, outcome)| **outcome == wanted);
            tests.map(|(identity, _)| identity.as_str())
        };
        of(Outcome::Passed).chain(of(Outcome::Failed))
    }

    /// One test that ran for each place, as `place` tells it from the identity; not more than it is worth looking at.
    fn ran_in(&self, place: fn(&'a str) -> &'a str) -> impl Iterator<Item = &'a str> {
        let mut seen = BTreeSet::new();
        self.ran().filter(move |identity| seen.insert(place(identity))).take(MOST_PLACES)
    }

    /// The name with a capital.
    fn capital(&self) -> String {
        let (first, rest) = self.name.split_at(1);
        format!("{}{rest}", first.to_ascii_uppercase())
    }

    /// The file with something at its end.
    fn appended(&self, path: &str, addition: &str) -> Option<ControlTest> {
        let mut content = self.tree.read(path)?;
        content.extend_from_slice(addition.as_bytes());
        Some(self.control(path, content))
    }

    fn control(&self, path: &str, content: Vec<u8>) -> ControlTest {
        ControlTest { path: path.to_owned(), content, name: self.name.to_owned() }
    }
}
