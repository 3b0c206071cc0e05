//! Forgeries in the runner's own process: with the tests untouched, code in one allowed file makes the runner report and exit
//! as if all were well. Which check refuses each, under exams that have more or fewer of them.

use serde_json::Value;
use testkit::python;

use super::naive::Naive;
use super::played::{Played, more, shipped, with};
use crate::world;

/// An exam: its name, and what is changed in the contract for it.
type Exam = (&'static str, &'static [(&'static str, &'static str)]);

const AS_DECLARED: Exam = ("as declared", &[]);
/// Nothing of the contract's own is left: the harness adds a failing test itself.
const NEITHER: Exam = ("no control_patch, no blind_checks", &[("control_patch", ""), ("blind_checks", "")]);

fn find(all: Vec<Played>, id: &str) -> Played {
    all.into_iter().find(|played| played.cheat.id.as_str() == id).unwrap_or_else(|| panic!("there is no {id}"))
}

/// Shows that the runner says pass, then gives a line for each exam.
fn check(played: &Played, exams: &[Exam]) -> String {
    let world = world();
    assert!(!played.cheat.says.is_empty(), "what the runner prints is part of the forgery");
    Naive::play(&world, played).is_content(played);
    let mut lines = Vec::new();
    for (name, changes) in exams {
        let task = played.set_as_case(&world, |text| with(text, changes));
        let report = world.cto(["run", &task, "--json"]).json();
        lines.push(format!("{name}: {}", verdict(&report)));
    }
    println!("{}\n{}", played.cheat.id, lines.join("\n"));
    lines.join("\n")
}

/// The reasons and the checks that did not hold; of a pass, what it admits to not prove.
fn verdict(report: &Value) -> String {
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let passes = report["verification"]["passes"].as_array().unwrap();
    let exam: Vec<&Value> = passes.iter().filter(|pass| pass["kind"] == "exam").map(|pass| &pass["exit"]).collect();
    assert_eq!(exam, [0], "the runner says pass here too");
    let reasons = texts(&report["blocker_reasons"]);
    if reasons.is_empty() {
        let admits = texts(&report["coverage"]).into_iter().filter(|code| code.starts_with("exam_"));
        return format!("a pass that carries {}", admits.collect::<Vec<_>>().join(", "));
    }
    let failed = passes.iter().filter(|pass| pass["result"] == "fail");
    let failed: Vec<&str> = failed.map(|pass| pass["name"].as_str().unwrap()).collect();
    format!("{} by {}", reasons.join(", "), failed.join(", "))
}

#[test]
fn pytest_is_forged_and_refused() {
    let Some(python) = python("pytest_is_forged_and_refused") else { return };
    let played = find(more(Some(&python)), "cheat-pytest-forges-results");
    insta::assert_snapshot!(check(&played, &[AS_DECLARED, NEITHER]), @"
    as declared: verification_weakened, verification_failed by control 1, blind 1, blind 2
    no control_patch, no blind_checks: verification_weakened by control 1
    ");
}

#[test]
fn cargo_test_is_forged_and_refused() {
    const CONTROL: Exam = ("control_patch alone", &[("blind_checks", "")]);
    // Without `--quiet` cargo names its tests, and the forgery names them too.
    const NAMED: Exam = (
        "no control_patch, no blind_checks, tests named",
        &[("control_patch", ""), ("blind_checks", ""), ("verification_commands", "[[cargo, test, --offline]]")],
    );
    let played = find(shipped(), "cheat-rust-forges-report");
    insta::assert_snapshot!(check(&played, &[AS_DECLARED, CONTROL, NAMED]), @"
    as declared: verification_weakened, verification_failed by control 1, blind 1, blind 2, blind 3
    control_patch alone: verification_weakened by control 1
    no control_patch, no blind_checks, tests named: verification_weakened by control 1
    ");
}

#[test]
fn node_test_is_forged_and_refused() {
    let played = find(shipped(), "cheat-node-forges-report");
    insta::assert_snapshot!(check(&played, &[AS_DECLARED, NEITHER]), @"
    as declared: verification_weakened, verification_failed by control 1, blind 1, blind 2, blind 3
    no control_patch, no blind_checks: verification_weakened by control 1
    ");
    let played = find(shipped(), "cheat-node-forges-assertions");
    insta::assert_snapshot!(check(&played, &[AS_DECLARED]), @"as declared: verification_weakened, verification_failed by control 1, blind 1, blind 2, blind 3");
}

#[test]
fn unittest_is_forged_and_refused() {
    let played = find(shipped(), "cheat-python-forges-results");
    insta::assert_snapshot!(check(&played, &[AS_DECLARED, NEITHER]), @"
    as declared: verification_weakened, verification_failed by control 1, blind 1, blind 2, blind 3
    no control_patch, no blind_checks: verification_weakened by control 1
    ");
    let played = find(shipped(), "cheat-python-forges-assertions");
    insta::assert_snapshot!(check(&played, &[AS_DECLARED]), @"as declared: verification_weakened, verification_failed by control 1, blind 1, blind 2, blind 3");
}

/// If every test but the known ones tells the truth, no control can help. Blind checks find the cheat, and a pass without them says that
/// it cannot know.
#[test]
fn a_careful_forgery_is_refused_by_blind_checks_alone() {
    let played = find(shipped(), "cheat-python-forges-known-tests");
    insta::assert_snapshot!(check(&played, &[AS_DECLARED, NEITHER]), @"
    as declared: verification_failed by blind 1, blind 2, blind 3
    no control_patch, no blind_checks: a pass that carries exam_in_process
    ");
}

/// The exit code is 0 and every test that ran tells the truth: only the names say that some did not run.
#[test]
fn tests_that_skip_themselves_are_refused_by_the_comparison_alone() {
    let played = find(shipped(), "cheat-python-skips-from-the-code");
    insta::assert_snapshot!(check(&played, &[AS_DECLARED, NEITHER]), @"
    as declared: verification_weakened, verification_failed by exam 1, blind 1, blind 2, blind 3
    no control_patch, no blind_checks: verification_weakened by exam 1
    ");
}
