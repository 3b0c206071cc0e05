//! Independent verification of a run's result, and its consequences for the run.

use contract::claim::JudgedClaim;
use contract::event_data::VerificationCompletedData;
use contract::paths::PathRules;
use contract::report::{CheckResult, Verification};
use contract::{Coverage, EventData, EventKind, Reason};
use evidence::exam_change::altered_exam_files;
use evidence::{names, stop};
use gate::Admission;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tree::{Listing, ObjectDatabase, Oid};

use crate::gather::decide::Preparation;
use crate::home::watch::{Step, StepState};
use crate::judge::copy::LandingRepository;
use crate::judge::exam::{Examined, Examiner, Furnished, Trees};
use crate::run::file::{RunFile, Stopped};
use crate::run::notes::{NotedStep, StepFindings};
use crate::run::posture;
use crate::run::supervise::{TIMEOUT_MARKER, wall_limit};
use crate::work::claims;
use crate::work::engines::EngineRun;
use crate::work::result::{Captured, ExamMaterial, TakenResult, prove_result, record_patch};

/// Findings of the verification. Only this module fills it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CheckedResult {
    verification: Verification,
    #[serde(skip)]
    claims: Vec<JudgedClaim>,
}

impl StepFindings for CheckedResult {
    const STEP: NotedStep = NotedStep::Checked;
}

impl CheckedResult {
    /// Verification passes and their result.
    pub(crate) fn verification(&self) -> &Verification {
        &self.verification
    }

    /// Claims of the engine, judged.
    pub(crate) fn claims(&self) -> &[JudgedClaim] {
        &self.claims
    }
}

/// Everything that a landing is made from.
pub(crate) struct LandingMaterial {
    pub(crate) repository: LandingRepository,
    pub(crate) store: ObjectDatabase,
    pub(crate) before: Listing,
    pub(crate) after: Listing,
    /// The recorded HEAD.
    pub(crate) base: Oid,
}

/// A run whose result was verified, or whose standing says why it was not.
pub(crate) struct Verified<'a> {
    run: RunFile<'a>,
    admission: Admission,
    preparation: Preparation,
    engine: EngineRun,
    taken: TakenResult,
    checked: CheckedResult,
    landing: Option<LandingMaterial>,
}

/// Parts of a verified run.
pub(crate) type VerifiedParts<'a> =
    (RunFile<'a>, Admission, Preparation, EngineRun, TakenResult, CheckedResult, Option<LandingMaterial>);

impl<'a> Verified<'a> {
    /// Parts for the next step.
    pub(crate) fn into_parts(self) -> VerifiedParts<'a> {
        (self.run, self.admission, self.preparation, self.engine, self.taken, self.checked, self.landing)
    }
}

impl<'a> Captured<'a> {
    /// Holds the exam on the result, with everything the exam rests on as the baseline has
    /// it; meanwhile the patch is made and applied again.
    pub(crate) fn verify(self) -> Result<Verified<'a>, Stopped> {
        let (mut run, admission, mut preparation, engine, mut taken, material) = self.into_parts();
        let ExamMaterial { baseline, listing, rules, tree, unverifiable, commits, oversize, landing } = material;
        // A run that is to end has no exam any more; what its engine changed is taken all
        // the same.
        let ending = run.check_cancelled();
        if ending.is_ok() {
            run.step(Step::Verify, StepState::Began, "")?;
        }
        let no_command = run.task().contract.verification_commands.is_empty();
        let skipped = unverifiable.or_else(|| no_command.then_some("the contract says why there is no test"));
        let stage = run.confinement_mut().take_ready_stage();
        let (layer, baseline_exam) = preparation.take_baseline();
        let mounts = run.sandboxes().environment().mounts.clone();
        let furnished = Furnished { mounts, layer, baseline: baseline_exam };
        let (patch, examined) = std::thread::scope(|scope| {
            let patch = scope.spawn(|| match oversize {
                Some(why) => Ok(Err(why)),
                None => prove_result(&baseline, &listing),
            });
            let examined = match (ending, skipped) {
                (Err(stopped), _) => Err(stopped),
                (Ok(()), Some(why)) => Ok(skip(&mut run, why)),
                (Ok(()), None) => {
                    let trees =
                        Trees { store: &baseline.store, baseline: &baseline.listing, result: &listing, rules: &rules };
                    Examiner::new(run.setting(), run.watch(), trees, stage, furnished).examine_all()
                }
            };
            (patch.join(), examined)
        });
        let patch =
            patch.map_err(|_| Stopped::Io(names::PATCH.into(), std::io::Error::other("the thread ended early")))?;
        stop::pass_place("exam.held");
        let patch = patch?;
        let altered = patch.as_ref().map_or(Vec::new(), |proof| altered_files(&proof.patch, &rules));
        record_patch(&mut run, &mut taken, patch, tree)?;
        run.note_found(&taken);
        stop::pass_place("patch.recorded");
        let mut examined = examined?;
        // A run that was asked to end by now ends as interrupted, also if its last check is over already.
        run.check_cancelled()?;
        examined.note_altered(&altered);
        let verification = record(&mut run, preparation.take_baseline_log(), examined)?;
        let mut checked = CheckedResult { verification, claims: Vec::new() };
        stop::pass_place("exam.recorded");
        if engine.has_timed_out() {
            late_engine(&mut run, &taken, &checked.verification);
        }
        announce(&mut run, &checked.verification)?;
        run.note_found(&checked);
        checked.claims =
            claims::judge_claims(&mut run, engine.claims(), taken.changed_files(), &checked.verification, commits);
        run.step(Step::Verify, StepState::Ended, &summary(&checked.verification))?;
        let landing = landing.map(|(repository, base)| LandingMaterial {
            repository,
            store: baseline.store,
            before: baseline.listing,
            after: listing,
            base,
        });
        Ok(Verified { run, admission, preparation, engine, taken, checked, landing })
    }
}

/// Files of the exam that the patch changes in another way than by adding tests. A patch of
/// our own writing can be read.
pub(crate) fn altered_files(patch: &[u8], rules: &PathRules) -> Vec<Vec<u8>> {
    altered_exam_files(patch, |path| rules.is_protected(path)).unwrap_or_default()
}

fn skip(run: &mut RunFile<'_>, why: &str) -> Examined {
    let mut examined = Examined::default();
    let sentence = match &run.task().contract.no_test_rationale {
        Some(rationale) if run.task().contract.verification_commands.is_empty() => {
            examined.coverage.insert(Coverage::NoVerification);
            format!("No verification: {rationale}")
        }
        _ => format!("No verification was run: {why}."),
    };
    run.standing.skip_part("verification", &sentence);
    examined.log = format!("{sentence}\n").into_bytes();
    examined
}

/// Makes what the exam found part of the run.
fn record(run: &mut RunFile<'_>, baseline_log: Vec<u8>, examined: Examined) -> Result<Verification, Stopped> {
    let Examined { passes, coverage, blocks, late, log, cells, attempts, setup, poisoned, products_rebuilt } = examined;
    run.sandboxes_mut().add_setup(setup);
    run.add_sandbox_records(cells)?;
    posture::hold_against(run, attempts)?;
    let log = [baseline_log, log].concat();
    run.write_artifact(names::TEST_LOG, &log)?;
    for check in &late {
        run.add_trace("timeout", json!({"at": check.name, "timeout_seconds": check.seconds}))?;
        if !run.draft.files().contains_key(&format!("backend/{TIMEOUT_MARKER}")) {
            run.marker(TIMEOUT_MARKER, &format!("{} was ended after {} s", check.name, check.seconds))?;
        }
    }
    if products_rebuilt {
        run.standing.remove_code(Coverage::ProductNotRebuilt);
    }
    run.standing.cover_all(coverage);
    for (reason, text) in blocks {
        run.standing.block_run(reason, text, names::TEST_LOG);
    }
    Ok(Verification::of_passes(passes, poisoned))
}

fn announce(run: &mut RunFile<'_>, verification: &Verification) -> Result<(), Stopped> {
    let (checks, result) = (verification.passes.len(), verification.result);
    if checks > 0 || run.standing.has_reason(Reason::ReviewerRejected) {
        let completed = VerificationCompletedData { checks: Some(checks), result };
        run.add_event(&EventData::VerificationCompleted(completed))?;
    } else {
        run.standing.skip_part(EventKind::VerificationCompleted.name(), "nothing was verified");
    }
    Ok(())
}

/// Tells a late engine with a good patch from a late one without.
fn late_engine(run: &mut RunFile<'_>, taken: &TakenResult, verification: &Verification) {
    let all_hold = verification.result == CheckResult::Pass;
    let is_valid = all_hold && !taken.changed_files().is_empty() && !run.standing.is_blocked();
    let (reason, text) = judge_lateness(is_valid, wall_limit(run).as_secs());
    run.standing.block_run(reason, text, "backend/provider-timeout.txt");
}

fn judge_lateness(is_valid: bool, seconds: u64) -> (Reason, String) {
    let late = format!("the engine was still running after {seconds} s");
    match is_valid {
        true => (Reason::LifecycleTimeoutAfterValidPatch, format!("the patch is good, but {late}")),
        false => (Reason::Timeout, late),
    }
}

fn summary(verification: &Verification) -> String {
    let passes = &verification.passes;
    let held = passes.iter().filter(|pass| pass.result == CheckResult::Pass).count();
    if passes.is_empty() { "nothing to run".to_owned() } else { format!("{held} of {} checks hold", passes.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::two_sided;

    #[test]
    fn a_late_engine_with_a_good_patch_is_told_from_one_without() {
        let text = "the patch is good, but the engine was still running after 7 s";
        assert_eq!(judge_lateness(true, 7), (Reason::LifecycleTimeoutAfterValidPatch, text.to_owned()));
        assert_eq!(judge_lateness(false, 7), (Reason::Timeout, "the engine was still running after 7 s".to_owned()));
        two_sided(Reason::LifecycleTimeoutAfterValidPatch, judge_lateness(true, 7), judge_lateness(false, 7));
    }
}
