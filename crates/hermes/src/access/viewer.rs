//! The viewer of a request, from the facts in its head.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::{HeaderMap, header};

use super::Role;
use super::rate::RateKey;
use super::session::session_name;

/// Time for the head of a request, for its body, and for a handshake.
pub(crate) const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// Address that a connection came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

/// Identity of the client.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) role: Option<Role>,
    /// Value of the cookie of a session that holds.
    pub(crate) session: Option<String>,
}

impl Viewer {
    /// True for a session that may act.
    pub(crate) fn is_operator(&self) -> bool {
        self.role == Some(Role::Operator)
    }

    /// Key of the rate at which refusals of this viewer are recorded.
    pub(crate) fn rate_key(&self, peer: PeerAddress) -> RateKey {
        match &self.session {
            Some(_) => RateKey::Session(self.name()),
            None => RateKey::Address(peer.0.ip()),
        }
    }

    /// Name of the session for the ledger.
    pub(crate) fn name(&self) -> String {
        self.session.as_deref().map_or_else(|| "none".to_owned(), session_name)
    }
}

/// Value of a header that occurs exactly once.
pub(crate) fn single_header(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    all.next().is_none().then(|| first.to_str().ok()).flatten()
}
