//! Requests, one request with its packet, and the two decisions that can be made here.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Form};
use serde::Deserialize;
use views::RequestPage;

use super::act::{AskedAct, make_act_token, perform_act};
use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::{html_page, see_other};
use crate::source::{OperatorActKind, RequestFacts, SourceError};
use crate::state::ConsoleState;

/// Query of the list of requests.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ApprovalsQuery {
    pub(crate) cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "approvals.html")]
struct ApprovalsPage {
    frame: Frame,
    page: RequestPage,
}

/// List of requests.
pub(crate) async fn approvals_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Query(query): Query<ApprovalsQuery>,
) -> Response {
    match state.ask_source(move |source| source.list_requests(query.cursor.as_deref())).await {
        Ok(page) => {
            let frame = Frame::new(&state, &viewer, "/approvals", "Approvals");
            html_page(StatusCode::OK, &ApprovalsPage { frame, page })
        }
        Err(error) => error_response(&state, &viewer, error),
    }
}

#[derive(Template)]
#[template(path = "request.html")]
struct RequestPageText {
    frame: Frame,
    is_open: bool,
    packet_digest: String,
    approve_command: String,
    deny_command: String,
    /// Form tokens; empty where the session has no such control.
    capture_token: String,
    deny_token: String,
    said: Option<String>,
    facts: RequestFacts,
}

/// One request with its packet.
pub(crate) async fn request_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
) -> Response {
    show_request(&state, &viewer, reference, None).await
}

async fn show_request(
    state: &Arc<ConsoleState>,
    viewer: &Viewer,
    reference: String,
    refused: Option<SourceError>,
) -> Response {
    let facts = match state.ask_source(move |source| source.view_request(&reference)).await {
        Ok(facts) => facts,
        Err(error) => return error_response(state, viewer, error),
    };
    let is_open = facts.summary.state.is_undecided();
    let token = || if is_open { make_act_token(state, viewer) } else { String::new() };
    let name = &facts.summary.request;
    let page = RequestPageText {
        frame: Frame::new(state, viewer, "/approvals", name.clone()),
        is_open,
        packet_digest: facts.packet_digest.to_string(),
        approve_command: format!("cto approve {name}"),
        deny_command: format!("cto deny {name} --reason \"...\""),
        capture_token: if facts.may_capture { token() } else { String::new() },
        deny_token: token(),
        said: refused.as_ref().map(ToString::to_string),
        facts,
    };
    html_page(if refused.is_some() { StatusCode::CONFLICT } else { StatusCode::OK }, &page)
}

/// A form without a field is refused like one with a wrong field, and recorded.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DenyForm {
    token: String,
    reason: String,
}

/// Form of an approval. The digest binds it to the packet that was shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ApproveForm {
    token: String,
    sentence: String,
    packet_digest: String,
}

/// Denies a request. Needs an operator's session and a fresh form token.
pub(crate) async fn deny_request(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
    Form(form): Form<DenyForm>,
) -> Response {
    let name = reference.clone();
    let asked = AskedAct { act: OperatorActKind::Deny, subject: reference.clone(), token: form.token };
    let done = perform_act(&state, &viewer, asked, move |source, may_still| {
        source.deny_request(&name, &form.reason, may_still)
    })
    .await;
    answer_decision(&state, &viewer, reference, done).await
}

/// Approves a request. Needs an operator's session, a fresh form token and the exact
/// sentence.
pub(crate) async fn approve_request(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
    Form(form): Form<ApproveForm>,
) -> Response {
    let ApproveForm { token, sentence, packet_digest } = form;
    let name = reference.clone();
    let asked = AskedAct { act: OperatorActKind::Approve, subject: reference.clone(), token };
    let done = perform_act(&state, &viewer, asked, move |source, may_still| {
        let facts = source.view_request(&name)?;
        if !facts.may_capture {
            return Err(SourceError::refused("approving in the browser is not switched on")
                .with_hint(format!("cto approve {}", facts.summary.request)));
        }
        // The packet that was on the page is the one that is signed.
        if facts.packet_digest.to_string() != packet_digest {
            return Err(SourceError::refused("the packet is another one than the page showed; read it again"));
        }
        source.approve_request(&name, sentence.trim(), may_still)
    })
    .await;
    answer_decision(&state, &viewer, reference, done).await
}

async fn answer_decision(
    state: &Arc<ConsoleState>,
    viewer: &Viewer,
    reference: String,
    done: Result<(), SourceError>,
) -> Response {
    match done {
        Ok(()) => see_other(&format!("/approvals/{reference}")),
        Err(error) => show_request(state, viewer, reference, Some(error)).await,
    }
}
