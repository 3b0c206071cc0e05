//! Places of controls, and of the tests that show them.

use serde_json::json;
use testimony::control::ControlTest;
use testimony::results::Runner;

use super::super::baseline::BaselineCommand;
use super::super::control::Controlled;
use super::super::control_tests::{letters, same_place};
use super::super::{Examiner, Furnished};
use super::agreement::{command, results};
use super::exam_trial::{ExamTrial, Files, pytest};
use super::reasons::{BASELINE, GOOD, TESTS};

fn control(path: &str) -> ControlTest {
    ControlTest { path: path.to_owned(), content: Vec::new(), name: "x".to_owned() }
}

#[test]
fn controls_share_a_place_by_file_and_those_of_go_by_folder() {
    for (one, other, expected) in [
        ("a/test_a.py", "a/test_a.py", true),
        ("a/test_a.py", "a/test_b.py", false),
        ("a/x_test.go", "a/y_test.go", true),
        ("a/x_test.go", "b/y_test.go", false),
        ("x_test.go", "y_test.go", true),
    ] {
        assert_eq!(same_place(&control(one), &control(other)), expected, "{one} {other}");
    }
}

#[test]
fn a_random_name_is_of_ten_letters() {
    let names: Vec<String> = (0..20).map(|_| letters().unwrap()).collect();
    assert!(
        names.iter().all(|name| name.len() == 10 && name.bytes().all(|byte| byte.is_ascii_lowercase())),
        "{names:?}"
    );
    let letters: std::collections::BTreeSet<u8> = names.iter().flat_map(|name| name.bytes()).collect();
    assert!(letters.len() > 12, "{letters:?}");
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

fn with_examiner<T>(trees: (Files<'_>, Files<'_>), ask: impl FnOnce(&mut Examiner<'_>) -> T) -> T {
    let play = |_: &str, spec: &sandbox::Spec| pytest(&spec.cwd);
    ExamTrial::new(json!({})).ask(trees, Furnished::default(), &play, |mut examiner| ask(&mut examiner))
}

fn told(words: &str, runners: &[Runner]) -> BaselineCommand {
    let mut told = BaselineCommand::default();
    told.tests = (!words.is_empty()).then(|| results(words));
    told.runners = runners.iter().copied().collect();
    told
}

#[test]
fn files_are_found_by_tests_of_both_runs_and_the_runner_is_the_baselines() {
    let names = |before: BaselineCommand, now: &str, runner: Runner| {
        with_examiner((BASELINE, GOOD), |examiner| {
            examiner.before.commands = vec![before];
            let mut ran = command(Some(0), now);
            ran.tests.iter_mut().for_each(|tests| tests.runner = runner);
            let found = examiner.tests_that_ran(0, &ran)?;
            Some((found.runner, found.tests.into_keys().collect::<Vec<_>>()))
        })
    };
    let all = |runner, names: &[&str]| Some((runner, names.iter().map(ToString::to_string).collect::<Vec<_>>()));
    assert_eq!(names(told("+a", &[]), "+b", Runner::Go), all(Runner::Pytest, &["a", "b"]));
    assert_eq!(names(told(".a", &[Runner::Node]), "+b", Runner::Go), all(Runner::Node, &["b"]), "nothing was executed");
    assert_eq!(names(told("", &[]), "+b", Runner::Go), all(Runner::Go, &["b"]), "nobody spoke before");
    assert_eq!(names(told("", &[]), "", Runner::Go), None);
}

/// Controls of what is delivered stand where the baseline has a place for them.
#[test]
fn controls_of_what_is_delivered_stand_where_those_of_the_baseline_do() {
    let more = ("tests/test_b.py", "def test_three():\n    pass\n");
    let unfit = ("tests/test_a.py", "def test_one():\n    pass\n# changed\n");
    let baseline: Files<'_> = &[("app.py", "one\n"), TESTS];
    let result: Files<'_> = &[("app.py", "two\n"), unfit, more];
    let controls = |on: Controlled, result: Files<'_>| {
        with_examiner((baseline, result), |examiner| {
            let known = results("+tests/test_a.py::test_one +tests/test_b.py::test_three");
            let command = &examiner.setting.contract.verification_commands[0];
            let controls = examiner.controls_for(on, examiner.trees.result, command, &known).unwrap();
            let text = |test: ControlTest| (test.path, String::from_utf8(test.content).unwrap());
            controls.into_iter().map(text).collect::<Vec<_>>()
        })
    };
    let delivered = controls(Controlled::Delivered, result);
    assert_eq!(
        delivered.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["tests/test_a.py", "tests/test_b.py"]
    );
    let added = delivered[0].1.strip_prefix(unfit.1).expect("the patch's own text comes first");
    assert!(added.starts_with("\n\ndef test_") && added.contains("assert \"found\" == \"expected\""), "{added}");
    let gone = controls(Controlled::Delivered, &[("app.py", "two\n"), more]);
    assert_eq!(
        gone.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["tests/test_b.py"],
        "a file that is gone has none"
    );
    assert_eq!(controls(Controlled::Exam, result).len(), 2);
}

#[test]
fn a_control_moves_to_the_same_file_of_another_tree() {
    let moved = |path: &str, from: Files<'_>, to: Files<'_>, content: &str| {
        with_examiner((from, to), |examiner| {
            let test = ControlTest { content: content.as_bytes().to_vec(), ..control(path) };
            let (baseline, result) = (examiner.trees.baseline, examiner.trees.result);
            examiner.moved_to(result, baseline, test).unwrap().map(|test| String::from_utf8(test.content).unwrap())
        })
    };
    let (old, new): (Files<'_>, Files<'_>) = (&[("a.py", "old\n")], &[("a.py", "newer\n")]);
    assert_eq!(moved("a.py", old, new, "old\nfail\n").as_deref(), Some("newer\nfail\n"));
    assert_eq!(moved("x_test.go", old, new, "all\n").as_deref(), Some("all\n"), "a file of its own");
    assert_eq!(moved("a.py", old, &[], "old\nfail\n"), None, "the file is gone");
    assert_eq!(moved("a.py", &[], new, "fail\n"), None, "something else stands there");
}

/// A mark by which a file has no control keeps none out of what is delivered.
#[test]
fn a_file_that_the_patch_makes_unfit_has_its_control_all_the_same() {
    let marked = ("tests/test_a.py", "pytestmark = 1\ndef test_one():\n    pass\n");
    let controls = |on: Controlled| {
        with_examiner((BASELINE, &[("app.py", "one\n"), marked]), |examiner| {
            let command = &examiner.setting.contract.verification_commands[0];
            let known = results("+tests/test_a.py::test_one");
            examiner.controls_for(on, examiner.trees.result, command, &known).unwrap().len()
        })
    };
    assert_eq!(controls(Controlled::Delivered), 1);
    assert_eq!(controls(Controlled::Exam), 0, "control");
}
