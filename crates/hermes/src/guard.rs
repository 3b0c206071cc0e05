//! The check that every request passes before a route sees it: rate, Host, Origin, session.

use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::access::{HEAD_WITHIN, PeerAddress, RateKey, Role, Viewer, single_header};
use crate::respond::{login_wanted, plain_refusal};
use crate::route_table::{PageRoute, RouteAccess, find_route};
use crate::source::{OperatorAct, OperatorActKind};
use crate::state::ConsoleState;

/// Largest form that is read.
const LARGEST_FORM: usize = 64 << 10;
/// Longest part of a path that is written into the ledger.
const LONGEST_SUBJECT: usize = 100;

/// Passes a request on only if rate, Host, Origin and session permit it.
pub(crate) async fn guard_request(
    State(state): State<Arc<ConsoleState>>,
    Extension(peer): Extension<PeerAddress>,
    mut request: Request,
    next: Next,
) -> Response {
    if !state.rates.admit_request(RateKey::Address(peer.0.ip())) {
        return plain_refusal(StatusCode::TOO_MANY_REQUESTS, "too many requests; wait a second");
    }
    let headers = request.headers();
    if !single_header(headers, header::HOST).is_some_and(|host| state.names.is_host(host)) {
        return plain_refusal(StatusCode::MISDIRECTED_REQUEST, "this server is not known under that name");
    }
    let viewer = find_viewer(&state, headers);
    let pattern = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    // A path that is not in the table is answered by the router itself, and only to a viewer with
    // access.
    let route = pattern.as_deref().and_then(|path| find_route(request.method(), path));
    let refusal = refuse_origin(&state, &request).or_else(|| refuse_viewer(&viewer, route, &request));
    if let Some((refusal, text)) = refusal {
        if let Some(act) = route.and_then(PageRoute::act)
            && state.refusals.admit_request(viewer.rate_key(peer))
        {
            let act = refused_act(act, &viewer, request.uri().path(), text);
            // A ledger that cannot be written changes nothing about the refusal.
            let _ = state.ask_source(move |source| source.record_act(&act)).await;
        }
        return refusal;
    }
    request.extensions_mut().insert(viewer);
    match take_body(request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => refusal,
    }
}

/// Reads the form of a request that changes something, within the time of a head. What
/// follows may take its own time: a person touches a security key.
async fn take_body(request: Request) -> Result<Request, Response> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(request);
    }
    let (head, body) = request.into_parts();
    match tokio::time::timeout(HEAD_WITHIN, to_bytes(body, LARGEST_FORM)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, Body::from(bytes))),
        Ok(Err(_)) => Err(ended_refusal(StatusCode::PAYLOAD_TOO_LARGE, "a form has at most 64 KiB")),
        Err(_) => Err(ended_refusal(StatusCode::REQUEST_TIMEOUT, "the form did not come in time")),
    }
}

/// A refusal after which the connection ends: the rest of the body is not read.
fn ended_refusal(status: StatusCode, text: &'static str) -> Response {
    let mut response = plain_refusal(status, text);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// An answer that refuses, and the reason for the ledger.
type Refusal = (Response, &'static str);

fn refuse_origin(state: &ConsoleState, request: &Request) -> Option<Refusal> {
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    let origin = single_header(request.headers(), header::ORIGIN);
    let is_own = is_reading || origin.is_some_and(|origin| state.names.is_origin(origin));
    let text = "a form of another origin is not taken";
    (!is_own).then(|| (plain_refusal(StatusCode::FORBIDDEN, text), text))
}

fn refuse_viewer(viewer: &Viewer, route: Option<&PageRoute>, request: &Request) -> Option<Refusal> {
    let refuse = |status, text| Some((plain_refusal(status, text), text));
    match route.map(|route| route.access) {
        Some(RouteAccess::Open) => None,
        Some(RouteAccess::Reader) | None if viewer.role.is_some() => None,
        Some(RouteAccess::Reader) | None => match request.uri().path().starts_with("/api/") {
            true => refuse(StatusCode::UNAUTHORIZED, "log in first"),
            false => Some((login_wanted(), "log in first")),
        },
        Some(RouteAccess::Operator) if viewer.is_operator() => None,
        Some(RouteAccess::Operator) => refuse(StatusCode::FORBIDDEN, "this needs an operator's session"),
    }
}

/// The refusal of an act, for the ledger.
fn refused_act(act: OperatorActKind, viewer: &Viewer, path: &str, text: &'static str) -> OperatorAct {
    let subject = path.split('/').nth(2).unwrap_or_default().chars().take(LONGEST_SUBJECT).collect();
    OperatorAct { act, subject, session: viewer.name(), allowed: false, text: text.to_owned() }
}

fn find_viewer(state: &ConsoleState, headers: &HeaderMap) -> Viewer {
    let session = read_cookie(headers, state.names.cookie()).filter(|value| state.sessions.find_role(value).is_some());
    let role = session.as_deref().and_then(|value| state.sessions.find_role(value));
    let is_open = state.sessions.policy().open_read_only;
    Viewer { role: role.or(is_open.then_some(Role::ReadOnly)), session }
}

fn read_cookie(headers: &HeaderMap, cookie: &str) -> Option<String> {
    let text = single_header(headers, header::COOKIE)?;
    let pairs = text.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == cookie).map(|(_, value)| value.to_owned()).next()
}
