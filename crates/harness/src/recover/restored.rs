//! Remains of a dead run: its decision, its notes, the use of its model, its patch. All of it is held against the run's
//! own events: of the chain is kept what the rest bears out, and of the rest what stands in the chain.

use std::path::Path;

use contract::decision::{Inputs, Profile};
use contract::model::UsageRecord;
use contract::sandbox::{Attempt, Posture};
use contract::text::path_text;
use contract::{Coverage, Decision, Digest, Event, EventKind, RunId, TaskContract};
use evidence::{names, patch};
use ledger::Entry;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use untrusted_fs::read_plain;

use crate::findings::Findings;
use crate::home::Home;
use crate::journal::{Journal, NotedFindings};
use crate::run::{Run, Stopped};

#[derive(Deserialize)]
struct EngineIntent {
    inputs: Option<Inputs>,
}

/// Remains of a dead run beside its events.
pub(super) struct Restored {
    /// The decision it rested on, made again from its inputs.
    pub(super) decision: Option<Decision>,
    noted: Option<NotedFindings>,
    /// The first sandbox that was built, whether or not anything came back from it.
    posture: Option<Posture>,
    usage: Vec<UsageRecord>,
    patch: Option<Vec<u8>>,
    test_log: Option<Vec<u8>>,
}

impl Restored {
    /// Reads what the run left in its folder, beside it and in the ledger.
    pub(super) fn read(
        home: &Home,
        run_id: &RunId,
        contract: &TaskContract,
        engine: Option<&Entry>,
        old: Option<&Path>,
    ) -> Self {
        let journal = Journal::of(home, run_id);
        let file = |name: &str| read_plain(old?, name.as_bytes(), u64::MAX);
        let intent = engine.and_then(|entry| serde_json::from_value::<EngineIntent>(entry.body.clone()).ok());
        let written = || serde_json::from_slice::<Decision>(&file(names::DECISION)?).ok();
        let inputs = intent.and_then(|intent| intent.inputs).or_else(|| written().map(|decision| decision.inputs));
        let inputs = inputs.or_else(|| journal.read_inputs());
        Self {
            decision: inputs.and_then(|inputs| gate::decide(contract, inputs).ok()),
            noted: journal.read_findings(),
            posture: journal.read_posture(),
            usage: journal.read_usage(),
            patch: file(names::PATCH),
            test_log: file(names::TEST_LOG),
        }
    }

    /// Number of the first events that the rest bears out. Notes that were made after the last of them are dropped.
    pub(super) fn keep(&mut self, events: &[Event]) -> usize {
        let kept = self.borne_out(events);
        if self.noted.as_ref().is_some_and(|noted| noted.events > kept as u64) {
            self.noted = None;
            return self.borne_out(events);
        }
        kept
    }

    fn borne_out(&self, events: &[Event]) -> usize {
        let kept = events.iter().position(|event| !self.bears_out(event)).unwrap_or(events.len());
        // A patch that nobody had judged yet is not the run's: it lies under `backend/recovered`.
        let place = |kind: EventKind| events[..kept].iter().position(|event| event.kind == kind);
        place(EventKind::PatchApplied).filter(|_| place(EventKind::GitDiffChecked).is_none()).unwrap_or(kept)
    }

    fn bears_out(&self, event: &Event) -> bool {
        let data = |key: &str| event.data.get(key).unwrap_or(&Value::Null);
        let findings = self.noted.as_ref().map(|noted| &noted.findings);
        match event.kind {
            EventKind::TaskContractCreated => self.decision.is_some(),
            EventKind::EligibilityDecided => {
                self.decision.as_ref().is_some_and(|decision| *data("decision_id") == json!(decision.decision_id))
            }
            // Those of a refusal are all written again.
            EventKind::BackendGateBlocked => {
                let admitted = self.decision.as_ref().is_some_and(|decision| decision.refusals.is_empty());
                admitted && findings.is_some_and(|found| found.reasons().iter().any(|it| *data("reason") == json!(it)))
            }
            EventKind::SandboxRefused => {
                findings.is_some_and(|found| found.attempts.iter().any(|attempt| tells_of(event, attempt)))
            }
            EventKind::ModelAnswered | EventKind::ModelRefused => {
                self.usage.iter().any(|record| *data("request") == json!(record.seq))
            }
            EventKind::PatchApplied => {
                self.patch.as_ref().is_some_and(|patch| *data("sha256") == json!(Digest::of(patch)))
            }
            EventKind::GitDiffChecked => self.patch.as_ref().is_some_and(|bytes| patch::changed_paths(bytes).is_ok()),
            EventKind::VerificationCompleted => {
                let held = findings.map(|found| &found.verification);
                self.test_log.is_some()
                    && held.is_some_and(|held| {
                        *data("result") == json!(held.result) && *data("checks") == json!(held.passes.len())
                    })
            }
            // A run that was not sealed was not completed.
            EventKind::SecretScanCompleted | EventKind::RunCompleted => false,
            _ => true,
        }
    }

    /// Makes what the kept events bear out part of the run.
    pub(super) fn restore(self, run: &mut Run<'_>, events: &[Event]) -> Result<(), Stopped> {
        let Self { noted, posture, usage, patch, test_log, .. } = self;
        let started = run.findings.engine.started;
        if let Some(noted) = noted {
            run.findings = noted.findings;
            run.findings.engine.started = started;
            noted.secrets.into_iter().for_each(|hit| run.draft.censor_mut().saw(hit));
            if noted.patch_redacted {
                run.findings.coverage.insert(Coverage::PatchRedacted);
            }
            if let Some(posture) = noted.posture {
                run.findings.cells.add_lost(posture);
            }
        }
        if let Some(posture) = posture {
            run.findings.cells.add_lost(posture);
        }
        for event in events {
            restore_event(&mut run.findings, event);
        }
        let seen = |kind: EventKind| events.iter().any(|event| event.kind == kind);
        let at = run.clock.now();
        if let Some(patch) = patch.filter(|_| seen(EventKind::GitDiffChecked)) {
            let mut paths = patch::changed_paths(&patch).unwrap_or_default();
            paths.sort();
            run.findings.changed_files = paths.iter().map(|path| path_text(path)).collect();
            run.draft.write_clean(names::PATCH, &patch, at)?;
        }
        if let Some(log) = test_log.filter(|_| seen(EventKind::VerificationCompleted)) {
            run.draft.write_clean(names::TEST_LOG, &log, at)?;
        }
        run.recover_usage(usage, events)
    }
}

/// The event is that of this attempt.
fn tells_of(event: &Event, attempt: &Attempt) -> bool {
    let Ok(Value::Object(fields)) = serde_json::to_value(attempt) else { return false };
    fields.iter().all(|(name, value)| event.data.get(name) == Some(value))
}

/// Words of an event itself, which no note may contradict.
fn restore_event(findings: &mut Findings, event: &Event) {
    let data = |key: &str| event.data.get(key);
    match event.kind {
        EventKind::SandboxApplied => findings.applied = data("profile").and_then(read::<Profile>),
        EventKind::EngineStarted => findings.engine.wall_seconds = data("wall_seconds").and_then(Value::as_u64),
        EventKind::EngineExited => {
            findings.engine.exit = data("exit_code").and_then(read::<i32>);
            findings.engine.duration_ms = data("duration_ms").and_then(Value::as_u64);
            findings.engine.ended_by_harness = data("stopped_because").and_then(read::<String>);
            findings.coverage.extend(findings.engine.ended_by_harness.iter().map(|_| Coverage::EngineEndedByHarness));
        }
        EventKind::GitDiffChecked => {
            findings.result_tree = data("result_tree").and_then(read::<String>);
            findings.allowed_writes_passed = data("allowed_writes_passed").and_then(Value::as_bool).unwrap_or(false);
            findings.forbidden_paths_passed = data("forbidden_paths_passed").and_then(Value::as_bool).unwrap_or(false);
        }
        _ => {}
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}
