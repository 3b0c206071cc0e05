//! Remains of a dead run: its decision, its notes, the use of its model, its patch. All of
//! it is compared with the run's own events: only parts that both sides confirm are kept.

use std::borrow::Cow;
use std::path::Path;

use contract::decision::{Inputs, SettingFacts};
use contract::model::UsageRecord;
use contract::sandbox::Posture;
use contract::{Coverage, Decision, Digest, Event, EventData, EventKind, RunId, TaskContract};
use evidence::{names, patch};
use ledger::Entry;
use serde::Deserialize;
use untrusted_fs::read_plain;

use crate::gather::model::ModelSession;
use crate::home::layout::Home;
use crate::run::engine_intent::EngineIntent;
use crate::run::file::{RunFile, Stopped};
use crate::run::journal::{Journal, NotedFindings};
use crate::run::sandboxes::Sandboxes;
use crate::run::standing::RunStanding;
use crate::seal::landing::LandedResult;
use crate::seal::verification::CheckedResult;
use crate::work::engines::EngineRun;
use crate::work::result::TakenResult;

/// Findings of a dead run, in the types of its steps, as far as its events bear them out.
pub(crate) struct Restored {
    pub(crate) decision: Decision,
    pub(crate) model: ModelSession,
    pub(crate) engine: EngineRun,
    pub(crate) taken: TakenResult,
    pub(crate) checked: CheckedResult,
    /// The landing, where it could not be undone.
    pub(crate) landing: LandedResult,
}

/// Notes of a dead run, read again by the steps that made them.
#[derive(Debug, Default)]
struct NotedSteps {
    standing: RunStanding,
    sandboxes: Sandboxes,
    engine: EngineRun,
    taken: TakenResult,
    checked: CheckedResult,
}

/// Notes beside what else was noted with them.
struct Noted {
    steps: NotedSteps,
    rest: NotedFindings,
}

impl Noted {
    fn read(journal: &Journal) -> Option<Self> {
        let mut rest = journal.read_findings()?;
        let steps = NotedSteps {
            standing: rest.findings.take_findings()?,
            sandboxes: rest.findings.take_findings()?,
            engine: rest.findings.take_findings()?,
            taken: rest.findings.take_findings()?,
            checked: rest.findings.take_findings()?,
        };
        Some(Self { steps, rest })
    }
}

/// Remains of a dead run beside its events.
pub(super) struct DeadRemains {
    /// The decision it rested on, made again from its inputs.
    decision: Option<Decision>,
    noted: Option<Noted>,
    /// The first sandbox that was built, whether or not anything came back from it.
    posture: Option<Posture>,
    usage: Vec<UsageRecord>,
    patch: Option<Vec<u8>>,
    test_log: Option<Vec<u8>>,
}

impl DeadRemains {
    /// Reads what the run left in its folder, beside it and in the ledger.
    pub(super) fn read_left(
        home: &Home,
        run_id: &RunId,
        contract: &TaskContract,
        engine: Option<&Entry>,
        old: Option<&Path>,
    ) -> Self {
        let journal = Journal::of_run(home, run_id);
        let file = |name: &str| read_plain(old?, name.as_bytes(), u64::MAX);
        let intent = engine.and_then(|entry| EngineIntent::deserialize(&entry.body).ok());
        let written = || serde_json::from_slice::<Decision>(&file(names::DECISION)?).ok();
        let inputs = intent
            .and_then(|intent| intent.inputs)
            .map(Cow::into_owned)
            .or_else(|| written().map(|decision| decision.inputs));
        let inputs = inputs.or_else(|| journal.read_inputs());
        Self {
            decision: inputs.and_then(|inputs| gate::decide(contract, inputs).ok()),
            noted: Noted::read(&journal),
            posture: journal.read_posture(),
            usage: journal.read_usage(),
            patch: file(names::PATCH),
            test_log: file(names::TEST_LOG),
        }
    }

    /// Number of the first events that the rest bears out. Notes that were made after the
    /// last of them are dropped.
    pub(super) fn keep_events(&mut self, events: &[Event]) -> usize {
        let kept = self.borne_out(events);
        if self.noted.as_ref().is_some_and(|noted| noted.rest.events > kept as u64) {
            self.noted = None;
            return self.borne_out(events);
        }
        kept
    }

    fn borne_out(&self, events: &[Event]) -> usize {
        let kept = events.iter().position(|event| !self.bears_out(event)).unwrap_or(events.len());
        // A patch that nobody had judged yet is not the run's: it lies under
        // `backend/recovered`.
        let place = |kind: EventKind| events[..kept].iter().position(|event| event.kind == kind);
        place(EventKind::PatchApplied).filter(|_| place(EventKind::GitDiffChecked).is_none()).unwrap_or(kept)
    }

    fn bears_out(&self, event: &Event) -> bool {
        match event.kind {
            EventKind::TaskContractCreated => self.decision.is_some(),
            EventKind::GitDiffChecked => self.patch.as_ref().is_some_and(|bytes| patch::changed_paths(bytes).is_ok()),
            // A run that was not sealed was not completed.
            EventKind::SecretScanCompleted | EventKind::RunCompleted => false,
            EventKind::EligibilityDecided
            | EventKind::BackendGateBlocked
            | EventKind::SandboxRefused
            | EventKind::ModelAnswered
            | EventKind::ModelRefused
            | EventKind::PatchApplied
            | EventKind::VerificationCompleted => event.read_data().is_some_and(|data| self.confirms(&data)),
            _ => true,
        }
    }

    /// True if the rest has the fact that this data tells.
    fn confirms(&self, data: &EventData) -> bool {
        let noted = self.noted.as_ref().map(|noted| &noted.steps);
        match data {
            EventData::EligibilityDecided(decided) => {
                self.decision.as_ref().is_some_and(|decision| decided.decision_id == decision.decision_id)
            }
            // Those of a refusal are all written again.
            EventData::BackendGateBlocked(blocked) => {
                let admitted = self.decision.as_ref().is_some_and(|decision| decision.refusals.is_empty());
                let is_known = |reason| noted.is_some_and(|noted| noted.standing.reasons().contains(&reason));
                admitted && blocked.reason.is_some_and(is_known)
            }
            EventData::SandboxRefused(refused) => {
                noted.is_some_and(|noted| noted.sandboxes.attempts().contains(&refused.attempt))
            }
            EventData::ModelAnswered(ended) | EventData::ModelRefused(ended) => {
                self.usage.iter().any(|record| ended.request == record.seq)
            }
            EventData::PatchApplied(applied) => {
                self.patch.as_ref().is_some_and(|patch| applied.sha256 == Digest::of_bytes(patch))
            }
            EventData::VerificationCompleted(completed) => {
                let held = noted.map(|noted| noted.checked.verification());
                let is_same = held
                    .is_some_and(|held| completed.result == held.result && completed.checks == Some(held.passes.len()));
                self.test_log.is_some() && is_same
            }
            _ => false,
        }
    }

    /// Makes what the kept events bear out part of the run, and settles the decision it
    /// rested on.
    pub(super) fn restore(self, run: &mut RunFile<'_>, events: &[Event]) -> Result<Restored, Stopped> {
        let Self { decision, noted, posture, usage, patch, test_log } = self;
        let started = run.standing.engine_started();
        let mut steps = NotedSteps::default();
        if let Some(Noted { steps: noted, rest }) = noted {
            steps = noted;
            rest.secrets.into_iter().for_each(|hit| run.draft.censor_mut().saw(hit));
            if rest.patch_redacted {
                steps.standing.cover(Coverage::PatchRedacted);
            }
            rest.posture.into_iter().for_each(|posture| steps.sandboxes.add_lost(posture));
        }
        let NotedSteps { standing, sandboxes, mut engine, mut taken, checked } = steps;
        run.standing = standing;
        run.confinement_mut().restore_sandboxes(sandboxes);
        if started {
            run.standing.note_engine_started();
        }
        posture.into_iter().for_each(|posture| run.sandboxes_mut().add_lost(posture));
        for event in events {
            run.sandboxes_mut().restore_event(event);
            run.standing.cover_all(engine.restore_event(event));
            taken.restore_event(event);
        }
        let seen = |kind: EventKind| events.iter().any(|event| event.kind == kind);
        let at = run.clock().now();
        if let Some(patch) = patch.filter(|_| seen(EventKind::GitDiffChecked)) {
            taken.restore_patch(&patch);
            run.draft.write_clean(names::PATCH, &patch, at)?;
        }
        if let Some(log) = test_log.filter(|_| seen(EventKind::VerificationCompleted)) {
            run.draft.write_clean(names::TEST_LOG, &log, at)?;
        }
        let model = ModelSession::recover_use(run, usage, events)?;
        let decision = settle_decision(run, decision)?;
        Ok(Restored { decision, model, engine, taken, checked, landing: LandedResult::default() })
    }
}

/// Decision of the run, or one that says that there was none.
fn settle_decision(run: &mut RunFile<'_>, restored: Option<Decision>) -> Result<Decision, Stopped> {
    let unknown = || Inputs {
        contract_digest: run.contract_digest(),
        engine: run.ask().engine.clone(),
        stage: run.ask().stage,
        purpose: run.ask().purpose,
        kind: run.document().map(|document| document.kind),
        time: run.clock().started(),
        settings: SettingFacts::unknown(run.ask().sandbox),
        target: None,
        answer: None,
        baseline_exam: None,
        approval: None,
    };
    let decision = match restored {
        Some(decision) => decision,
        None => gate::decide(&run.task().contract, unknown())?,
    };
    run.conceal_target(decision.inputs.settings.target_admission.as_ref());
    let at = run.clock().now();
    run.draft.write_json(names::CONTRACT, &run.task().contract, at)?;
    run.draft.write_json(names::DECISION, &decision, at)?;
    for refusal in &decision.refusals {
        run.standing.block_with(refusal.reason, refusal.text.clone(), &refusal.remedy, names::DECISION);
    }
    Ok(decision)
}
