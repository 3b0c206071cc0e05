//! The model proxy that all model traffic of a run crosses.
//!
//! Served on a listener the caller hands in, it speaks what engines speak, lets through
//! what the admission allows, puts the credential on, and writes down what happened.
//! [`Bridge::start`] is the way in; `request/exchange.rs` has the path of a request.
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

pub use config::{Account, BridgeConfig, Deadlines, ResponsesWire, Sizes, Source, Upstream};
pub use policy::admission::{Admission, Feature, NetworkClass, Served};
pub use policy::limits::{KeepAccount, Limits, Spent};
pub use policy::price::{Price, PriceTable, ReadPricesError};
pub use protocol::refusal::RefusalCode;
pub use protocol::shim::{ShapeShim, ShimApplied};
pub use protocol::translate::LEFT_OUT;
pub use protocol::usage::{AnswerShape, Cost, Outcome, Purpose, Tokens, UsageRecord};
pub use protocol::wire::Wire;
pub use recording::observe::{ModelEvent, Observer, Requested};
pub use recording::record::{ReadRecordingError, Recorder, Redact, Replay};
pub use request::core::StartBridgeError;
pub use serve::bridge::{Bridge, PendingProbe, Summary};
pub use serve::probe::ProbeResult;
pub use upstream::connect::{PrepareTlsError, Proxy, Trust};
pub use upstream::credential::{AskCredential, Credential, FetchCredentialError, WatchCredential};
pub use upstream::endpoint::{Endpoint, ParseEndpointError};
pub use upstream::reach::{ReachEndpointError, check_reach};
pub use upstream::secret::{RunToken, Secret};
