//! `cto health`: every group and every named check, each of which notices when what it checks is broken.

use std::path::Path;

use serde_json::{Value, json};
use testkit::{Ran, World, each_row, stoppable};

use crate::climb::has_keygen;
use crate::world;

/// Groups that the program shows by itself.
const BY_ITSELF: &[&str] = &["case_provider_adapter", "matrix"];
/// Groups that rest on what there is in this home.
const BY_HOME: &[&str] = &[
    "case_stage1",
    "case_stage2",
    "case_stage3",
    "case_stage4",
    "case_stage5",
    "case_stage6",
    "case_stage6_real_governed_refresh",
    "webui_summary",
];

/// A named check, its group, and the defect of the program that it notices.
const DEFECTS: &[(&str, &str, &str)] = &[
    ("case_default_disabled", "case_provider_adapter", "gate_left_open"),
    ("fake_lane_passes", "case_provider_adapter", "fake_does_nothing"),
    ("model_provider_gate_blocks", "case_provider_adapter", "model_admission_given"),
    ("qwen_local_openai_compat_allows_case", "case_provider_adapter", "one_provider_name"),
    ("local_provider_delayed_content_allows_case", "case_provider_adapter", "late_content_refused"),
    ("provider_timeout_fail_closed", "case_provider_adapter", "timeout_unmarked"),
    ("lifecycle_supervision_accepts_committed_diff", "case_provider_adapter", "lingering_engine_unmarked"),
    ("stage5_failure_closure_inherited", "case_stage6", "paths_unjudged"),
];

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Every group says why it cannot pass, and what is checked of the program itself passes.
fn says_why(health: &Value) {
    assert_eq!(health["status"], "blocked", "{health:#}");
    let mut groups = [BY_ITSELF, BY_HOME].concat();
    groups.sort_unstable();
    let mut found = keys(health);
    found.retain(|key| *key != "status");
    assert_eq!(found, groups);
    for group in BY_ITSELF {
        assert_eq!((&health[group]["passed"], &health[group]["status"]), (&json!(true), &json!("pass")), "{group}");
    }
    for group in BY_HOME {
        let said = &health[group];
        assert_eq!((&said["passed"], &said["status"]), (&json!(false), &json!("blocked")), "{group}: {said:#}");
        assert!(said["reason"].as_str().unwrap().contains("cto "), "{group} names no command: {}", said["reason"]);
    }
    let refused = &health["case_stage6"]["checks"]["rung_missing"];
    assert_eq!((&refused["passed"], &refused["status"]), (&json!(true), &json!("blocked")), "a run without the rung");
    for check in ["case_lane_passes", "candidate_default_comparison"] {
        let said = &health["case_stage6"]["checks"][check];
        assert_eq!((&said["passed"], &said["status"]), (&json!(false), &json!("blocked")), "{check}");
    }
}

/// Health of these checks alone, with a defect planted or none.
fn health(world: &World, binary: &Path, defect: Option<&str>, only: &[&str], code: i32) -> Value {
    let mut command = world.program(binary.to_str().unwrap());
    command.args(["health", "--json"]).args(only.iter().flat_map(|name| ["--only", name]));
    let output = command.envs(defect.map(|defect| ("CTO_DEFECT", defect))).output().unwrap();
    let ran = Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    ran.expect(code).json()
}

/// The whole health of a home without case is also the control of the defects.
#[test]
fn without_case_it_is_blocked_and_each_named_check_notices_its_defect() {
    let test = "case::health::without_case_it_is_blocked_and_each_named_check_notices_its_defect";
    let Some(binary) = stoppable(test) else { return };
    if !has_keygen(test) {
        return;
    }
    let world = world();
    let control = health(&world, &binary, None, &[], 3);
    says_why(&control);
    // Nothing of it is kept, and nothing counts.
    assert!(!world.bundles().exists(), "health leaves no run behind");
    each_row(DEFECTS.iter().map(|row| (row.0, row)), |(check, group, defect)| {
        let honest = &control[group]["checks"][check];
        assert_eq!(honest["passed"], true, "the control of {check}: {honest:#}");
        let broken = health(&world, &binary, Some(defect), &[check], 1);
        let said = &broken[group]["checks"][check];
        assert_eq!((&broken["status"], &said["passed"]), (&json!("fail"), &json!(false)), "{broken:#}");
        assert!(said["why"].is_string(), "{said:#}");
    });
}

/// Named checks that rest on this home, each with its group.
const OF_HOME: [(&str, &str); 3] = [
    ("case_lane_passes", "case_stage6"),
    ("candidate_default_comparison", "case_stage6"),
    ("case_stage6_real_governed_refresh", "case_stage6_real_governed_refresh"),
];

/// Health of one named check: its state and text.
fn only(world: &World, check: &str, group: &str, place: Option<&Path>) -> (i32, Value) {
    let mut command = world.command(["health", "--json", "--only", check]);
    let ran = Ran::of(command.envs(place.map(|place| ("TMPDIR", place))).output().unwrap());
    let document = ran.json();
    assert_eq!(document.as_object().unwrap().len(), 2, "a status and the group of {check}: {document:#}");
    let said = document[group]["checks"][check].clone();
    assert_eq!((&document["status"], &document[group]["passed"]), (&document[group]["status"], &said["passed"]));
    (ran.code, said)
}

/// A check that is asked for by name and cannot be held is blocked, with the reason: without a place for its lab, and with a ledger that
/// nobody can read. The controls are the same calls without the fault.
#[test]
fn a_named_check_that_cannot_be_held_is_no_pass() {
    if !has_keygen("case::health::a_named_check_that_cannot_be_held_is_no_pass") {
        return;
    }
    let world = world();
    let nowhere = world.path().join("nowhere");
    each_row(DEFECTS.iter().map(|row| (row.0, row)), |(check, group, _)| {
        let (code, said) = only(&world, check, group, Some(&nowhere));
        assert_eq!((code, &said["passed"]), (3, &json!(false)), "{said:#}");
        let missing = said["missing"].as_str().unwrap();
        assert!(missing.contains(nowhere.to_str().unwrap()), "it names what is missing: {missing}");
    });
    // The quickest of the controls; all eight are held without a defect by the test above.
    let (code, said) = only(&world, "case_default_disabled", "case_provider_adapter", None);
    assert_eq!((code, &said["passed"]), (0, &json!(true)), "the control: {said:#}");
}

#[test]
fn a_named_check_of_a_home_that_cannot_be_read_is_no_pass() {
    let world = world();
    each_row(OF_HOME.map(|row| (row.0, row)), |(check, group)| {
        let (code, said) = only(&world, check, group, None);
        assert_eq!((code, &said["passed"]), (3, &json!(false)), "the control: {said:#}");
        assert!(said["missing"].as_str().unwrap().contains("cto "), "nothing was ever run here: {said:#}");
    });
    world.make_home();
    world.write_own("ledger.db", "no ledger at all");
    each_row(OF_HOME.map(|row| (row.0, row)), |(check, group)| {
        let (code, said) = only(&world, check, group, None);
        assert_eq!((code, &said["passed"]), (3, &json!(false)), "{said:#}");
        let missing = said["missing"].as_str().unwrap();
        assert!(missing.contains("ledger") && !missing.contains("cto run"), "{check}: {missing}");
    });
}

/// Settings of the operator for their own rungs and repositories do not reach the homes that health makes.
#[test]
fn settings_of_the_operator_change_no_check() {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    let protected = world.repository("protected", &[("a.txt", "one\n")]);
    let settings = format!("passes_required: 2\nprotected_roots: [{}]\n", protected.display());
    world.write("harness.yaml", settings);
    let health = world.cto(["health", "--json", "--only", "case_provider_adapter"]).expect(0).json();
    let checks = health["case_provider_adapter"]["checks"].as_object().unwrap();
    assert_eq!(checks.len(), 7, "{health:#}");
    assert!(checks.values().all(|check| check["passed"] == true), "{health:#}");
    // The control: the settings do count for a rung of this home.
    let ladder = world.cto(["ladder", "--json"]).expect(0).json();
    assert_eq!(ladder["passes_required"], 2, "{ladder:#}");
}

#[test]
fn a_name_that_is_none_is_refused_before_anything_runs() {
    let ran = world().cto(["health", "--only", "everything"]).expect(2);
    assert!(ran.stderr.contains("there is no group or named check `everything`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("provider_timeout_fail_closed"), "{}", ran.stderr);
}
