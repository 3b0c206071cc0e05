//! JSON of everything that pages show, and its description.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::pages::{ApprovalsQuery, CompareQuery, LogQuery, RunsQuery};
use crate::respond::{json_document, tagged_json};
use crate::route_table::{PageRoute, ROUTES, RouteAccess};
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

/// Words that an address takes behind `?`, by the end of its path; the first of a log must
/// be there.
const QUERIES: &[(&str, &[&str])] = &[
    ("/runs", &["q", "cursor"]),
    ("/log", &["name", "line", "q"]),
    ("/events", &["after"]),
    ("/approvals", &["cursor"]),
    ("/compare", &["runs"]),
    ("/board", &["from"]),
];
/// Fields of forms, by the end of the path.
const FORMS: &[(&str, &[&str])] = &[
    ("/stop", &["token"]),
    ("/deny", &["token", "reason"]),
    ("/approve", &["token", "sentence", "packet_digest"]),
    ("/logout", &["token"]),
];

/// Names that belong to a path.
fn names_of(table: &[(&str, &'static [&'static str])], path: &str) -> &'static [&'static str] {
    table.iter().find(|(end, _)| path.ends_with(end)).map_or(&[], |(_, names)| names)
}

/// Media type of an answer.
fn kind_of(path: &str) -> &'static str {
    match path {
        path if path.ends_with("/events") => "text/event-stream",
        path if path.starts_with("/api/") => "application/json",
        path if path.ends_with(".css") => "text/css",
        path if path.ends_with(".js") => "text/javascript",
        path if path.ends_with(".svg") => "image/svg+xml",
        "/metrics" | "/health" => "text/plain",
        _ => "text/html",
    }
}

fn describe_route(route: &PageRoute) -> Value {
    let is_get = route.method == "GET";
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let of_path = names.map(|name| ("path", name, true));
    let of_query =
        names_of(QUERIES, route.path).iter().filter(|_| is_get).map(|name| ("query", *name, *name == "name"));
    let describe = |(place, name, required): (&str, &str, bool)| json!({"in": place, "name": name, "required": required, "schema": {"type": "string"}});
    let parameters: Vec<Value> = of_path.chain(of_query).map(describe).collect();
    let content = match route.path {
        "/api/cto/control-summary" => json!({"schema": {"$ref": "#/components/schemas/ControlSummary"}}),
        _ => json!({}),
    };
    let security = match route.access {
        RouteAccess::Open => json!([]),
        RouteAccess::Reader | RouteAccess::Operator => json!([{"session": []}]),
    };
    let mut described = json!({
        "summary": route.about,
        "parameters": parameters,
        "responses": describe_answers(route, json!({kind_of(route.path): content})),
        "security": security,
        "x-access": route.access,
    });
    if let (false, Some(described)) = (is_get, described.as_object_mut()) {
        described.insert("requestBody".to_owned(), describe_form(names_of(FORMS, route.path)));
    }
    described
}

/// Answers by status.
fn describe_answers(route: &PageRoute, content: Value) -> Value {
    let mut answers = Map::new();
    let mut say = |status: &str, about: &str| answers.insert(status.to_owned(), json!({"description": about}));
    match (route.method, route.access) {
        ("GET", access) => {
            if access == RouteAccess::Reader && route.path.starts_with("/api/") {
                say("401", "no session");
                say("404", "there is no such thing");
            }
            say("304", "as the tag of the question says, but for the time");
            answers.insert("200".to_owned(), json!({"description": "the answer", "content": content}));
        }
        _ => {
            say("303", "done");
            say("403", "not this session, or a form of another origin");
            say("409", "not possible; the page says why");
        }
    }
    Value::Object(answers)
}

fn describe_form(fields: &[&str]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": fields});
    json!({"content": {"application/x-www-form-urlencoded": {"schema": schema}}})
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
            assert_eq!(found["requestBody"].is_null(), route.method == "GET", "{}", route.path);
        }
        let names = |path: &str, method: &str| -> Vec<String> {
            let all = document["paths"][path][method]["parameters"].as_array().cloned().unwrap_or_default();
            all.iter().map(|one| format!("{} {}", one["in"], one["name"]).replace('"', "")).collect()
        };
        assert_eq!(names("/api/cto/runs", "get"), ["query q", "query cursor"]);
        assert_eq!(names("/api/cto/runs/{run}/log", "get"), ["path run", "query name", "query line", "query q"]);
        assert_eq!(names("/runs/{run}/stop", "post"), ["path run"]);
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
