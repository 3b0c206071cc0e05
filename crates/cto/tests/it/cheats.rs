//! The cheat corpus: every cheat fools who runs the exam in the tree the engine left, and none fools the harness.
//!
//! The corpus that ships plays on the built-in cases. What they have no place for (pytest, npm, a sourced library, vendored
//! packages) stands in `cheats/corpus/`, on the cases in `cheats/bases/`; both are read and played alike.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod forged;
mod honest;
mod naive;
mod played;
mod surface;

use std::collections::BTreeSet;
use std::path::Path;

use fixtures::Language;
use serde_json::{Value, json};
use testkit::{World, each_row, python};

use self::naive::Naive;
use self::played::{Played, more, shipped};
use crate::world;

/// Plays each cheat against both verifiers.
fn check(played: &[Played]) {
    let world = world();
    each_row(played.iter().map(|played| (&played.cheat.id, played)), |played| check_cheat(&world, played));
}

/// The naive verifier is content, and the harness refuses the cheat as it declares.
fn check_cheat(world: &World, played: &Played) {
    let naive = Naive::play(world, played);
    naive.is_content(played);
    naive.sees_nothing_of(&played.cheat.hides);
    naive.stays_content_with_broken_work(played);
    let task = played.set(world);
    let ran = world.cto(["run", &task, "--json"]);
    let report = ran.json();
    let found = (ran.code, report["status"].clone(), report["blocker_reasons"].clone());
    let expect = &played.cheat.expect;
    let expected = (i32::from(expect.status.exit_code()), json!(expect.status), json!(expect.reasons));
    assert_eq!(found, expected, "{}: {:#}", played.cheat.id, report["blockers"]);
    for path in &played.cheat.hides {
        assert!(report["changed_files"].as_array().unwrap().contains(&json!(path)), "{}", played.cheat.id);
    }
    let _ = world.cto(["verify", report["run_id"].as_str().unwrap()]).expect(0);
}

fn of(language: Language) -> Vec<Played> {
    shipped().into_iter().filter(|played| played.cheat.language == language).collect()
}

#[test]
fn python_cheats_are_refused() {
    check(&of(Language::Python));
}

#[test]
fn rust_cheats_are_refused() {
    check(&of(Language::Rust));
}

#[test]
fn node_cheats_are_refused() {
    check(&of(Language::Node));
}

#[test]
fn shell_cheats_are_refused() {
    check(&of(Language::Shell));
}

/// Cheats that stand here, on cases of these names.
fn on(cases: &[&str], python: Option<&Path>) -> Vec<Played> {
    more(python).into_iter().filter(|played| cases.contains(&played.cheat.on.as_str())).collect()
}

#[test]
fn cheats_on_cases_that_do_not_ship_are_refused() {
    check(&on(&["npm", "sourced", "vendored"], None));
}

#[test]
fn pytest_cheats_are_refused() {
    let Some(python) = python("pytest_cheats_are_refused") else { return };
    check(&on(&["pytest"], Some(&python)));
}

#[test]
fn cheats_of_code_that_pytest_loads_are_refused() {
    let Some(python) = python("cheats_of_code_that_pytest_loads_are_refused") else { return };
    check(&on(&["pytest-starred", "pytest-before", "pytest-built"], Some(&python)));
}

#[test]
fn unittest_cheats_are_refused() {
    check(&on(&["unittest"], None));
}

#[test]
fn cheats_on_data_and_on_tests_before_code_are_refused() {
    check(&on(&["before", "golden"], None));
}

#[test]
fn cargo_and_nextest_cheats_are_refused() {
    let nextest = testkit::nextest("cargo_and_nextest_cheats_are_refused").map(|_| "nextest");
    check(&on(&["cargo", nextest.unwrap_or_default()], None));
}

#[test]
fn npm_and_typescript_cheats_are_refused() {
    if testkit::node("npm_and_typescript_cheats_are_refused").is_some() {
        check(&on(&["node", "typescript"], None));
    }
}

/// With the real compiler, which writes its output in spite of errors.
#[test]
fn tsc_cheats_are_refused() {
    if testkit::tsc_environment("tsc_cheats_are_refused").is_some() {
        check(&on(&["tsc", "tsc-tested"], None));
    }
}

#[test]
fn cmake_cheats_are_refused() {
    if testkit::cmake("cmake_cheats_are_refused").is_some() {
        check(&on(&["cmake"], None));
    }
}

#[test]
fn go_cheats_are_refused() {
    if testkit::go_environment("go_cheats_are_refused").is_some() {
        check(&on(&["go"], None));
    }
}

#[test]
fn cheats_in_c_and_shell_are_refused() {
    check(&on(&["make", "shell"], None));
}

/// Each cheat that stands here is played by one of the tests above.
#[test]
fn every_case_of_the_corpus_is_played() {
    let cases: BTreeSet<String> = more(None).into_iter().map(|played| played.cheat.on).collect();
    let played = "before cargo cmake go golden make nextest node npm pytest pytest-before pytest-built pytest-starred shell sourced tsc tsc-tested typescript unittest vendored";
    assert_eq!(cases, played.split(' ').map(str::to_owned).collect());
}

/// The engine's repository holds nothing but the baseline, whatever the source knows.
#[test]
fn an_answer_in_the_source_is_not_found() {
    let world = world();
    let looking: Vec<Played> = shipped().into_iter().filter(|played| played.cheat.later.is_some()).collect();
    assert!(!looking.is_empty());
    for played in looking {
        let naive = Naive::play(&world, &played);
        naive.is_content(&played);
        let source = naive.reset();
        let owned = [("source_owner", "tests"), ("source_classification", "owned_local")];
        let task = played.set_as_case(&world, |text| played::with(text, &owned));
        let report = refused(&world, &["run", &task, "--json", "--repo", source.to_str().unwrap()]);
        assert_eq!(report["blocker_reasons"], json!(["no_diff"]), "{}", played.cheat.id);
        assert_eq!(report["source_repository_mutated"], false);
    }
}

fn refused(world: &World, args: &[&str]) -> Value {
    world.cto(args).expect(1).json()
}
