//! From findings to a sealed bundle: the last events, the report, the signature.

mod compose;

use contract::event::first_missing;
use contract::report::{CHANGED_FILES, Report, SourceAdmissionStatus};
use contract::sandbox::{postures, probe_sha256};
use contract::statement::SealedBy;
use contract::text::shown;
use contract::{Coverage, EventKind, Reason, RunId, Stamp};
use evidence::seal::{Sealed, Signing, seal};
use evidence::{names, stop};
use gate::{Admission, Refused};
use ledger::{FIRST_EPOCH, RunSeal, RunSealed};
use serde_json::json;

use crate::decide::{AdmittedRun, RefusedRun};
use crate::engines::{Blocked, BlockedRun, judge_again};
use crate::home::Home;
use crate::journal::Journal;
use crate::lease::{HeldLease, is_lost};
use crate::recover::Remains;
use crate::run::{Run, Stopped, memory_path};
use crate::task::Origin;
use crate::verification::Verified;
use crate::watch::{Step, StepState};
use crate::{model, posture, proof, replay};

use compose::{compose, duration_ms, source_status};

/// Material of a bundle. Only a step that ends a run can make it, from its own result.
pub(crate) struct Evidence<'a>(Material<'a>);

/// A refused decision, gates alone (stage 1), a run that was blocked after its gates, a verified run, or what an interrupted
/// one left. Nothing else.
enum Material<'a> {
    Refused(Run<'a>, Refused),
    Preflight(Run<'a>, Admission),
    Blocked(Run<'a>, Blocked),
    Verified(Run<'a>),
    Interrupted(Run<'a>),
}

impl<'a> From<Remains<'a>> for Evidence<'a> {
    fn from(remains: Remains<'a>) -> Self {
        Self(Material::Interrupted(remains.into_run()))
    }
}

impl<'a> From<RefusedRun<'a>> for Evidence<'a> {
    fn from(refused: RefusedRun<'a>) -> Self {
        let (run, refused) = refused.into_parts();
        Self(Material::Refused(run, refused))
    }
}

impl<'a> From<AdmittedRun<'a>> for Evidence<'a> {
    fn from(admitted: AdmittedRun<'a>) -> Self {
        let (run, admission) = admitted.into_parts();
        Self(Material::Preflight(run, admission))
    }
}

impl<'a> From<BlockedRun<'a>> for Evidence<'a> {
    fn from(blocked: BlockedRun<'a>) -> Self {
        let (run, blocked) = blocked.into_parts();
        Self(Material::Blocked(run, blocked))
    }
}

impl<'a> From<Verified<'a>> for Evidence<'a> {
    fn from(verified: Verified<'a>) -> Self {
        Self(Material::Verified(verified.into_run()))
    }
}

/// A run with its report, ready to be sealed.
pub(crate) struct Reported<'a> {
    run: Run<'a>,
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
        let mut run = match self.0 {
            Material::Refused(mut run, refused) => {
                without_engine(&mut run, "the decision is a refusal; nothing was verified")?;
                run.trace("refused", json!({"decision_id": refused.decision().decision_id}))?;
                run
            }
            Material::Preflight(mut run, admission) => {
                without_engine(&mut run, "stage 1 checks the gates and starts no engine")?;
                run.trace("preflight.passed", json!({"decision_id": admission.decision().decision_id}))?;
                run
            }
            Material::Blocked(mut run, Blocked { why, .. }) => {
                let why = format!("the engine was not started: {}", shown(&why));
                without_engine(&mut run, &why)?;
                run
            }
            Material::Interrupted(mut run) => {
                complete_interrupted(&mut run)?;
                run
            }
            Material::Verified(mut run) => {
                judge_again(&mut run)?;
                run
            }
        };
        run.step(Step::Seal, StepState::Began, "")?;
        run.reserve = None;
        stop::here("report.beginning");
        common_coverage(&mut run);
        keep_baseline(&mut run)?;
        stop::here("baseline.kept");
        let (sandbox, at) = (posture::document(&run)?, run.clock.now());
        let sandbox = run.draft.write_document(names::SANDBOX, &sandbox, at)?;
        proof::write(&mut run)?;
        expected_artifacts(&mut run);
        let probe = postures(&sandbox).and_then(|place| probe_sha256(&sandbox[place]));
        required_events(&mut run);
        // What the report will hold is looked at before it is said what was found.
        let report = compose(&run, run.draft.censor().result(0), probe);
        let report = run.clean(names::REPORT, report)?;
        let scan = run.conclude_scan()?;
        let report = if scan.hits.is_empty() {
            Report { secret_scan: scan, ..at_the_end(&run, report) }
        } else {
            let report = compose(&run, scan, probe);
            run.clean(names::REPORT, report)?
        };
        let completed = json!({"backend_exit_code": report.backend_exit_code, "blockers": report.blocker_reasons, "status": report.status});
        let carried = run.findings.carried_by(EventKind::RunCompleted);
        run.draft.event(report.run_finished_at, EventKind::RunCompleted, crate::run::with(carried, completed))?;
        stop::here("run.completed");
        Ok(Reported { run, report })
    }
}

impl Reported<'_> {
    /// Signs, makes durable, moves into place, tells the ledger, clears the work area.
    pub(crate) fn seal(self, sealed_by: SealedBy) -> Result<Sealed, Stopped> {
        let Self { run, report } = self;
        // Before the bundle takes its place: one that comes too late counts for nothing.
        if is_lost(run.harness, run.id()) {
            return Err(Stopped::Cancelled);
        }
        let to = run.harness.home.bundle(run.id());
        let signing = Signing { key: &run.harness.key, ledger: run.ledger_at_start.clone(), sealed_by };
        // The work area is scratch and everything worth keeping is in the draft: it goes while the bundle is made durable.
        let sealed = std::thread::scope(|scope| {
            if !run.ask.keep_workspace {
                let run_id = report.run_id.clone();
                scope.spawn(move || remove_work(&run.harness.home, &run_id));
            }
            seal(run.draft, report, &signing, &to)
        })?;
        // Only now: a run that the ledger calls sealed has nothing left that its recovery would remove.
        stop::here("ledger.telling");
        run.harness.ledger().run_sealed(&ledger_entry(&sealed, run.clock.now(), run.lease))?;
        Journal::of(&run.harness.home, &sealed.report.run_id).remove();
        stop::here("ledger.told");
        run.watch.observer.step(&replay::sealed(&sealed.report));
        Ok(sealed)
    }
}

/// What the ledger keeps of a sealed bundle.
pub(crate) fn ledger_entry(sealed: &Sealed, time: Stamp, lease: Option<HeldLease>) -> RunSealed {
    let report = &sealed.report;
    let tests = report.verification.exam_tests();
    let seal = RunSeal {
        status: report.status,
        finished_at: report.run_finished_at,
        duration_ms: report.duration_ms,
        reasons: report.blocker_reasons.clone(),
        tests_passed: tests.map(|tests| tests.passed),
        tests_executed: tests.map(|tests| tests.executed),
        attestation_sha256: sealed.attestation_sha256,
        bundle: format!("harness-runs/{}", report.run_id),
        // Said only where it is not the instance that started the run.
        owner: lease.filter(|lease| lease.epoch > FIRST_EPOCH).map(|lease| lease.owner),
    };
    RunSealed { run_id: report.run_id.clone(), time, epoch: lease.map(|lease| lease.epoch), seal }
}

/// Removes what a run worked in. It is scratch and nothing depends on it, so what cannot be removed now may stay.
pub(crate) fn remove_work(home: &Home, run_id: &RunId) {
    for path in [home.work_run(run_id), memory_path(&run_id.mark())] {
        let _ = untrusted_fs::remove_tree(&path);
    }
}

/// A refused run has every artifact too, each saying why it is empty.
fn without_engine(run: &mut Run<'_>, why: &str) -> Result<(), Stopped> {
    skip_missing_events(run, why);
    run.findings.skip("verification", why);
    run.findings.skip(names::PATCH, why);
    run.write(names::PATCH, b"")?;
    if !run.findings.engine.started {
        run.marker("engine-not-started.txt", why)?;
    }
    let sentence = if run.findings.has(Reason::MissingTestCommand) {
        "No verification command is given; nothing was run."
    } else {
        why
    };
    let log = [std::mem::take(&mut run.baseline_log), format!("{sentence}\n").into_bytes()].concat();
    Ok(run.write(names::TEST_LOG, &log)?)
}

/// An event that stands in the chain is not called inapplicable.
fn skip_missing_events(run: &mut Run<'_>, why: &str) {
    for kind in NEEDS_ENGINE.iter().chain(&[EventKind::VerificationCompleted]) {
        if !run.draft.events_seen().contains(kind) {
            run.findings.skip(kind.name(), why);
        }
    }
}

/// Keeps what an interrupted run left of its result in its bundle; what it did not leave is said to be unknown, not empty.
fn complete_interrupted(run: &mut Run<'_>) -> Result<(), Stopped> {
    // Its folder may be gone, or lie in another home.
    let is_left = run.draft.files().keys().any(|name| name.starts_with("backend/"));
    let why = match is_left {
        true => "the run was interrupted; what it left lies in backend/recovered",
        false => "the run was interrupted, and nothing that it left is here",
    };
    skip_missing_events(run, why);
    if run.findings.verification.passes.is_empty() {
        run.findings.skip("verification", why);
    }
    if !run.draft.files().contains_key(names::PATCH) {
        let untaken = if run.findings.engine.started {
            "the run was interrupted before the harness took its result: what the engine changed is not known"
        } else {
            "the run was interrupted before its engine started"
        };
        run.findings.skip(CHANGED_FILES, untaken);
        run.findings.skip(names::PATCH, untaken);
        run.write(names::PATCH, b"")?;
    }
    if !run.findings.engine.started {
        run.marker("engine-not-started.txt", why)?;
    } else if !is_left {
        run.marker("nothing-left.txt", why)?;
    }
    if !run.draft.files().contains_key(names::TEST_LOG) {
        run.write(names::TEST_LOG, format!("{why}\n").as_bytes())?;
    }
    Ok(())
}

fn common_coverage(run: &mut Run<'_>) {
    if run.findings.engine.started {
        posture::cover(run);
    }
    run.findings.skip("approval.requested", "this stage needs no approval");
    model::cover(run);
    let settings = run.findings.decision.as_ref().map(|decision| &decision.inputs.settings);
    if run.findings.engine.started && settings.is_some_and(|settings| settings.engine.is_some()) {
        let source = settings.and_then(|settings| settings.engine.as_ref());
        let unsigned = source.is_some_and(|engine| engine.admission.is_unsigned());
        let without_bridge = settings.is_some_and(|settings| settings.model.is_none());
        let rows = [
            (Coverage::SourceNotAdmitted, source_status(run) != SourceAdmissionStatus::Admitted),
            (Coverage::EngineWithoutBridge, without_bridge),
            (Coverage::RecordsUnsigned, unsigned),
        ];
        run.findings.coverage.extend(rows.iter().filter(|(_, holds)| *holds).map(|(code, _)| *code));
    }
    if !run.draft.files().contains_key(names::MODEL_USAGE) {
        run.findings
            .skip(names::MODEL_USAGE, "no model was asked, or the run was interrupted before its use was written");
    }
}

/// Bundles of cases hold their baseline, so that anybody can build the trees again.
fn keep_baseline(run: &mut Run<'_>) -> Result<(), Stopped> {
    if let (Origin::Case(files), Some(_)) = (&run.task.origin, &run.findings.result_tree) {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, file) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(file.bytes.len() as u64);
            header.set_mode(if file.executable { 0o755 } else { 0o644 });
            archive
                .append_data(&mut header, path, file.bytes.as_slice())
                .map_err(|error| Stopped::Io(path.into(), error))?;
        }
        let bytes = archive.into_inner().map_err(|error| Stopped::Io(names::BASELINE.into(), error))?;
        if files.values().any(|file| !run.draft.censor().is_clean(&file.bytes)) {
            run.findings.skip(names::BASELINE, "it holds what looks like a secret");
        } else {
            run.draft.write_clean(names::BASELINE, &bytes, run.clock.now())?;
        }
    } else {
        run.findings.skip(names::BASELINE, "only runs of cases whose result was captured keep it");
    }
    Ok(())
}

/// Extra artifacts the contract demands.
fn expected_artifacts(run: &mut Run<'_>) {
    let missing: Vec<String> = run
        .task
        .contract
        .evidence_expectations
        .iter()
        .filter(|name| !run.draft.files().contains_key(*name))
        .cloned()
        .collect();
    for name in missing {
        let text = format!("`{}` is expected by the contract and was not written", contract::text::shown(&name));
        run.findings.block(Reason::ArtifactWriteFailure, text, names::REPORT);
    }
}

/// The report with the present moment as its end.
fn at_the_end(run: &Run<'_>, report: Report) -> Report {
    Report { run_finished_at: run.clock.now(), duration_ms: duration_ms(run), ..report }
}

/// Judged before the last two are written, which always come.
fn required_events(run: &mut Run<'_>) {
    let mut seen = run.draft.events_seen().to_vec();
    seen.extend([EventKind::SecretScanCompleted, EventKind::RunCompleted]);
    let Some(missing) = first_missing(&run.task.required_events, &seen) else { return };
    run.findings.missing_events = vec![missing];
    // Where something else stopped the run, `not_applicable` already says why an event cannot exist.
    let excused = !run.findings.blockers.is_empty() && run.findings.not_applicable.contains_key(missing.name());
    if run.findings.engine.started && !excused {
        let text = format!("`{missing}` is required and is absent or out of order");
        run.findings.block(Reason::MissingRequiredEvent, text, names::EVENTS);
    }
}
