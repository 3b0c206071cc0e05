//! Failing tests that do not count against the patch: known failures that the contract
//! declares, and tests that fail now and then on the baseline as well.

use std::collections::{BTreeMap, BTreeSet};

use contract::Coverage;
use contract::report::{Excuse, FailedTest, PassKind};
use testimony::compare::{
    Patterns, Repetitions, excused_by_repetition, known_failures, newly_failing, too_many_excused,
};
use testimony::results::{TestOutcome, TestResults, failure_messages};
use tree::Listing;

use super::exam_tree::Ran;
use super::{Examiner, pass_name};
use crate::run::file::Stopped;

/// Failing tests that a report lists, and those of them whose message is looked for.
const MOST_LISTED: usize = 1000;
const MOST_EXPLAINED: usize = 50;
/// Tests that are tried as the proof of an entry of `must_pass`.
const MOST_TRIED: usize = 50;

/// Failing tests by why each does not count.
#[derive(Debug, Default)]
pub(super) struct Excused(BTreeMap<String, Excuse>);

impl Excused {
    fn of(&self, excuse: Excuse) -> usize {
        self.0.values().filter(|found| **found == excuse).count()
    }
}

/// A repeated command: its results and the exit codes with which it ended.
struct HeldAgain {
    results: Vec<Option<TestResults>>,
    exits: BTreeSet<i32>,
}

impl Examiner<'_> {
    /// Excuses every failing test of a command that ended with a failure, or none of them.
    /// A test that is not excused decides, so that nothing is repeated in vain.
    pub(super) fn excuse(
        &mut self,
        kind: PassKind,
        index: usize,
        listing: &Listing,
        ran: &Ran,
    ) -> Result<Option<Excused>, Stopped> {
        let Some(before) = self.before.commands.get(index) else { return Ok(None) };
        let (Some(exit), Some(tests), Some(tests_before)) =
            (ran.exit.filter(|exit| *exit != 0 && !ran.timed_out), &ran.tests, before.tests.clone())
        else {
            return Ok(None);
        };
        let contract = self.setting.contract;
        let failed: BTreeSet<String> = tests.failed().map(str::to_owned).collect();
        // A failure without a name is one that nobody declared.
        if failed.is_empty() || tests.counts.failed > failed.len() as u64 || !any_green(&tests_before, tests) {
            return Ok(None);
        }
        let known = known_failures(&tests_before, tests, &contract.may_stay_red);
        let rest: BTreeSet<String> = failed.difference(&known).cloned().collect();
        let must_pass = Patterns::new(&contract.must_pass);
        let may_be_flaky = rest.is_subset(&newly_failing(&tests_before, tests))
            && !rest.iter().any(|name| must_pass.matches(name))
            && !too_many_excused(rest.len(), tests.counts.executed);
        let mut exits = BTreeSet::from_iter(before.exit.filter(|_| !known.is_empty()));
        if !rest.is_empty() {
            let Some(more) = (if may_be_flaky { self.are_flaky(kind, index, listing, &rest)? } else { None }) else {
                return Ok(None);
            };
            exits.extend(more);
        }
        if !exits.contains(&exit) {
            return Ok(None);
        }
        let each = |names: BTreeSet<String>, excuse| names.into_iter().map(move |name| (name, excuse));
        let excused = Excused(each(known, Excuse::KnownFailure).chain(each(rest, Excuse::Flaky)).collect());
        for (excuse, coverage) in
            [(Excuse::KnownFailure, Coverage::KnownFailures), (Excuse::Flaky, Coverage::FlakyTests)]
        {
            if excused.of(excuse) > 0 {
                self.found.coverage.insert(coverage);
            }
        }
        Ok(Some(excused))
    }

    /// Holds the command again on both trees, the baseline alone and first. The exit codes
    /// of a baseline in which tests failed; None if one of the tests is not flaky.
    fn are_flaky(
        &mut self,
        kind: PassKind,
        index: usize,
        listing: &Listing,
        tests: &BTreeSet<String>,
    ) -> Result<Option<BTreeSet<i32>>, Stopped> {
        let baseline = self.with_operator_files(self.trees.baseline.clone())?;
        let without = self.hold_again(&baseline, index, "baseline")?;
        let repeated = Repetitions(&without.results);
        if excused_by_repetition(tests, repeated, None) != *tests {
            return Ok(None);
        }
        let with = self.hold_again(listing, index, kind.as_str())?;
        let excused = excused_by_repetition(tests, repeated, Some(Repetitions(&with.results)));
        Ok((excused == *tests).then_some(without.exits))
    }

    fn hold_again(&mut self, listing: &Listing, index: usize, what: &str) -> Result<HeldAgain, Stopped> {
        let mut held = HeldAgain { results: Vec::new(), exits: BTreeSet::new() };
        let Some(command) = self.setting.contract.verification_commands.get(index) else { return Ok(held) };
        for repetition in 1..=self.setting.contract.flaky_retries() {
            let name = format!("{what} {} again {repetition}", index + 1);
            let exam_tree = self.make_exam_tree(listing, &name)?;
            let mut ran = self.run_on_baseline(&exam_tree, command, &name)?;
            self.hear_only_known(index, &mut ran);
            held.exits.extend(ran.exit.filter(|exit| *exit != 0 && !ran.timed_out));
            held.results.push(ran.tests);
        }
        Ok(held)
    }

    /// Checks each entry of `must_pass`: it needs a test that was red or absent and is
    /// green, and that is in no file of the patch. On one tree it needs a green test.
    pub(super) fn judge_must_pass(&mut self, exam: &Listing, ran: &[Ran]) -> Vec<String> {
        let contract = self.setting.contract;
        let unproven = contract.must_pass.iter().filter(|entry| !self.proves(exam, ran, entry));
        let entries: Vec<String> =
            unproven.map(|entry| format!("`{}`", contract::text::show_controls(entry))).collect();
        entries
    }

    fn proves(&self, exam: &Listing, ran: &[Ran], entry: &String) -> bool {
        let pattern = Patterns::new(std::slice::from_ref(entry));
        ran.iter().enumerate().any(|(index, ran)| {
            let Some(tests) = &ran.tests else { return false };
            let before = self.before.commands.get(index).and_then(|before| before.tests.as_ref());
            let was = |name: &str| before.and_then(|before| before.tests.get(name));
            let green = tests.tests.iter().filter(|(name, outcome)| {
                let is_new = self.is_one_tree || was(name) != Some(&TestOutcome::Passed);
                **outcome == TestOutcome::Passed && pattern.matches(name) && is_new
            });
            green.take(MOST_TRIED).any(|(name, _)| self.is_of_baseline(exam, index, tests, name))
        })
    }

    /// True if every file in which the test may stand is one of the baseline's or of the
    /// operator's.
    fn is_of_baseline(&self, exam: &Listing, index: usize, tests: &TestResults, name: &str) -> bool {
        let Some(command) = self.setting.contract.verification_commands.get(index) else { return false };
        let files = self.with_control_inputs(exam, command, |inputs| {
            testimony::control::declaring_files(name, tests.runner, inputs)
        });
        let given = |path: &String| {
            let operator = self.setting.contract.verification_files.iter().any(|file| file.path == *path);
            operator || self.trees.baseline.0.get(path.as_bytes()) == exam.0.get(path.as_bytes())
        };
        !files.is_empty() && files.iter().all(given)
    }

    /// Failing tests for the report, each with its message.
    pub(super) fn failed_tests(&self, ran: &Ran, excused: Option<&Excused>) -> Vec<FailedTest> {
        let Some(tests) = &ran.tests else { return Vec::new() };
        let names: Vec<&str> = tests.failed().take(MOST_LISTED).collect();
        let mut messages = failure_messages(&ran.output, names.iter().take(MOST_EXPLAINED).copied());
        let each = names.into_iter().map(|name| FailedTest {
            name: name.to_owned(),
            message: messages.remove(name).unwrap_or_default(),
            excused: excused.and_then(|excused| excused.0.get(name).copied()),
        });
        each.collect()
    }

    /// Fails the exam for what `must_pass` asks for and no test shows.
    pub(super) fn refuse_unproven(&mut self, unproven: &[String]) {
        if unproven.is_empty() {
            return;
        }
        let first = pass_name(PassKind::Exam, 0);
        for pass in self.found.passes.iter_mut().filter(|pass| pass.name == first) {
            pass.result = contract::report::CheckResult::Fail;
        }
        let entries = unproven.join(", ");
        let text = match self.is_one_tree {
            true => format!("must_pass {entries}: no test of the tree or of verification_files is green"),
            false => format!(
                "must_pass {entries}: no test of the baseline or of verification_files that was red or absent before is green now"
            ),
        };
        self.found.blocks.push((contract::Reason::VerificationFailed, text));
    }
}

/// True if some test passes on both trees.
fn any_green(before: &TestResults, after: &TestResults) -> bool {
    let passed = |tests: &TestResults, name: &str| tests.tests.get(name) == Some(&TestOutcome::Passed);
    before.tests.keys().any(|name| passed(before, name) && passed(after, name))
}
