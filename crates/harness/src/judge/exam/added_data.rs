//! Data files that the patch adds. They are no part of the exam's tree, like everything of
//! the exam that the baseline does not have; where the exam fails for lack of them, it is
//! held once more with them. Files that the patch changed stay as they were.

use contract::Coverage;
use contract::exam::is_test_data;
use contract::report::{CheckResult, PassKind};
use tree::{Listing, PathMode};

use super::exam_tree::Ran;
use super::{Examiner, Trees, put};
use crate::run::file::Stopped;

impl Examiner<'_> {
    /// Holds the exam, and once more with the added data where that is what it lacks. Gives
    /// the tree that decided.
    pub(super) fn hold_exam(&mut self, exam: Listing) -> Result<(Listing, Vec<Ran>), Stopped> {
        let found = &self.found;
        let before = (found.passes.len(), found.blocks.len(), found.late.len(), found.attempts.len());
        let ran = self.commands(PassKind::Exam, &exam, PassKind::Exam.as_str())?;
        let failed = self.found.passes.iter().skip(before.0).any(|pass| pass.result == CheckResult::Fail);
        let with_data = self.with_added_data(&exam);
        if !failed || with_data == exam {
            return Ok((exam, ran));
        }
        self.say("the patch adds test data: the exam runs once more with it");
        let found = &mut self.found;
        found.passes.truncate(before.0);
        found.blocks.truncate(before.1);
        found.late.truncate(before.2);
        found.attempts.truncate(before.3);
        found.coverage.insert(Coverage::ExamChangeNotControlled);
        let ran = self.commands(PassKind::Exam, &with_data, "exam with added data")?;
        Ok((with_data, ran))
    }

    /// Exam tree with the data files that the patch adds. Files that the baseline has stay
    /// as they were.
    pub(super) fn with_added_data(&self, exam: &Listing) -> Listing {
        let Trees { baseline, result, .. } = self.trees;
        let mut with_data = exam.clone();
        let is_lacking = |path: &Vec<u8>| !baseline.0.contains_key(path) && !exam.0.contains_key(path);
        // What setup and build make is not lacking, and must not be taken from the patch.
        let added = result.0.iter().filter(|(path, _)| is_lacking(path) && !self.is_made(path));
        for (path, entry) in added.filter(|(path, entry)| is_test_data(path) && entry.mode == PathMode::File) {
            put(&mut with_data, path.clone(), *entry);
        }
        with_data
    }
}
