//! The checks that the operator's reports name, under their names.

use serde_json::json;

use crate::world;

const NAMES: &[&str] = &[
    "case_default_disabled",
    "fake_lane_passes",
    "lifecycle_supervision_accepts_committed_diff",
    "local_provider_delayed_content_allows_case",
    "model_provider_gate_blocks",
    "provider_timeout_fail_closed",
    "qwen_local_openai_compat_allows_case",
];

#[test]
fn the_named_checks_are_there_and_hold() {
    let world = world();
    let health = world.cto(["health", "--json"]).expect(0).json();
    assert_eq!((&health["status"], &health["matrix"]["passed"]), (&json!("pass"), &json!(true)), "{health}");
    let group = &health["case_provider_adapter"];
    let names: Vec<&String> = group["checks"].as_object().unwrap().keys().collect();
    assert_eq!(
        (names, &group["passed"]),
        (NAMES.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().iter().collect(), &json!(true))
    );
    // Nothing of it is kept, and nothing counts.
    assert!(!world.bundles().exists(), "health leaves no run behind");
}
