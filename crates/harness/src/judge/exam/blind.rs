//! Blind checks: input goes in, output is compared here. No tree contains the expected output, so
//! code that does not know the answer cannot forge it.

use contract::Coverage;
use contract::report::{CheckResult, PassKind, TestComparison};
use contract::task::{BlindCheck, Command};
use tree::Listing;

use super::{Examiner, pass_name};
use crate::run::file::Stopped;

impl Examiner<'_> {
    /// Runs the contract's blind checks on the exam's tree. Without one that compares
    /// output, the report's coverage says so.
    pub(super) fn blind(&mut self, exam: &Listing) -> Result<(), Stopped> {
        let checks = &self.setting.contract.blind_checks;
        // An exit code is what the patch itself says.
        if !checks.iter().any(BlindCheck::compares_output) {
            self.found.coverage.insert(Coverage::ExamInProcess);
        }
        if checks.is_empty() {
            return Ok(());
        }
        let exam_tree = self.make_exam_tree(exam, PassKind::Blind.as_str())?;
        for (index, check) in checks.iter().enumerate() {
            let name = pass_name(PassKind::Blind, index);
            let (argv, timeout_seconds) = (check.argv.clone(), check.timeout_seconds);
            let command = Command { argv, shell: false, timeout_seconds, cwd: None };
            let ran = self.command(&exam_tree, &command, Some(check.stdin.clone().into_bytes()), &name)?;
            let stdout_holds = check.expect_stdout_sha256.is_none_or(|expected| ran.stdout_sha256 == Some(expected));
            let holds = !ran.timed_out && ran.exit == Some(i32::from(check.expect_exit)) && stdout_holds;
            let result = if holds { CheckResult::Pass } else { CheckResult::Fail };
            let pass = ran.pass(PassKind::Blind, name, &command.argv, TestComparison::default(), result);
            self.found.passes.push(pass);
        }
        Ok(())
    }
}
