//! The check that every request passes before a route sees it: rate, Host, Origin, session.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::session::session_name;
use super::{Role, SESSION_COOKIE};
use crate::respond::{login_wanted, plain_refusal};
use crate::route_table::{RouteAccess, find_route};
use crate::state::ConsoleState;

/// Address that a connection came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

/// Whoever asks.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) role: Option<Role>,
    /// Value of the cookie of a session that holds.
    pub(crate) session: Option<String>,
}

impl Viewer {
    pub(crate) fn is_operator(&self) -> bool {
        self.role == Some(Role::Operator)
    }

    /// Name of the session for the ledger.
    pub(crate) fn name(&self) -> String {
        self.session.as_deref().map_or_else(|| "none".to_owned(), session_name)
    }
}

pub(crate) async fn guard_request(
    State(state): State<Arc<ConsoleState>>,
    Extension(PeerAddress(peer)): Extension<PeerAddress>,
    mut request: Request,
    next: Next,
) -> Response {
    if !state.rates.admit(peer.ip()) {
        return plain_refusal(StatusCode::TOO_MANY_REQUESTS, "too many requests; wait a second");
    }
    let headers = request.headers();
    if !single_header(headers, header::HOST).is_some_and(|host| state.names.is_host(host)) {
        return plain_refusal(StatusCode::MISDIRECTED_REQUEST, "this server is not known under that name");
    }
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    let origin = single_header(headers, header::ORIGIN);
    if !is_reading && !origin.is_some_and(|origin| state.names.is_origin(origin)) {
        return plain_refusal(StatusCode::FORBIDDEN, "a form of another origin is not taken");
    }
    let viewer = find_viewer(&state, headers);
    let pattern = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    // A path that is not in the table is answered by the router itself, and only to whoever may look.
    let access = pattern.as_deref().and_then(|path| find_route(request.method(), path)).map(|route| route.access);
    if let Some(refusal) = refuse_viewer(&viewer, access, &request) {
        return refusal;
    }
    request.extensions_mut().insert(viewer);
    next.run(request).await
}

fn refuse_viewer(viewer: &Viewer, access: Option<RouteAccess>, request: &Request) -> Option<Response> {
    match access {
        Some(RouteAccess::Open) => None,
        Some(RouteAccess::Reader) | None if viewer.role.is_some() => None,
        Some(RouteAccess::Reader) | None => {
            let is_page = !request.uri().path().starts_with("/api/");
            Some(if is_page { login_wanted() } else { plain_refusal(StatusCode::UNAUTHORIZED, "log in first") })
        }
        Some(RouteAccess::Operator) if viewer.is_operator() => None,
        Some(RouteAccess::Operator) => Some(plain_refusal(StatusCode::FORBIDDEN, "this needs an operator's session")),
    }
}

fn find_viewer(state: &ConsoleState, headers: &HeaderMap) -> Viewer {
    let session = read_cookie(headers).filter(|value| state.sessions.find_role(value).is_some());
    let role = session.as_deref().and_then(|value| state.sessions.find_role(value));
    let is_open = state.sessions.policy().open_read_only;
    Viewer { role: role.or(is_open.then_some(Role::ReadOnly)), session }
}

/// The value of a header that stands there once.
fn single_header(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    all.next().is_none().then(|| first.to_str().ok()).flatten()
}

fn read_cookie(headers: &HeaderMap) -> Option<String> {
    let text = single_header(headers, header::COOKIE)?;
    let pairs = text.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == SESSION_COOKIE).map(|(_, value)| value.to_owned()).next()
}
