//! The published description of the interface against a running server: every route that is named here, and every answer of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use testkit::World;

use super::{Answer, Served};
use crate::world;

/// Routes as this test knows them, with the kind of their answer. Neither the table of the router nor the description is asked.
const GET: &[(&str, &str)] = &[
    ("/", "text/html"),
    ("/runs", "text/html"),
    ("/runs/{run}", "text/html"),
    ("/runs/{run}/verify", "text/html"),
    ("/runs/{run}/log", "text/html"),
    ("/queue", "text/html"),
    ("/approvals", "text/html"),
    ("/approvals/{request}", "text/html"),
    ("/compare", "text/html"),
    ("/records", "text/html"),
    ("/spend", "text/html"),
    ("/login", "text/html"),
    ("/login/{token}", "text/html"),
    ("/assets/console.css", "text/css"),
    ("/assets/console.js", "text/javascript"),
    ("/assets/icon.svg", "image/svg+xml"),
    ("/plugins/svrnty/cto_control_panel.js", "text/javascript"),
    ("/plugins/svrnty/cto_control_panel.css", "text/css"),
    ("/api/cto/control-summary", "application/json"),
    ("/api/cto/overview", "application/json"),
    ("/api/cto/runs", "application/json"),
    ("/api/cto/runs/{run}", "application/json"),
    ("/api/cto/runs/{run}/events", "text/event-stream"),
    ("/api/cto/runs/{run}/verification", "application/json"),
    ("/api/cto/runs/{run}/log", "application/json"),
    ("/api/cto/queue", "application/json"),
    ("/api/cto/approvals", "application/json"),
    ("/api/cto/approvals/{request}", "application/json"),
    ("/api/cto/compare", "application/json"),
    ("/api/cto/records", "application/json"),
    ("/api/cto/board", "application/json"),
    ("/api/cto/spend", "application/json"),
    ("/api/openapi.json", "application/json"),
    ("/metrics", "text/plain"),
    ("/health", "text/plain"),
];
const POST: &[&str] =
    &["/runs/{run}/stop", "/approvals/{request}/deny", "/approvals/{request}/approve", "/login/{token}", "/logout"];

/// The description as the repository publishes it.
fn published() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/openapi.json");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// The schema of an answer, which finds its parts in the description.
fn schema_of(document: &Value, path: &str, status: u16, kind: &str) -> Value {
    let answers = &document["paths"][path]["get"]["responses"];
    let mut schema = answers[status.to_string()]["content"][kind]["schema"].clone();
    assert!(schema.is_object(), "{path} {status} {kind} has no shape: {answers}");
    schema["components"] = document["components"].clone();
    schema
}

/// The answer is of this kind and shape; and one without a key that must be there is not.
#[track_caller]
fn expect_shape(document: &Value, path: &str, answer: &Answer, kind: &str) {
    let head = answer.header("content-type").unwrap_or_default();
    assert!(head.starts_with(kind), "{path}: {head}");
    let schema = schema_of(document, path, answer.status, kind);
    if kind != "application/json" {
        assert_eq!(schema["type"], "string", "{path}");
        return;
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut value = answer.json();
    if let Err(error) = validator.validate(&value) {
        panic!("{path} {}: {error} at {} in {value}", answer.status, error.instance_path());
    }
    let whole = value.clone();
    let part = if value.is_array() { value.get_mut(0) } else { Some(&mut value) };
    let Some(object) = part.and_then(Value::as_object_mut).filter(|_| path != "/api/openapi.json") else { return };
    let first = object.keys().find(|key| *key != "hint").unwrap().clone();
    object.insert(first.clone(), json!({"another": ["shape"]}));
    assert!(!validator.is_valid(&value), "{path}: the shape takes anything as `{first}` of {whole}");
}

/// A home with something for every route: runs in every state, a request, a workspace with records.
fn lay_home(world: &World) -> BTreeMap<&'static str, Vec<String>> {
    let _ = world.cto(["init", "."]).expect(0);
    let run = |case: &str, code: i32| world.run(case, code).0["run_id"].as_str().unwrap().to_owned();
    let runs = vec![run("r1-string-slugify", 0), run("fail-cheat-edits-tests", 1), run("fail-missing-test-command", 3)];
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "operator"]).expect(0);
    let asked = world.cto(["request", "r1-string-slugify", "--stage", "4", "--json"]).expect(0).json();
    BTreeMap::from([("{run}", runs), ("{request}", vec![asked["request"].as_str().unwrap().to_owned()])])
}

#[test]
fn every_answer_has_the_shape_that_is_published() {
    let world = world();
    let names = lay_home(&world);
    let served = Served::start(&world, &["--read-only"]);
    let (login, cookie) = (served.login.clone(), served.log_in());
    let document = published();
    assert_eq!(document, served.get("/api/openapi.json", &cookie).json(), "cargo xtask schema writes it anew");
    let described: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, entry)| {
            let methods = entry.as_object().unwrap().keys();
            methods.map(|method| (method.clone(), path.clone())).collect::<Vec<_>>()
        })
        .collect();
    let known = GET.iter().map(|(path, _)| ("get", *path)).chain(POST.iter().map(|path| ("post", *path)));
    let known: BTreeSet<(String, String)> = known.map(|(method, path)| (method.to_owned(), path.to_owned())).collect();
    assert_eq!(described, known);

    let own = vec!["x".to_owned()];
    for (path, kind) in GET {
        let wanted = path.split('/').find(|part| part.starts_with('{'));
        for name in wanted.map_or(&own, |wanted| names.get(wanted).unwrap_or(&own)) {
            let place = match *path {
                "/login/{token}" => login.clone(),
                path => wanted.map_or_else(|| path.to_owned(), |wanted| path.replace(wanted, name)),
            };
            let query = match path.rsplit('/').next().unwrap() {
                "log" => "?name=report.json",
                "compare" => "?runs=@%20@-1",
                _ => "",
            };
            let answer = served.get(&format!("{place}{query}"), &cookie);
            if *path == "/login/{token}" {
                assert_eq!(answer.status, 410, "the link was used");
                continue;
            }
            assert_eq!(answer.status, 200, "{place}{query}: {}", answer.text());
            expect_shape(&document, path, &answer, kind);
        }
    }
    for (path, place, status) in [
        ("/api/cto/runs/{run}", "/api/cto/runs/nothing", 404),
        ("/api/cto/approvals/{request}", "/api/cto/approvals/nothing", 404),
        ("/api/cto/runs", "/api/cto/runs?q=colour:red", 400),
        ("/api/cto/runs/{run}/events", "/api/cto/runs/nothing/events", 404),
    ] {
        let answer = served.get(place, &cookie);
        assert_eq!(answer.status, status, "{place}");
        expect_shape(&document, path, &answer, "application/json");
    }
    for path in GET.iter().map(|(path, _)| path).filter(|path| path.starts_with("/api/")) {
        assert_eq!(served.get(&path.replace(['{', '}'], ""), "").status, 401, "{path}");
        assert!(document["paths"][path]["get"]["responses"]["401"].is_object(), "{path}");
    }
}

/// Another reader of such descriptions takes it, and refuses one that is broken.
#[test]
fn another_implementation_reads_the_description() {
    let Some(python) = testkit::open_api_python("another_implementation_reads_the_description") else { return };
    let world = world();
    let script =
        "import json, sys; from openapi_spec_validator import validate; validate(json.load(open(sys.argv[1])))";
    let read = |document: &Value| {
        let file = world.write("openapi.json", document.to_string());
        let mut command = testkit::program(python.to_str().unwrap(), &world.here());
        command.args(["-c", script]).arg(file).output().unwrap()
    };
    let whole = read(&published());
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let mut broken = published();
    broken["paths"]["/api/cto/runs/{run}"]["get"]["parameters"] = json!([]);
    assert!(!read(&broken).status.success(), "the control: a parameter is missing");
}
