//! The meaning of keys that a contract leaves out.

use serde_json::{Value, json};

use crate::world;

const ALL: &str = "[push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, vendor_source_mutation, cortex_core_mutation]";

/// Runs the good case with this value of `forbidden_actions`; gives the report and the contract as it was used.
fn run(forbidden_actions: &str, exit: i32) -> (Value, Value) {
    let world = world();
    let case = world.case("made", &[("forbidden_actions", forbidden_actions)]);
    let (report, bundle) = world.run(case.to_str().unwrap(), exit);
    let used = std::fs::read(bundle.join("task-contract.json")).unwrap();
    (report, serde_json::from_slice(&used).unwrap())
}

#[test]
fn forbidden_actions_that_are_left_out_are_all_ten() {
    let (absent, used) = run("", 0);
    assert_eq!(used["forbidden_actions"].as_array().unwrap().len(), 10);
    let (written, _) = run(ALL, 0);
    assert_eq!(absent["contract_digest"], written["contract_digest"], "a default that is written out is the same");
    let (some, used) = run("[push]", 0);
    assert_eq!(used["forbidden_actions"], json!(["push"]), "control: what is written stands");
    assert_ne!(some["contract_digest"], written["contract_digest"]);
}

#[test]
fn an_empty_list_of_forbidden_actions_is_refused() {
    let (report, _) = run("[]", 3);
    assert_eq!(report["blocker_reasons"], json!(["gate_missing"]));
    let text = report["blockers"][0]["text"].as_str().unwrap();
    assert!(text.contains("forbids no action"), "{text}");
}
