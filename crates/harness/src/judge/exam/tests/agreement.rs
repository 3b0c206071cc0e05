//! Exit codes and results that contradict each other.

use std::collections::BTreeMap;

use contract::report::TestCounts;
use testimony::results::{Runner, TestOutcome, TestResults};

use super::super::exam_tree::{Ran, ran};
use crate::run::tests::ended;

/// Results from words like `+a -b .c`: passed, failed, skipped.
pub(super) fn results(words: &str) -> TestResults {
    let outcome = |mark: char| match mark {
        '+' => TestOutcome::Passed,
        '-' => TestOutcome::Failed,
        _ => TestOutcome::Skipped,
    };
    let tests: BTreeMap<String, TestOutcome> =
        words.split_whitespace().map(|word| (word[1..].to_owned(), outcome(word.chars().next().unwrap()))).collect();
    TestResults::of_tests(Runner::Pytest, tests)
}

/// A command that ended so; without words no runner spoke.
pub(super) fn command(exit: Option<i32>, words: &str) -> Ran {
    let tests = (!words.is_empty()).then(|| results(words));
    Ran { exit, ..ran(&ended(0, ""), tests) }
}

#[test]
fn exit_code_and_results_must_agree() {
    for (exit, words, refuses, disagreement) in [
        (Some(0), "+a", false, None),
        (Some(0), "", false, None),
        (Some(0), ".a", false, None),
        (Some(1), "", true, None),
        (Some(1), ".a", true, None),
        (Some(1), "-a +b", true, None),
        (Some(1), "+a +b", true, Some("the exit code is 1, although all of 2 tests passed")),
        (Some(0), "-a +b", true, Some("the exit code is 0, and 1 of 2 tests failed: a")),
        (None, "-a", false, None),
    ] {
        let ran = command(exit, words);
        assert_eq!(ran.refuses(), refuses, "{exit:?} {words}");
        assert_eq!(ran.disagreement().as_deref(), disagreement, "{exit:?} {words}");
    }
}

#[test]
fn a_command_that_ran_out_of_time_says_nothing() {
    for exit in [0, 1] {
        let late = Ran { timed_out: true, ..command(Some(exit), "-a +b") };
        assert!(!late.refuses(), "{exit}");
        assert_eq!(late.disagreement(), None, "{exit}");
        assert!(!late.ended_well(), "{exit}");
    }
    assert!(command(Some(0), "").ended_well() && !command(Some(1), "").ended_well());
}

#[test]
fn a_tree_that_could_not_be_built_refuses() {
    assert!(Ran { unready: true, ..command(None, "") }.refuses());
    assert!(!command(None, "").refuses(), "control");
}

/// A test that failed and passed at another attempt.
#[test]
fn attempts_before_the_last_are_no_failures() {
    let told = TestCounts { executed: 3, passed: 2, failed: 1, skipped: 4 };
    let mut settled = results("-a +b");
    settled.standing.clear();
    let by = |exit, tests: &TestResults| Ran { tests: Some(tests.clone()), ..command(Some(exit), "") };
    assert!(!by(0, &settled).refuses());
    assert_eq!(by(0, &settled).disagreement(), None);
    assert_eq!(by(1, &settled).disagreement(), None, "a failure was read");
    let counts = |ran: Ran| ran.settled_counts(Some(told)).unwrap();
    assert_eq!(counts(by(0, &settled)), TestCounts { executed: 2, failed: 0, ..told });
    assert_eq!(counts(by(1, &settled)), told);
    assert_eq!(counts(by(0, &results("-a +b"))), told, "it stands");
    assert_eq!(by(0, &settled).settled_counts(None), None);
}
