//! Independent verification of a run's result, and what it makes of the run.

use contract::paths::PathRules;
use contract::report::CheckResult;
use contract::{Coverage, EventKind, Reason};
use evidence::exam_change::altered_exam_files;
use evidence::{names, stop};
use serde_json::json;

use crate::exam::{Examined, Examiner, Furnished, Trees};
use crate::posture;
use crate::result::{Captured, prove, record_patch};
use crate::run::{Run, Stopped};
use crate::supervise::TIMEOUT_MARKER;
use crate::watch::{Step, StepState};

/// A run whose result was verified, or whose findings say why it was not.
pub(crate) struct Verified<'a> {
    run: Run<'a>,
}

impl<'a> Verified<'a> {
    pub(crate) fn into_run(self) -> Run<'a> {
        self.run
    }
}

impl<'a> Captured<'a> {
    /// Holds the exam on the result, with everything the exam rests on as the baseline has it; meanwhile the patch is made
    /// and applied again.
    pub(crate) fn verify(self) -> Result<Verified<'a>, Stopped> {
        let Self { mut run, baseline, listing, rules, tree, unverifiable, commits, oversize } = self;
        // A run that is to end has no exam any more; what its engine changed is taken all the same.
        let ending = run.check_cancelled();
        if ending.is_ok() {
            run.step(Step::Verify, StepState::Began, "")?;
        }
        let no_command = run.task.contract.verification_commands.is_empty();
        let skipped = unverifiable.or_else(|| no_command.then_some("the contract says why there is no test"));
        let stage = run.stages.pop_front();
        let furnished = Furnished {
            mounts: run.findings.environment.mounts.clone(),
            layer: run.layer.take(),
            baseline: run.baseline_exam.take(),
        };
        let (patch, examined) = std::thread::scope(|scope| {
            let patch = scope.spawn(|| match oversize {
                Some(why) => Ok(Err(why)),
                None => prove(&baseline, &listing),
            });
            let examined = match (ending, skipped) {
                (Err(stopped), _) => Err(stopped),
                (Ok(()), Some(why)) => Ok(skip(&mut run, why)),
                (Ok(()), None) => {
                    let trees =
                        Trees { store: &baseline.store, baseline: &baseline.listing, result: &listing, rules: &rules };
                    Examiner::new(run.setting(), run.watch.cancel, trees, stage, furnished).examine()
                }
            };
            (patch.join(), examined)
        });
        let patch =
            patch.map_err(|_| Stopped::Io(names::PATCH.into(), std::io::Error::other("the thread ended early")))?;
        stop::here("exam.held");
        let patch = patch?;
        let altered = patch.as_ref().map_or(Vec::new(), |proof| altered_files(&proof.patch, &rules));
        record_patch(&mut run, patch, tree)?;
        run.note_findings();
        stop::here("patch.recorded");
        let mut examined = examined?;
        examined.note_altered(&altered);
        record(&mut run, examined)?;
        stop::here("exam.recorded");
        if run.findings.engine.timed_out {
            late_engine(&mut run);
        }
        announce(&mut run)?;
        run.note_findings();
        crate::claims::judge(&mut run, commits);
        run.step(Step::Verify, StepState::Ended, &summary(&run))?;
        Ok(Verified { run })
    }
}

/// Files of the exam that the patch changes in another way than by adding tests. A patch of our own writing can be read.
pub(crate) fn altered_files(patch: &[u8], rules: &PathRules) -> Vec<Vec<u8>> {
    altered_exam_files(patch, |path| rules.is_protected(path)).unwrap_or_default()
}

fn skip(run: &mut Run<'_>, why: &str) -> Examined {
    let mut examined = Examined::default();
    let sentence = match &run.task.contract.no_test_rationale {
        Some(rationale) if run.task.contract.verification_commands.is_empty() => {
            examined.coverage.insert(Coverage::NoVerification);
            format!("No verification: {rationale}")
        }
        _ => format!("No verification was run: {why}."),
    };
    run.findings.skip("verification", &sentence);
    examined.log = format!("{sentence}\n").into_bytes();
    examined
}

/// Makes what the exam found part of the run.
fn record(run: &mut Run<'_>, examined: Examined) -> Result<(), Stopped> {
    let Examined { passes, coverage, blocks, late, log, cells, attempts, setup, poisoned, products_rebuilt } = examined;
    run.findings.environment.setup.extend(setup);
    run.findings.cells.extend(cells);
    run.clean_cells()?;
    posture::hold_against(run, attempts)?;
    let log = [std::mem::take(&mut run.baseline_log), log].concat();
    run.write(names::TEST_LOG, &log)?;
    for check in &late {
        run.trace("timeout", json!({"at": check.name, "timeout_seconds": check.seconds}))?;
        if !run.draft.files().contains_key(&format!("backend/{TIMEOUT_MARKER}")) {
            run.marker(TIMEOUT_MARKER, &format!("{} was ended after {} s", check.name, check.seconds))?;
        }
    }
    run.findings.verification.result = match passes.as_slice() {
        [] => CheckResult::NotRun,
        passes if passes.iter().all(|pass| pass.result == CheckResult::Pass) => CheckResult::Pass,
        _ => CheckResult::Fail,
    };
    run.findings.verification.passes = passes;
    run.findings.verification.poisoned = poisoned;
    if products_rebuilt {
        run.findings.coverage.remove(&Coverage::ProductNotRebuilt);
    }
    run.findings.coverage.extend(coverage);
    for (reason, text) in blocks {
        run.findings.block(reason, text, names::TEST_LOG);
    }
    Ok(())
}

fn announce(run: &mut Run<'_>) -> Result<(), Stopped> {
    let checks = run.findings.verification.passes.len();
    if checks > 0 || run.findings.has(Reason::ReviewerRejected) {
        let result = run.findings.verification.result;
        run.event(EventKind::VerificationCompleted, json!({"checks": checks, "result": result}))?;
    } else {
        run.findings.skip(EventKind::VerificationCompleted.name(), "nothing was verified");
    }
    Ok(())
}

/// Tells a late engine with a good patch from a late one without.
fn late_engine(run: &mut Run<'_>) {
    let seconds = crate::supervise::wall(run).as_secs();
    let all_hold = run.findings.verification.result == CheckResult::Pass;
    let valid = all_hold && !run.findings.changed_files.is_empty() && run.findings.blockers.is_empty();
    let (reason, text) = if valid {
        (
            Reason::LifecycleTimeoutAfterValidPatch,
            format!("the patch is good, but the engine was still running after {seconds} s"),
        )
    } else {
        (Reason::Timeout, format!("the engine was still running after {seconds} s"))
    };
    run.findings.block(reason, text, "backend/provider-timeout.txt");
}

fn summary(run: &Run<'_>) -> String {
    let passes = &run.findings.verification.passes;
    let held = passes.iter().filter(|pass| pass.result == CheckResult::Pass).count();
    if passes.is_empty() { "nothing to run".to_owned() } else { format!("{held} of {} checks hold", passes.len()) }
}
