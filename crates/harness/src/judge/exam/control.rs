//! Controls: the same exam, altered so that it must fail. If it passes, the exam proves
//! nothing.
//!
//! Held on the exam's tree and, where the patch changes files of the exam, on the tree as
//! it is delivered. The control of our own is a failing test in every file with tests that
//! ran. Which runner it is and which files those are comes from the baseline's run.

use contract::report::{CheckResult, PassKind, VerificationPass};
use contract::task::Command;
use contract::text::listed;
use contract::{Coverage, Reason};
use testimony::control::{ControlTest, control_tests, unseen};
use testimony::results::TestResults;
use tree::{Listing, ListingEntry, PathMode};

use super::control_tests::{letters, same_place};
use super::exam_tree::Ran;
use super::{Examiner, pass_name, uncompared};
use crate::run::file::Stopped;

/// Runs in which files are tried that the first run did not reach.
const FURTHER_RUNS: usize = 4;
/// Files that are named in a sentence.
const NAMED: usize = 5;

/// The tree a control is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controlled {
    /// The result with the exam set as in the baseline.
    Exam,
    /// The result as the patch leaves it.
    Delivered,
}

impl Controlled {
    fn pass_name(self, index: usize) -> String {
        match self {
            Self::Exam => pass_name(PassKind::Control, index),
            Self::Delivered => format!("control change {}", index + 1),
        }
    }

    /// The check whose tree it is.
    fn checked(self, index: usize) -> String {
        pass_name(if self == Self::Exam { PassKind::Exam } else { PassKind::Change }, index)
    }

    const fn in_words(self) -> &'static str {
        match self {
            Self::Exam => "the exam",
            Self::Delivered => "the exam as the patch leaves it",
        }
    }
}

/// One command whose control is held, and the tests by which files are found.
struct Controlling<'c> {
    on: Controlled,
    index: usize,
    command: &'c Command,
    known: TestResults,
}

impl Examiner<'_> {
    /// Holds the control: by the contract's patch, or by failing tests of our own in each
    /// command whose runner is known.
    pub(super) fn control(&mut self, on: Controlled, listing: &Listing, ran: &[Ran]) -> Result<(), Stopped> {
        if let Some(patch) = &self.setting.contract.control_patch
            && self.control_by_patch(on, listing, patch.text.as_bytes())?
        {
            return Ok(());
        }
        for (index, ran) in ran.iter().enumerate() {
            if !self.control_command(on, listing, index, ran)? {
                self.found.coverage.insert(Coverage::ExamWithoutControl);
            }
        }
        Ok(())
    }

    /// False if the patch cannot be applied to the delivered tree. If it cannot be applied to the
    /// exam, that counts against the run.
    fn control_by_patch(&mut self, on: Controlled, listing: &Listing, patch: &[u8]) -> Result<bool, Stopped> {
        let altered = match self.trees.store.apply_into(listing, patch) {
            Ok(altered) => altered,
            Err(_) if on == Controlled::Delivered => return Ok(false),
            Err(error) => {
                let text = format!("the control patch does not apply to the exam: {error}");
                self.say(&text);
                self.found.coverage.insert(Coverage::ExamWithoutControl);
                self.found.blocks.push((Reason::VerificationWeakened, text));
                return Ok(true);
            }
        };
        let exam_tree = self.make_exam_tree(&altered, &on.pass_name(0))?;
        let first = self.found.passes.len();
        let mut refused = false;
        for (index, command) in self.setting.contract.verification_commands.iter().enumerate() {
            let name = on.pass_name(index);
            let ran = self.command(&exam_tree, command, None, &name)?;
            refused |= ran.refuses();
            self.push_control(&ran, name, command);
        }
        if !refused {
            self.not_refused(first, &format!("{}, altered so that it must fail, passes", on.in_words()));
        }
        Ok(true)
    }

    /// True if the control could tell of every file: the runner must have seen each test of
    /// our own and called it a failure.
    fn control_command(&mut self, on: Controlled, listing: &Listing, index: usize, ran: &Ran) -> Result<bool, Stopped> {
        let held = self.found.passes.iter().any(|pass| pass.name == on.checked(index) && holds(pass));
        let Some(command) = self.setting.contract.verification_commands.get(index).filter(|_| held) else {
            return Ok(false);
        };
        let Some(known) = self.tests_that_ran(index, ran) else { return Ok(false) };
        let controls = self.controls_for(on, listing, command, &known)?;
        if controls.is_empty() {
            return Ok(false);
        }
        let all: Vec<&ControlTest> = controls.iter().collect();
        let controlling = Controlling { on, index, command, known };
        let name = on.pass_name(index);
        let ran = self.run_control(&controlling, listing, &all, &name)?;
        if !ran.refuses() || self.hides_failures(&controlling, &ran)? {
            self.push_control(&ran, name, command);
            let text =
                format!("failing tests that the harness added to {} do not fail {}", quoted(&all), on.in_words());
            self.not_refused(self.found.passes.len() - 1, &text);
            return Ok(true);
        }
        let left = unseen(&controls, ran.tests.as_ref());
        if left.len() == controls.len() {
            return self.unseen_at_all(&controlling, &name, &left);
        }
        self.push_control(&ran, name.clone(), command);
        self.try_further(&controlling, listing, &name, left)
    }

    /// Tries files again that the first run did not reach, because the runner stopped at a
    /// failure before them.
    fn try_further(
        &mut self,
        controlling: &Controlling<'_>,
        listing: &Listing,
        name: &str,
        mut left: Vec<&ControlTest>,
    ) -> Result<bool, Stopped> {
        for further in 1..=FURTHER_RUNS {
            if left.is_empty() {
                break;
            }
            let name = format!("{name} further {further}");
            let ran = self.run_control(controlling, listing, &left, &name)?;
            if !ran.refuses() {
                return self.not_failed_by(controlling, &name, &ran, &left);
            }
            let before = left.len();
            left.retain(|test| !ran.tests.as_ref().is_some_and(|tests| test.is_named_in(tests)));
            self.push_control(&ran, name, controlling.command);
            if left.len() == before {
                break;
            }
        }
        if !left.is_empty() {
            self.say(&format!("{name}: no control reached {} files: {}", left.len(), quoted(&left)));
        }
        Ok(left.is_empty())
    }

    fn run_control(
        &mut self,
        controlling: &Controlling<'_>,
        listing: &Listing,
        tests: &[&ControlTest],
        name: &str,
    ) -> Result<Ran, Stopped> {
        let mut altered = listing.clone();
        for test in tests {
            let oid = self.trees.store.put_blob(&test.content)?;
            let mode = altered.0.get(test.path.as_bytes()).map_or(PathMode::File, |entry| entry.mode);
            altered.0.insert(test.path.clone().into_bytes(), ListingEntry { mode, oid });
        }
        let exam_tree = self.make_exam_tree(&altered, name)?;
        let mut ran = self.command(&exam_tree, controlling.command, None, name)?;
        self.hear_only_known(controlling.index, &mut ran);
        Ok(ran)
    }

    /// True if the command ended with 0 in spite of failures that were read, and does not
    /// do so on the baseline.
    fn hides_failures(&mut self, controlling: &Controlling<'_>, ran: &Ran) -> Result<bool, Stopped> {
        if ran.exit != Some(0) {
            return Ok(false);
        }
        let before = self.before.commands.get(controlling.index);
        let hid = before.is_some_and(|before| {
            before.exit == Some(0) && before.tests.as_ref().is_some_and(|tests| tests.counts.failed > 0)
        });
        if hid {
            return Ok(false);
        }
        let on_baseline = self.control_of_baseline(controlling, None)?;
        Ok(on_baseline.is_some_and(|(ran, _)| ran.exit.is_some_and(|exit| exit != 0)))
    }

    /// The exam failed and no test of our own was named. Where the baseline's runner names
    /// it, the patch keeps it from doing so.
    fn unseen_at_all(
        &mut self,
        controlling: &Controlling<'_>,
        name: &str,
        left: &[&ControlTest],
    ) -> Result<bool, Stopped> {
        self.say(&format!("{name}: failing tests were added to {}, and the runner named none of them", quoted(left)));
        let on_baseline = self.control_of_baseline(controlling, Some(left))?;
        if on_baseline.is_some_and(|(_, seen)| seen) {
            let tree = controlling.on.in_words();
            let text = format!("the runner names a failing test of the baseline's exam, and none of {tree}");
            self.found.blocks.push((Reason::VerificationWeakened, text));
        }
        Ok(false)
    }

    /// Failing tests in files that the first run did not reach, and the exam passes:
    /// weakened if the baseline's exam fails by them.
    fn not_failed_by(
        &mut self,
        controlling: &Controlling<'_>,
        name: &str,
        ran: &Ran,
        left: &[&ControlTest],
    ) -> Result<bool, Stopped> {
        let fails_before = self.control_of_baseline(controlling, Some(left))?.is_some_and(|(ran, _)| ran.refuses());
        if !fails_before || ran.timed_out {
            self.say(&format!("{name}: failing tests in {} fail neither this tree nor the baseline", quoted(left)));
            return Ok(false);
        }
        self.push_control(ran, name.to_owned(), controlling.command);
        let tree = controlling.on.in_words();
        let text = format!("failing tests in {} fail the baseline's exam and not {tree}", quoted(left));
        self.not_refused(self.found.passes.len() - 1, &text);
        Ok(true)
    }

    /// The same control on the baseline, in the same files as far as the baseline has them:
    /// its end, and true if each was seen.
    fn control_of_baseline(
        &mut self,
        controlling: &Controlling<'_>,
        only: Option<&[&ControlTest]>,
    ) -> Result<Option<(Ran, bool)>, Stopped> {
        let Controlling { index, command, known, .. } = controlling;
        let listing = self.with_operator_files(self.trees.baseline.clone())?;
        let name = letters()?;
        let controls = self.with_control_inputs(&listing, command, |inputs| control_tests(known, inputs, &name));
        let wanted = |test: &&ControlTest| only.is_none_or(|only| only.iter().any(|other| same_place(other, test)));
        let controls: Vec<&ControlTest> = controls.iter().filter(wanted).collect();
        if controls.is_empty() {
            return Ok(None);
        }
        let late = self.found.late.len();
        let ran = self.run_control(controlling, &listing, &controls, &format!("baseline {} control", index + 1))?;
        self.found.late.truncate(late);
        let seen = controls.iter().all(|test| ran.tests.as_ref().is_some_and(|tests| test.is_named_in(tests)));
        Ok(Some((ran, seen)))
    }

    fn push_control(&mut self, ran: &Ran, name: String, command: &Command) {
        let tests = uncompared(ran.tests.as_ref());
        self.found.passes.push(ran.pass(PassKind::Control, name, &command.argv, tests, CheckResult::Pass));
    }

    fn not_refused(&mut self, first: usize, text: &str) {
        let controls: &mut [VerificationPass] = &mut self.found.passes[first..];
        controls.iter_mut().for_each(|pass| pass.result = CheckResult::Fail);
        if !controls.iter().any(|pass| pass.timed_out) {
            self.found.blocks.push((Reason::VerificationWeakened, text.to_owned()));
        }
    }
}

/// Paths of controls for a sentence.
fn quoted(tests: &[&ControlTest]) -> String {
    listed(tests.iter().map(|test| format!("`{}`", test.path)), NAMED)
}

fn holds(pass: &VerificationPass) -> bool {
    pass.result == CheckResult::Pass
}
