//! The model proxy that all model traffic of a run crosses.
//!
//! Served on a listener the caller hands in, it speaks what engines speak, lets through
//! what the admission allows, puts the credential on, and writes down what happened.
//! [`Bridge::start_bridge`] is the way in; `request/exchange.rs` has the path of a request.
//!
//! It knows no ledger and no run. It reads no clock but the monotonic one, no environment,
//! and no file but a credential's.

mod config;
mod policy;
mod protocol;
mod recording;
mod request;
mod serve;
mod upstream;

pub use config::{AccountKeeper, AnswerSource, BridgeConfig, Deadlines, ResponsesWire, Sizes, Upstream};
pub use policy::admission::{AdmittedPair, Feature, NetworkClass, Served};
pub use policy::limits::{KeepAccount, Spent, UseLimits};
pub use policy::price::{Price, PriceTable, ReadPricesError};
pub use protocol::refusal::RefusalCode;
pub use protocol::shim::{ShapeShim, ShimApplied};
pub use protocol::translate::LEFT_OUT;
pub use protocol::usage::{AnswerShape, Cost, Outcome, Purpose, Tokens, UsageRecord};
pub use protocol::wire::Wire;
pub use recording::observe::{ModelEvent, Observer, Requested};
pub use recording::record::{ReadRecordingError, Recorder, Redact, ReplaySource};
pub use request::core::StartBridgeError;
pub use serve::bridge::{Bridge, BridgeTotals, PendingProbe};
pub use serve::probe::ProbeResult;
pub use upstream::connect::{PrepareProxyTlsError, Proxy, TrustedRoots};
pub use upstream::credential::{AskCredential, Credential, FetchCredentialError, WatchCredential};
pub use upstream::endpoint::{Endpoint, ParseEndpointError};
pub use upstream::reach::{ReachEndpointError, check_reach};
pub use upstream::secret::{RunToken, Secret};
