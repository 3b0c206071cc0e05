//! Failing tests of random names, for runners we know: an exam that holds one must fail.
//!
//! One goes into each file with tests that ran, so that the same command runs it too. Where that is not sure, because the command picks
//! its tests by an expression or nothing shows which file ran, there is no control rather than one that proves nothing.

mod command;
mod go;
mod node;
mod places;
mod pytest;
mod python;
mod rust;
mod rust_packages;
mod tree;
mod unittest;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use self::places::{declaring_files, known_runners, may_declare_tests};

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

/// Failing tests that the same command will run, one in each file with tests that ran. `name` is random, lower-case letters only.
/// None where the runner is not known well enough.
pub fn control_tests(exam: &TestResults, room: &Room<'_>, name: &str) -> Vec<ControlTest> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    let tree = Tree::of(room);
    let commands = Commands::of(room, &tree);
    let wanted = Wanted { exam, tree: &tree, commands: &commands, name };
    let mut controls = match exam.runner {
        Runner::Pytest => pytest::controls(&wanted),
        Runner::Unittest => unittest::controls(&wanted),
        Runner::Cargo => rust::controls_of_cargo(&wanted),
        Runner::Nextest => rust::controls_of_nextest(&wanted),
        Runner::Node => node::controls(&wanted),
        Runner::Go => go::controls(&wanted),
        // The report does not say who wrote it; the command may.
        Runner::Junit if commands.after(&["node"]).is_some() => node::controls(&wanted),
        Runner::Junit => None,
    }
    .unwrap_or_default();
    let mut seen = BTreeSet::new();
    controls.retain(|control| seen.insert(control.path.clone()));
    controls
}

impl ControlTest {
    /// True if the runner named it and saw it fail.
    pub fn is_named_in(&self, results: &TestResults) -> bool {
        results.failed().any(|identity| identity.to_ascii_lowercase().contains(&self.name))
    }
}

/// Those of the tests that the runner did not see fail. Where it gives numbers alone, as many failures as there are tests are
/// theirs: the exam without them passed.
pub fn unseen<'c>(controls: &'c [ControlTest], results: Option<&TestResults>) -> Vec<&'c ControlTest> {
    let Some(results) = results else { return controls.iter().collect() };
    let unseen: Vec<&ControlTest> = controls.iter().filter(|control| !control.is_named_in(results)).collect();
    let unnamed = results.counts.failed.saturating_sub(results.failed().count() as u64);
    if unnamed >= unseen.len() as u64 { Vec::new() } else { unseen }
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

    /// A name for the test in the file of this number; none of them is part of another.
    fn name_of(&self, index: usize) -> String {
        let letter = |digit: usize| char::from(b'a' + u8::try_from(digit % 26).unwrap_or_default());
        format!("{}{}{}{}", self.name, letter(index / 676), letter(index / 26), letter(index))
    }

    /// A test for each of the files.
    fn each<P>(&self, places: Vec<P>, control: impl Fn(&P, &str) -> Option<ControlTest>) -> Vec<ControlTest> {
        let places = places.iter().take(MOST_PLACES).enumerate();
        places.filter_map(|(index, place)| control(place, &self.name_of(index))).collect()
    }

    /// The file with a test of this name at its end.
    fn appended(&self, path: &str, name: &str, addition: &str) -> Option<ControlTest> {
        let mut content = self.tree.read(path)?;
        content.extend_from_slice(addition.as_bytes());
        Some(ControlTest { path: path.to_owned(), content, name: name.to_owned() })
    }
}

/// A name with a capital.
fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{}{rest}", first.to_ascii_uppercase())
}

/// Each once, in the order in which they came.
fn distinct(paths: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    paths.into_iter().filter(|path| seen.insert(path.clone())).collect()
}
