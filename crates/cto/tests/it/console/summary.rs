//! The control summary: every field, the same bytes everywhere, bounded, and without anything that belongs to nobody else.

use serde_json::{Value, json};

use super::Served;
use crate::world;

/// Keys that other tools read.
const KEYS: &[&str] = &[
    "schema_version",
    "generated_at",
    "ladder",
    "health",
    "failure_closure_report_paths",
    "candidate_default",
    "runtime_default_activation",
    "matrix_path",
    "comparison_path",
    "case_stage6_real_governed_refresh",
    "stage6_real_governed_refresh_comparison_path",
    "real_stage5_pass_report",
    "real_stage5_proof",
    "repeat_stage5_pass_report",
    "repeat_stage5_proof",
    "target_read_only_status",
    "target_repository_mutation",
    "repeatability_count",
    "repeatability_status",
    "candidate_default_repeatability_eligible",
    "core_promotion_status",
    "blocked_lanes",
    "next_operator_action",
    "approval_required",
    "approval_granted",
    "execution_allowed",
    "approval_reason",
    "allowed_next_actions",
    "blocked_next_actions",
    "approval_packet",
    "governed_execution",
    "case_runtime_default_active",
];

fn without_time(mut summary: Value) -> Value {
    summary.as_object_mut().unwrap().remove("generated_at");
    summary
}

#[test]
fn the_summary_has_every_key_and_is_the_same_everywhere() {
    let world = world();
    world.run("r1-string-slugify", 0);
    let told = world.cto(["summary", "--json"]).expect(0).json();
    for key in KEYS {
        assert!(told.get(key).is_some(), "`{key}` is missing");
    }
    assert_eq!(told["schema_version"], "0.2.0");
    assert_eq!(told["core_promotion_status"], "not-promoted");
    let expected = json!([true, false, false, false, false]);
    let found = [
        "approval_required",
        "approval_granted",
        "execution_allowed",
        "runtime_default_activation",
        "target_repository_mutation",
    ]
    .map(|key| told[key].clone());
    assert_eq!(json!(found), expected);
    assert_eq!(told["approval_packet"]["executable"], false);
    assert_eq!(told["health"]["total_runs"], 1);
    let stages: Vec<&Value> =
        told["ladder"][0]["rungs"].as_array().unwrap().iter().map(|rung| &rung["stage"]).collect();
    assert_eq!(json!(stages), json!([1, 2, 3, 4, 5, 6]));

    let again = world.cto(["summary", "--json"]).expect(0).json();
    assert_eq!(without_time(told.clone()), without_time(again), "the same ledger, the same summary");

    let _ = world.cto(["summary", "--write"]).expect(0);
    let file = world.home().join("matrix/webui-summary.json");
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(without_time(told.clone()), without_time(written));

    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let answer = served.get("/api/cto/control-summary", &cookie);
    assert_eq!(answer.status, 200);
    // A login is an entry of the ledger, and no run.
    assert_eq!(without_time(told), without_time(answer.json()));
    assert!(answer.body.ends_with(b"}\n"), "as it is printed");
    let text = served.get("/metrics", &cookie).text();
    assert!(text.contains("cto_runs 1\n") && text.contains("cto_rung_validated{engine="), "{text}");
}

#[test]
fn a_summary_that_activates_leaks_or_grows_is_refused() {
    let world = world();
    world.make_home();
    let good = world.cto(["summary", "--json"]).expect(0);
    let told: Value = good.json();
    let check = |text: &[u8], code: i32| {
        let file = world.write("summary.json", text);
        world.cto(["validate", "summary", file.to_str().unwrap(), "--json"]).expect(code).json()
    };
    assert_eq!(check(&good.stdout, 0)["ok"], true, "the control");
    let rows: &[(&str, &str, Value)] = &[
        ("/runtime_default_activation", "runtime_default_activation", json!(true)),
        ("/case_runtime_default_active", "case_runtime_default_active", json!(true)),
        ("/target_repository_mutation", "target_repository_mutation", json!(true)),
        ("/approval_packet/executable", "approval_packet.executable", json!(true)),
        ("/approval_required", "approval_required", json!(false)),
        ("/execution_allowed", "execution_allowed", json!(true)),
        ("/schema_version", "schema_version", json!("9")),
        ("/ladder/0/rungs", "ladder", json!([])),
        ("/next_operator_action", "next_operator_action", json!("")),
        ("/next_operator_action", "secrets", json!("curl https://models.example/v1")),
        ("/next_operator_action", "secrets", json!(format!("ghp_{}", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz1a2"))),
        ("/core_promotion_status", "shape", json!("promoted")),
        ("/blocked_next_actions", "size", json!(["x".repeat(300_000)])),
    ];
    for (place, expected, value) in rows {
        let mut changed = told.clone();
        *changed.pointer_mut(place).unwrap() = value.clone();
        let found = check(changed.to_string().as_bytes(), 1);
        let checks: Vec<&str> =
            found["errors"].as_array().unwrap().iter().map(|error| error["check"].as_str().unwrap()).collect();
        assert!(checks.contains(expected), "{place}: {checks:?}");
    }
    let mut extra = told;
    extra["api_key"] = json!("x");
    assert_eq!(check(extra.to_string().as_bytes(), 1)["ok"], false, "a key that nobody knows");
    assert_eq!(check(b"{", 1)["ok"], false);
    let _ = world.cto(["validate", "summary", "not-there.json"]).expect(2);
}

#[test]
fn health_has_the_summary_as_a_group() {
    let world = world();
    world.run("r1-string-slugify", 0);
    let health = world.cto(["health", "--only", "webui_summary", "--json"]).expect(0).json();
    assert_eq!(health["webui_summary"]["passed"], true, "{health}");
    assert!(world.home().join("matrix/webui-summary.json").is_file());
}

#[test]
fn the_published_schema_takes_the_summary() {
    let world = world();
    world.make_home();
    let schema = world.cto(["schema", "control-summary"]).expect(0).json();
    let summary = world.cto(["summary", "--json"]).expect(0).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&summary));
    let mut wrong = summary;
    wrong["approval_required"] = json!("yes");
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn smoke_asks_the_three_routes() {
    let world = world();
    let smoke = world.cto(["hermes", "smoke", "--json"]).expect(0).json();
    let told: Vec<(&str, u64)> = smoke["routes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["route"].as_str().unwrap(), row["status"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("/api/cto/control-summary", 401),
        ("/plugins/svrnty/cto_control_panel.js", 200),
        ("/plugins/svrnty/cto_control_panel.css", 200),
    ];
    assert_eq!((told.as_slice(), &smoke["failed"]), (&expected[..], &json!(0)));
    assert!(!world.home().exists(), "nothing is left behind");
    let served = Served::start(&world, &[]);
    let _ = world.cto(["hermes", "smoke", "--url", &format!("http://{}", served.host)]).expect(0);
    let gone = served.host.clone();
    drop(served);
    let failed = world.cto(["hermes", "smoke", "--url", &format!("http://{gone}"), "--json"]).expect(1).json();
    assert_eq!(failed["failed"], 3, "nobody answers");
    let _ = world.cto(["hermes", "smoke", "--url", "ftp://x"]).expect(2);
}
