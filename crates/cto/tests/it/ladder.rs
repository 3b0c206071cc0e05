//! Rungs as the commands show them: computed from bundles that verify, lost by what fails, and never set.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

pub(crate) mod activation;
mod earned;
mod edges;
mod narrow;
mod newer;
mod outcomes;
mod shown;
mod waiting;

use serde_json::Value;
use testkit::World;

/// A case that passes, and one of the same name that changes nothing and so fails.
fn lay_case(world: &World, passes: bool) {
    let nothing = r#"{"steps": [{"run": {"argv": ["true"]}}]}"#;
    let changes: &[(&str, &str)] = if passes { &[] } else { &[("fake", nothing)] };
    world.case("made", changes);
}

/// The rung of the fake engine at a stage.
fn rung(world: &World, stage: u8) -> Value {
    let ladder = world.cto(["ladder", "--engine", "fake", "--json"]).expect(0).json();
    assert_eq!(ladder["runtime_default_activation"], false);
    ladder["rungs"].as_array().unwrap().iter().find(|rung| rung["stage"] == stage).unwrap().clone()
}

/// Status and gap of a rung in one text.
fn standing(rung: &Value) -> String {
    let gap = rung["gap"].as_str().map_or_else(String::new, |gap| format!(" {gap}"));
    format!("{}{gap}", rung["status"].as_str().unwrap())
}

/// Runs the case at stage 2; gives the report.
fn run_case(world: &World, code: i32) -> Value {
    world.cto(["run", "./made", "--json"]).expect(code).json()
}
