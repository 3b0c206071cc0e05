//! Changes that the patch makes to files of the exam: which are admitted, and which take
//! the place of tests.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use contract::Coverage;
use contract::exam::is_source_name;
use contract::paths::PathRules;
use testimony::control::{declaring_files, may_declare_tests};
use testimony::results::Runner;
use tree::{Listing, PathChange};

use super::{Examiner, Trees};
use crate::run::file::Stopped;

/// Files that the patch changed and the contract releases from the exam set.
pub(super) struct ReleasedChanges {
    paths: BTreeSet<String>,
    /// Files of tests, by identity.
    known: RefCell<BTreeMap<String, bool>>,
}

impl ReleasedChanges {
    /// True if the test is in one of them, so that its parameters may differ from the
    /// baseline's; true in doubt.
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
    /// Changes to exam files that the contract releases.
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
        self.with_control_inputs(listing, command, |inputs| declaring_files(identity, runner, inputs))
    }

    /// The rules under which the result is judged: files that the contract names one by one
    /// are released where no test of the baseline ran from them.
    pub(super) fn rules_of_result(&self) -> Result<PathRules, Stopped> {
        let Trees { baseline, result, rules, store } = self.trees;
        let mut of_result = rules.clone();
        for change in tree::changes(baseline, result) {
            let Some(before) = change.before.filter(|_| rules.may_be_released_by_name(&change.path)) else { continue };
            if !self.may_hold_tests(&change.path, &store.blob(before.oid)?) {
                of_result.released_by_name.insert(change.path);
            }
        }
        Ok(of_result)
    }

    /// True if a test of the baseline may be in the file; true in doubt.
    fn may_hold_tests(&self, path: &[u8], content: &[u8]) -> bool {
        let Ok(path) = std::str::from_utf8(path) else { return true };
        let mut told = self.before.commands.iter().filter_map(|command| command.tests.as_ref()).peekable();
        let is_unknown = told.peek().is_none() && is_source_name(path.as_bytes());
        is_unknown || told.any(|tests| may_declare_tests(path, content, tests))
    }

    /// Reports a patch that defines again what a file of the exam defines: the later
    /// definition counts.
    pub(super) fn note_redefinitions(&mut self) -> Result<(), Stopped> {
        let Trees { baseline, result, rules, store } = self.trees;
        for PathChange { path, before, after } in tree::changes(baseline, result) {
            let (Some(before), Some(after), true) = (before, after, rules.is_protected(&path)) else { continue };
            if redefines(&store.blob(before.oid)?, &store.blob(after.oid)?) {
                self.found.coverage.insert(Coverage::ExamChangeNotControlled);
                let path = contract::text::show_controls(&contract::text::path_text(&path));
                self.say(&format!("{path}: the patch defines again what a file of the exam defines"));
            }
        }
        Ok(())
    }
}

/// True if a function or class of the one stands more often in the other, at the same place.
fn redefines(before: &[u8], after: &[u8]) -> bool {
    let (before, after) = (definitions(before), definitions(after));
    before.iter().any(|(definition, times)| after.get(definition).is_some_and(|now| now > times))
}

/// Functions and classes of Python and of a shell by their place, with how often each is
/// defined.
fn definitions(content: &[u8]) -> BTreeMap<Vec<String>, usize> {
    let mut found = BTreeMap::new();
    let mut place: Vec<(usize, String)> = Vec::new();
    let text = String::from_utf8_lossy(content);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (depth, line) = (line.len() - line.trim_start().len(), line.trim());
        while place.last().is_some_and(|(above, _)| *above >= depth) {
            place.pop();
        }
        let line = line.strip_prefix("async ").unwrap_or(line);
        let name = line.split(['(', ':', ' ']).find(|word| !matches!(*word, "def" | "class")).unwrap_or_default();
        let is_definition = line.starts_with("def ") || line.starts_with("class ") || line.contains("() {");
        if is_definition && !name.is_empty() {
            place.push((depth, name.to_owned()));
            *found.entry(place.iter().map(|(_, name)| name.clone()).collect()).or_default() += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_that_take_the_place_of_others() {
        const FILE: &str = "class A:\n    def test_a(self):\n        assert a\n\n\ndef test_b():\n    assert b\n";
        for (added, expected) in [
            ("", false),
            ("def test_c():\n    pass\n", false),
            ("class B:\n    def test_a(self):\n        pass\n", false),
            ("def test_b():\n    pass\n", true),
            ("async def test_b():\n    pass\n", true),
            ("class A:\n    pass\n", true),
            ("class Bb:\n    pass\ndef test_b():\n    pass\n", true),
            ("    assert b\n", false),
        ] {
            assert_eq!(redefines(FILE.as_bytes(), format!("{FILE}{added}").as_bytes()), expected, "{added}");
        }
        assert!(redefines(b"check() {\n  false\n}\n", b"check() {\n  false\n}\ncheck() {\n  true\n}\n"));
        let inside = FILE.replace("\n\n\n", "\n\n    def test_a(self):\n        pass\n\n\n");
        assert!(redefines(FILE.as_bytes(), inside.as_bytes()));
    }
}
