//! Logging in by a link that works once, and out.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::{Extension, Form};
use serde::Deserialize;

use super::Frame;
use crate::access::{PeerAddress, Role, Viewer};
use crate::respond::{html_page, plain_refusal, see_other};
use crate::source::{OperatorAct, OperatorActKind, SourceError};
use crate::state::ConsoleState;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    /// Address that the form is sent to; empty without a link.
    action: String,
    role: &'static str,
    text: &'static str,
}

/// Page for a visitor without a login.
pub(crate) async fn login_page() -> Response {
    no_link("Open the link that the server printed.", StatusCode::OK)
}

fn no_link(text: &'static str, status: StatusCode) -> Response {
    html_page(status, &LoginPage { frame: Frame::outside("Log in"), action: String::new(), role: "", text })
}

/// Shows a button for a link and uses nothing up, so that programs which open links ahead
/// of a person do not log in.
pub(crate) async fn login_form(State(state): State<Arc<ConsoleState>>, Path(token): Path<String>) -> Response {
    let Some(role) = state.sessions.find_link(&token) else {
        return no_link("This link was used or has lapsed.", StatusCode::GONE);
    };
    let page =
        LoginPage { frame: Frame::outside("Log in"), action: format!("/login/{token}"), role: role.as_str(), text: "" };
    html_page(StatusCode::OK, &page)
}

/// Exchanges a one-time link for a session. The attempt is recorded in the ledger, also if
/// it fails; failed ones within the rate of refusals.
pub(crate) async fn log_in(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Extension(peer): Extension<PeerAddress>,
    Path(token): Path<String>,
) -> Response {
    let Some((role, value)) = state.sessions.log_in(&token) else {
        if state.refusals.admit_request(viewer.rate_key(peer)) {
            // A ledger that cannot be written changes nothing about the refusal.
            let _ = record(&state, &viewer, OperatorActKind::Login, "none", false).await;
        }
        return no_link("This link was used or has lapsed.", StatusCode::GONE);
    };
    let recorded = record(&state, &viewer, OperatorActKind::Login, role.as_str(), true).await;
    if role == Role::Operator && recorded.is_err() {
        state.sessions.log_out(&value);
        return no_link("The login could not be recorded, so no operator gets in.", StatusCode::SERVICE_UNAVAILABLE);
    }
    let mut response = see_other("/");
    let secure = if state.names.is_tls() { "; Secure" } else { "" };
    let age = state.sessions.policy().session.as_secs();
    let name = state.names.cookie();
    set_cookie(&mut response, &format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}"));
    response
}

/// Form of a logout.
#[derive(Debug, Deserialize)]
pub(crate) struct LogoutForm {
    token: String,
}

/// Ends the viewer's session, if the form is of this session.
pub(crate) async fn log_out(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Form(form): Form<LogoutForm>,
) -> Response {
    let Some(session) = viewer.session.clone() else { return see_other("/login") };
    if state.sessions.logout_token(&session).as_deref() != Some(form.token.as_str()) {
        return plain_refusal(StatusCode::FORBIDDEN, "this form is not of this session");
    }
    state.sessions.log_out(&session);
    let _ = record(&state, &viewer, OperatorActKind::Logout, "session", true).await;
    let mut response = see_other("/login");
    let name = state.names.cookie();
    set_cookie(&mut response, &format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"));
    // Pages of this session must not come back from a cache.
    response.headers_mut().insert("clear-site-data", HeaderValue::from_static("\"cache\""));
    response
}

fn set_cookie(response: &mut Response, cookie: &str) {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
}

/// Records a login or logout in the ledger. If that fails, a reader still gets in, and
/// everybody out.
async fn record(
    state: &ConsoleState,
    viewer: &Viewer,
    act: OperatorActKind,
    subject: &'static str,
    allowed: bool,
) -> Result<(), SourceError> {
    let text = if allowed { "done" } else { "the link was used or has lapsed" }.to_owned();
    let act = OperatorAct { act, subject: subject.to_owned(), session: viewer.name(), allowed, text };
    state.ask_source(move |source| source.record_act(&act)).await
}
