//! Tests of a command beside those of the baseline, by name. Some names are others in every
//! run: only where one is missing and would count is the baseline held a second time, and
//! what both runs do not name alike is compared by its number.

use contract::report::PassKind;
use testimony::compare::{Compared, Terms, UnstableNames, Weakness, compare};
use testimony::results::TestResults;
use tree::Listing;

use super::exam_files::ReleasedChanges;
use super::exam_tree::Ran;
use super::{Examiner, counting};
use crate::run::file::Stopped;

/// A command that was run on a tree.
#[derive(Clone, Copy)]
pub(super) struct CommandRun<'a> {
    pub(super) kind: PassKind,
    pub(super) index: usize,
    pub(super) listing: &'a Listing,
    pub(super) ran: &'a Ran,
}

impl Examiner<'_> {
    /// Compares the tests of a command with the baseline's.
    pub(super) fn compare_with_baseline(
        &mut self,
        run: CommandRun<'_>,
        released: &ReleasedChanges,
        is_excused: bool,
    ) -> Result<Compared, Stopped> {
        let compared = self.compare_names(run, released, None);
        let weak = compared.weaknesses.clone();
        let weak = if is_excused { weak } else { counting(run.ran, weak) };
        if !weak.iter().any(|weakness| matches!(weakness, Weakness::Missing(_))) {
            return Ok(compared);
        }
        Ok(match self.unstable_names(run.index)? {
            Some(unstable) => self.compare_names(run, released, Some(&unstable)),
            None => compared,
        })
    }

    fn compare_names(
        &self,
        run: CommandRun<'_>,
        released: &ReleasedChanges,
        unstable: Option<&UnstableNames>,
    ) -> Compared {
        let CommandRun { kind, index, listing, ran } = run;
        let before = self.before.commands.get(index);
        let terms = Terms {
            may_go: &self.setting.contract.tests_may_go,
            is_relaxed: &|identity| kind == PassKind::Change || released.relax(self, listing, index, identity),
            known_runner: before.is_some_and(|before| !before.runners.is_empty()),
        };
        let before = before.and_then(|before| before.tests.as_ref());
        let settle = |results: &TestResults| unstable.map(|unstable| unstable.settle_names(results));
        let (settled_before, settled) = (before.and_then(settle), ran.tests.as_ref().and_then(settle));
        compare(settled_before.as_ref().or(before), settled.as_ref().or(ran.tests.as_ref()), &terms)
    }

    /// Names that a second run of the baseline does not have; none where all names stay.
    fn unstable_names(&mut self, index: usize) -> Result<Option<UnstableNames>, Stopped> {
        let again = self.hold_baseline_again(index)?;
        let before = self.before.commands.get(index).and_then(|before| before.tests.as_ref());
        let unstable = before.zip(again.as_ref()).and_then(|(before, again)| UnstableNames::between(before, again));
        if unstable.is_some() {
            self.say("some tests have other names in every run of the baseline: they are compared by their number");
        }
        Ok(unstable)
    }
}
