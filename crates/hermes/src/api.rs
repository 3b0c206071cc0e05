//! JSON of everything that pages show, and its description.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::pages::{ApprovalsQuery, CompareQuery, LogQuery, RunsQuery};
use crate::respond::{json_bytes, json_document};
use crate::route_table::{ROUTES, Route, RouteAccess};
use crate::state::ConsoleState;

type Shared = State<Arc<ConsoleState>>;

/// The summary, byte for byte as `cto summary --json` prints it.
pub(crate) async fn control_summary(State(state): Shared) -> Response {
    let made = state.ask(|source| source.compose_summary()).await;
    match made.map(|summary| summary.to_bytes()) {
        Ok(Ok(bytes)) => json_bytes(StatusCode::OK, bytes),
        Ok(Err(error)) => json_document::<()>(&Err(crate::SourceError::refused(error.to_string()))),
        Err(error) => json_document::<()>(&Err(error)),
    }
}

/// Overview as JSON.
pub(crate) async fn overview(State(state): Shared) -> Response {
    json_document(&state.ask(|source| source.view_overview()).await)
}

/// Page of runs as JSON.
pub(crate) async fn runs(State(state): Shared, Query(query): Query<RunsQuery>) -> Response {
    let asked = query.asked();
    json_document(&state.ask(move |source| source.list_runs(&asked)).await)
}

/// One run as JSON.
pub(crate) async fn run(State(state): Shared, Path(reference): Path<String>) -> Response {
    json_document(&state.ask(move |source| source.view_run(&reference)).await)
}

/// Result of verifying a run's bundle as JSON.
pub(crate) async fn verification(State(state): Shared, Path(reference): Path<String>) -> Response {
    json_document(&state.ask(move |source| source.verify_run(&reference).map(|result| (*result).clone())).await)
}

/// Lines of a file of a bundle as JSON.
pub(crate) async fn log(
    State(state): Shared,
    Path(reference): Path<String>,
    Query(query): Query<LogQuery>,
) -> Response {
    let asked = query.asked();
    json_document(&state.ask(move |source| source.read_log(&reference, &query.name, &asked)).await)
}

/// Page of requests as JSON.
pub(crate) async fn approvals(State(state): Shared, Query(query): Query<ApprovalsQuery>) -> Response {
    json_document(&state.ask(move |source| source.list_requests(query.cursor.as_deref())).await)
}

/// One request as JSON.
pub(crate) async fn request(State(state): Shared, Path(reference): Path<String>) -> Response {
    json_document(&state.ask(move |source| source.view_request(&reference)).await)
}

/// Runs side by side as JSON.
pub(crate) async fn compare(State(state): Shared, Query(query): Query<CompareQuery>) -> Response {
    let references = query.references();
    json_document(&state.ask(move |source| source.compare_runs(&references)).await)
}

/// Records of the workspace as JSON.
pub(crate) async fn records(State(state): Shared) -> Response {
    json_document(&state.ask(|source| source.list_records()).await)
}

/// Model use as JSON.
pub(crate) async fn spend(State(state): Shared) -> Response {
    json_document(&state.ask(|source| source.view_spend()).await)
}

/// OpenAPI description, made from the table of routes.
pub(crate) async fn open_api() -> Response {
    json_document(&Ok(describe_routes()))
}

/// The OpenAPI document, made from the table of routes.
fn describe_routes() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(entry) = entry.as_object_mut() {
            entry.insert(route.method.to_lowercase(), describe_route(route));
        }
    }
    let summary = contract::schema::published::<views::ControlSummary>("control-summary", "").schema();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hermes console",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Reads a home. No operation starts a run, activates a default or records an outcome.",
        },
        "paths": paths,
        "components": {
            "schemas": {"ControlSummary": summary},
            "securitySchemes": {"session": {"type": "apiKey", "in": "cookie", "name": "hermes_session_PORT"}},
        },
    })
}

fn describe_route(route: &Route) -> Value {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> =
        names.map(|name| json!({"in": "path", "name": name, "required": true, "schema": {"type": "string"}})).collect();
    let kind = match route.path {
        path if path.ends_with("/events") => "text/event-stream",
        path if path.starts_with("/api/") => "application/json",
        "/metrics" | "/health" => "text/plain",
        _ => "text/html",
    };
    let content = match route.path {
        "/api/cto/control-summary" => json!({kind: {"schema": {"$ref": "#/components/schemas/ControlSummary"}}}),
        _ => json!({kind: {}}),
    };
    let security = match route.access {
        RouteAccess::Open => json!([]),
        RouteAccess::Reader | RouteAccess::Operator => json!([{"session": []}]),
    };
    json!({
        "summary": route.about,
        "parameters": parameters,
        "responses": {"200": {"description": "the answer", "content": content}},
        "security": security,
        "x-access": route.access,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described() {
        let document = describe_routes();
        for route in ROUTES {
            let found = &document["paths"][route.path][route.method.to_lowercase()];
            assert_eq!(found["summary"], route.about, "{}", route.path);
        }
        assert_eq!(document["components"]["schemas"]["ControlSummary"]["title"], "Control summary");
    }

    #[test]
    fn only_decisions_on_requests_need_an_operator() {
        let changing: Vec<&str> = ROUTES.iter().filter(|route| route.method != "GET").map(|route| route.path).collect();
        let expected = [
            "/runs/{run}/stop",
            "/approvals/{request}/deny",
            "/approvals/{request}/approve",
            "/login/{token}",
            "/logout",
        ];
        assert_eq!(changing, expected, "no route starts, repeats or resumes a run");
    }
}
