//! Targets of passes, read only: each verification is held on a copy of HEAD, and the
//! target's state is taken before and after.

use std::path::{Path, PathBuf};

use contract::decision::Profile;
use contract::report::{PassKind, Verification};
use contract::stage6::refresh::{RefreshTarget, RefreshTargetState, RefreshValidation};
use contract::{Decision, Reason, RunId, TaskContract};
use tree::{Listing, ObjectDatabase, SourceBaseline, SourceRepository, TreeError};

use super::RefreshError;
use super::facts::TargetsFacts;
use crate::home::scratch::Work;
use crate::home::watch::Watch;
use crate::judge::environment;
use crate::judge::exam::{Examined, Examiner, Furnished, Trees};
use crate::run::availability;
use crate::run::file::Stopped;
use crate::run::harness::Harness;
use crate::run::supervise::SupervisionTerms;

/// The verification of one pass.
#[derive(Debug)]
pub(super) struct PassExam {
    pub(super) run_id: RunId,
    pub(super) contract: TaskContract,
    pub(super) decision: Decision,
    pub(super) target: PathBuf,
}

/// Holds exams on copies of their targets.
pub(super) struct TargetExaminer<'a> {
    pub(super) harness: &'a Harness,
    pub(super) profile: Profile,
    pub(super) watch: Watch<'a>,
    pub(super) canary: &'a str,
}

impl TargetExaminer<'_> {
    /// Holds each exam on a copy of its target, and compares every target before and after.
    pub(super) fn validate_targets(&self, exams: &[PassExam]) -> Result<TargetsFacts, RefreshError> {
        if let (_, Some(shortfall)) = availability::profiles(self.harness, self.profile) {
            return Ok(TargetsFacts::NoSandbox(shortfall.text, shortfall.remedy));
        }
        let mut paths: Vec<&Path> = Vec::new();
        for exam in exams {
            if !paths.contains(&exam.target.as_path()) {
                paths.push(&exam.target);
            }
        }
        let read = paths.into_iter().map(|path| {
            let of_target: Vec<&PassExam> = exams.iter().filter(|exam| exam.target == path).collect();
            self.validate_target(path, &of_target)
        });
        read.collect::<Result<_, _>>().map(TargetsFacts::Read)
    }

    /// A repository that cannot be read is a fact; trouble of our own is an error.
    fn validate_target(&self, path: &Path, exams: &[&PassExam]) -> Result<RefreshTarget, RefreshError> {
        let mut target = RefreshTarget {
            target_repository_path: path.display().to_string(),
            before: None,
            after: None,
            problem: None,
            validations: Vec::new(),
        };
        match self.read_target(path, exams, &mut target) {
            Ok(()) => Ok(target),
            Err(Stopped::Tree(TreeError::Source { problem, .. })) => {
                Ok(RefreshTarget { problem: Some(problem.to_string()), ..target })
            }
            Err(stopped) => Err(stopped.into()),
        }
    }

    fn read_target(&self, path: &Path, exams: &[&PassExam], target: &mut RefreshTarget) -> Result<(), Stopped> {
        let work =
            Work::make_area(&self.harness.home, "refresh").map_err(|error| Stopped::Io(path.to_owned(), error))?;
        let source = SourceRepository::open_target(path)?;
        target.before = Some(self.look_at(&source, &work.path().join("before"))?);
        let store = ObjectDatabase::create_store(&work.path().join("store.git"), self.harness.git.clone())?;
        let SourceBaseline { commit, listing, .. } = source.baseline(&store)?;
        for (index, exam) in exams.iter().enumerate() {
            let folder = work.path().join(format!("exam-{index}"));
            make_folder(&folder)?;
            let (verification, problem) = self.hold_exam(exam, &store, &listing, &folder)?;
            let (case_id, head) = (exam.contract.task_id.clone(), commit.to_string());
            target.validations.push(RefreshValidation { case_id, head, verification, problem });
        }
        target.after = Some(self.look_at(&source, &work.path().join("after"))?);
        Ok(())
    }

    fn look_at(&self, source: &SourceRepository, scratch: &Path) -> Result<RefreshTargetState, Stopped> {
        make_folder(scratch)?;
        let status = source.dirty_paths(&self.harness.git, scratch)?;
        Ok(RefreshTargetState {
            head: source.head_now()?.to_string(),
            refs_sha256: source.references_digest()?,
            sha256: source.digest(None)?.sha256,
            clean: status.dirty.is_empty() && status.unfinished.is_empty(),
        })
    }

    /// The commands and blind checks of a pass on HEAD, which is baseline and result at
    /// once. Its control is about another tree.
    fn hold_exam(
        &self,
        exam: &PassExam,
        store: &ObjectDatabase,
        listing: &Listing,
        work: &Path,
    ) -> Result<(Verification, Option<String>), Stopped> {
        let PassExam { run_id, contract, decision, .. } = exam;
        let rules = decision.path_rules(contract)?;
        let mounts = environment::digests(self.harness, &contract.environment.mounts)?;
        let furnished = Furnished { mounts, layer: None, baseline: None };
        let trees = Trees { store, baseline: listing, result: listing, rules: &rules };
        let (harness, profile, canary) = (self.harness, self.profile, self.canary);
        let setting = SupervisionTerms { harness, contract, run_id, work, profile, canary };
        let examined = Examiner::new(setting, self.watch, trees, None, furnished).of_one_tree().examine_all()?;
        Ok(judge_head(examined))
    }
}

/// The checks that are about HEAD, and the first fault of them.
fn judge_head(examined: Examined) -> (Verification, Option<String>) {
    let Examined { mut passes, blocks, .. } = examined;
    passes.retain(|pass| pass.kind != PassKind::Control);
    let verification = Verification::of_passes(passes, Vec::new());
    let is_about_head = |(reason, _): &&(Reason, String)| {
        matches!(reason, Reason::VerificationFailed | Reason::Timeout) && verification.tests_passed() != Some(true)
    };
    let problem = blocks.iter().find(is_about_head).map(|(_, text)| text.clone());
    (verification, problem)
}

fn make_folder(path: &Path) -> Result<(), Stopped> {
    std::fs::create_dir_all(path).map_err(|error| Stopped::Io(path.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use contract::report::{CheckResult, TestComparison, VerificationPass};

    use super::*;

    fn examined(passes: &[(PassKind, CheckResult)], blocks: &[(Reason, &str)]) -> Examined {
        let pass = |(kind, result): &(PassKind, CheckResult)| VerificationPass {
            kind: *kind,
            name: kind.as_str().to_owned(),
            argv: Vec::new(),
            exit: None,
            duration_ms: 0,
            timed_out: false,
            tests: TestComparison::default(),
            result: *result,
        };
        let blocks = blocks.iter().map(|(reason, text)| (*reason, (*text).to_owned())).collect();
        Examined { passes: passes.iter().map(pass).collect(), blocks, ..Examined::default() }
    }

    /// Passes and blocks of an exam, the result, and the problem that is reported.
    type ExamRow<'a> = (&'a [(PassKind, CheckResult)], &'a [(Reason, &'a str)], CheckResult, Option<&'a str>);

    #[test]
    fn commands_and_blind_checks_decide_over_head_and_controls_do_not() {
        use CheckResult::{Fail, NotRun, Pass};
        let (failed, late, weak) = (Reason::VerificationFailed, Reason::Timeout, Reason::VerificationWeakened);
        let rows: &[ExamRow<'_>] = &[
            (&[(PassKind::Exam, Pass), (PassKind::Blind, Pass)], &[], Pass, None),
            (&[(PassKind::Exam, Pass), (PassKind::Control, Fail)], &[(weak, "control")], Pass, None),
            (&[(PassKind::Exam, Fail)], &[(weak, "weak"), (failed, "red")], Fail, Some("red")),
            (&[(PassKind::Exam, Pass), (PassKind::Blind, Fail)], &[(failed, "blind")], Fail, Some("blind")),
            (&[(PassKind::Exam, Fail)], &[(late, "slow")], Fail, Some("slow")),
            (&[], &[(failed, "no setup")], NotRun, Some("no setup")),
        ];
        for (passes, blocks, result, problem) in rows {
            let (verification, found) = judge_head(examined(passes, blocks));
            assert_eq!((verification.result, found.as_deref()), (*result, *problem), "{passes:?}");
        }
    }
}
