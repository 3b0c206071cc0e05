//! The bridge of one run: started when everything else has passed, served inside the engine's sandbox, stopped when the
//! engine has ended.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};

use bridge::{
    Admission, Bridge, BridgeConfig, Credential, ModelEvent, NetworkClass, PriceTable, ProbeResult, Recorder, Redact,
    Replay, ResponsesWire, RunToken, Secret, Source, Summary, Upstream,
};
use contract::model::{AnswerFact, ModelFacts, Wire};
use contract::{ModelPair, Reason, Stamp};
use secrets::{Known, KnownClass, RuleSet, Scanner};

use super::{ModelAsk, ModelSettings, facts};
use crate::run::{Run, random_token};

/// Where the bridge listens, inside the engine's own network and nowhere else.
pub(crate) const PORT: u16 = 4180;
/// Requests of one run, whatever the contract says: each is a line of evidence.
const MOST_REQUESTS: u64 = 20_000;
/// How the run token is named where it is redacted.
const TOKEN: &str = "run-token";

pub(crate) struct ModelLink {
    bridge: Bridge,
    events: Receiver<ModelEvent>,
    over: Arc<AtomicBool>,
    token: String,
    recording: Option<PathBuf>,
}

/// What a stopped bridge leaves.
pub(crate) struct Left {
    pub(crate) summary: Summary,
    pub(crate) events: Vec<ModelEvent>,
    pub(crate) recording: Option<PathBuf>,
}

impl ModelLink {
    /// Starts the bridge; nobody can reach it yet. From here on the run token is taken out of all that is written.
    pub(crate) fn start(run: &mut Run<'_>, facts: &ModelFacts) -> Result<Self, String> {
        let token = random_token().map_err(|error| format!("no random numbers: {error}"))?;
        run.draft.censor_mut().know(Known::new(TOKEN, KnownClass::Token, token.as_bytes()));
        let recording = run.ask.model.record.then(|| run.work.join("model-traffic.jsonl"));
        let config = config(run, facts, &token, recording.as_deref())?;
        let (sender, events) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let reached = Arc::clone(&over);
        let observer = move |event: ModelEvent| {
            if event.reason() == Some(Reason::BudgetExceeded) {
                reached.store(true, Ordering::Relaxed);
            }
            // Nobody listens only when the run is gone.
            let _ = sender.send(event);
        };
        let bridge = Bridge::start(config, Box::new(observer)).map_err(|error| error.to_string())?;
        Ok(Self { bridge, events, over, token, recording })
    }

    /// Asks the model for a word.
    pub(crate) fn probe(&self, wire: Wire) -> AnswerFact {
        match self.bridge.probe(wire) {
            ProbeResult::Content => AnswerFact::Content,
            ProbeResult::ReasoningOnly => AnswerFact::ReasoningOnly,
            ProbeResult::Empty => AnswerFact::Empty,
            ProbeResult::UpstreamError(status) => AnswerFact::UpstreamError { status },
            ProbeResult::Refused(code) => AnswerFact::Refused { code },
            ProbeResult::NotAsked => AnswerFact::NotAsked { why: "the bridge has stopped".to_owned() },
        }
    }

    /// Lets the engine's side in.
    pub(crate) fn serve(&mut self, listener: TcpListener) -> Result<(), String> {
        self.bridge.serve(listener).map(drop).map_err(|error| error.to_string())
    }

    /// Set when a limit of the contract is reached.
    pub(crate) fn over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.over)
    }

    /// What was reported since the last time.
    pub(crate) fn reported(&self) -> impl Iterator<Item = ModelEvent> {
        self.events.try_iter()
    }

    /// The run token opens nothing from here on.
    pub(crate) fn stop(self) -> Left {
        let summary = self.bridge.stop();
        Left { summary, events: self.events.try_iter().collect(), recording: self.recording }
    }

    /// Where the engine finds the bridge; the clients of one wire add the version themselves.
    pub(crate) fn base_url(&self, wire: Wire) -> String {
        match wire {
            Wire::ChatCompletions | Wire::Responses => format!("http://127.0.0.1:{PORT}/v1"),
            Wire::Messages => format!("http://127.0.0.1:{PORT}"),
        }
    }

    /// What the engine presents as its key.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// How an engine is told where its model is, in the variables the clients of its wire read.
    pub(crate) fn variables(&self, wire: Wire, pair: &ModelPair) -> Vec<(String, String)> {
        let names = match wire {
            Wire::ChatCompletions | Wire::Responses => ["OPENAI_BASE_URL", "OPENAI_API_KEY"],
            Wire::Messages => ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"],
        };
        let [base, key] = names.map(str::to_owned);
        vec![(base, self.base_url(wire)), (key, self.token.clone()), ("CTO_MODEL".to_owned(), pair.model.clone())]
    }
}

fn config(run: &Run<'_>, facts: &ModelFacts, token: &str, recording: Option<&Path>) -> Result<BridgeConfig, String> {
    let (Some(pair), Some(record)) = (&facts.requested, facts.admission.record()) else {
        return Err("no pair is admitted".to_owned());
    };
    let settings = &run.harness.models;
    let setting = settings.models.get(&pair.to_string()).cloned().unwrap_or_default();
    let credential = settings.credential_sources.get(&record.credential_source_class).cloned();
    let credential = credential.unwrap_or(Credential::None);
    let redact = redact(token, &credential, run.clock.now());
    let mut admission = Admission::new(&pair.provider, &pair.model);
    admission.aliases = setting.aliases;
    admission.sent_as = setting.sent_as;
    let source = source(settings, &run.ask.model, facts, pair, credential, setting.responses, &redact)?;
    let class = settings.network_classes.get(&record.allowed_network_class).cloned();
    let network = class.unwrap_or_else(NetworkClass::default);
    let token = RunToken::new(&Secret::new(token));
    let mut config = BridgeConfig::new(admission, network, source, token, run.clock.now());
    let limits = &run.task.contract.limits;
    config.limits = bridge::Limits {
        requests: Some(limits.model_requests.unwrap_or(MOST_REQUESTS).min(MOST_REQUESTS)),
        tokens: limits.model_tokens,
        money_micros: limits.money_micros,
    };
    config.prices = PriceTable { currency: String::new(), prices: setting.price.into_iter().collect() };
    config.forbidden = vec![Secret::new(run.canary.as_bytes())];
    config.recorder = recording.map(|path| recorder(path, redact)).transpose()?;
    Ok(config)
}

fn source(
    settings: &ModelSettings,
    ask: &ModelAsk,
    facts: &ModelFacts,
    pair: &ModelPair,
    credential: Credential,
    responses: Option<ResponsesWire>,
    redact: &Redact,
) -> Result<Source, String> {
    if let Some(path) = &ask.replay {
        let file = File::open(path).map_err(|error| format!("the recording cannot be opened: {error}"))?;
        let replay = Replay::read(file, Arc::clone(redact)).map_err(|error| error.to_string())?;
        return Ok(Source::Replay(replay));
    }
    let endpoint = facts::endpoint(settings, ask, pair, &facts.decision).ok_or("no endpoint is configured")?;
    let mut upstream = Upstream::new(endpoint.map_err(|error| error.to_string())?, credential);
    upstream.responses = responses.unwrap_or(ResponsesWire::Native);
    Ok(Source::Live(Box::new(upstream)))
}

fn recorder(path: &Path, redact: Redact) -> Result<Recorder, String> {
    let file = File::create_new(path).map_err(|error| format!("the recording cannot be written: {error}"))?;
    Ok(Recorder::new(Box::new(file), redact))
}

/// Takes the values that are known and everything secret-shaped out of recorded bodies.
fn redact(token: &str, credential: &Credential, now: Stamp) -> Redact {
    let mut known = vec![Known::new(TOKEN, KnownClass::Token, token.as_bytes())];
    if let Ok(Some(secret)) = credential.fetch(now) {
        known.push(Known::new("credential", KnownClass::Credential, secret.expose()));
    }
    let scanner = Scanner::new(&known, RuleSet::standard());
    Arc::new(move |bytes| scanner.redact(bytes).0)
}
