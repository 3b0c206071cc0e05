//! Access control: one-time login links, sessions with a role, form tokens, names of this
//! server, rates.

mod names;
mod random;
mod rate;
mod session;
mod viewer;

pub(crate) use names::ServerNames;
pub(crate) use random::is_same;
pub(crate) use rate::{RateKey, RateLimiter};
pub(crate) use session::Sessions;
pub use session::{LoginLink, Role, SessionPolicy};
pub(crate) use viewer::{HEAD_WITHIN, PeerAddress, Viewer, single_header};
