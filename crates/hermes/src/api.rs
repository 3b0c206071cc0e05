//! JSON of everything that pages show.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;

use crate::open_api::describe_interface;
use crate::pages::{ApprovalsQuery, CompareQuery, LogQuery, RunsQuery};
use crate::respond::{json_document, tagged_json};
use crate::state::ConsoleState;

type Shared = State<Arc<ConsoleState>>;

/// The summary, byte for byte as `cto summary --json` prints it.
pub(crate) async fn control_summary(State(state): Shared) -> Response {
    let made = state.ask_source(|source| source.compose_summary()).await;
    match made.map(|summary| summary.to_bytes()) {
        Ok(Ok(bytes)) => tagged_json(bytes),
        Ok(Err(error)) => json_document::<()>(&Err(crate::SourceError::refused(error.to_string()))),
        Err(error) => json_document::<()>(&Err(error)),
    }
}

/// Overview as JSON.
pub(crate) async fn overview(State(state): Shared) -> Response {
    json_document(&state.ask_source(|source| source.view_overview()).await)
}

/// Page of runs as JSON.
pub(crate) async fn runs_page(State(state): Shared, Query(query): Query<RunsQuery>) -> Response {
    let asked = query.asked();
    json_document(&state.ask_source(move |source| source.list_runs(&asked)).await)
}

/// One run as JSON.
pub(crate) async fn run_document(State(state): Shared, Path(reference): Path<String>) -> Response {
    json_document(&state.ask_source(move |source| source.view_run(&reference)).await)
}

/// Result of verifying a run's bundle as JSON.
pub(crate) async fn verification(State(state): Shared, Path(reference): Path<String>) -> Response {
    json_document(&state.ask_source(move |source| source.verify_run(&reference).map(|result| (*result).clone())).await)
}

/// Lines of a file of a bundle as JSON.
pub(crate) async fn log(
    State(state): Shared,
    Path(reference): Path<String>,
    Query(query): Query<LogQuery>,
) -> Response {
    let asked = query.asked();
    json_document(&state.ask_source(move |source| source.read_log(&reference, &query.name, &asked)).await)
}

/// Page of requests as JSON.
pub(crate) async fn approvals(State(state): Shared, Query(query): Query<ApprovalsQuery>) -> Response {
    json_document(&state.ask_source(move |source| source.list_requests(query.cursor.as_deref())).await)
}

/// One request as JSON.
pub(crate) async fn request_document(State(state): Shared, Path(reference): Path<String>) -> Response {
    json_document(&state.ask_source(move |source| source.view_request(&reference)).await)
}

/// Runs side by side as JSON.
pub(crate) async fn compare_document(State(state): Shared, Query(query): Query<CompareQuery>) -> Response {
    let references = query.references();
    json_document(&state.ask_source(move |source| source.compare_runs(&references)).await)
}

/// Records of the workspace as JSON.
pub(crate) async fn records_document(State(state): Shared) -> Response {
    json_document(&state.ask_source(|source| source.list_records()).await)
}

/// Query of the board.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct BoardQuery {
    #[serde(default)]
    from: usize,
}

/// A part of the board, and the findings about the workspace, as JSON.
pub(crate) async fn board(State(state): Shared, Query(query): Query<BoardQuery>) -> Response {
    json_document(&state.ask_source(move |source| source.view_board(query.from)).await)
}

/// Model use as JSON.
pub(crate) async fn spend(State(state): Shared) -> Response {
    json_document(&state.ask_source(|source| source.view_spend()).await)
}

/// Queue, workers, leases and late steps as JSON.
pub(crate) async fn queue(State(state): Shared) -> Response {
    json_document(&state.ask_source(|source| source.view_queue()).await)
}

/// OpenAPI description.
pub(crate) async fn open_api() -> Response {
    json_document(&Ok(describe_interface()))
}
