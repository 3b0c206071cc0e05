//! Names of tests that change with every run, and changes of files that the contract releases.

use std::cell::Cell;

use contract::Coverage;
use sandbox::Ended;
use serde_json::json;

use super::exam_trial::{ExamTrial, Files, blocks, log, pytest, say_pytest};
use super::reasons::{BASELINE, GOOD};
use crate::run::tests::ended;

/// Tests with a random part in their names, as many as each check says.
fn hold(numbers: &dyn Fn(&str) -> usize, is_random: bool) -> super::super::Examined {
    let random = Cell::new(0);
    ExamTrial::new(json!({})).examine_with(BASELINE, GOOD, &|name, spec| {
        if name.contains("control") {
            return pytest(&spec.cwd);
        }
        random.set(random.get() + usize::from(is_random) * 100);
        let named: Vec<String> =
            (0..numbers(name)).map(|number| format!("tests/test_a.py::test_one[{}]", random.get() + number)).collect();
        say_pytest(&named.iter().map(|name| (name.as_str(), "PASSED")).collect::<Vec<_>>())
    })
}

#[test]
fn names_that_no_two_runs_share_are_compared_by_their_number() {
    let same = hold(&|_| 3, true);
    assert_eq!(blocks(&same), [""; 0], "{}", log(&same));
    let sentence = "some tests have other names in every run of the baseline: they are compared by their number";
    assert!(log(&same).contains(sentence));
    let fewer = hold(&|name| if name == "exam 1" { 2 } else { 3 }, true);
    assert_eq!(blocks(&fewer).len(), 1, "{}", log(&fewer));
    let stable = hold(&|name| if name == "exam 1" { 2 } else { 3 }, false);
    assert_eq!(blocks(&stable).len(), 1, "{}", log(&stable));
    assert!(!log(&stable).contains(sentence), "control: every name stays");
    assert!(!log(&hold(&|_| 3, false)).contains("once more"), "nothing is missing, so that nothing is held again");
}

/// A test with parameters; the patch may change its file, or not.
fn with_parameters(more: serde_json::Value, result: Files<'_>) -> Vec<String> {
    let parameters: Files<'_> = &[("app.py", "one\n"), ("tests/test_a.py", "def test_one():\n    pass\n")];
    let say = |parameter: &str| say_pytest(&[(&format!("tests/test_a.py::test_one[{parameter}]"), "PASSED")]);
    let examined = ExamTrial::new(more).examine_with(parameters, result, &|name, spec| match name {
        "baseline 1" | "baseline 1 once more" => say("old"),
        "exam 1" | "change 1" => say("new"),
        _ => pytest(&spec.cwd),
    });
    blocks(&examined).iter().map(|text| text.split(':').take(2).collect::<Vec<_>>().join(":")).collect()
}

#[test]
fn parameters_may_change_where_the_patch_may_change_the_file() {
    let changed: Files<'_> = &[("app.py", "two\n"), ("tests/test_a.py", "def test_one():\n    pass\n# new\n")];
    let released = json!({"exam_may_change": ["tests/test_a.py"]});
    assert_eq!(with_parameters(released.clone(), changed), [""; 0]);
    assert_eq!(with_parameters(json!({}), changed), ["verification_weakened: exam 1"], "only the exam is held to them");
    let same: Files<'_> = &[("app.py", "two\n"), ("tests/test_a.py", "def test_one():\n    pass\n")];
    assert_eq!(with_parameters(released, same), ["verification_weakened: exam 1"], "the patch changes it not");
    let other = json!({"exam_may_change": ["tests/test_b.py"]});
    let both: Files<'_> = &[same[0], same[1], ("tests/test_b.py", "def test_two():\n    pass\n")];
    assert_eq!(with_parameters(other, both), ["verification_weakened: exam 1"], "another file");
}

/// Nobody can tell which runner it is on a baseline where none spoke; the command names it.
#[test]
fn a_known_runner_that_says_nothing_ran_nothing() {
    let silent = |argv: serde_json::Value| {
        let examined =
            ExamTrial::new(json!({"verification_commands": [argv]}))
                .examine_with(BASELINE, GOOD, &|_, _| ended(0, "ok\n"));
        (blocks(&examined), examined.coverage.contains(&Coverage::TestsNotCompared))
    };
    assert_eq!(silent(json!(["pytest"])).0, ["verification_weakened: exam 1: no test was executed"]);
    assert_eq!(silent(json!(["build"])), (vec![], true), "control: it is no test runner");
}

#[test]
fn a_file_that_the_contract_names_is_released_where_no_test_ran_from_it() {
    let helper = |text: &'static str| ("tests/helper.py", text);
    let test = ("tests/test_a.py", "def test_one():\n    \"new\" in app\ndef test_two():\n    pass\n");
    let before: Files<'_> = &[("app.py", "one new\n"), test, ("tests/data/app.txt", "old\n"), helper("x = 1\n")];
    let listing = |more: serde_json::Value, result: Files<'_>| {
        let desk = ExamTrial::new(more);
        let play = |_: &str, spec: &sandbox::Spec| -> Ended { pytest(&spec.cwd) };
        desk.ask((before, result), super::super::Furnished::default(), &play, |mut examiner| {
            examiner.hold_baseline().unwrap();
            let rules = examiner.rules_of_result().unwrap();
            rules.released_by_name.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect::<Vec<_>>()
        })
    };
    let after: Files<'_> = &[
        before[0],
        ("tests/test_a.py", "def test_one():\n    pass\n"),
        ("tests/data/app.txt", "new\n"),
        helper("x = 2\n"),
    ];
    let named = json!({"allowed_paths": ["tests/data/app.txt", "tests/helper.py", "tests/test_a.py"]});
    assert_eq!(listing(named.clone(), after), ["tests/data/app.txt", "tests/helper.py"], "tests ran from the third");
    assert_eq!(listing(json!({}), after), [""; 0], "a glob names nothing");
    assert_eq!(listing(named, before), [""; 0], "nothing is changed");
}

#[test]
fn a_definition_that_takes_the_place_of_the_exams_is_said() {
    let text = "def test_one():\n    \"one\" in app\ndef test_two():\n    pass\n";
    let hold = |added: &str, more: serde_json::Value| {
        let changed = format!("{text}{added}");
        let result: Files<'_> = &[("app.py", "one and two\n"), ("tests/test_a.py", &changed)];
        let examined = ExamTrial::new(more).examine(BASELINE, result);
        let sentence = "tests/test_a.py: the patch defines again what a file of the exam defines";
        assert_eq!(log(&examined).contains(sentence), examined.coverage.contains(&Coverage::ExamChangeNotControlled));
        log(&examined).contains(sentence)
    };
    assert!(hold("def test_two():\n    pass\n", json!({})));
    assert!(!hold("def test_three():\n    pass\n", json!({})), "control: a new one");
    assert!(!hold("def test_two():\n    pass\n", json!({"exam_may_change": ["tests/**"]})), "control: a released file");
}
