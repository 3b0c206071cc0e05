//! Controls: an exam that was altered so that it must fail, and does not.

use contract::task::PatchContent;
use contract::{Coverage, Digest, Reason};
use sandbox::Ended;
use serde_json::json;

use super::exam_trial::{ExamTrial, Files, blocks, log, passes, pytest, reasons, say_pytest};
use super::reasons::{BASELINE, GOOD, TESTS};
use crate::run::tests::ended;
use crate::tests::two_sided;

const OTHER: (&str, &str) = ("tests/test_b.py", "def test_three():\n    pass\n");

fn hold(result: Files<'_>, play: &dyn Fn(&str, Ended) -> Ended) -> super::super::Examined {
    ExamTrial::new(json!({})).examine_with(BASELINE, result, &|name, spec| play(name, pytest(&spec.cwd)))
}

fn passing() -> Ended {
    say_pytest(&[("tests/test_a.py::test_one", "PASSED"), ("tests/test_a.py::test_two", "PASSED")])
}

#[test]
fn failing_tests_that_do_not_fail_the_exam_weaken_it() {
    let examined = hold(GOOD, &|name, ended| if name == "control 1" { passing() } else { ended });
    assert_eq!(reasons(&examined), [Reason::VerificationWeakened]);
    let text = "verification_weakened: failing tests that the harness added to `tests/test_a.py` do not fail the exam";
    assert_eq!(blocks(&examined), [text], "{}", log(&examined));
    assert_eq!(passes(&examined), ["exam 1 holds", "control 1 fails"]);
    assert!(!examined.coverage.contains(&Coverage::ExamWithoutControl));
}

/// An exit code of 0 counts against the patch only where the baseline's command does not hide failures as well.
#[test]
fn an_exit_code_that_hides_the_control_weakens_unless_the_baseline_hides_it_too() {
    let hide = |names: &'static [&'static str]| {
        move |name: &str, end: Ended| if names.contains(&name) { Ended { how: ended(0, "").how, ..end } } else { end }
    };
    let weak = hold(GOOD, &hide(&["control 1"]));
    assert_eq!(reasons(&weak), [Reason::VerificationWeakened], "{}", log(&weak));
    let known = hold(GOOD, &hide(&["control 1", "baseline 1 control"]));
    assert_eq!(blocks(&known), [""; 0], "{}", log(&known));
    two_sided(Reason::VerificationWeakened, reasons(&weak), reasons(&known));
    assert_eq!(passes(&known), ["exam 1 holds", "control 1 holds"]);
}

/// A baseline that hides a failure of its own says nothing of what it hides later.
#[test]
fn a_baseline_that_hides_failures_is_asked_no_further() {
    let hide = |end: Ended| Ended { how: ended(0, "").how, ..end };
    let red = || say_pytest(&[("tests/test_a.py::test_one", "FAILED"), ("tests/test_a.py::test_two", "PASSED")]);
    let known = hold(GOOD, &|name, end| match name {
        "baseline 1" => hide(red()),
        "control 1" => hide(end),
        _ => end,
    });
    assert_eq!(blocks(&known), [""; 0], "{}", log(&known));
    let loud = hold(GOOD, &|name, end| match name {
        "baseline 1" => red(),
        "control 1" => hide(end),
        _ => end,
    });
    assert_eq!(reasons(&loud), [Reason::VerificationWeakened], "control: it ends with a failure");
}

#[test]
fn a_runner_that_names_no_control_is_kept_from_it_by_the_patch() {
    let dumb = |names: &'static [&'static str]| {
        move |name: &str, end: Ended| if names.contains(&name) { ended(1, "failed\n") } else { end }
    };
    let weak = hold(GOOD, &dumb(&["control 1"]));
    let text = "verification_weakened: the runner names a failing test of the baseline's exam, and none of the exam";
    assert_eq!(blocks(&weak), [text], "{}", log(&weak));
    assert!(weak.coverage.contains(&Coverage::ExamWithoutControl));
    let same = hold(GOOD, &dumb(&["control 1", "baseline 1 control"]));
    assert_eq!(blocks(&same), [""; 0], "{}", log(&same));
    assert!(same.coverage.contains(&Coverage::ExamWithoutControl));
    assert!(
        log(&same)
            .contains("control 1: failing tests were added to `tests/test_a.py`, and the runner named none of them")
    );
}

/// Tests of two files; the runner stops at the first failure.
fn two_files(play: &dyn Fn(&str, Ended) -> Ended) -> super::super::Examined {
    let baseline: Files<'_> = &[("app.py", "one\n"), TESTS, OTHER];
    let result: Files<'_> = &[("app.py", "one and two\n"), TESTS, OTHER];
    ExamTrial::new(json!({})).examine_with(baseline, result, &|name, spec| play(name, pytest(&spec.cwd)))
}

/// Pytest's words up to its first failure.
fn first_failure(end: &Ended) -> Ended {
    let said = String::from_utf8_lossy(&end.stdout.head).into_owned();
    let named = said.lines().find(|line| line.contains(" FAILED ")).and_then(|line| line.split(' ').next()).unwrap();
    say_pytest(&[(named, "FAILED")])
}

#[test]
fn files_that_a_control_did_not_reach_are_tried_again() {
    let stopping = |name: &str, end: Ended| if name.contains("control 1") { first_failure(&end) } else { end };
    let all = two_files(&stopping);
    assert_eq!(blocks(&all), [""; 0], "{}", log(&all));
    assert_eq!(passes(&all), ["exam 1 holds", "control 1 holds", "control 1 further 1 holds"]);
    assert!(!all.coverage.contains(&Coverage::ExamWithoutControl));
    let at_once = two_files(&|_, end| end);
    assert_eq!(passes(&at_once), ["exam 1 holds", "control 1 holds"], "control: it reaches both");
}

#[test]
fn a_file_that_no_control_reaches_is_said() {
    let blind = |name: &str, end: Ended| match name {
        "control 1" => first_failure(&end),
        name if name.contains("further") => say_pytest(&[("tests/test_a.py::test_one", "FAILED")]),
        _ => end,
    };
    let examined = two_files(&blind);
    assert_eq!(blocks(&examined), [""; 0], "{}", log(&examined));
    assert_eq!(
        passes(&examined),
        ["exam 1 holds", "control 1 holds", "control 1 further 1 holds"],
        "no more than one in vain"
    );
    assert!(examined.coverage.contains(&Coverage::ExamWithoutControl));
    assert!(log(&examined).contains("control 1: no control reached 1 files: `tests/test_b.py`"), "{}", log(&examined));
}

#[test]
fn a_file_whose_failing_tests_pass_weakens_where_the_baseline_fails_by_them() {
    let deaf = |names: &'static [&'static str], timed_out: bool| {
        move |name: &str, end: Ended| match name {
            "control 1" => first_failure(&end),
            name if names.contains(&name) => Ended { timed_out, ..passing() },
            _ => end,
        }
    };
    let weak = two_files(&deaf(&["control 1 further 1"], false));
    let text = "verification_weakened: failing tests in `tests/test_b.py` fail the baseline's exam and not the exam";
    assert_eq!(blocks(&weak), [text], "{}", log(&weak));
    assert_eq!(passes(&weak), ["exam 1 holds", "control 1 holds", "control 1 further 1 fails"]);
    let same = two_files(&deaf(&["control 1 further 1", "baseline 1 control"], false));
    assert_eq!(blocks(&same), [""; 0], "{}", log(&same));
    assert!(same.coverage.contains(&Coverage::ExamWithoutControl));
    let late = two_files(&deaf(&["control 1 further 1"], true));
    assert_eq!(blocks(&late), ["timeout: verification exceeded its time: control 1 further 1"], "{}", log(&late));
}

#[test]
fn a_control_patch_must_apply_and_fail_the_exam() {
    let patch = |to: &str| {
        format!("diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-one and two\n+{to}\n")
    };
    let with = |text: String| {
        let mut desk = ExamTrial::new(json!({}));
        let sha256 = Digest::of_bytes(text.as_bytes());
        desk.contract.control_patch = Some(PatchContent { file: "c.patch".to_owned(), sha256, text });
        desk.examine(BASELINE, GOOD)
    };
    let good = with(patch("two"));
    assert_eq!((blocks(&good), passes(&good)), (vec![], vec!["exam 1 holds".to_owned(), "control 1 holds".to_owned()]));
    assert!(!good.coverage.contains(&Coverage::ExamWithoutControl));
    let weak = with(patch("one"));
    assert_eq!(blocks(&weak), ["verification_weakened: the exam, altered so that it must fail, passes"]);
    assert_eq!(passes(&weak), ["exam 1 holds", "control 1 fails"]);
    let other = with(patch("two").replace("-one and two", "-three"));
    assert_eq!(reasons(&other), [Reason::VerificationWeakened]);
    assert!(other.blocks[0].1.starts_with("the control patch does not apply to the exam: "), "{:?}", other.blocks);
    assert!(other.coverage.contains(&Coverage::ExamWithoutControl));
}

/// A patch that adds tests is controlled as it is delivered, too.
#[test]
fn what_is_delivered_has_a_control_of_its_own() {
    let more = (
        "tests/test_a.py",
        "def test_one():\n    \"one\" in app\ndef test_two():\n    pass\ndef test_more():\n    pass\n",
    );
    let result: Files<'_> = &[("app.py", "one and two\n"), more];
    let good = hold(result, &|_, end| end);
    assert_eq!(blocks(&good), [""; 0], "{}", log(&good));
    assert_eq!(passes(&good), ["exam 1 holds", "change 1 holds", "control 1 holds", "control change 1 holds"]);
    let weak = hold(result, &|name, end| if name == "control change 1" { passing() } else { end });
    let text = "verification_weakened: failing tests that the harness added to `tests/test_a.py` do not fail the exam as the patch \
                leaves it";
    assert_eq!(blocks(&weak), [text], "{}", log(&weak));
}

/// Remains of a build in the exam's tree, in the folder of its changes.
#[test]
fn a_control_patch_that_does_not_fit_what_is_delivered_is_no_weakness() {
    let text = "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -3,2 +3,2 @@\n def \
                test_two():\n-    pass\n+    fail\n";
    let mut desk = ExamTrial::new(json!({}));
    let sha256 = Digest::of_bytes(text.as_bytes());
    desk.contract.control_patch = Some(PatchContent { file: "c.patch".to_owned(), sha256, text: text.to_owned() });
    let other = ("tests/test_a.py", "def test_one():\n    \"one\" in app\ndef test_two():\n    other\n");
    let examined = desk.examine(BASELINE, &[("app.py", "one and two\n"), other]);
    assert_eq!(blocks(&examined), [""; 0], "{}", log(&examined));
    assert_eq!(passes(&examined)[2..], ["control 1 holds", "control change 1 holds"]);
}
