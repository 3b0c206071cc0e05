//! Failing tests of our own for the trees of controls, and their places.

use std::collections::BTreeMap;

use contract::task::Command;
use testimony::control::{self, ControlTest, control_tests};
use testimony::results::TestResults;
use tree::Listing;

use super::Examiner;
use super::control::Controlled;
use super::exam_tree::Ran;
use crate::run::file::Stopped;

/// Letters in the random name of a test.
const NAME: usize = 10;

impl Examiner<'_> {
    /// Failing tests in the files of a tree. On what is delivered they stand where the
    /// baseline has a place for them, under names that the baseline's command runs: a patch
    /// that makes a file unfit for controls, or has the runner pick its tests, keeps none
    /// out.
    pub(super) fn controls_for(
        &self,
        on: Controlled,
        listing: &Listing,
        command: &Command,
        known: &TestResults,
    ) -> Result<Vec<ControlTest>, Stopped> {
        let name = letters()?;
        let of_tree = self.with_control_inputs(listing, command, |inputs| control_tests(known, inputs, &name));
        if on == Controlled::Exam {
            return Ok(of_tree);
        }
        let baseline = self.with_operator_files(self.trees.baseline.clone())?;
        let name = letters()?;
        let of_baseline = self.with_control_inputs(&baseline, command, |inputs| control_tests(known, inputs, &name));
        let mut controls = Vec::new();
        for test in of_baseline {
            controls.extend(self.moved_to(listing, &baseline, test)?);
        }
        for test in of_tree {
            if !controls.iter().any(|control| same_place(control, &test)) {
                controls.push(test);
            }
        }
        Ok(controls)
    }

    /// A control of one tree at the same place of another; None where that has no such file.
    pub(super) fn moved_to(
        &self,
        listing: &Listing,
        from: &Listing,
        test: ControlTest,
    ) -> Result<Option<ControlTest>, Stopped> {
        let entry = |tree: &Listing| tree.0.get(test.path.as_bytes()).copied();
        let (before, after) = (entry(from), entry(listing));
        Ok(match (before, after) {
            (None, None) => Some(test),
            (Some(before), Some(after)) => {
                let length = self.trees.store.blob(before.oid)?.len();
                let mut content = self.trees.store.blob(after.oid)?;
                content.extend_from_slice(test.content.get(length..).unwrap_or_default());
                Some(ControlTest { content, ..test })
            }
            _ => None,
        })
    }

    /// The tests by which files are found: those of the baseline, and those of this run
    /// beside them. The runner is the baseline's.
    pub(super) fn tests_that_ran(&self, index: usize, ran: &Ran) -> Option<TestResults> {
        let before = self.before.commands.get(index);
        let told = before.and_then(|before| before.tests.as_ref()).filter(|tests| tests.counts.executed > 0);
        let now = ran.tests.as_ref();
        let runner = told.map(|tests| tests.runner);
        let runner = runner.or_else(|| before.and_then(|before| before.runners.first().copied()));
        let runner = runner.or_else(|| now.map(|tests| tests.runner))?;
        let mut tests = BTreeMap::new();
        for results in now.into_iter().chain(told) {
            tests.extend(results.tests.iter().map(|(name, outcome)| (name.clone(), *outcome)));
        }
        Some(TestResults::of_tests(runner, tests))
    }

    /// Asks something of a tree as the commands of the contract see it.
    pub(super) fn with_control_inputs<T>(
        &self,
        listing: &Listing,
        command: &Command,
        ask: impl FnOnce(&control::ControlInputs<'_>) -> T,
    ) -> T {
        let paths: Vec<String> = listing.0.keys().filter_map(|path| String::from_utf8(path.clone()).ok()).collect();
        let read = |path: &str| {
            let entry = listing.0.get(path.as_bytes())?;
            self.trees.store.blob(entry.oid).ok()
        };
        let cwd = command.cwd.as_deref().unwrap_or_default();
        ask(&control::ControlInputs { argv: &command.argv, cwd, paths: &paths, read: &read })
    }
}

/// True if both are in the same file. A control of Go is a new file each time, so its
/// folder is compared.
pub(super) fn same_place(one: &ControlTest, other: &ControlTest) -> bool {
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    one.path == other.path || other.path.ends_with("_test.go") && folder(&one.path) == folder(&other.path)
}

/// Random name that the patch cannot have foreseen.
pub(super) fn letters() -> Result<String, Stopped> {
    let mut random = [0; NAME];
    getrandom::fill(&mut random)
        .map_err(|error| Stopped::Io("random numbers".into(), std::io::Error::other(error.to_string())))?;
    Ok(random.iter().map(|byte| char::from(b'a' + byte % 26)).collect())
}
