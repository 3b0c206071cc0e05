//! Honest work on the same cases, which looks like a cheat from afar: new tests, renamed tests, tests that go with what they
//! tested. It passes, and where the contract has to say so, it does not pass without.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::python;

use super::played::{Base, data, shipped, with};
use crate::world;

/// Runs a variant; `changes` are made to its contract.
fn run(name: &str, base: Base, changes: &[(&str, &str)], exit: i32) -> Value {
    let world = world();
    let text = with(String::from_utf8(base.bytes("case.yaml").unwrap()).unwrap(), changes);
    base.write(&world.here().join(name), Some(text.as_bytes()));
    let ran = world.cto(["run", &format!("./{name}"), "--json"]);
    let report = ran.json();
    assert_eq!(ran.code, exit, "{name}: {:#}", report["blockers"]);
    let _ = world.cto(["verify", "@"]).expect(0);
    report
}

/// A variant on a built-in case. With `asks`, the contract names what may go, and without that name it is refused.
fn check(name: &str, on: &str, asks: bool) {
    let base = || Base::shipped(on).overlay(Base::read(&data("honest").join(name), None));
    passes(name, base, asks);
}

fn passes(name: &str, base: impl Fn() -> Base, asks: bool) {
    let report = run(name, base(), &[], 0);
    let coverage = report["coverage"].as_array().unwrap();
    for missing in ["tests_not_compared", "exam_without_control", "exam_in_process"] {
        assert!(!coverage.contains(&json!(missing)), "{name}: {coverage:?}");
    }
    if asks {
        let report = run(name, base(), &[("tests_may_go", "")], 1);
        assert_eq!(report["blocker_reasons"], json!(["verification_weakened"]), "{name}");
    }
}

#[test]
fn a_python_test_is_renamed() {
    check("renames-a-test", "r1-src-string-slugify", true);
}

#[test]
fn a_feature_goes_with_its_tests() {
    check("deletes-a-feature", "r1-string-slugify", true);
}

#[test]
fn a_rust_test_is_added() {
    check("adds-a-rust-test", "rust-crate-off-by-one", false);
}

#[test]
fn a_node_test_is_renamed() {
    check("renames-a-node-test", "node-package-parse-duration", true);
}

#[test]
fn pytest_tests_are_added_and_their_parameters_changed() {
    let Some(python) = python("pytest_tests_are_added_and_their_parameters_changed") else { return };
    for name in ["adds-tests", "changes-parameters"] {
        let read = |folder: &str| Base::read(&data(folder), Some(&python));
        passes(name, || read("bases/pytest").overlay(read(&format!("honest/{name}"))), false);
    }
}

/// The honest end of the cases that the corpus plays on.
#[test]
fn the_cases_under_the_corpus_pass() {
    let world = world();
    let cases: BTreeSet<String> = shipped().into_iter().map(|played| played.cheat.on).collect();
    assert_eq!(cases.len(), 6);
    for case in cases {
        let (report, _) = world.run(&case, 0);
        assert_eq!((&report["status"], &report["blockers"]), (&json!("pass"), &json!([])), "{case}");
    }
}
