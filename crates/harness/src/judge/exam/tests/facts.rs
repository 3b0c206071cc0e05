//! Facts of the baseline's exam, and when it has no test at all.

use std::cell::RefCell;

use contract::baseline_exam::PremiseFact;
use contract::{Coverage, Digest};
use sandbox::Ended;
use serde_json::{Value, json};
use testimony::results::Runner;

use super::super::baseline::{BaselineCommand, BaselineExam};
use super::super::{Examined, Furnished};
use super::agreement::results;
use super::exam_trial::{ExamTrial, Files, blocks, log, passes, pytest, say_pytest};
use super::reasons::{BASELINE, GOOD, TESTS};
use crate::run::tests::{contract, ended};

/// Holds the baseline's exam alone; each command of it ends so.
fn hold(desk: &ExamTrial, baseline: Files<'_>, play: &dyn Fn(&str, Ended) -> Ended) -> (BaselineExam, Examined) {
    let script = |name: &str, spec: &sandbox::Spec| play(name, pytest(&spec.cwd));
    desk.ask((baseline, baseline), Furnished::default(), &script, |examiner| examiner.examine_baseline().unwrap())
}

#[test]
fn a_baseline_says_how_its_commands_ended() {
    let desk = ExamTrial::new(json!({"must_pass": ["test_one"], "may_stay_red": ["test_two"]}));
    let (exam, found) =
        hold(&desk, BASELINE, &|_, _| say_pytest(&[("t.py::test_one", "FAILED"), ("t.py::test_two", "PASSED")]));
    let facts = exam.exam_facts(&desk.contract);
    let command = &facts.commands[0];
    assert_eq!((command.exit, command.timed_out, command.collected), (Some(1), false, 2));
    assert_eq!(command.runner.as_deref(), Some("pytest"));
    assert_eq!(command.tests.map(|counts| (counts.passed, counts.failed)), Some((1, 1)));
    assert_eq!(command.last_lines, "", "tests were found, so that it needs no explanation");
    let premise = |entry: &str, red, other| PremiseFact { entry: entry.to_owned(), red, other };
    assert_eq!(
        (&facts.must_pass, &facts.may_stay_red),
        (&vec![premise("test_one", 1, 0)], &vec![premise("test_two", 0, 1)])
    );
    assert!(facts.all_named && found.late.is_empty());
}

#[test]
fn a_command_that_finds_nothing_and_fails_is_explained() {
    let desk = ExamTrial::new(json!({}));
    let explained = |code: i32| {
        let (exam, _) = hold(&desk, BASELINE, &|_, _| ended(code, "make: pytest: No such file or directory\n"));
        let mut facts = exam.exam_facts(&desk.contract);
        (facts.commands.remove(0), facts.all_named, exam.has_no_test())
    };
    let (command, all_named, has_no_test) = explained(2);
    assert_eq!(command.last_lines, "make: pytest: No such file or directory");
    assert_eq!(command.missing_tool.as_deref(), Some("pytest"));
    assert!(!all_named && !has_no_test, "there are test files");
    let other = ExamTrial::new(json!({}));
    let (exam, _) = hold(&other, BASELINE, &|_, _| ended(0, "fine\n"));
    let facts = exam.exam_facts(&other.contract);
    assert_eq!((facts.commands[0].last_lines.as_str(), facts.commands[0].missing_tool.as_deref()), ("", None));
}

fn command(words: &str, collected: u64) -> BaselineCommand {
    let tests = (!words.is_empty()).then(|| results(words));
    let all = json!({
        "exit": 0, "timed_out": false, "tests": tests, "runners": ["pytest"], "collected": collected, "missing_tool": null,
        "last_lines": "", "tried": [], "hooks": {}, "made": ["out"],
    });
    serde_json::from_value(all).unwrap()
}

fn exam_of(commands: Vec<BaselineCommand>) -> BaselineExam {
    let mut exam = BaselineExam::default();
    exam.commands = commands;
    exam
}

#[test]
fn all_are_named_where_no_runner_counts_more_than_it_names() {
    let contract = contract(json!({}));
    let of = |commands: Vec<BaselineCommand>| exam_of(commands).exam_facts(&contract).all_named;
    assert!(of(vec![command("+a .b", 2)]));
    assert!(!of(vec![]), "no command");
    assert!(!of(vec![command("+a", 1), command("", 0)]), "one that names none");
    let more = |count: u64, unloaded: bool| {
        let mut told = command("+a", 1);
        let tests = told.tests.as_mut().unwrap();
        tests.counts.executed = count;
        tests.unloaded.extend(unloaded.then(|| "b.py".to_owned()));
        of(vec![told])
    };
    assert!(more(1, false), "control");
    assert!(!more(2, false), "more than are named");
    assert!(!more(1, true), "some could not be loaded");
    let mut nameless = command("+a", 1);
    nameless.tests.as_mut().unwrap().tests.clear();
    nameless.tests.as_mut().unwrap().counts.executed = 0;
    assert!(!of(vec![nameless]), "names of none are no names of all");
}

#[test]
fn a_baseline_builds_what_its_commands_leave() {
    let exam = exam_of(vec![command("+a", 1)]);
    for (path, expected) in [("out", true), ("out/deep/a", true), ("outer", false), ("src/out", false)] {
        assert_eq!(exam.builds(path.as_bytes()), expected, "{path}");
    }
}

#[test]
fn a_command_ends_unless_it_is_late_or_never_started() {
    let of = |exit: Option<i32>, timed_out: bool| {
        let mut held = command("", 0);
        (held.exit, held.timed_out) = (exit, timed_out);
        held.ends()
    };
    assert!(of(Some(1), false));
    assert!(!of(Some(124), true) && !of(None, false));
}

/// Baselines without a test that was found: what else they have decides.
#[test]
fn a_baseline_has_no_test_where_none_is_found_and_no_file_could_hold_one() {
    let rows: &[(&str, Files<'_>, bool)] = &[
        ("nothing but code", &[("app.py", "one\n")], true),
        ("a test file", &[("app.py", "one\n"), ("tests/test_a.py", "x = 1\n")], false),
        ("tests in Rust", &[("src/lib.rs", "#[test]\nfn a() {}\n")], false),
        ("Rust without", &[("src/lib.rs", "fn a() {}\n")], true),
        ("a test file of another kind of file", &[("app.py", "#[test]\n")], true),
        ("a configuration", &[("conf.py", ""), ("pyproject.toml", "")], true),
    ];
    for (what, baseline, expected) in rows {
        let (exam, _) = hold(&ExamTrial::new(json!({})), baseline, &|_, _| say_pytest(&[]));
        assert_eq!(exam.has_no_test(), *expected, "{what}");
    }
    let (released, _) =
        hold(&ExamTrial::new(json!({"exam_may_change": ["tests/**"]})), rows[1].1, &|_, _| say_pytest(&[]));
    assert!(released.has_no_test(), "what is released is no part of the exam");
    let (found, _) = hold(&ExamTrial::new(json!({})), BASELINE, &|_, end| end);
    assert!(!found.has_no_test(), "control");
    let (silent, _) =
        hold(&ExamTrial::new(json!({"verification_commands": [["build"]]})), rows[0].1, &|_, _| ended(0, ""));
    assert!(!silent.has_no_test(), "no runner is known");
}

#[test]
fn without_a_test_only_the_change_is_held() {
    let examined = ExamTrial::new(json!({})).examine(&[("app.py", "one\n")], &[("app.py", "one\n"), TESTS]);
    assert_eq!(passes(&examined), ["change 1 holds", "control change 1 holds"], "{}", log(&examined));
    assert_eq!(blocks(&examined), [""; 0]);
    assert!(examined.coverage.contains(&Coverage::TestsNotCompared));
}

/// Names of the commands that an exam of the baseline runs.
fn names(desk: &ExamTrial, more: &dyn Fn(&str) -> Option<Ended>) -> Vec<String> {
    let names = RefCell::new(Vec::new());
    let (_, found) = hold(desk, BASELINE, &|name, end| {
        names.borrow_mut().push(name.to_owned());
        more(name).unwrap_or(end)
    });
    assert!(found.blocks.is_empty());
    names.into_inner()
}

#[test]
fn what_ended_once_is_known_the_next_time() {
    let mut desk = ExamTrial::new(json!({}));
    let late = |_: &str| Some(Ended { timed_out: true, ..ended(0, "") });
    assert_eq!(names(&desk, &late), ["baseline 1"]);
    assert_eq!(names(&desk, &|_| None), ["baseline 1"], "one that ran out of time is tried again");
    assert_eq!(names(&desk, &|_| None), [""; 0]);
    desk.contract.verification_commands[0].argv.push("-x".to_owned());
    assert_eq!(names(&desk, &|_| None), ["baseline 1"], "another command");
    assert_eq!(names(&desk, &|_| None), [""; 0]);
    let program = std::path::Path::new(&desk.contract.environment.path[0]).join("pytest");
    untrusted_fs::own_files::write_file(&program, "another version").unwrap();
    assert_eq!(names(&desk, &|_| None), ["baseline 1"], "another program of that name");
}

#[test]
fn files_of_the_operator_that_keep_all_tests_from_being_found_are_left_out_once() {
    let desk = ExamTrial::new(json!({})).with_operator_file("tests/test_a.py", "import missing\n");
    let none = |name: &str| (name == "baseline 1").then(|| say_pytest(&[]));
    assert_eq!(names(&desk, &none), ["baseline 1", "baseline 1 without verification_files"]);
    let own = ExamTrial::new(json!({}));
    assert_eq!(names(&own, &none), ["baseline 1"], "control: there are none");
    let found = ExamTrial::new(json!({})).with_operator_file("tests/test_b.py", "def test_x():\n    pass\n");
    assert_eq!(names(&found, &|_| None), ["baseline 1"], "control: tests are found");
    let collected = |desk: &ExamTrial| {
        hold(desk, BASELINE, &|name, end| none(name).unwrap_or(end)).0.exam_facts(&desk.contract).commands[0].collected
    };
    let again = ExamTrial::new(json!({})).with_operator_file("tests/test_a.py", "import missing\n");
    assert_eq!(collected(&again), 2, "the baseline's own");
}

#[test]
fn runners_are_known_by_the_command_and_by_what_was_said() {
    let of = |more: Value, said: Ended| {
        let (exam, _) = hold(&ExamTrial::new(more), &[("app.py", "one\n")], &|_, _| said.clone());
        exam.commands[0].runners.iter().copied().collect::<Vec<_>>()
    };
    assert_eq!(of(json!({}), ended(0, "")), [Runner::Pytest]);
    let build = json!({"verification_commands": [["build"]]});
    assert_eq!(of(build.clone(), ended(0, "")), []);
    assert_eq!(of(build, say_pytest(&[("t.py::test_a", "PASSED")])), [Runner::Pytest]);
}

/// Other runners in the same output are words of a test.
#[test]
fn only_runners_of_the_baseline_are_heard() {
    let cargo = "running 1 test\ntest forged ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let said = |end: &Ended| ended(0, &format!("{}{cargo}", String::from_utf8_lossy(&end.stdout.head)));
    let held = |names: &'static [&'static str]| {
        ExamTrial::new(json!({})).examine_with(BASELINE, GOOD, &|name, spec| {
            let end = pytest(&spec.cwd);
            if names.contains(&name) { said(&end) } else { end }
        })
    };
    assert_eq!(blocks(&held(&["exam 1"])), [""; 0]);
    assert_ne!(blocks(&held(&["baseline 1", "exam 1"])), [""; 0], "control: it speaks on the baseline");
}

#[test]
fn hooks_of_all_commands_are_known() {
    let digest = Digest::of_bytes(b"x");
    let mut told = serde_json::to_value(command("", 0)).unwrap();
    told["hooks"] = json!({"conftest.py": digest});
    let exam = exam_of(vec![command("", 0), serde_json::from_value(told).unwrap()]);
    assert_eq!(exam.hooks_built().into_iter().collect::<Vec<_>>(), [("conftest.py".to_owned(), digest)]);
}
