//! Attempts of tests while they ran. An attempt that the baseline's own tests make as well is nothing the patch did, and an action that is
//! forbidden to an engine is what some tests are about: it is noted, and reaches nobody.

use contract::sandbox::{Attempt, AttemptVerdict};
use gate::conduct::judge_conduct;

use super::Examiner;
use super::room::Room;

/// What it is that was tried: the rest of a command line may be another each time.
pub(crate) fn sort_of(attempt: &Attempt) -> String {
    let first = attempt.what.split(' ').next().unwrap_or_default();
    format!("{:?} {:?} {:?} {first}", attempt.kind, attempt.judged, attempt.action)
}

impl Examiner<'_> {
    /// What was tried in the cell that ended last.
    pub(super) fn tried(&self) -> Vec<Attempt> {
        self.found.cells.last().map(|cell| judge_conduct(&cell.name, &cell.seen)).unwrap_or_default()
    }

    /// Keeps what was tried by the command of this index, as far as the same command did not try it on the baseline.
    pub(super) fn hold_conduct_against(&mut self, index: usize) {
        let known = self.before.commands.get(index).map(|before| &before.tried);
        let new = self.tried().into_iter().filter(|attempt| {
            attempt.judged != AttemptVerdict::Note && !known.is_some_and(|known| known.contains(&sort_of(attempt)))
        });
        let noted = |attempt: Attempt| match attempt.judged {
            AttemptVerdict::ForbiddenAction => Attempt { judged: AttemptVerdict::Note, ..attempt },
            AttemptVerdict::Violation | AttemptVerdict::Note => attempt,
        };
        let new: Vec<Attempt> = new.map(noted).collect();
        self.found.attempts.extend(new);
    }

    /// Keeps what setup and build of a judged tree tried, as far as neither did on the baseline.
    pub(super) fn hold_room_conduct(&mut self, room: &Room) {
        let commands = self.before.commands.iter().flat_map(|before| &before.tried);
        let before = commands.chain(self.furnished.layer.iter().flat_map(|layer| &layer.tried));
        let known: Vec<&String> = before.collect();
        let new = room.attempts.iter().filter(|attempt| {
            attempt.judged != AttemptVerdict::Note && !known.iter().any(|known| **known == sort_of(attempt))
        });
        let new: Vec<Attempt> = new.cloned().collect();
        self.found.attempts.extend(new);
    }
}
