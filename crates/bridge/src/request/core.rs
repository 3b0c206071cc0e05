//! State that all requests of a bridge share.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use secrets::{Known, KnownClass, RuleSet, Scanner};
use tokio::sync::Semaphore;

use crate::config::{AnswerSource, BridgeConfig, Clock, Deadlines, ResponsesWire, Sizes};
use crate::policy::admission::{AdmittedPair, NetworkClass};
use crate::policy::limits::{Amount, Budget};
use crate::policy::price::Price;
use crate::protocol::shim::ShapeShim;
use crate::protocol::usage::{Cost, Tokens};
use crate::recording::observe::Reporter;
use crate::recording::record::{Recorder, ReplaySource};
use crate::upstream::connect::{Connector, PrepareProxyTlsError, tls};
use crate::upstream::credential::Credential;
use crate::upstream::pool::Pool;
use crate::upstream::secret::{RunToken, Secret};

/// A bridge that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartBridgeError {
    /// The upstream's host is not one of the network class.
    #[error("the upstream is not one of the admission's network class")]
    HostNotInClass,
    #[error(transparent)]
    Tls(PrepareProxyTlsError),
    #[error("the bridge cannot use its listener: {0}")]
    Listener(#[source] io::Error),
    #[error("the bridge cannot start its thread: {0}")]
    Thread(#[source] io::Error),
}

/// Source of answers, ready for use.
#[derive(Debug)]
pub(crate) enum AnswerRoute {
    Live(Box<LiveRoute>),
    Replay(ReplaySource),
}

/// Connections and secrets for a live upstream.
#[derive(Debug)]
pub(crate) struct LiveRoute {
    pub(crate) pool: Pool,
    pub(crate) credential: Arc<Credential>,
    pub(crate) extra_headers: Vec<(String, Secret)>,
    pub(crate) responses: ResponsesWire,
}

/// Shared state of a bridge.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) admission: Arc<AdmittedPair>,
    /// Permitted hosts and services.
    pub(crate) network: NetworkClass,
    /// Live upstream or a recording.
    pub(crate) route: AnswerRoute,
    pub(crate) budget: Budget,
    pub(crate) shim: ShapeShim,
    pub(crate) sizes: Sizes,
    pub(crate) deadlines: Deadlines,
    /// Recorder of the traffic, if the operator asked for one.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) clock: Clock,
    /// Channel of events to the caller.
    pub(crate) reporter: Reporter,
    /// Kilobytes of bodies that may still be held.
    pub(crate) bodies: Arc<Semaphore>,
    /// Finds what must not leave.
    forbidden: Scanner,
    token: RunToken,
    price: Option<Price>,
    stopped: AtomicBool,
    seq: AtomicU64,
    unsent: AtomicU64,
    unrecorded: AtomicU64,
    /// Ids of responses and items made in this run.
    issued: Mutex<HashSet<String>>,
}

/// Bytes that one permit represents.
pub(crate) const PERMIT: usize = 1024;

impl Core {
    /// The most ids remembered; an agent's run makes a few thousand.
    const MOST_ISSUED: usize = 100_000;

    /// Builds the state. Fails if the endpoint is outside of the admission's network class.
    pub(crate) fn new(config: BridgeConfig, reporter: Reporter) -> Result<Self, StartBridgeError> {
        let price = config.prices.price(&config.admission.provider, &config.admission.model).cloned();
        let route = match config.source {
            AnswerSource::Replay(replay) => AnswerRoute::Replay(replay),
            AnswerSource::Live(upstream) => {
                let endpoint = upstream.endpoint;
                if !config.network.reaches_endpoint(&endpoint) {
                    return Err(StartBridgeError::HostNotInClass);
                }
                let tls = endpoint.tls.then(|| tls(&upstream.trust)).transpose().map_err(StartBridgeError::Tls)?;
                AnswerRoute::Live(Box::new(LiveRoute {
                    pool: Pool::new(Connector { endpoint, proxy: upstream.proxy, tls }),
                    credential: Arc::new(upstream.credential),
                    extra_headers: upstream.extra_headers,
                    responses: upstream.responses,
                }))
            }
        };
        Ok(Self {
            admission: Arc::new(config.admission),
            network: config.network,
            route,
            budget: Budget::new(config.limits, config.day, config.account.map(|account| account.0)),
            shim: config.shim,
            sizes: config.sizes,
            deadlines: config.deadlines,
            recorder: config.recorder,
            clock: Clock::new(config.started),
            reporter,
            bodies: Arc::new(Semaphore::new((config.sizes.in_flight / PERMIT).min(Semaphore::MAX_PERMITS))),
            forbidden: lookout_for(&config.forbidden),
            token: config.token,
            price,
            stopped: AtomicBool::new(false),
            seq: AtomicU64::new(0),
            unsent: AtomicU64::new(0),
            unrecorded: AtomicU64::new(0),
            issued: Mutex::default(),
        })
    }

    /// Next sequence number of a record.
    pub(crate) fn next_seq(&self) -> u64 {
        self.seq.fetch_add(1, Ordering::Relaxed)
    }

    /// From here on the run token opens nothing.
    pub(crate) fn stop_accepting(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// True if a presented token is the run's and the bridge has not been stopped.
    pub(crate) fn accepts_token<'a>(&self, mut presented: impl Iterator<Item = &'a [u8]>) -> bool {
        !self.stopped.load(Ordering::SeqCst) && presented.any(|token| self.token.is_token(token))
    }

    /// True if bytes that are about to leave contain a forbidden value.
    pub(crate) fn forbids(&self, bytes: &[u8]) -> bool {
        !self.forbidden.scan(bytes).is_empty()
    }

    /// Counts a request that ended before anything was sent to the upstream.
    pub(crate) fn count_unsent(&self) {
        self.unsent.fetch_add(1, Ordering::Relaxed);
    }

    /// True if so many requests were refused before sending that no more are recorded.
    pub(crate) fn is_flooded(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) >= self.sizes.unsent
    }

    /// Counts a request that was closed without a record.
    pub(crate) fn count_unrecorded(&self) {
        self.unrecorded.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of requests that were closed without a record.
    pub(crate) fn unrecorded(&self) -> u64 {
        self.unrecorded.load(Ordering::Relaxed)
    }

    /// True if requests must be found again by their bodies.
    pub(crate) fn keeps_traffic(&self) -> bool {
        self.recorder.is_some() || matches!(self.route, AnswerRoute::Replay(_))
    }

    /// True if the admitted model has a price.
    pub(crate) fn has_price(&self) -> bool {
        self.price.is_some()
    }

    /// Cost of a request by the price table.
    pub(crate) fn request_cost(&self, tokens: &Tokens) -> Cost {
        match &self.price {
            None => Cost::Unpriced,
            Some(price) => price.cost_of(tokens).map_or(Cost::Unknown, Cost::Micros),
        }
    }

    /// The most a request is likely to use: three bytes of a prompt make a token or less,
    /// and the output budget is used up.
    pub(crate) fn estimate(&self, body: usize, output: Option<u64>) -> Amount {
        const UNSAID: u64 = 4096;
        let (prompt, completion) = (body as u64 / 3 + 1, output.unwrap_or(UNSAID));
        let tokens = Tokens { prompt: Some(prompt), completion: Some(completion), ..Tokens::default() };
        let money_micros = self.price.as_ref().and_then(|price| price.cost_of(&tokens)).unwrap_or(0);
        Amount { tokens: prompt.saturating_add(completion), money_micros }
    }

    /// Remembers ids that the provider issued in this run, bounded in number.
    pub(crate) fn issue(&self, ids: &[String]) {
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            if issued.len() < Self::MOST_ISSUED {
                issued.insert(id.clone());
            }
        }
    }

    /// True if the id was issued in this run. Other ids could point to foreign data at the
    /// provider.
    pub(crate) fn was_issued(&self, id: &str) -> bool {
        self.issued.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }
}

fn lookout_for(values: &[Secret]) -> Scanner {
    let known = |value: &Secret| Known::new("forbidden", KnownClass::Canary, value.bytes());
    Scanner::new(&values.iter().map(known).collect::<Vec<_>>(), RuleSet::none())
}
