//! A control test, and the common input of the parts that make one for each runner.

use std::collections::BTreeSet;

use super::command::Commands;
use super::tree::ExamView;
use crate::results::{TestOutcome, TestResults};

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

impl ControlTest {
    /// True if the runner named it and saw it fail.
    pub fn is_named_in(&self, results: &TestResults) -> bool {
        results.failed().any(|identity| identity.to_ascii_lowercase().contains(&self.name))
    }
}

/// Input of every runner's part.
pub(super) struct ControlRequest<'a> {
    pub(super) exam: &'a TestResults,
    pub(super) tree: &'a ExamView<'a>,
    pub(super) commands: &'a Commands,
    pub(super) name: &'a str,
}

impl<'a> ControlRequest<'a> {
    /// Identities of tests that ran, those that passed first.
    pub(super) fn ran(&self) -> impl Iterator<Item = &'a str> {
        let of = |wanted: TestOutcome| {
            let tests = self.exam.tests.iter().filter(move |(_, outcome)| **outcome == wanted);
            tests.map(|(identity, _)| identity.as_str())
        };
        of(TestOutcome::Passed).chain(of(TestOutcome::Failed))
    }

    /// One test that ran for each place, as `place` tells it from the identity; not more
    /// than it is worth looking at.
    pub(super) fn ran_in(&self, place: fn(&'a str) -> &'a str) -> impl Iterator<Item = &'a str> {
        let mut seen = BTreeSet::new();
        self.ran().filter(move |identity| seen.insert(place(identity))).take(MOST_PLACES)
    }

    /// A name for the test in the file of this number; none of them is part of another.
    pub(super) fn name_of(&self, index: usize) -> String {
        let letter = |digit: usize| char::from(b'a' + u8::try_from(digit % 26).unwrap_or_default());
        format!("{}{}{}{}", self.name, letter(index / 676), letter(index / 26), letter(index))
    }

    /// A test for each of the files.
    pub(super) fn each<P>(
        &self,
        places: Vec<P>,
        control: impl Fn(&P, &str) -> Option<ControlTest>,
    ) -> Vec<ControlTest> {
        let places = places.iter().take(MOST_PLACES).enumerate();
        places.filter_map(|(index, place)| control(place, &self.name_of(index))).collect()
    }

    /// The file with a test of this name at its end.
    pub(super) fn appended(&self, path: &str, name: &str, addition: &str) -> Option<ControlTest> {
        let mut content = self.tree.read_file(path)?;
        content.extend_from_slice(addition.as_bytes());
        Some(ControlTest { path: path.to_owned(), content, name: name.to_owned() })
    }
}

/// The file with a method at the end of its last class.
pub(super) fn into_class(wanted: &ControlRequest<'_>, path: &str, name: &str, method: &str) -> Option<ControlTest> {
    let mut content = wanted.tree.read_file(path)?;
    let end = content.iter().rposition(|byte| *byte == b'}')?;
    content.splice(end..end, method.bytes());
    Some(ControlTest { path: path.to_owned(), content, name: name.to_owned() })
}

/// A name with a capital.
pub(super) fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{}{rest}", first.to_ascii_uppercase())
}

/// Each once, in the order in which they came.
pub(super) fn distinct(paths: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    paths.into_iter().filter(|path| seen.insert(path.clone())).collect()
}
