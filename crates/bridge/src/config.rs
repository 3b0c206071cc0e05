//! Configuration of a bridge, complete before it starts.

use std::fmt;
use std::time::{Duration, Instant};

use contract::Stamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::policy::admission::{AdmittedPair, NetworkClass};
use crate::policy::limits::{KeepAccount, UseLimits};
use crate::policy::price::PriceTable;
use crate::protocol::shim::ShapeShim;
use crate::recording::record::{Recorder, ReplaySource};
use crate::upstream::connect::{Proxy, TrustedRoots};
use crate::upstream::credential::Credential;
use crate::upstream::endpoint::Endpoint;
use crate::upstream::secret::{RunToken, Secret};

/// Everything a bridge needs; it reads neither files nor the environment for more.
#[derive(Debug)]
pub struct BridgeConfig {
    /// The one model that may answer.
    pub admission: AdmittedPair,
    /// Hosts and services that the admission permits.
    pub network: NetworkClass,
    /// Provider, or a recording in its place.
    pub source: AnswerSource,
    /// Token that the engine has to present.
    pub token: RunToken,
    /// Limits of the run.
    pub limits: UseLimits,
    /// Remaining part of the daily limits; empty if there are none.
    pub day: UseLimits,
    /// Persists the account, for a recovery after this process is gone.
    pub account: Option<AccountKeeper>,
    /// Prices, for limits in money and for the records.
    pub prices: PriceTable,
    /// Declared changes to requests.
    pub shim: ShapeShim,
    /// Limits on sizes and counts.
    pub sizes: Sizes,
    /// Limits on time.
    pub deadlines: Deadlines,
    /// Values that must not leave in a request, such as decoys, in any usual encoding.
    pub forbidden: Vec<Secret>,
    /// Keeps redacted bodies when the operator asked for it.
    pub recorder: Option<Recorder>,
    /// The wall clock at the start; times are this plus monotonic time.
    pub started: Stamp,
}

impl BridgeConfig {
    /// A bridge with the usual sizes and deadlines, no limits, no prices and no shim.
    pub fn new(
        admission: AdmittedPair,
        network: NetworkClass,
        source: AnswerSource,
        token: RunToken,
        started: Stamp,
    ) -> Self {
        Self {
            admission,
            network,
            source,
            token,
            limits: UseLimits::default(),
            day: UseLimits::default(),
            account: None,
            prices: PriceTable::default(),
            shim: ShapeShim::default(),
            sizes: Sizes::default(),
            deadlines: Deadlines::default(),
            forbidden: Vec::new(),
            recorder: None,
            started,
        }
    }
}

/// Somebody who keeps the account.
pub struct AccountKeeper(pub KeepAccount);

impl fmt::Debug for AccountKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Account")
    }
}

/// Source of answers.
#[derive(Debug)]
pub enum AnswerSource {
    /// Provider over the network.
    Live(Box<Upstream>),
    /// A recording and nothing else: such a bridge never connects to anything.
    Replay(ReplaySource),
}

/// A provider.
#[derive(Debug)]
pub struct Upstream {
    /// The one address that requests are sent to.
    pub endpoint: Endpoint,
    /// Source of the key; fetched for each request.
    pub credential: Credential,
    /// Further headers the provider wants with the credential, such as an account.
    pub extra_headers: Vec<(String, Secret)>,
    /// Certificate authorities that count.
    pub trust: TrustedRoots,
    /// Proxy between this machine and the provider.
    pub proxy: Option<Proxy>,
    /// Route of responses requests.
    pub responses: ResponsesWire,
}

impl Upstream {
    /// Upstream with default trust, no proxy and no extra headers.
    pub fn new(endpoint: Endpoint, credential: Credential) -> Self {
        Self {
            endpoint,
            credential,
            extra_headers: Vec::new(),
            trust: TrustedRoots::default(),
            proxy: None,
            responses: ResponsesWire::Native,
        }
    }
}

/// Route of a responses request to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponsesWire {
    /// Sent unchanged.
    Native,
    /// Translated to chat completions and back.
    OverChat,
}

/// Limits on sizes and counts.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Bytes of one request's body.
    pub request: usize,
    /// Bytes of one answer.
    pub answer: usize,
    /// Bytes of one frame of a stream.
    pub frame: usize,
    /// Bytes of bodies held at one time.
    pub in_flight: usize,
    /// Connections of engines at one time.
    pub connections: usize,
    /// Requests that are refused or answered by the bridge itself, and recorded; beyond, a
    /// connection is closed without a word.
    pub unsent: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            request: 32 << 20,
            answer: 64 << 20,
            frame: 16 << 20,
            in_flight: 256 << 20,
            connections: 1100,
            unsent: 10_000,
        }
    }
}

/// Limits on time.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Time for a client to send its head, and again its body.
    pub receive: Duration,
    /// Time for a client to take written bytes.
    pub stall: Duration,
    /// Time to reach the provider, proxy and TLS included.
    pub connect: Duration,
    /// From sending a request to the head of its answer; a model may think for minutes.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// Time for the whole of a request.
    pub total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            receive: Duration::from_secs(30),
            stall: Duration::from_secs(60),
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(180),
            total: Duration::from_secs(1800),
        }
    }
}

/// The run's clock: read once by the caller, carried on by monotonic time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    started: Stamp,
    since: Instant,
}

impl Clock {
    /// Clock that starts at a given moment. The wall clock is read by the caller alone.
    pub(crate) fn new(started: Stamp) -> Self {
        Self { started, since: Instant::now() }
    }

    /// Current moment.
    pub(crate) fn now(&self) -> Stamp {
        self.stamp_at(Instant::now())
    }

    /// Moment of an instant that was measured earlier.
    pub(crate) fn stamp_at(&self, instant: Instant) -> Stamp {
        self.started.after(instant.duration_since(self.since))
    }
}
