//! Evidence of a model's use: events, blockers, coverage and the report's `model` block.

use std::path::Path;
use std::time::Duration;

use bridge::{ModelEvent, PendingProbe, ProbeResult, Requested};
use contract::decision::Inputs;
use contract::event_data::{EngineOutputData, ModelEndedData, ModelRequestedData};
use contract::model::{
    AnswerFact, Cost, ModelFacts, ModelReport, ModelUse, RefusalCode, RequestPurpose, UsageRecord, Wire,
};
use contract::report::{HitClass, SecretHit};
use contract::{Coverage, Event, EventData, EventKind, Gate, ModelPair, Reason, canonical_bytes};
use evidence::{Draft, WriteArtifactError, names, stop};
use gate::model::{admission_status, is_fallback};
use serde_json::{Map, json};
use untrusted_fs::own_files;

use super::facts::endpoint;
use super::link::{ModelLink, StoppedBridge};
use crate::home::clock::RunClock;
use crate::home::replay::{self, StepNote};
use crate::run::file::{RunFile, Stopped};
use crate::run::journal::Journal;
use crate::run::standing::RunStanding;

/// The event of a report of the bridge's, if it is one.
fn event_data(event: &ModelEvent) -> Option<EventData> {
    match event {
        ModelEvent::Requested(requested) => Some(EventData::ModelRequested(requested_data(requested))),
        ModelEvent::Ended(record) => {
            // What the preflight's own question came to is the gate's to judge.
            let reason = event.reason().filter(|_| record.purpose == RequestPurpose::Engine);
            ended_data(event, record, reason)
        }
    }
}

fn requested_data(Requested { seq, wire, purpose, provider, model }: &Requested) -> ModelRequestedData {
    let (model, provider) = (model.clone(), provider.clone());
    ModelRequestedData { model, provider, purpose: *purpose, request: *seq, wire: *wire }
}

/// The event of a request that ended, with a reason that is of this event.
fn ended_data(event: &ModelEvent, record: &UsageRecord, reason: Option<Reason>) -> Option<EventData> {
    let kind = event.kind()?;
    let reason = reason.filter(|reason| reason.event() == kind);
    let data = Box::new(ModelEndedData { reason, ..record.into() });
    Some(if kind == EventKind::ModelRefused { EventData::ModelRefused(data) } else { EventData::ModelAnswered(data) })
}

/// Number of the request whose end the event tells.
pub(crate) fn ended_request(event: &Event) -> Option<u64> {
    match event.read_data()? {
        EventData::ModelAnswered(ended) | EventData::ModelRefused(ended) => Some(ended.request),
        _ => None,
    }
}

/// Records of requests that the events mention only as made.
fn lost_requests(records: &[UsageRecord], events: &[Event]) -> Vec<UsageRecord> {
    let made = events.iter().filter_map(|event| {
        let Some(EventData::ModelRequested(requested)) = event.read_data() else { return None };
        let ModelRequestedData { request, wire, purpose, provider, model } = requested;
        Some(UsageRecord {
            wire: Some(wire),
            provider,
            model_asked: Some(model),
            detail: Some("the harness was killed before it ended".to_owned()),
            cost_micros: Cost::Unknown,
            ..UsageRecord::blank(request, event.time, purpose)
        })
    });
    made.filter(|made| records.iter().all(|record| record.seq != made.seq)).collect()
}

fn answer_fact(result: ProbeResult) -> AnswerFact {
    match result {
        ProbeResult::Content if stop::has_defect("late_content_refused") => AnswerFact::ReasoningOnly,
        ProbeResult::Content => AnswerFact::Content,
        ProbeResult::ReasoningOnly => AnswerFact::ReasoningOnly,
        ProbeResult::Empty => AnswerFact::Empty,
        ProbeResult::UpstreamError(status) => AnswerFact::UpstreamError { status },
        ProbeResult::Refused(code) => AnswerFact::Refused { code },
        ProbeResult::NotAsked => AnswerFact::NotAsked { why: "the bridge has stopped".to_owned() },
    }
}

/// Holds against the run what the bridge refused, unless that is done.
fn hold_refusals(usage: &[UsageRecord], standing: &mut RunStanding) {
    let known = standing.reasons();
    let refused = |record: &UsageRecord| Some((record.refusal?, record.detail.clone()));
    let refusals: Vec<(RefusalCode, Option<String>)> = usage.iter().filter_map(refused).collect();
    let mut told: Vec<RefusalCode> = Vec::new();
    for (code, detail) in &refusals {
        let Some(reason) = code.reason().filter(|reason| !told.contains(code) && !known.contains(reason)) else {
            continue;
        };
        told.push(*code);
        let times = refusals.iter().filter(|(other, _)| other == code).count();
        let detail = detail.as_deref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let text = format!("{}{detail}, {times} times", code.text().trim_end_matches('.'));
        standing.block_run(reason, text, names::MODEL_USAGE);
    }
}

/// Holds against the run that its model did not answer.
fn hold_missing_answer(usage: &[UsageRecord], standing: &mut RunStanding) {
    if !usage.iter().any(UsageRecord::is_evidence) {
        let text = "no request of the engine was answered by the admitted model";
        standing.block_run(Reason::ModelEvidenceMissing, text, names::MODEL_USAGE);
    }
}

/// Writer of events while the engine works. The first failed write is kept, and nothing is
/// written after it.
pub(crate) struct EventLog<'a> {
    pub(crate) draft: &'a mut Draft,
    pub(crate) clock: RunClock,
    pub(crate) journal: Journal,
    pub(crate) failed: Option<WriteArtifactError>,
}

impl EventLog<'_> {
    /// Appends an event, unless a write has failed before.
    fn add_event(&mut self, data: &EventData) {
        if self.failed.is_none() {
            self.failed = self.draft.add_event_data(self.clock.now(), data, Map::new()).err();
        }
    }

    /// Appends a line or a note of the engine's output.
    pub(crate) fn add_output(&mut self, output: EngineOutputData) {
        self.add_event(&EventData::EngineOutput(output));
    }

    /// Looks from here on for what the bridge has learned meanwhile.
    pub(crate) fn learn(&mut self, link: Option<&ModelLink>) {
        self.draft.censor_mut().know(link.map(ModelLink::learned).unwrap_or_default());
    }

    /// Appends a report of a step to the trace, unless a write has failed before.
    pub(crate) fn add_step(&mut self, note: &StepNote) {
        if self.failed.is_none() {
            self.failed = self.draft.add_trace(self.clock.now(), replay::STEP, json!(note)).err();
        }
    }

    /// A report of the bridge's: an event, and a record when a request has ended.
    pub(crate) fn add_model(&mut self, event: ModelEvent, usage: &mut Vec<UsageRecord>) {
        let told = event_data(&event);
        if let ModelEvent::Ended(record) = event {
            // Names in it come from the engine and from the upstream. Noted before its
            // event, which recovery looks for.
            let clean = self.draft.censor_mut().censor_document(names::MODEL_USAGE, &*record);
            let record = clean.ok().flatten().unwrap_or(*record);
            let _ = self.journal.note_usage(&record);
            usage.push(record);
        }
        if let Some(data) = told {
            self.add_event(&data);
        }
    }
}

/// Time for which the answer to the preflight's question is waited for at once.
const PROBE_TICK: Duration = Duration::from_millis(10);

/// The recording in a bundle.
const TRAFFIC: &str = "backend/model-traffic.jsonl";
/// Largest recording; a larger one stays out of the bundle.
const MOST_TRAFFIC: u64 = 256 << 20;

/// The model of one run: the way to it, while there is one, and the record of each request.
#[derive(Default)]
pub(crate) struct ModelSession {
    link: Option<ModelLink>,
    usage: Vec<UsageRecord>,
}

impl ModelSession {
    /// Running bridge, if there is one.
    pub(crate) fn link(&self) -> Option<&ModelLink> {
        self.link.as_ref()
    }

    /// Running bridge, if there is one, to change its state.
    pub(crate) fn link_mut(&mut self) -> Option<&mut ModelLink> {
        self.link.as_mut()
    }

    /// The way to the model, and where the records of ended requests go.
    pub(crate) fn parts(&mut self) -> (Option<&ModelLink>, &mut Vec<UsageRecord>) {
        (self.link.as_ref(), &mut self.usage)
    }

    /// Starts the bridge and asks the model for a word. Everything else has passed.
    pub(crate) fn ask_model(&mut self, run: &mut RunFile<'_>, facts: &ModelFacts) -> Result<AnswerFact, Stopped> {
        let answer = match ModelLink::start_bridge(run, facts) {
            Ok(link) if facts.replayed => {
                self.link = Some(link);
                AnswerFact::Replayed
            }
            Ok(link) => {
                let probe = link.begin_probe(facts.wire);
                self.link = Some(link);
                self.await_probe(run, &probe)?
            }
            Err(why) => AnswerFact::NotAsked { why },
        };
        self.note_reported(run)?;
        Ok(answer)
    }

    /// Records the question while its answer is awaited, so that a run that dies meanwhile
    /// has recorded it. A cancelled run stops waiting.
    fn await_probe(&mut self, run: &mut RunFile<'_>, probe: &PendingProbe) -> Result<AnswerFact, Stopped> {
        loop {
            if let Some(result) = probe.wait(PROBE_TICK) {
                return Ok(answer_fact(result));
            }
            self.note_reported(run)?;
            if run.watch().cancelled() {
                self.close_bridge(run)?;
                return Err(Stopped::Cancelled);
            }
        }
    }

    /// Writes down what the bridge has reported so far.
    fn note_reported(&mut self, run: &mut RunFile<'_>) -> Result<(), Stopped> {
        let events: Vec<ModelEvent> = self.link.iter().flat_map(|link| link.reported()).collect();
        run.draft.censor_mut().know(self.link.as_ref().map(ModelLink::learned).unwrap_or_default());
        self.note_events(run, events)
    }

    fn note_events(&mut self, run: &mut RunFile<'_>, events: Vec<ModelEvent>) -> Result<(), Stopped> {
        let (journal, clock) = (run.journal(), run.clock());
        let mut log = EventLog { draft: &mut run.draft, clock, journal, failed: None };
        for event in events {
            log.add_model(event, &mut self.usage);
        }
        log.failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Ends the bridge, where there is one: from here on its token opens nothing, and what
    /// it saw is evidence.
    pub(crate) fn close_bridge(&mut self, run: &mut RunFile<'_>) -> Result<(), Stopped> {
        let Some(link) = self.link.take() else { return Ok(()) };
        let StoppedBridge { summary, events, learned, share, recording } = link.stop();
        run.draft.censor_mut().know(learned);
        if let Some(share) = share {
            share.settle_share(run, summary.spent)?;
        }
        self.note_events(run, events)?;
        let records = std::mem::take(&mut self.usage);
        self.write_usage(run, records)?;
        run.add_trace(
            "model.closed",
            json!({"recording_incomplete": summary.recording_incomplete, "unrecorded": summary.unrecorded}),
        )?;
        // An operator who ended the engine early cannot blame the model for it.
        if run.standing.engine_started() && !run.watch().cancelled() {
            hold_missing_answer(&self.usage, &mut run.standing);
        }
        self.hold_usage(run)?;
        recording.map_or(Ok(()), |path| keep_recording(run, &path))
    }

    /// Writes the records in the order of their requests; the sums of the report are those
    /// of what is written.
    fn write_usage(&mut self, run: &mut RunFile<'_>, mut records: Vec<UsageRecord>) -> Result<(), Stopped> {
        records.sort_by_key(|record| record.seq);
        let mut lines = Vec::new();
        for record in records {
            // What the bridge learned meanwhile may stand in it.
            let record = run.clean(names::MODEL_USAGE, record)?;
            lines.extend(canonical_bytes(&record)?);
            lines.push(b'\n');
            self.usage.push(record);
        }
        Ok(run.write_artifact(names::MODEL_USAGE, &lines)?)
    }

    /// Holds the use of the model against a run whose engine started.
    fn hold_usage(&self, run: &mut RunFile<'_>) -> Result<(), Stopped> {
        if !run.standing.engine_started() {
            return Ok(());
        }
        hold_refusals(&self.usage, &mut run.standing);
        self.tell_taken_decoy(run);
        tell_lost_credential(run)
    }

    /// Takes over what a dead run had noted of its model, and tells what its events do not
    /// tell of it: a request that was going on when the run died was made, and its end is
    /// not known.
    pub(crate) fn recover_use(
        run: &mut RunFile<'_>,
        mut records: Vec<UsageRecord>,
        events: &[Event],
    ) -> Result<Self, Stopped> {
        let mut session = Self::default();
        records.extend(lost_requests(&records, events));
        if records.is_empty() {
            return Ok(session);
        }
        for record in &records {
            let told = events.iter().any(|event| ended_request(event) == Some(record.seq));
            let ended = ModelEvent::Ended(Box::new(record.clone()));
            if let (false, Some(data)) = (told, ended_data(&ended, record, None)) {
                run.add_event(&data)?;
            }
        }
        session.write_usage(run, records)?;
        session.hold_usage(run)?;
        Ok(session)
    }

    /// A decoy's secret in a request that was refused for it.
    fn tell_taken_decoy(&self, run: &mut RunFile<'_>) {
        let taken = |record: &UsageRecord| record.refusal == Some(RefusalCode::CanaryTouched);
        if self.usage.iter().any(taken) {
            let (rule, file) = ("canary".to_owned(), names::MODEL_USAGE.to_owned());
            run.draft.censor_mut().saw(SecretHit { rule, file, offset: 0, class: HitClass::Canary });
        }
    }

    /// Coverage of a run that used its model in this way.
    pub(crate) fn gaps(&self, run: &RunFile<'_>, inputs: &Inputs) -> Vec<Coverage> {
        let Some(facts) = &inputs.settings.model else { return Vec::new() };
        let class = facts.admission.record().map(|record| &record.allowed_network_class);
        let network = class.and_then(|class| run.harness().models.network_classes.get(class));
        let used = ModelUse::of_records(&self.usage);
        let own_ca = facts.requested.as_ref().is_some_and(|pair| !facts.replayed && trusts_own_ca(run, facts, pair));
        let rows = [
            (Coverage::RecordsUnsigned, facts.admission.is_unsigned() || facts.decision.is_unsigned()),
            (Coverage::ModelScripted, network.is_some_and(|network| network.scripted)),
            (Coverage::HostedToolsAllowed, network.is_some_and(|network| !network.allow.is_empty())),
            (Coverage::CustomCa, own_ca),
            (Coverage::ModelUnpriced, used.cost.unpriced_requests > 0),
            (Coverage::ModelUsageUnknown, used.tokens.unknown_requests > 0),
        ];
        rows.iter().filter(|(_, holds)| *holds).map(|(code, _)| *code).collect()
    }

    /// The report's `model` block.
    pub(crate) fn report(&self, inputs: &Inputs, engine_started: bool) -> Option<ModelReport> {
        let facts = inputs.settings.model.as_ref()?;
        let runtime_provider = match facts.wire {
            Wire::ChatCompletions | Wire::Responses => "openai",
            Wire::Messages => "anthropic",
        };
        Some(ModelReport {
            requested: facts.requested.clone(),
            admission_status: admission_status(facts, inputs.stage, inputs.time),
            admission_sha256: facts.admission.sha256(),
            provider_decision: facts.decision.record().map(|decision| decision.decision_status),
            fallback: is_fallback(facts),
            runtime_provider: engine_started.then(|| runtime_provider.to_owned()),
            wire: facts.wire,
            used: ModelUse::of_records(&self.usage),
        })
    }
}

/// A credential that was there at the gate and is gone now blocks as the gate would have.
fn tell_lost_credential(run: &mut RunFile<'_>) -> Result<(), Stopped> {
    if !is_credential_lost(&run.standing, run.draft.events_seen()) {
        return Ok(());
    }
    Ok(run.add_event(&run.blocked_data(Gate::CredentialSourcePresent, true, None))?)
}

/// True if the credential was refused after the gates, and no event says so yet.
fn is_credential_lost(standing: &RunStanding, seen: &[EventKind]) -> bool {
    standing.has_reason(Reason::ProviderAuthUnavailable) && !seen.contains(&EventKind::BackendGateBlocked)
}

fn keep_recording(run: &mut RunFile<'_>, path: &Path) -> Result<(), Stopped> {
    let failed = |error| Stopped::Io(path.to_owned(), error);
    let size = own_files::metadata(path).map_err(failed)?.len();
    if size > MOST_TRAFFIC {
        return Ok(run.add_trace("recording.left_out", json!({"bytes": size}))?);
    }
    let bytes = own_files::read_file(path).map_err(failed)?;
    Ok(run.write_artifact(TRAFFIC, &bytes)?)
}

/// True if a certificate of an authority of the operator's own would have been taken.
fn trusts_own_ca(run: &RunFile<'_>, facts: &ModelFacts, pair: &ModelPair) -> bool {
    let settings = &run.harness().models;
    let has_own = settings.models.get(&pair.to_string()).is_some_and(|setting| setting.custom_ca.is_some());
    let endpoint = endpoint(settings, &run.ask().model, pair, &facts.decision);
    has_own && endpoint.is_some_and(|endpoint| endpoint.is_ok_and(|endpoint| endpoint.uses_tls()))
}

#[cfg(test)]
mod tests {
    use contract::model::{RequestOutcome, Served};

    use super::*;
    use crate::tests::two_sided;

    fn record(seq: u64, refusal: Option<RefusalCode>) -> UsageRecord {
        let time = "2026-01-01T00:00:00Z".parse().unwrap();
        UsageRecord { refusal, ..UsageRecord::blank(seq, time, RequestPurpose::Engine) }
    }

    #[test]
    fn a_run_whose_model_never_answered_lacks_its_evidence() {
        let hold = |usage: &[UsageRecord]| {
            let mut standing = RunStanding::default();
            hold_missing_answer(usage, &mut standing);
            standing.reasons()
        };
        let answered = UsageRecord { outcome: RequestOutcome::Answered, served: Served::Exact, ..record(1, None) };
        assert_eq!(hold(&[record(1, None)]), [Reason::ModelEvidenceMissing]);
        assert_eq!(hold(&[]), [Reason::ModelEvidenceMissing]);
        assert_eq!(hold(&[record(1, None), answered.clone()]), [], "control");
        let control = hold(&[record(1, None), answered.clone()]);
        two_sided(Reason::ModelEvidenceMissing, hold(&[record(1, None)]), control);
        let probe = UsageRecord { purpose: RequestPurpose::Probe, ..answered };
        assert_eq!(hold(&[probe]), [Reason::ModelEvidenceMissing], "the harness's own question");
    }

    #[test]
    fn refusals_of_the_bridge_stand_against_the_run_once() {
        let gone = Some(RefusalCode::CredentialUnavailable);
        let detailed = UsageRecord { detail: Some("no file".to_owned()), ..record(1, gone) };
        let usage = [detailed, record(2, gone), record(3, Some(RefusalCode::BridgeBusy))];
        let mut standing = RunStanding::default();
        hold_refusals(&usage, &mut standing);
        let text = "The provider's credential is not available (no file), 2 times";
        let blockers: Vec<_> =
            standing.blockers().iter().map(|blocker| (blocker.reason, blocker.text.as_str())).collect();
        assert_eq!(blockers, [(Reason::ProviderAuthUnavailable, text)]);
        hold_refusals(&usage, &mut standing);
        assert_eq!(standing.blockers()[0].text, text, "it is told already");
        let mut quiet = RunStanding::default();
        hold_refusals(&usage[2..], &mut quiet);
        assert!(!quiet.is_blocked(), "control: a busy bridge is nobody's fault");
    }

    #[test]
    fn a_credential_that_was_lost_after_the_gates_is_told_once() {
        let mut standing = RunStanding::default();
        assert!(!is_credential_lost(&standing, &[]), "control");
        standing.block_run(Reason::ProviderAuthUnavailable, "gone", "");
        assert!(is_credential_lost(&standing, &[EventKind::EngineStarted]));
        assert!(!is_credential_lost(&standing, &[EventKind::BackendGateBlocked]), "control: it is told");
    }
}
