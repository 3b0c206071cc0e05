//! Requests, one request with its packet, and the two decisions that can be made here.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Form};
use serde::Deserialize;
use views::RequestPage;

use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::{html_page, see_other};
use crate::source::{OperatorAct, OperatorActKind, RequestFacts, SourceError};
use crate::state::ConsoleState;

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

pub(crate) async fn approvals_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Query(query): Query<ApprovalsQuery>,
) -> Response {
    match state.ask(move |source| source.list_requests(query.cursor.as_deref())).await {
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
    let facts = match state.ask(move |source| source.view_request(&reference)).await {
        Ok(facts) => facts,
        Err(error) => return error_response(state, viewer, error),
    };
    let is_open = facts.summary.state.is_undecided();
    let session = viewer.session.as_deref().filter(|_| viewer.is_operator() && is_open);
    let token = || session.and_then(|session| state.sessions.make_form_token(session)).unwrap_or_default();
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

#[derive(Debug, Deserialize)]
pub(crate) struct DenyForm {
    token: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApproveForm {
    token: String,
    sentence: String,
    packet_digest: String,
}

pub(crate) async fn deny_request(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
    Form(form): Form<DenyForm>,
) -> Response {
    let (name, reason) = (reference.clone(), form.reason);
    decide(&state, &viewer, reference, OperatorActKind::Deny, &form.token, move |state| {
        state.source.deny_request(&name, &reason)
    })
    .await
}

pub(crate) async fn approve_request(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
    Form(form): Form<ApproveForm>,
) -> Response {
    let (name, sentence, digest) = (reference.clone(), form.sentence, form.packet_digest);
    decide(&state, &viewer, reference, OperatorActKind::Approve, &form.token, move |state| {
        let facts = state.source.view_request(&name)?;
        if !facts.may_capture {
            return Err(SourceError::refused("approving in the browser is not switched on")
                .hint(format!("cto approve {}", facts.summary.request)));
        }
        // The packet that was on the page is the one that is signed.
        if facts.packet_digest.to_string() != digest {
            return Err(SourceError::refused("the packet is another one than the page showed; read it again"));
        }
        state.source.approve_request(&name, sentence.trim())
    })
    .await
}

/// Does an act of an operator and writes it, or its refusal, into the ledger.
async fn decide(
    state: &Arc<ConsoleState>,
    viewer: &Viewer,
    reference: String,
    act: OperatorActKind,
    token: &str,
    work: impl FnOnce(&ConsoleState) -> Result<(), SourceError> + Send + 'static,
) -> Response {
    let is_own = viewer.session.as_deref().is_some_and(|session| state.sessions.take_form_token(session, token));
    let (subject, session, shared) = (reference.clone(), viewer.name(), Arc::clone(state));
    let done = state
        .ask(move |source| {
            let done = match is_own {
                true => work(&shared),
                false => Err(SourceError::refused("this form was sent before, or is not of this session")),
            };
            let text = done.as_ref().err().map_or_else(|| "done".to_owned(), ToString::to_string);
            source.record_act(&OperatorAct { act, subject, session, allowed: done.is_ok(), text })?;
            done
        })
        .await;
    match done {
        Ok(()) => see_other(&format!("/approvals/{reference}")),
        Err(error) => show_request(state, viewer, reference, Some(error)).await,
    }
}
