//! Failing tests that do not count against a patch, and tests that must pass.

use std::cell::Cell;

use contract::report::Excuse;
use contract::{Coverage, Reason};
use sandbox::Ended;
use serde_json::{Value, json};

use super::super::Furnished;
use super::exam_trial::{ExamTrial, Files, blocks, log, passes, pytest, reasons, say_pytest};
use crate::run::tests::ended;

const A: &str = "tests/test_a.py::test_one";
const B: &str = "tests/test_a.py::test_two";

/// Two tests of which the first ends by the name of the check; each word of `ends` is `+` or `-`, the last one stays.
fn hold(more: Value, ends: &[(&str, &str)]) -> super::super::Examined {
    let baseline: Files<'_> =
        &[("app.py", "one\n"), ("tests/test_a.py", "def test_one():\n    pass\ndef test_two():\n    pass\n")];
    let result: Files<'_> = &[("app.py", "two\n"), baseline[1]];
    let play = |name: &str, end: Ended| {
        let said = ends.iter().find(|(check, _)| *check == name).map(|(_, said)| *said);
        match said {
            Some("-") => say_pytest(&[(A, "FAILED"), (B, "PASSED")]),
            Some("+") => say_pytest(&[(A, "PASSED"), (B, "PASSED")]),
            Some("-0") => {
                Ended { how: sandbox::How::Exited { code: 0 }, ..say_pytest(&[(A, "FAILED"), (B, "PASSED")]) }
            }
            Some("-124") => {
                Ended { how: sandbox::How::Exited { code: 124 }, ..say_pytest(&[(A, "FAILED"), (B, "PASSED")]) }
            }
            Some("-late") => Ended { timed_out: true, ..say_pytest(&[(A, "FAILED"), (B, "PASSED")]) },
            Some("-more") => {
                let said = say_pytest(&[(A, "FAILED"), (B, "PASSED")]);
                ended(1, &String::from_utf8_lossy(&said.stdout.head).replace("1 failed", "2 failed"))
            }
            Some("-.") => say_pytest(&[(A, "FAILED"), (B, "SKIPPED")]),
            Some("--") => say_pytest(&[(A, "FAILED"), (B, "FAILED")]),
            Some("-2") => {
                Ended { how: sandbox::How::Exited { code: 2 }, ..say_pytest(&[(A, "FAILED"), (B, "PASSED")]) }
            }
            _ => end,
        }
    };
    ExamTrial::new(more).examine_with(baseline, result, &|name, spec| play(name, pytest(&spec.cwd)))
}

const FAILS: &str =
    "verification_failed: does not pass on baseline + patch: exam 1; failing: tests/test_a.py::test_one";

#[test]
fn a_failure_of_the_baseline_is_excused_where_the_contract_declares_it() {
    let declared = json!({"may_stay_red": ["test_one"]});
    let red: &[(&str, &str)] = &[("baseline 1", "-"), ("exam 1", "-")];
    let known = hold(declared.clone(), red);
    assert_eq!(blocks(&known), [""; 0], "{}", log(&known));
    assert!(known.coverage.contains(&Coverage::KnownFailures) && !known.coverage.contains(&Coverage::FlakyTests));
    let failed = &known.passes[0].tests.failed;
    assert_eq!(
        failed.iter().map(|test| (test.name.as_str(), test.excused)).collect::<Vec<_>>(),
        [(A, Some(Excuse::KnownFailure))]
    );
    for (more, ends) in [
        (json!({}), red),
        (declared.clone(), &[("exam 1", "-")][..]),
        (declared.clone(), &[("baseline 1", "-"), ("exam 1", "-2")]),
    ] {
        let examined = hold(more.clone(), ends);
        assert_eq!(blocks(&examined), [FAILS], "{more} {ends:?}");
        assert!(!examined.coverage.contains(&Coverage::KnownFailures), "{more} {ends:?}");
    }
    let hidden = hold(declared.clone(), &[("baseline 1", "-0"), ("exam 1", "-0")]);
    assert_eq!(reasons(&hidden), [Reason::VerificationFailed], "an exit code of 0 excuses nothing");
    assert!(!hidden.coverage.contains(&Coverage::KnownFailures));
    let skipped = hold(declared.clone(), &[("baseline 1", "-"), ("exam 1", "-.")]);
    assert!(!skipped.coverage.contains(&Coverage::KnownFailures), "green on one tree alone");
    let unnamed = hold(declared, &[("baseline 1", "-"), ("exam 1", "-more")]);
    assert_eq!(reasons(&unnamed), [Reason::VerificationFailed], "a failure without a name");
    let both = json!({"may_stay_red": ["test_one", "test_two"]});
    let all = hold(both, &[("baseline 1", "--"), ("exam 1", "--")]);
    assert_eq!(reasons(&all), [Reason::VerificationFailed], "nothing is green");
    assert!(!all.coverage.contains(&Coverage::KnownFailures));
}

#[test]
fn a_test_that_fails_now_and_then_is_excused_where_it_does_so_without_the_patch() {
    let again: &[(&str, &str)] = &[("exam 1", "-"), ("baseline 1 again 1", "-"), ("exam 1 again 2", "+")];
    let flaky = hold(json!({}), again);
    assert_eq!(blocks(&flaky), [""; 0], "{}", log(&flaky));
    assert!(flaky.coverage.contains(&Coverage::FlakyTests) && !flaky.coverage.contains(&Coverage::KnownFailures));
    assert_eq!(flaky.passes[0].tests.failed[0].excused, Some(Excuse::Flaky));
    assert_eq!(passes(&flaky)[0], "exam 1 holds");
    for (more, ends, why) in [
        (json!({}), &[("exam 1", "-")][..], "the baseline does not fail"),
        (
            json!({}),
            &[("exam 1", "-"), ("baseline 1 again 1", "-"), ("exam 1 again 1", "-"), ("exam 1 again 2", "-")],
            "never green",
        ),
        (json!({}), &[("exam 1", "-2"), ("baseline 1 again 1", "-")], "another exit code"),
        (
            json!({}),
            &[("exam 1", "-124"), ("baseline 1 again 1", "-late"), ("exam 1 again 1", "+")],
            "the end of its time is no exit code",
        ),
        (json!({"must_pass": ["test_one"]}), again, "it must pass"),
        (json!({"flaky_retries": 0}), again, "nothing is held again"),
    ] {
        let examined = hold(more.clone(), ends);
        assert_eq!(blocks(&examined).last().map(String::as_str), Some(FAILS), "{why}");
        assert!(!examined.coverage.contains(&Coverage::FlakyTests), "{why}");
        assert_eq!(examined.passes[0].tests.failed[0].excused, None, "{why}");
    }
}

#[test]
fn nothing_is_held_again_on_the_patch_where_the_baseline_decides() {
    let runs = Cell::new(0);
    let baseline: Files<'_> =
        &[("app.py", "one\n"), ("tests/test_a.py", "def test_one():\n    \"one\" in app\ndef test_two():\n    pass\n")];
    let examined =
        ExamTrial::new(json!({})).examine_with(baseline, &[("app.py", "two\n"), baseline[1]], &|name, spec| {
            runs.set(runs.get() + usize::from(name.contains("again")));
            pytest(&spec.cwd)
        });
    assert_eq!(reasons(&examined), [Reason::VerificationFailed]);
    assert_eq!(runs.get(), 2, "{}", log(&examined));
}

/// Files of an exam by what the test is and where it stands.
fn must_pass(desk: &ExamTrial, baseline: Files<'_>, result: Files<'_>) -> Vec<String> {
    blocks(&desk.examine(baseline, result))
}

const UNPROVEN: &str = "verification_failed: must_pass `test_one`: no test of the baseline or of verification_files that was red or \
                        absent before is green now";

#[test]
fn a_test_that_must_pass_was_red_or_absent_and_stands_in_no_file_of_the_patch() {
    let test = |word: &str| format!("def test_one():\n    \"{word}\" in app\ndef test_two():\n    pass\n");
    let (red, other) = (test("two"), test("one"));
    let desk = || ExamTrial::new(json!({"must_pass": ["test_one"]}));
    let (before, after) = (("app.py", "one\n"), ("app.py", "one two\n"));
    let red: (&str, &str) = ("tests/test_a.py", &red);
    let other: (&str, &str) = ("tests/test_a.py", &other);
    assert_eq!(must_pass(&desk(), &[before, red], &[after, red]), [""; 0], "red before, green now");
    assert_eq!(must_pass(&desk(), &[before, other], &[after, other]), [UNPROVEN], "green before");
    let still = must_pass(&desk(), &[before, red], &[before, red]);
    assert_eq!(still[0], UNPROVEN, "red before and red now");
    let two = ("tests/test_b.py", "def test_two():\n    pass\n");
    assert_eq!(must_pass(&desk(), &[before, two], &[after, two, red])[0], UNPROVEN, "a test of the patch is absent");
    let operator = desk().with_operator_file("tests/test_a.py", red.1);
    assert_eq!(must_pass(&operator, &[before, two], &[after, two, red]), [""; 0], "the operator's, absent before");
    let examined = desk().examine(&[before, other], &[after, other]);
    assert_eq!(passes(&examined)[0], "exam 1 fails");
    let released = ExamTrial::new(json!({"must_pass": ["test_one"], "exam_may_change": ["tests/test_a.py"]}));
    let without = ("tests/test_a.py", "def test_two():\n    pass\n");
    assert_eq!(
        must_pass(&released, &[before, without], &[after, red])[0],
        UNPROVEN,
        "the patch's own, in a released file"
    );
    let nowhere = desk().examine_with(&[before, without], &[after, without], &|name, spec| match name {
        "exam 1" => say_pytest(&[("tests/nowhere.py::test_one", "PASSED"), (B, "PASSED")]),
        _ => pytest(&spec.cwd),
    });
    assert_eq!(blocks(&nowhere), [UNPROVEN], "nobody knows the file of the test");
}

#[test]
fn on_one_tree_a_test_that_must_pass_is_green_whatever_it_was_before() {
    let (green, red) = ("def test_one():\n    \"one\" in app\n", "def test_one():\n    \"two\" in app\n");
    let hold = |entry: &str, test: &str, is_one: bool| {
        let files: Files<'_> = &[("app.py", "one\n"), ("tests/test_a.py", test)];
        let desk = ExamTrial::new(json!({"must_pass": [entry]}));
        let examined = desk.ask((files, files), Furnished::default(), &|_, spec| pytest(&spec.cwd), |examiner| {
            let examiner = if is_one { examiner.of_one_tree() } else { examiner };
            examiner.examine_all().unwrap()
        });
        blocks(&examined)
    };
    let none = |entry: &str| {
        format!("verification_failed: must_pass `{entry}`: no test of the tree or of verification_files is green")
    };
    assert_eq!(hold("test_one", green, true), [""; 0], "green now");
    assert_eq!(hold("test_one", green, false)[0], UNPROVEN, "the control: the same as a baseline and its result");
    assert_eq!(hold("test_one", red, true)[0], none("test_one"), "red now");
    assert_eq!(hold("test_gone", green, true), [none("test_gone")], "no such test");
}
