//! The model proxy that all model traffic of a run crosses.
//!
//! Served on a listener the caller hands in, it speaks what engines speak, lets through what the admission allows,
//! puts the credential on, and writes down what happened. [`Bridge::start`] is the way in; `exchange.rs` has the path
//! of a request.
//!
//! It knows no ledger and no run. It reads no clock but the monotonic one, no environment, and no file but a
//! credential's.

mod admission;
mod answer;
mod config;
mod core;
mod credential;
mod delivery;
mod exchange;
mod forward;
mod gather;
mod headers;
mod json;
mod limits;
mod meaning;
mod observe;
mod order;
mod price;
mod probe;
mod reach;
mod record;
mod refusal;
mod rules;
mod secret;
mod serve;
mod shim;
mod stall;
mod stream;
mod tape;
mod ticket;
mod timing;
mod translate;
mod upstream;
mod usage;
mod whole;
mod wire;

pub use admission::{Admission, Feature, NetworkClass, Served};
pub use config::{Account, BridgeConfig, Deadlines, ResponsesWire, Sizes, Source, Upstream};
pub use credential::{AskCredential, Credential, FetchCredentialError, WatchCredential};
pub use limits::{KeepAccount, Limits, Spent};
pub use observe::{ModelEvent, Observer, Requested};
pub use price::{Price, PriceTable, ReadPricesError};
pub use probe::ProbeResult;
pub use reach::{ReachEndpointError, check_reach};
pub use record::{ReadRecordingError, Recorder, Redact, Replay};
pub use refusal::RefusalCode;
pub use secret::{RunToken, Secret};
pub use serve::{Bridge, PendingProbe, StartBridgeError, Summary};
pub use shim::{ShapeShim, ShimApplied};
pub use translate::LEFT_OUT;
pub use upstream::{Endpoint, ParseEndpointError, PrepareTlsError, Proxy, Trust};
pub use usage::{AnswerShape, Cost, Outcome, Purpose, Tokens, UsageRecord};
pub use wire::Wire;
