//! Reasons that an exam gives, each beside the nearest exam that does not give it.

use contract::{Coverage, Reason};
use sandbox::{Ended, How, LimitKind};
use serde_json::json;

use super::exam_trial::{ExamTrial, Files, blocks, log, made_by_build, passes, pytest, reasons, say_pytest};
use crate::run::tests::ended;
use crate::tests::two_sided;

pub(super) const TESTS: (&str, &str) =
    ("tests/test_a.py", "def test_one():\n    \"one\" in app\ndef test_two():\n    pass\n");
pub(super) const BASELINE: Files<'_> = &[("app.py", "one\n"), TESTS];
pub(super) const GOOD: Files<'_> = &[("app.py", "one and two\n"), TESTS];
const BAD: Files<'_> = &[("app.py", "two\n"), TESTS];

/// Ends of some checks by their name; pytest plays the others.
fn check(play: &dyn Fn(&str) -> Option<Ended>, expected: &[&str]) {
    let examined = ExamTrial::new(json!({}))
        .examine_with(BASELINE, GOOD, &|name, spec| play(name).unwrap_or_else(|| pytest(&spec.cwd)));
    assert_eq!(blocks(&examined), expected, "{}", log(&examined));
}

fn say(tests: &[(&str, &str)]) -> Ended {
    let named: Vec<(String, &str)> =
        tests.iter().map(|(name, end)| (format!("tests/test_a.py::{name}"), *end)).collect();
    say_pytest(&named.iter().map(|(name, end)| (name.as_str(), *end)).collect::<Vec<_>>())
}

#[test]
fn a_good_change_passes_the_exam_and_its_control() {
    let examined = ExamTrial::new(json!({})).examine(BASELINE, GOOD);
    assert_eq!(blocks(&examined), [""; 0], "{}", log(&examined));
    assert_eq!(passes(&examined), ["exam 1 holds", "control 1 holds"]);
    assert_eq!(examined.coverage.iter().copied().collect::<Vec<_>>(), [Coverage::ExamInProcess]);
    let tests = &examined.passes[0].tests;
    assert_eq!((tests.baseline.unwrap().passed, tests.result.unwrap().passed), (2, 2));
    let control = &examined.passes[1].tests;
    assert_eq!((control.baseline, control.result.unwrap().failed), (None, 1), "a control is compared with nothing");
}

#[test]
fn a_change_that_breaks_a_test_fails() {
    let examined = ExamTrial::new(json!({})).examine(BASELINE, BAD);
    assert_eq!(reasons(&examined), [Reason::VerificationFailed]);
    let good = ExamTrial::new(json!({})).examine(BASELINE, GOOD);
    two_sided(Reason::VerificationFailed, reasons(&examined), reasons(&good));
    let text = "verification_failed: does not pass on baseline + patch: exam 1; failing: tests/test_a.py::test_one";
    assert_eq!(blocks(&examined), [text]);
    assert_eq!(passes(&examined), ["exam 1 fails"], "no control is held of an exam that failed");
    assert!(examined.coverage.contains(&Coverage::ExamWithoutControl));
}

#[test]
fn an_exam_that_is_less_than_the_baselines_is_weakened() {
    let only = |ended: fn() -> Ended| move |name: &str| (name == "exam 1").then(ended);
    check(
        &only(|| say(&[("test_one", "PASSED"), ("test_two", "SKIPPED")])),
        &["verification_weakened: exam 1: tests that ran in the baseline were skipped: tests/test_a.py::test_two"],
    );
    check(
        &only(|| say(&[("test_one", "PASSED")])),
        &["verification_weakened: exam 1: tests that ran in the baseline did not run: tests/test_a.py::test_two"],
    );
    check(&only(|| ended(0, "all is well\n")), &["verification_weakened: exam 1: no test was executed"]);
    check(&only(|| say(&[("test_one", "PASSED"), ("test_two", "PASSED"), ("test_new", "PASSED")])), &[]);
}

/// A command that failed may have stopped early: that tests are missing is then no news.
#[test]
fn a_failed_command_is_not_blamed_for_tests_that_it_did_not_reach() {
    check(
        &|name| (name == "exam 1").then(|| say(&[("test_one", "FAILED")])),
        &["verification_failed: does not pass on baseline + patch: exam 1; failing: tests/test_a.py::test_one"],
    );
    check(
        &|name| (name == "exam 1").then(|| say(&[("test_one", "FAILED"), ("test_two", "SKIPPED")])),
        &[
            "verification_weakened: exam 1: tests that ran in the baseline were skipped: tests/test_a.py::test_two",
            "verification_failed: does not pass on baseline + patch: exam 1; failing: tests/test_a.py::test_one",
        ],
    );
}

#[test]
fn an_exit_code_that_hides_a_failure_fails() {
    let hidden = |name: &str| {
        let failed = say(&[("test_one", "FAILED"), ("test_two", "PASSED")]);
        (name == "exam 1").then_some(Ended { how: How::Exited { code: 0 }, ..failed })
    };
    check(
        &hidden,
        &["verification_failed: exam 1: the exit code is 0, and 1 of 2 tests failed: tests/test_a.py::test_one"],
    );
}

#[test]
fn a_check_that_runs_out_of_time_is_late_or_slowed_by_the_patch() {
    let late = |names: &'static [&'static str]| {
        move |name: &str| names.contains(&name).then(|| Ended { timed_out: true, ..say(&[("test_one", "PASSED")]) })
    };
    check(&late(&["exam 1"]), &["verification_failed: runs out of time, and the baseline does not: exam 1"]);
    check(&late(&["baseline 1", "exam 1"]), &["timeout: verification exceeded its time: exam 1"]);
    check(&late(&["control 1"]), &["timeout: verification exceeded its time: control 1"]);
    check(&late(&["baseline 1"]), &[]);
    let examined = ExamTrial::new(json!({})).examine_with(BASELINE, GOOD, &|name, spec| match name {
        "baseline 1" | "exam 1" => Ended { timed_out: true, ..pytest(&spec.cwd) },
        _ => pytest(&spec.cwd),
    });
    assert_eq!(reasons(&examined), [Reason::Timeout]);
    let in_time = ExamTrial::new(json!({})).examine(BASELINE, GOOD);
    two_sided(Reason::Timeout, reasons(&examined), reasons(&in_time));
    let late: Vec<(&str, u64)> = examined.late.iter().map(|late| (late.name.as_str(), late.seconds)).collect();
    assert_eq!(late, [("exam 1", 300)], "the baseline's is not held against the patch");
}

#[test]
fn a_check_that_exceeds_a_limit_is_over_budget() {
    let over = |name: &str| {
        let killed = Ended { how: How::Signaled { signal: 9 }, ..ended(0, "") };
        (name == "exam 1").then_some(Ended { limit_hits: vec![LimitKind::Memory], ..killed })
    };
    let examined = ExamTrial::new(json!({}))
        .examine_with(BASELINE, GOOD, &|name, spec| over(name).unwrap_or_else(|| pytest(&spec.cwd)));
    assert_eq!(reasons(&examined), [Reason::BudgetExceeded, Reason::VerificationFailed]);
    assert!(examined.blocks[0].1.starts_with("the verification used more than"), "{:?}", examined.blocks);
    check(
        &|name| (name == "exam 1").then(|| Ended { how: How::Signaled { signal: 9 }, ..ended(0, "") }),
        &["verification_failed: does not pass on baseline + patch: exam 1"],
    );
}

#[test]
fn a_blind_check_holds_exit_code_and_output() {
    let desk = |exit: u8, stdout: &str| {
        let check = json!({"argv": ["pytest"], "stdin": "in", "expect_exit": exit, "expect_stdout": stdout});
        ExamTrial::new(json!({"blind_checks": [check]}))
    };
    let held = |desk: ExamTrial, timed_out: bool| {
        desk.examine_with(BASELINE, GOOD, &|name, spec| match &spec.stdin {
            Some(stdin) if name == "blind 1" => Ended { timed_out, ..ended(3, &String::from_utf8_lossy(stdin)) },
            _ => pytest(&spec.cwd),
        })
    };
    let good = held(desk(3, "in"), false);
    assert_eq!((blocks(&good), passes(&good)[2].as_str()), (vec![], "blind 1 holds"));
    assert!(!good.coverage.contains(&Coverage::ExamInProcess));
    for (exit, stdout) in [(0, "in"), (3, "out")] {
        let bad = held(desk(exit, stdout), false);
        assert_eq!(
            blocks(&bad),
            ["verification_failed: does not pass on baseline + patch: blind 1"],
            "{exit} {stdout}"
        );
    }
    assert_eq!(blocks(&held(desk(3, "in"), true)), ["timeout: verification exceeded its time: blind 1"]);
    assert!(held(desk(3, ""), false).coverage.contains(&Coverage::ExamInProcess), "silence is no answer");
}

#[test]
fn a_tree_that_cannot_be_set_up_or_built_fails() {
    let setup = ExamTrial::new(json!({"environment": {"setup": [["no-such-program"]]}})).examine(BASELINE, GOOD);
    let text = "the environment could not be set up: setup 1: `no-such-program` was not found";
    assert_eq!(blocks(&setup), [format!("verification_failed: {text}")]);
    assert!(setup.passes.is_empty());
    let built = |fails: &'static str| {
        ExamTrial::new(json!({"environment": {"build": [["build", "x"]]}})).examine_with(
            BASELINE,
            GOOD,
            &|name, spec| {
                if !spec.argv[0].ends_with("/build") {
                    return pytest(&spec.cwd);
                }
                made_by_build(spec, &[]);
                ended(i32::from(name == fails), "no such header\n")
            },
        )
    };
    let why = "build 1: `build x` ended with exit 1; it ends with: no such header";
    let exam = built("exam build 1");
    let expected = format!("verification_failed: exam: baseline + patch cannot be set up and built: {why}");
    assert_eq!(blocks(&exam), [expected, "verification_failed: does not pass on baseline + patch: exam 1".to_owned()]);
    assert_eq!(passes(&exam), ["exam 1 fails"]);
    let gaps = [Coverage::ExamInProcess, Coverage::ExamWithoutControl];
    assert!(gaps.iter().all(|gap| exam.coverage.contains(gap)), "{:?}", exam.coverage);
    let late = ExamTrial::new(json!({"environment": {"build": [["build", "x"]]}})).examine_with(
        BASELINE,
        GOOD,
        &|name, spec| {
            made_by_build(spec, &[]);
            Ended { timed_out: name == "exam build 1", ..pytest(&spec.cwd) }
        },
    );
    assert!(blocks(&late)[0].contains("`build x` did not end within 300 s"), "{:?}", blocks(&late));
    let baseline = blocks(&built("baseline build 1"));
    assert_eq!(baseline[0], format!("verification_failed: the baseline cannot be set up and built: {why}"));
    assert_eq!(blocks(&built("none")), [""; 0], "control");
}

/// A patch whose task is to change a protected file passes only with its own version of it.
#[test]
fn a_patch_that_passes_only_with_its_own_tests_is_told_how_to_release_them() {
    let changed = ("tests/test_a.py", "def test_one():\n    \"two\" in app\ndef test_two():\n    pass\n");
    let examined = ExamTrial::new(json!({})).examine(BASELINE, &[("app.py", "two\n"), changed]);
    assert_eq!(passes(&examined)[..2], ["exam 1 fails", "change 1 holds"]);
    let text = "verification_failed: does not pass on baseline + patch: exam 1; failing: tests/test_a.py::test_one; it passes \
                only with the patch's own tests/test_a.py: if changing it is the task, release it with exam_may_change";
    assert_eq!(blocks(&examined), [text]);
    let forbidden =
        ExamTrial::new(json!({"allowed_paths": ["app.py"]})).examine(BASELINE, &[("app.py", "two\n"), changed]);
    assert!(blocks(&forbidden)[0].ends_with("failing: tests/test_a.py::test_one"), "{:?}", blocks(&forbidden));
    let both = ("tests/test_a.py", "def test_one():\n    \"three\" in app\ndef test_two():\n    pass\n");
    let neither = ExamTrial::new(json!({})).examine(BASELINE, &[("app.py", "two\n"), both]);
    assert!(!blocks(&neither)[0].contains("exam_may_change"), "{:?}", blocks(&neither));
}

/// A patch whose own tests pass gets a hint about them only where the exam fails without them.
#[test]
fn a_failing_blind_check_is_no_reason_to_release_tests() {
    let more = (
        "tests/test_a.py",
        "def test_one():\n    \"one\" in app\ndef test_two():\n    pass\ndef test_more():\n    pass\n",
    );
    let check = json!({"argv": ["pytest"], "stdin": "in", "expect_exit": 0, "expect_stdout": "out"});
    let desk = ExamTrial::new(json!({"blind_checks": [check]}));
    let examined = desk.examine(BASELINE, &[("app.py", "one and two\n"), more]);
    assert_eq!(passes(&examined)[..2], ["exam 1 holds", "change 1 holds"]);
    assert_eq!(blocks(&examined), ["verification_failed: does not pass on baseline + patch: blind 1"]);
}

#[test]
fn a_program_that_is_not_there_fails_its_check_and_no_other() {
    let check = json!({"argv": ["pytest"], "stdin": "in", "expect_exit": 0, "expect_stdout": "in"});
    let desk = ExamTrial::new(json!({"verification_commands": [["no-such-program"]], "blind_checks": [check]}));
    let examined = desk.examine_with(BASELINE, GOOD, &|_, spec| {
        ended(0, &String::from_utf8_lossy(spec.stdin.as_deref().unwrap_or_default()))
    });
    assert_eq!(passes(&examined), ["exam 1 fails", "blind 1 holds"]);
    assert!(!examined.coverage.contains(&Coverage::ExamInProcess), "the blind check is held all the same");
    assert!(
        log(&examined)
            .contains("== exam 1: [\"no-such-program\"]: did not start, 0 ms\n`no-such-program` was not found\n")
    );
}

#[test]
fn a_log_says_how_each_command_ended() {
    let examined = ExamTrial::new(json!({})).examine_with(BASELINE, GOOD, &|name, _| match name {
        "baseline 1" => Ended { timed_out: true, ..ended(0, "no newline") },
        _ => ended(3, ""),
    });
    let said = log(&examined);
    assert!(
        said.starts_with(
            "== baseline 1: [\"pytest\"]: timed out, 10 ms\nno newline\n== exam 1: [\"pytest\"]: exit 3, 10 ms\n"
        ),
        "{said}"
    );
    assert_eq!(examined.passes[0].duration_ms, 10);
}

/// Runners are asked to name their tests, unless the contract says something else to them.
#[test]
fn runners_are_asked_through_the_environment() {
    let variables = |more: serde_json::Value, wanted: &str| {
        let seen = std::cell::RefCell::new(None);
        ExamTrial::new(more).examine_with(BASELINE, GOOD, &|name, spec| {
            let value = spec.env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
            if name == "exam 1" {
                *seen.borrow_mut() = value;
            }
            pytest(&spec.cwd)
        });
        seen.into_inner()
    };
    assert_eq!(variables(json!({}), "GOFLAGS").as_deref(), Some("-v"));
    assert_eq!(variables(json!({"environment": {"variables": {"GOFLAGS": "-x"}}}), "GOFLAGS").as_deref(), Some("-x"));
}
