//! Turns the findings of all steps into a sealed bundle: the last events, the report, the
//! signature.

mod compose;

use contract::event::first_missing;
use contract::event_data::RunCompletedData;
use contract::report::{CHANGED_FILES, Report, SourceAdmissionStatus};
use contract::sandbox::{postures, probe_sha256};
use contract::statement::SealedBy;
use contract::text::show_controls;
use contract::{Coverage, Decision, EventData, EventKind, Reason, RunId, Stage, Stamp};
use evidence::seal::{SealBundleError, Sealed, Signing, seal_draft};
use evidence::tarball::{TarForm, TarKind, TarWriter};
use evidence::{names, stop};
use ledger::{AppendEntryError, Bundles, EngineIdentity, FIRST_EPOCH, PlaceBundleError, RunSeal, RunSealed};
use serde_json::json;

use crate::gather::decide::{PreflightRun, Preparation, RefusedRun};
use crate::home::layout::Home;
use crate::home::replay;
use crate::home::task::TreeOrigin;
use crate::home::watch::{Step, StepState};
use crate::run::file::{RunFile, Stopped, memory_path};
use crate::run::journal::Journal;
use crate::run::lease::{HeldLease, has_lost_epoch, is_lost};
use crate::run::posture;
use crate::run::standing::RunStanding;
use crate::seal::dead::{Remains, Restored};
use crate::seal::landing::{Landed, LandedResult, record_landing};
use crate::seal::proof;
use crate::seal::verification::CheckedResult;
use crate::work::engines::{Blocked, BlockedRun, EngineRun};
use crate::work::result::TakenResult;

use compose::{compose_report, duration_ms, source_status};

/// Findings of every step of a run, in the types of the steps. A step that was not reached found nothing.
pub(crate) struct RunAccount {
    decision: Decision,
    preparation: Preparation,
    engine: EngineRun,
    taken: TakenResult,
    checked: CheckedResult,
    landing: LandedResult,
}

impl RunAccount {
    /// Decision of the gates.
    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Findings from before the engine.
    pub(crate) fn preparation(&self) -> &Preparation {
        &self.preparation
    }

    /// Findings of the engine's run.
    pub(crate) fn engine(&self) -> &EngineRun {
        &self.engine
    }

    /// Captured result.
    pub(crate) fn taken(&self) -> &TakenResult {
        &self.taken
    }

    /// Verified result.
    pub(crate) fn checked(&self) -> &CheckedResult {
        &self.checked
    }

    /// Landed result.
    pub(crate) fn landing(&self) -> &LandedResult {
        &self.landing
    }

    /// The account of a run that ended before its engine started.
    fn without_engine(decision: Decision, preparation: Preparation) -> Self {
        let (engine, taken, checked) = (EngineRun::default(), TakenResult::default(), CheckedResult::default());
        Self { decision, preparation, engine, taken, checked, landing: LandedResult::default() }
    }
}

/// Material of a bundle. Only a step that ends a run can make it, from its own result.
pub(crate) struct Evidence<'a> {
    run: RunFile<'a>,
    account: RunAccount,
    ending: Ending,
}

/// A refused decision, gates alone (stage 1), a run that was blocked after its gates, a verified run, or what an interrupted
/// one left. Nothing else.
enum Ending {
    Refused,
    Preflight,
    Blocked(Blocked),
    Verified,
    Interrupted,
}

impl<'a> From<Remains<'a>> for Evidence<'a> {
    fn from(remains: Remains<'a>) -> Self {
        let (run, Restored { decision, model, engine, taken, checked, landing }) = remains.into_parts();
        let account =
            RunAccount { decision, preparation: Preparation::recovered(model), engine, taken, checked, landing };
        Self { run, account, ending: Ending::Interrupted }
    }
}

impl<'a> From<RefusedRun<'a>> for Evidence<'a> {
    fn from(refused: RefusedRun<'a>) -> Self {
        let (run, preparation, refused) = refused.into_parts();
        Self { run, account: RunAccount::without_engine(refused.into_decision(), preparation), ending: Ending::Refused }
    }
}

impl<'a> From<PreflightRun<'a>> for Evidence<'a> {
    fn from(preflight: PreflightRun<'a>) -> Self {
        let (run, preparation, admission) = preflight.into_parts();
        Self {
            run,
            account: RunAccount::without_engine(admission.into_decision(), preparation),
            ending: Ending::Preflight,
        }
    }
}

impl<'a> From<BlockedRun<'a>> for Evidence<'a> {
    fn from(blocked: BlockedRun<'a>) -> Self {
        let (run, admission, preparation, engine, blocked) = blocked.into_parts();
        let account = RunAccount { engine, ..RunAccount::without_engine(admission.into_decision(), preparation) };
        Self { run, account, ending: Ending::Blocked(blocked) }
    }
}

impl<'a> From<Landed<'a>> for Evidence<'a> {
    fn from(landed: Landed<'a>) -> Self {
        let (run, admission, preparation, engine, taken, checked, landing) = landed.into_parts();
        let decision = admission.into_decision();
        let account = RunAccount { decision, preparation, engine, taken, checked, landing };
        Self { run, account, ending: Ending::Verified }
    }
}

/// A run with its report, ready to be sealed.
pub(crate) struct Reported<'a> {
    run: RunFile<'a>,
    report: Report,
}

/// Events that cannot exist when the engine never ran.
const NEEDS_ENGINE: &[EventKind] = &[
    EventKind::PlanUpdated,
    EventKind::WorkspacePrepared,
    EventKind::SandboxApplied,
    EventKind::EngineStarted,
    EventKind::EngineExited,
    EventKind::PatchApplied,
    EventKind::GitDiffChecked,
];

impl<'a> Evidence<'a> {
    /// Completes the artifacts every bundle has, the last events, and composes the report.
    pub(crate) fn report(self) -> Result<Reported<'a>, Stopped> {
        let Self { mut run, mut account, ending } = self;
        account.complete(&mut run, ending)?;
        run.step(Step::Seal, StepState::Began, "")?;
        run.release_reserve();
        stop::pass_place("report.beginning");
        account.cover(&mut run);
        keep_baseline(&mut run, &account.taken)?;
        stop::pass_place("baseline.kept");
        let (sandbox, at) = (posture::sandbox_document(&run, account.engine.limits()), run.clock().now());
        let sandbox = run.draft.write_document(names::SANDBOX, &sandbox, at)?;
        proof::write_proofs(&mut run, &account)?;
        expected_artifacts(&mut run);
        let probe = postures(&sandbox).and_then(|place| probe_sha256(&sandbox[place]));
        let missing = required_events(&mut run);
        // Checks the content of the report before any finding is announced.
        let report = compose_report(&run, &account, missing, run.draft.censor().result(0), probe);
        let report = run.clean(names::REPORT, report)?;
        let scan = run.conclude_scan()?;
        let report = if scan.hits.is_empty() {
            Report { secret_scan: scan, ..at_the_end(&run, report) }
        } else {
            let report = compose_report(&run, &account, missing, scan, probe);
            run.clean(names::REPORT, report)?
        };
        let completed = EventData::RunCompleted(RunCompletedData {
            backend_exit_code: report.backend_exit_code,
            blockers: report.blocker_reasons.clone(),
            status: report.status,
        });
        let carried = run.standing.carried_by(completed.kind());
        run.draft.add_event_data(report.run_finished_at, &completed, carried)?;
        stop::pass_place("run.completed");
        Ok(Reported { run, report })
    }
}

impl RunAccount {
    /// Completes what the way in which the run ended leaves out.
    fn complete(&mut self, run: &mut RunFile<'_>, ending: Ending) -> Result<(), Stopped> {
        let decision = json!({"decision_id": self.decision.decision_id});
        match ending {
            Ending::Refused => {
                self.end_without_engine(run, "the decision is a refusal; nothing was verified")?;
                run.add_trace("refused", decision)?;
            }
            Ending::Preflight => {
                let why = match run.document() {
                    None => "stage 1 checks the gates and starts no engine",
                    Some(_) => "a document about other bundles starts no engine",
                };
                self.end_without_engine(run, why)?;
                run.add_trace("preflight.passed", decision)?;
            }
            Ending::Blocked(Blocked { why, .. }) => {
                self.end_without_engine(run, &format!("the engine was not started: {}", show_controls(&why)))?;
            }
            Ending::Interrupted => self.end_interrupted(run)?,
            Ending::Verified => {}
        }
        Ok(())
    }

    /// A refused run has every artifact too, each saying why it is empty.
    fn end_without_engine(&mut self, run: &mut RunFile<'_>, why: &str) -> Result<(), Stopped> {
        skip_missing_events(run, why);
        run.standing.skip_part("verification", why);
        run.standing.skip_part(names::PATCH, why);
        run.write_artifact(names::PATCH, b"")?;
        if !run.standing.engine_started() {
            run.marker("engine-not-started.txt", why)?;
        }
        let sentence = describe_unverified(&run.standing, why);
        let log = [self.preparation.take_baseline_log(), format!("{sentence}\n").into_bytes()].concat();
        Ok(run.write_artifact(names::TEST_LOG, &log)?)
    }

    /// Keeps what an interrupted run left of its result in its bundle; the report calls the missing parts unknown, not empty.
    fn end_interrupted(&self, run: &mut RunFile<'_>) -> Result<(), Stopped> {
        // Its folder may be gone, or lie in another home.
        let is_left = run.draft.files().keys().any(|name| name.starts_with("backend/"));
        let why = match is_left {
            true => "the run was interrupted; what it left lies in backend/recovered",
            false => "the run was interrupted, and nothing that it left is here",
        };
        skip_missing_events(run, why);
        if self.checked.verification().passes.is_empty() {
            run.standing.skip_part("verification", why);
        }
        if !run.draft.files().contains_key(names::PATCH) {
            let untaken = if run.standing.engine_started() {
                "the run was interrupted before the harness took its result: what the engine changed is not known"
            } else {
                "the run was interrupted before its engine started"
            };
            run.standing.skip_part(CHANGED_FILES, untaken);
            run.standing.skip_part(names::PATCH, untaken);
            run.write_artifact(names::PATCH, b"")?;
        }
        if !run.standing.engine_started() {
            run.marker("engine-not-started.txt", why)?;
        } else if !is_left {
            run.marker("nothing-left.txt", why)?;
        }
        if !run.draft.files().contains_key(names::TEST_LOG) {
            run.write_artifact(names::TEST_LOG, format!("{why}\n").as_bytes())?;
        }
        Ok(())
    }

    /// Coverage that every run of its kind has.
    fn cover(&self, run: &mut RunFile<'_>) {
        let started = run.standing.engine_started();
        if started {
            let gaps: Vec<Coverage> = run.sandboxes().gaps().collect();
            run.standing.cover_all(gaps);
        }
        if self.decision.inputs.approval.is_none() {
            run.standing.skip_part("approval.requested", "this stage needs no approval");
        }
        let model = self.preparation.model().gaps(run, &self.decision.inputs);
        run.standing.cover_all(model);
        let settings = &self.decision.inputs.settings;
        if let (true, Some(engine)) = (started, &settings.engine) {
            let rows = [
                (Coverage::SourceNotAdmitted, source_status(run, &self.decision) != SourceAdmissionStatus::Admitted),
                (Coverage::EngineWithoutBridge, settings.model.is_none()),
                (Coverage::RecordsUnsigned, engine.admission.is_unsigned()),
            ];
            run.standing.cover_all(rows.iter().filter(|(_, holds)| *holds).map(|(code, _)| *code));
        }
        if !run.draft.files().contains_key(names::MODEL_USAGE) {
            let why = "no model was asked, or the run was interrupted before its use was written";
            run.standing.skip_part(names::MODEL_USAGE, why);
        }
    }
}

impl Reported<'_> {
    /// Signs, makes durable, moves into place, tells the ledger, clears the work area.
    pub(crate) fn seal_run(self, sealed_by: SealedBy) -> Result<Sealed, Stopped> {
        let Self { run, report } = self;
        let (harness, ask, clock, watch, held) = (run.harness(), run.ask(), run.clock(), run.watch(), run.lease());
        // Before the bundle takes its place: one that comes too late counts for nothing.
        let is_late = |lease: HeldLease| has_lost_epoch(harness, run.id(), lease.epoch);
        if held.map_or_else(|| is_lost(harness, run.id()), is_late) {
            return Err(Stopped::Cancelled);
        }
        let signing = Signing { key: &harness.key, ledger: run.ledger_at_start().clone(), sealed_by };
        // The work area is scratch and everything worth keeping is in the draft: it goes while the bundle is made durable.
        let sealed = std::thread::scope(|scope| {
            if !ask.keep_workspace {
                let run_id = report.run_id.clone();
                scope.spawn(move || remove_work(&harness.home, &run_id));
            }
            let bundles = harness.home.bundles();
            seal_draft(run.draft, report, signing, |finished, run_id| {
                let placed = bundles.publish(finished, run_id, &|place| stop::pass_place(place));
                placed.map_err(|PlaceBundleError { path, error }| SealBundleError::Sync(path, error))
            })
        })?;
        // First, so that a run that the ledger calls sealed can be looked at from every home.
        harness.home.bundles().hand_in(&sealed.report.run_id, sealed.attestation_sha256)?;
        stop::pass_place("bundle.handed_in");
        // Only now: a run that the ledger calls sealed has nothing left that its recovery would remove.
        stop::pass_place("ledger.telling");
        let told = harness.ledger().run_sealed(&ledger_entry(&sealed, clock.now(), held));
        if let Err(AppendEntryError::AlreadySealed { .. } | AppendEntryError::LeaseLost { .. }) = &told {
            // Another instance took the run over since it was looked for: what stands among the bundles would count for nothing.
            let draft = harness.home.active_run(&sealed.report.run_id);
            let _ = harness.home.bundles().keep_late(&sealed.report.run_id, &draft);
        }
        told?;
        stop::pass_place("ledger.landing");
        record_landing(harness, &sealed, clock.now())?;
        Journal::of_run(&harness.home, &sealed.report.run_id).remove_notes();
        stop::pass_place("ledger.told");
        watch.observer.step(&replay::sealed(&sealed.report));
        Ok(sealed)
    }
}

/// Ledger entry of a sealed bundle.
pub(crate) fn ledger_entry(sealed: &Sealed, time: Stamp, lease: Option<HeldLease>) -> RunSealed {
    let report = &sealed.report;
    let tests = report.verification.exam_tests();
    let seal = RunSeal {
        status: report.status,
        finished_at: report.run_finished_at,
        duration_ms: report.duration_ms,
        reasons: report.blocker_reasons.iter().copied().map(Into::into).collect(),
        tests_passed: tests.map(|tests| tests.passed),
        tests_executed: tests.map(|tests| tests.executed),
        attestation_sha256: sealed.attestation_sha256,
        bundle: Bundles::bundle_name(&report.run_id),
        // Said only where it is not the instance that started the run.
        owner: lease.filter(|lease| lease.epoch > FIRST_EPOCH).map(|lease| lease.owner),
        identity: Some(EngineIdentity {
            source_id: report.engine.source_id.clone(),
            model: report.identity_model().cloned(),
        }),
    };
    RunSealed { run_id: report.run_id.clone(), time, epoch: lease.map(|lease| lease.epoch), seal }
}

/// Removes what a run worked in. It is scratch and nothing depends on it, so what cannot be removed now may stay.
pub(crate) fn remove_work(home: &Home, run_id: &RunId) {
    for path in [home.work_run(run_id), memory_path(&run_id.mark())] {
        let _ = untrusted_fs::remove_tree(&path);
    }
}

/// An event that stands in the chain is not called inapplicable.
fn skip_missing_events(run: &mut RunFile<'_>, why: &str) {
    for kind in NEEDS_ENGINE.iter().chain(&[EventKind::VerificationCompleted]) {
        if !run.draft.events_seen().contains(kind) {
            run.standing.skip_part(kind.name(), why);
        }
    }
}

/// Bundles of cases hold their baseline, so that anybody can build the trees again.
fn keep_baseline(run: &mut RunFile<'_>, taken: &TakenResult) -> Result<(), Stopped> {
    let is_own = run.ask().stage < Stage::OWNED_REPOSITORY;
    if let (TreeOrigin::Case(files), Some(_), true) = (&run.task().origin, taken.tree(), is_own) {
        let mut archive = TarWriter::new(TarForm::BundleBaseline, Vec::new());
        for (path, file) in files {
            let kind = if file.executable { TarKind::Executable } else { TarKind::File };
            let added = archive.add_entry(path.as_bytes(), kind, &file.bytes);
            added.map_err(|error| Stopped::Io(path.into(), error))?;
        }
        let bytes = archive.write_end().map_err(|error| Stopped::Io(names::BASELINE.into(), error))?;
        if files.values().any(|file| !run.draft.censor().is_clean(&file.bytes)) {
            run.standing.skip_part(names::BASELINE, "it holds what looks like a secret");
        } else {
            run.draft.write_clean(names::BASELINE, &bytes, run.clock().now())?;
        }
    } else {
        run.standing.skip_part(names::BASELINE, "only runs of cases whose result was captured keep it");
    }
    Ok(())
}

/// Extra artifacts the contract demands.
fn expected_artifacts(run: &mut RunFile<'_>) {
    let files = run.draft.files();
    let missing = judge_artifacts(&run.task().contract.evidence_expectations, |name| files.contains_key(name));
    for (reason, text) in missing {
        run.standing.block_run(reason, text, names::REPORT);
    }
}

/// A blocker for each expected artifact that was not written.
fn judge_artifacts(expected: &[String], is_written: impl Fn(&str) -> bool) -> Vec<(Reason, String)> {
    let missing = expected.iter().filter(|name| !is_written(name));
    let text = |name: &String| format!("`{}` is expected by the contract and was not written", show_controls(name));
    missing.map(|name| (Reason::ArtifactWriteFailure, text(name))).collect()
}

/// The line of `test.log` where nothing was verified.
fn describe_unverified<'w>(standing: &RunStanding, why: &'w str) -> &'w str {
    match standing.has_reason(Reason::MissingTestCommand) {
        true => "No verification command is given; nothing was run.",
        false => why,
    }
}

/// The report with the present moment as its end.
fn at_the_end(run: &RunFile<'_>, report: Report) -> Report {
    Report { run_finished_at: run.clock().now(), duration_ms: duration_ms(run), ..report }
}

/// The first required event that is missing. Judged before the last two are written, which always come.
fn required_events(run: &mut RunFile<'_>) -> Option<EventKind> {
    let mut seen = run.draft.events_seen().to_vec();
    seen.extend([EventKind::SecretScanCompleted, EventKind::RunCompleted]);
    let missing = first_missing(&run.task().required_events, &seen)?;
    if let Some((reason, text)) = judge_missing_event(&run.standing, missing) {
        run.standing.block_run(reason, text, names::EVENTS);
    }
    Some(missing)
}

/// The blocker that a missing event makes. Where something else stopped the run, `not_applicable` already says why the event cannot
/// exist.
fn judge_missing_event(standing: &RunStanding, missing: EventKind) -> Option<(Reason, String)> {
    let is_excused = standing.is_blocked() && standing.not_applicable().contains_key(missing.name());
    let text = format!("`{missing}` is required and is absent or out of order");
    (standing.engine_started() && !is_excused).then_some((Reason::MissingRequiredEvent, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::two_sided;

    fn blocked() -> RunStanding {
        let mut standing = RunStanding::default();
        standing.note_engine_started();
        standing.block_run(Reason::EngineFailed, "e", "");
        standing
    }

    #[test]
    fn an_expected_artifact_that_was_not_written_fails_the_run() {
        let expected = ["a".to_owned(), "b".to_owned()];
        let text = "`b` is expected by the contract and was not written".to_owned();
        assert_eq!(judge_artifacts(&expected, |name| name == "a"), [(Reason::ArtifactWriteFailure, text)]);
        assert_eq!(judge_artifacts(&expected, |_| true), [], "control");
        let judge = |is_there: fn(&str) -> bool| judge_artifacts(&expected, is_there);
        two_sided(Reason::ArtifactWriteFailure, judge(|name| name == "a"), judge(|_| true));
    }

    #[test]
    fn a_missing_event_fails_a_run_that_nothing_explains_it_in() {
        let missing = EventKind::PatchApplied;
        let text = "`patch.applied` is required and is absent or out of order".to_owned();
        let expected = Some((Reason::MissingRequiredEvent, text));
        let mut started = RunStanding::default();
        assert_eq!(judge_missing_event(&started, missing), None, "control: no engine started");
        started.note_engine_started();
        assert_eq!(judge_missing_event(&started, missing), expected);
        started.skip_part(missing.name(), "nothing changed");
        assert_eq!(judge_missing_event(&started, missing), expected, "nothing stands against the run");
        let mut explained = blocked();
        assert_eq!(judge_missing_event(&explained, missing), expected, "it is not said why");
        explained.skip_part(missing.name(), "the engine failed");
        assert_eq!(judge_missing_event(&explained, missing), None, "control: it is");
        two_sided(Reason::MissingRequiredEvent, expected, judge_missing_event(&explained, missing));
    }

    #[test]
    fn the_log_says_that_there_is_no_command_where_that_is_why() {
        let mut standing = blocked();
        assert_eq!(describe_unverified(&standing, "why"), "why", "control");
        standing.block_run(Reason::MissingTestCommand, "m", "");
        let text = "No verification command is given; nothing was run.";
        let is_said = |standing: &RunStanding| describe_unverified(standing, "why") == text;
        two_sided(Reason::MissingTestCommand, is_said(&standing), is_said(&blocked()));
    }
}
