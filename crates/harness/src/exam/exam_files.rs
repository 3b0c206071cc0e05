//! Changes that the patch makes to files of the exam: which are admitted, and which no control can show to be harmless.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use contract::Coverage;
use testimony::control::declaring_files;
use testimony::results::Runner;
use tree::{Change, Listing};

use super::{Examiner, Trees};
use crate::run::Stopped;

/// Files that the patch changed and the contract releases from the exam set.
pub(super) struct ReleasedChanges {
    paths: BTreeSet<String>,
    /// Files of tests, by identity.
    known: RefCell<BTreeMap<String, bool>>,
}

impl ReleasedChanges {
    /// True if the test stands in one of them, so that its parameters may differ from the baseline's; also where nobody can tell.
    pub(super) fn relax(&self, examiner: &Examiner<'_>, listing: &Listing, index: usize, identity: &str) -> bool {
        if self.paths.is_empty() {
            return false;
        }
        if let Some(known) = self.known.borrow().get(identity) {
            return *known;
        }
        let files = examiner.files_of_test(listing, index, identity);
        let relaxed = files.is_empty() || files.iter().any(|file| self.paths.contains(file));
        self.known.borrow_mut().insert(identity.to_owned(), relaxed);
        relaxed
    }
}

impl Examiner<'_> {
    pub(super) fn released_changes(&self) -> ReleasedChanges {
        let Trees { baseline, result, rules, .. } = self.trees;
        let changes = tree::changes(baseline, result).into_iter();
        let released = changes.filter(|change| rules.released.is_match(&change.path));
        let paths = released.filter_map(|change| String::from_utf8(change.path).ok()).collect();
        ReleasedChanges { paths, known: RefCell::default() }
    }

    fn files_of_test(&self, listing: &Listing, index: usize, identity: &str) -> Vec<String> {
        let before = self.before.commands.get(index);
        let runner: Option<Runner> = before.and_then(|before| Some(before.tests.as_ref()?.runner));
        let command = self.setting.contract.verification_commands.get(index);
        let (Some(runner), Some(command)) = (runner, command) else { return Vec::new() };
        self.with_control_room(listing, command, |room| declaring_files(identity, runner, room))
    }

    /// Says so where the patch alters or removes lines of an existing file of the exam: a control shows that the suite can fail,
    /// not that it still checks what it did.
    pub(super) fn note_exam_changes(&mut self) -> Result<(), Stopped> {
        let Trees { baseline, result, rules, .. } = self.trees;
        for change in tree::changes(baseline, result) {
            if rules.is_protected(&change.path) && self.takes_lines_away(&change)? {
                self.found.coverage.insert(Coverage::ExamChangeNotControlled);
                let path = contract::text::shown(&contract::text::path_text(&change.path));
                self.say(&format!("{path}: the patch alters or removes lines of a file of the exam"));
            }
        }
        Ok(())
    }

    fn takes_lines_away(&self, change: &Change) -> Result<bool, Stopped> {
        let (Some(before), after) = (change.before, change.after) else { return Ok(false) };
        let Some(after) = after else { return Ok(true) };
        let (before, after) = (self.trees.store.blob(before.oid)?, self.trees.store.blob(after.oid)?);
        Ok(!only_adds_lines(&before, &after))
    }
}

/// True if every line of the one stands in the other, in the same order.
fn only_adds_lines(before: &[u8], after: &[u8]) -> bool {
    let mut after = after.split(|byte| *byte == b'\n');
    let mut before = before.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    before.all(|line| after.any(|other| other == line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_altered_or_removed() {
        for (before, after, expected) in [
            ("a\nb\n", "a\nb\n", true),
            ("a\nb", "a\nb\nc\n", true),
            ("a\nb\n", "x\na\n\ny\nb\n", true),
            ("a\n\nb\n", "a\nb\n", true),
            ("a\nb\n", "a\n", false),
            ("a\nb\n", "b\na\n", false),
            ("assert x == 1\n", "assert x\n", false),
            ("a\n", "", false),
        ] {
            assert_eq!(only_adds_lines(before.as_bytes(), after.as_bytes()), expected, "{before:?} {after:?}");
        }
    }
}
