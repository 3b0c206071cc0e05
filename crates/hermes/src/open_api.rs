//! OpenAPI description of the interface, made from the table of routes and the types of the answers.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};
use views::{ControlSummary, LaneComparison, RequestPage, VerifyResult};

use crate::route_table::{PageRoute, ROUTES, RouteAccess, RouteHandler};
use crate::source::{
    BoardFacts, LogWindow, OverviewFacts, QueueFacts, RecordFacts, RequestFacts, RunFacts, RunListFacts, SourceError,
    SpendFacts,
};

/// Describes every route, with the shape of every JSON answer.
pub fn describe_interface() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut types = settings.with(|known| known.definitions_path = "/components/schemas".into()).into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(entry) = entry.as_object_mut() {
            entry.insert(route.method.to_lowercase(), describe_route(route, &mut types));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hermes console",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Reads a home. No operation starts a run, activates a default or records an outcome.",
        },
        "paths": paths,
        "components": {
            "schemas": types.take_definitions(true),
            "securitySchemes": {"session": {"type": "apiKey", "in": "cookie", "name": "hermes_session_PORT"}},
        },
    })
}

/// Words that an address takes behind `?`, by the end of its path; the first of a log must
/// be there.
const QUERIES: &[(&str, &[&str])] = &[
    ("/runs", &["q", "engine", "stage", "sort", "cursor"]),
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

/// Shape of an answer.
fn shape_of(answer: RouteHandler, types: &mut SchemaGenerator) -> Value {
    let shape = match answer {
        RouteHandler::Summary => types.subschema_for::<ControlSummary>(),
        RouteHandler::ApiOverview => types.subschema_for::<OverviewFacts>(),
        RouteHandler::ApiRuns => types.subschema_for::<RunListFacts>(),
        RouteHandler::ApiRun => types.subschema_for::<RunFacts>(),
        RouteHandler::ApiVerification => types.subschema_for::<VerifyResult>(),
        RouteHandler::ApiLog => types.subschema_for::<LogWindow>(),
        RouteHandler::ApiQueue => types.subschema_for::<QueueFacts>(),
        RouteHandler::ApiApprovals => types.subschema_for::<RequestPage>(),
        RouteHandler::ApiRequest => types.subschema_for::<RequestFacts>(),
        RouteHandler::ApiCompare => types.subschema_for::<LaneComparison>(),
        RouteHandler::ApiRecords => types.subschema_for::<Vec<RecordFacts>>(),
        RouteHandler::ApiBoard => types.subschema_for::<BoardFacts>(),
        RouteHandler::ApiSpend => types.subschema_for::<SpendFacts>(),
        RouteHandler::OpenApi => return json!({"type": "object"}),
        _ => return json!({"type": "string"}),
    };
    shape.to_value()
}

fn describe_route(route: &PageRoute, types: &mut SchemaGenerator) -> Value {
    let is_get = route.method == "GET";
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let of_path = names.map(|name| ("path", name, true));
    let of_query =
        names_of(QUERIES, route.path).iter().filter(|_| is_get).map(|name| ("query", *name, *name == "name"));
    let describe = |(place, name, required): (&str, &str, bool)| json!({"in": place, "name": name, "required": required, "schema": {"type": "string"}});
    let parameters: Vec<Value> = of_path.chain(of_query).map(describe).collect();
    let security = match route.access {
        RouteAccess::Open => json!([]),
        RouteAccess::Reader | RouteAccess::Operator => json!([{"session": []}]),
    };
    let mut described = json!({
        "summary": route.about,
        "parameters": parameters,
        "responses": describe_answers(route, types),
        "security": security,
        "x-access": route.access,
    });
    if let (false, Some(described)) = (is_get, described.as_object_mut()) {
        described.insert("requestBody".to_owned(), describe_form(names_of(FORMS, route.path)));
    }
    described
}

/// Answers by status.
fn describe_answers(route: &PageRoute, types: &mut SchemaGenerator) -> Value {
    let mut answers = Map::new();
    let mut say = |status: &str, about: &str| answers.insert(status.to_owned(), json!({"description": about}));
    match (route.method, route.access) {
        ("GET", access) => {
            say("304", "as the tag of the question says, but for the time");
            if access == RouteAccess::Reader && route.path.starts_with("/api/") {
                say("401", "no session");
                let refused = types.subschema_for::<SourceError>().to_value();
                for (status, about) in [
                    ("400", "the question cannot be answered"),
                    ("404", "there is no such thing"),
                    ("409", "the thing exists and cannot be shown"),
                ] {
                    let content = json!({"application/json": {"schema": refused}});
                    answers.insert(status.to_owned(), json!({"description": about, "content": content}));
                }
            }
            let content = json!({kind_of(route.path): {"schema": shape_of(route.answer, types)}});
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
        let document = describe_interface();
        for route in ROUTES {
            let found = &document["paths"][route.path][route.method.to_lowercase()];
            assert_eq!(found["summary"], route.about, "{}", route.path);
            assert_eq!(found["requestBody"].is_null(), route.method == "GET", "{}", route.path);
        }
        let names = |path: &str, method: &str| -> Vec<String> {
            let all = document["paths"][path][method]["parameters"].as_array().cloned().unwrap_or_default();
            all.iter().map(|one| format!("{} {}", one["in"], one["name"]).replace('"', "")).collect()
        };
        assert_eq!(
            names("/api/cto/runs", "get"),
            ["query q", "query engine", "query stage", "query sort", "query cursor"]
        );
        assert_eq!(names("/api/cto/runs/{run}/log", "get"), ["path run", "query name", "query line", "query q"]);
        assert_eq!(names("/runs/{run}/stop", "post"), ["path run"]);
        let summary = &document["paths"]["/api/cto/control-summary"]["get"]["responses"]["200"]["content"];
        assert_eq!(summary["application/json"]["schema"]["$ref"], "#/components/schemas/ControlSummary");
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
