//! Controls: the same exam, altered so that it must fail. If it passes, the exam proves nothing.

use contract::report::{CheckResult, PassKind, VerificationPass};
use contract::{Coverage, Reason};
use testimony::control::{self, ControlTest};
use tree::{Entry, Listing, Mode};

use super::room::Ran;
use super::{Examiner, pass_name, uncompared};
use crate::run::Stopped;

/// Letters in the random name of a test.
const NAME: usize = 10;

impl Examiner<'_> {
    /// By the contract's patch, or by a failing test of our own in each command whose runner is known.
    pub(super) fn control(&mut self, exam: &Listing, ran: &[Ran]) -> Result<(), Stopped> {
        let contract = self.setting.contract;
        if let Some(patch) = &contract.control_patch {
            return self.control_by_patch(exam, patch.text.as_bytes());
        }
        for (index, ran) in ran.iter().enumerate() {
            let made = self.control_test(exam, index, ran)?;
            let controlled = match made {
                Some(test) => self.control_by_test(exam, index, &test)?,
                None => false,
            };
            if !controlled {
                self.found.coverage.insert(Coverage::ExamWithoutControl);
            }
        }
        Ok(())
    }

    fn control_by_patch(&mut self, exam: &Listing, patch: &[u8]) -> Result<(), Stopped> {
        let altered = match self.trees.store.apply_into(exam, patch) {
            Ok(altered) => altered,
            Err(error) => {
                let text = format!("the control patch does not apply to the exam: {error}");
                self.say(&text);
                self.found.coverage.insert(Coverage::ExamWithoutControl);
                self.found.blocks.push((Reason::VerificationWeakened, text));
                return Ok(());
            }
        };
        let room = self.room(&altered, PassKind::Control.as_str())?;
        let first = self.found.passes.len();
        let mut refused = false;
        for (index, command) in self.setting.contract.verification_commands.iter().enumerate() {
            let name = pass_name(PassKind::Control, index);
            let ran = self.command(&room, command, None, &name)?;
            refused |= ran.refuses();
            let tests = uncompared(ran.tests.as_ref());
            self.found.passes.push(ran.pass(PassKind::Control, name, &command.argv, tests, CheckResult::Pass));
        }
        if !refused {
            self.not_refused(first, "an exam that was altered so that it must fail passes");
        }
        Ok(())
    }

    fn control_test(&self, exam: &Listing, index: usize, ran: &Ran) -> Result<Option<ControlTest>, Stopped> {
        let Some(command) = self.setting.contract.verification_commands.get(index) else { return Ok(None) };
        let (true, Some(tests)) = (ran.ended_well(), &ran.tests) else { return Ok(None) };
        let paths: Vec<String> = exam.0.keys().filter_map(|path| String::from_utf8(path.clone()).ok()).collect();
        let read = |path: &str| {
            let entry = exam.0.get(path.as_bytes())?;
            self.trees.store.blob(entry.oid).ok()
        };
        let cwd = command.cwd.as_deref().unwrap_or_default();
        let room = control::Room { argv: &command.argv, cwd, paths: &paths, read: &read };
        Ok(control::control_test(tests, &room, &letters()?))
    }

    /// Whether the control could tell anything: the runner must have seen the test of our own and called it a failure.
    fn control_by_test(&mut self, exam: &Listing, index: usize, test: &ControlTest) -> Result<bool, Stopped> {
        let Some(command) = self.setting.contract.verification_commands.get(index) else { return Ok(false) };
        let mut altered = exam.clone();
        let oid = self.trees.store.put_blob(&test.content)?;
        let mode = altered.0.get(test.path.as_bytes()).map_or(Mode::File, |entry| entry.mode);
        altered.0.insert(test.path.clone().into_bytes(), Entry { mode, oid });
        let name = pass_name(PassKind::Control, index);
        let room = self.room(&altered, &name)?;
        let ran = self.command(&room, command, None, &name)?;
        let seen = ran.tests.as_ref().is_some_and(|tests| test.failed_in(tests));
        if ran.refuses() && !seen {
            self.say(&format!("{name}: a failing test was added to {}, and the runner did not name it", test.path));
            return Ok(false);
        }
        let tests = uncompared(ran.tests.as_ref());
        self.found.passes.push(ran.pass(PassKind::Control, name, &command.argv, tests, CheckResult::Pass));
        if !ran.refuses() {
            let text = format!("a failing test that the harness added to `{}` does not fail the exam", test.path);
            self.not_refused(self.found.passes.len() - 1, &text);
        }
        Ok(true)
    }

    fn not_refused(&mut self, first: usize, text: &str) {
        let controls: &mut [VerificationPass] = &mut self.found.passes[first..];
        controls.iter_mut().for_each(|pass| pass.result = CheckResult::Fail);
        if !controls.iter().any(|pass| pass.timed_out) {
            self.found.blocks.push((Reason::VerificationWeakened, text.to_owned()));
        }
    }
}

/// A name nobody can have foreseen.
pub(super) fn letters() -> Result<String, Stopped> {
    let mut random = [0; NAME];
    getrandom::fill(&mut random)
        .map_err(|error| Stopped::Io("random numbers".into(), std::io::Error::other(error.to_string())))?;
    Ok(random.iter().map(|byte| char::from(b'a' + byte % 26)).collect())
}
