//! The bridge of one run: started when everything else has passed, served inside the
//! engine's sandbox, stopped when the engine has ended.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};

use bridge::{Bridge, BridgeTotals, ModelEvent, PendingProbe, Spent};
use contract::model::{ModelFacts, Wire};
use contract::{ModelPair, Reason};
use secrets::Known;

use super::day::Share;
use super::setup;
use super::values::SecretValues;
use crate::home::token::random_token;
use crate::run::file::RunFile;

/// Port of the bridge, inside the engine's own network and nowhere else.
pub(crate) const PORT: u16 = 4180;
/// Address of the bridge, as the engine gets it.
pub(super) const PLACE: &str = "http://127.0.0.1:4180";

/// Running bridge of one run.
pub(crate) struct ModelLink {
    bridge: Bridge,
    events: Receiver<ModelEvent>,
    over: Arc<AtomicBool>,
    token: String,
    values: Arc<SecretValues>,
    share: Option<Share>,
    recording: Option<PathBuf>,
}

/// Remains of a stopped bridge.
pub(crate) struct StoppedBridge {
    pub(crate) summary: BridgeTotals,
    pub(crate) events: Vec<ModelEvent>,
    pub(crate) learned: Vec<Known>,
    pub(super) share: Option<Share>,
    pub(crate) recording: Option<PathBuf>,
}

impl ModelLink {
    /// Starts the bridge, without a listener yet. From here on run token, credential and
    /// endpoint are redacted from everything that is written.
    pub(crate) fn start_bridge(run: &mut RunFile<'_>, facts: &ModelFacts) -> Result<Self, String> {
        let token = random_token().map_err(|error| format!("no random numbers: {error}"))?;
        let recording = run.ask().model.record.then(|| run.work().join("model-traffic.jsonl"));
        let setup::BridgeSetup { config, values, share } = setup::set_up(run, facts, &token, recording.as_deref())?;
        run.draft.censor_mut().know(values.take_new());
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
        let bridge = match Bridge::start_bridge(config, Box::new(observer)) {
            Ok(bridge) => bridge,
            Err(error) => {
                // Nothing was asked, so nothing is held of the day either.
                let settled = share.map(|share| share.settle_share(run, Spent::default())).transpose();
                return Err(settled.err().map_or_else(|| error.to_string(), |error| error.to_string()));
            }
        };
        Ok(Self { bridge, events, over, token, values, share, recording })
    }

    /// Asks the model for a word.
    pub(super) fn begin_probe(&self, wire: Wire) -> PendingProbe {
        self.bridge.begin_probe(wire)
    }

    /// Lets the engine's side in.
    pub(crate) fn serve_listener(&mut self, listener: TcpListener) -> Result<(), String> {
        self.bridge.serve_listener(listener).map(drop).map_err(|error| error.to_string())
    }

    /// Set when a limit of the contract is reached.
    pub(crate) fn over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.over)
    }

    /// Values that are known since the last time, and that the run must know before it
    /// writes anything more.
    pub(crate) fn learned(&self) -> Vec<Known> {
        self.values.take_new()
    }

    /// Events since the last call.
    pub(crate) fn reported(&self) -> impl Iterator<Item = ModelEvent> {
        self.events.try_iter()
    }

    /// The run token opens nothing from here on.
    pub(crate) fn stop(self) -> StoppedBridge {
        let summary = self.bridge.stop_serving();
        let (events, learned) = (self.events.try_iter().collect(), self.values.take_new());
        StoppedBridge { summary, events, learned, share: self.share, recording: self.recording }
    }

    /// Base URL of the bridge for the engine; clients of the messages wire add the version
    /// themselves.
    pub(crate) fn base_url(&self, wire: Wire) -> String {
        match wire {
            Wire::ChatCompletions | Wire::Responses => format!("{PLACE}/v1"),
            Wire::Messages => PLACE.to_owned(),
        }
    }

    /// Key that the engine presents: the run's token, never the provider's credential.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Variables that tell the clients of a wire the endpoint and the model.
    pub(crate) fn client_variables(&self, wire: Wire, pair: &ModelPair) -> Vec<(String, String)> {
        let names = match wire {
            Wire::ChatCompletions | Wire::Responses => ["OPENAI_BASE_URL", "OPENAI_API_KEY"],
            Wire::Messages => ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"],
        };
        let [base, key] = names.map(str::to_owned);
        vec![(base, self.base_url(wire)), (key, self.token.clone()), ("CTO_MODEL".to_owned(), pair.model.clone())]
    }
}
