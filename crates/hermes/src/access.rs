//! Access control: one-time login links, sessions with a role, form tokens, names of this
//! server, rates.

mod guard;
mod names;
mod random;
mod rate;
mod session;

pub(crate) use guard::{HEAD_WITHIN, PeerAddress, Viewer, guard_request, single_header};
pub(crate) use names::ServerNames;
pub(crate) use random::is_same;
pub(crate) use rate::{RateKey, RateLimiter};
pub(crate) use session::Sessions;
pub use session::{LoginLink, Role, SessionPolicy};
