//! Attempts of tests while they ran. An attempt that the baseline's own tests make as well
//! is not the patch's doing, and some tests are about actions that are forbidden to an
//! engine: these are noted, and have no effect outside.

use contract::sandbox::{Attempt, AttemptVerdict};
use gate::conduct::judge_conduct;

use super::Examiner;
use super::exam_tree::ExamTree;

/// Class of an attempt. Only the first word counts, since the rest of a command line may
/// differ each time.
pub(crate) fn sort_of(attempt: &Attempt) -> String {
    let first = attempt.what.split(' ').next().unwrap_or_default();
    format!("{:?} {:?} {:?} {first}", attempt.kind, attempt.judged, attempt.action)
}

impl Examiner<'_> {
    /// Attempts in the sandbox that ended last.
    pub(super) fn tried(&self) -> Vec<Attempt> {
        self.found.cells.last().map(|cell| judge_conduct(&cell.name, &cell.seen)).unwrap_or_default()
    }

    /// Keeps what was tried by the command of this index, as far as the same command did
    /// not try it on the baseline.
    pub(super) fn hold_conduct_against(&mut self, index: usize) {
        let known = self.before.commands.get(index).into_iter().flat_map(|before| &before.tried);
        let new = new_attempts(self.tried(), known);
        self.found.attempts.extend(new.into_iter().map(note_action));
    }

    /// Keeps what setup and build of a judged tree tried, as far as neither did on the
    /// baseline.
    pub(super) fn judge_tree_conduct(&mut self, exam_tree: &ExamTree) {
        let commands = self.before.commands.iter().flat_map(|before| &before.tried);
        let known = commands.chain(self.furnished.layer.iter().flat_map(|layer| &layer.tried));
        let new = new_attempts(exam_tree.attempts.clone(), known);
        self.found.attempts.extend(new);
    }
}

/// Attempts that count and whose sort is not known.
fn new_attempts<'k>(mut tried: Vec<Attempt>, known: impl Iterator<Item = &'k String>) -> Vec<Attempt> {
    let known: Vec<&String> = known.collect();
    let is_known = |attempt: &Attempt| known.iter().any(|known| **known == sort_of(attempt));
    tried.retain(|attempt| attempt.judged != AttemptVerdict::Note && !is_known(attempt));
    tried
}

/// An action that is forbidden to an engine is a note where a test tries it.
fn note_action(attempt: Attempt) -> Attempt {
    match attempt.judged {
        AttemptVerdict::ForbiddenAction => Attempt { judged: AttemptVerdict::Note, ..attempt },
        AttemptVerdict::Violation | AttemptVerdict::Note => attempt,
    }
}
