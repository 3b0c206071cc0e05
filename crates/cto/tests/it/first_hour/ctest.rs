//! CTest through the real binary: counts, names, a control of the harness's own, a skipped test, a crash.

use std::path::Path;

use serde_json::{Value, json};
use testkit::World;

use super::{know_operator, text};
use crate::world;

const LIST: &str = "cmake_minimum_required(VERSION 3.16)\nproject(adder NONE)\nenable_testing()\nadd_test(NAME adds COMMAND sh ${CMAKE_SOURCE_DIR}/check.sh adds)\nadd_test(NAME stays COMMAND sh ${CMAKE_SOURCE_DIR}/check.sh stays)\n";
const CHECK: &str =
    ". \"$(dirname \"$0\")/src/adder.sh\"\ncase $1 in\n  adds) test \"$(add 1 1)\" = 2 ;;\n  stays) true ;;\nesac\n";
const RED: &str = "add() { echo 3; }\n";
const GREEN: &str = "add() { echo $(($1 + $2)); }\n";

/// A run whose engine writes this into `src/adder.sh`; none where there is no CMake.
fn run(test: &str, world: &World, list: &str, before: &str, after: &str) -> Option<Value> {
    if !Path::new("/usr/bin/ctest").exists() {
        testkit::skip(test, "no cmake in /usr/bin");
        return None;
    }
    know_operator(world);
    let files = [("CMakeLists.txt", list), ("check.sh", CHECK), ("src/adder.sh", before), (".gitignore", "build/\n")];
    let repository = world.repository("adder", &files);
    let steps = format!("{{steps: [{{write: {{path: src/adder.sh, text: {}}}}}]}}", json!(after));
    let case = world.case(
        "case",
        &[
            ("allowed_paths", "[src/]"),
            ("verification_commands", "[[ctest, --test-dir, build, --output-on-failure]]"),
            ("environment", "{build: [[cmake, -S, ., -B, build], [cmake, --build, build]]}"),
            ("fake", &steps),
        ],
    );
    let ran = world.cto(["run", text(&case), "--repo", text(&repository), "--json"]);
    Some(ran.json())
}

fn exam(report: &Value) -> &Value {
    let passes = report["verification"]["passes"].as_array().unwrap();
    passes.iter().find(|pass| pass["kind"] == "exam").unwrap()
}

#[test]
fn tests_are_counted_and_named_and_a_control_fails() {
    let world = world();
    let Some(report) =
        run("first_hour::ctest::tests_are_counted_and_named_and_a_control_fails", &world, LIST, RED, GREEN)
    else {
        return;
    };
    assert_eq!(report["status"], "pass", "{}", report["blockers"]);
    let tests = &exam(&report)["tests"];
    assert_eq!(tests["baseline"], json!({"executed": 2, "failed": 1, "passed": 1, "skipped": 0}));
    assert_eq!(tests["result"], json!({"executed": 2, "failed": 0, "passed": 2, "skipped": 0}));
    let kinds: Vec<_> =
        report["verification"]["passes"].as_array().unwrap().iter().map(|pass| pass["kind"].clone()).collect();
    assert!(kinds.contains(&json!("control")), "{kinds:?}");
    let coverage = report["coverage"].as_array().unwrap();
    assert!(
        !coverage.contains(&json!("exam_without_control")) && !coverage.contains(&json!("tests_not_compared")),
        "{coverage:?}"
    );
}

#[test]
fn a_test_that_fails_or_crashes_is_named() {
    let world = world();
    let test = "first_hour::ctest::a_test_that_fails_or_crashes_is_named";
    let Some(report) = run(test, &world, LIST, GREEN, "add() { kill -SEGV $$; }\n") else { return };
    assert_eq!(report["status"], "fail");
    let failed = exam(&report)["tests"]["failed"].to_string();
    assert!(failed.contains("adds") && !failed.contains("stays"), "{failed}");
}

#[test]
fn a_skipped_test_is_no_pass() {
    let world = world();
    let list = format!("{LIST}set_tests_properties(stays PROPERTIES DISABLED TRUE)\n");
    let Some(report) = run("first_hour::ctest::a_skipped_test_is_no_pass", &world, &list, RED, GREEN) else { return };
    assert_eq!(exam(&report)["tests"]["result"], json!({"executed": 1, "failed": 0, "passed": 1, "skipped": 1}));
}
