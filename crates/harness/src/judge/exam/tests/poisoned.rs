//! Changed files that are replaced by text that cannot compile: an exam that still passes has not read them.

use std::cell::RefCell;
use std::time::Duration;

use contract::report::PoisonOutcome;
use contract::{Coverage, Reason};
use sandbox::{Ended, Spec};
use serde_json::{Value, json};
use untrusted_fs::own_files::OwnPath as _;

use super::super::exam_tree::Ran;
use super::super::poison::passes_like;
use super::super::{Examined, Furnished};
use super::agreement::command;
use super::exam_trial::{ExamTrial, Files, blocks, log, made_by_build, pytest, reasons, say_pytest};
use crate::run::tests::ended;

const TEST: (&str, &str) = ("tests/test_a.py", "def test_one():\n    \"one\" in app\n");
const BEFORE: Files<'_> = &[("app.c", "one\n"), ("idle.c", "x\n"), TEST];

/// Holds the whole exam by pytest, which takes longer for the exam than for all the rest.
fn examine(more: Value, before: Files<'_>, result: Files<'_>, build: Files<'_>) -> Examined {
    ExamTrial::new(more).examine_with(before, result, &|name, spec| {
        if name.contains("build") {
            made_by_build(spec, if name.starts_with("baseline") { &[] } else { build });
            let is_rebuild = name == "rebuild build 1";
            assert!(!is_rebuild || !spec.cwd.join("lib.o").own_exists() && spec.cwd.join("app.c").own_exists());
            return ended(0, "");
        }
        let elapsed = Duration::from_secs(if name == "exam 1" { 60 } else { 0 });
        Ended { elapsed, ..pytest(&spec.cwd) }
    })
}

fn outcomes(examined: &Examined) -> Vec<(&str, PoisonOutcome)> {
    examined.poisoned.iter().map(|file| (file.path.as_str(), file.outcome)).collect()
}

#[test]
fn a_file_that_the_exam_reads_is_exercised_and_another_is_not() {
    let result: Files<'_> = &[("app.c", "one two\n"), ("idle.c", "x and y\n"), TEST];
    let examined = examine(json!({}), BEFORE, result, &[]);
    assert_eq!(blocks(&examined), [""; 0], "{}", log(&examined));
    let (read, unread) = (PoisonOutcome::Exercised, PoisonOutcome::NotExercised);
    assert_eq!(outcomes(&examined), [("idle.c", unread), ("app.c", read)], "the larger change first");
    assert!(examined.coverage.contains(&Coverage::ChangeNotExercised));
    let one = examine(json!({}), BEFORE, &[("app.c", "one two\n"), BEFORE[1], TEST], &[]);
    assert_eq!(outcomes(&one), [("app.c", read)]);
    assert!(!one.coverage.contains(&Coverage::ChangeNotExercised), "control");
}

#[test]
fn a_contract_that_names_tests_wants_a_change_that_they_read() {
    let red = ("tests/test_a.py", "def test_one():\n    \"one\" in app\ndef test_two():\n    \"two\" in app\n");
    let more = || json!({"must_pass": ["test_two"]});
    let before: Files<'_> = &[("app.c", "one\n"), ("idle.c", "x\n"), red];
    let good = ExamTrial::new(more()).examine(before, &[("app.c", "one two\n"), before[1], red]);
    assert_eq!(blocks(&good), [""; 0], "{}", log(&good));
    // The test goes green by a file of another kind.
    let data: Files<'_> = &[("app.c", "one\n"), ("app.txt", "\n"), ("idle.c", "x\n"), red];
    let bad = ExamTrial::new(more()).examine(data, &[data[0], ("app.txt", "two\n"), ("idle.c", "y\n"), red]);
    assert_eq!(reasons(&bad), [Reason::VerificationFailed], "{}", log(&bad));
    let text = "the contract names tests that must pass, and the exam reads none of the changed files";
    assert_eq!(bad.blocks[0].1, text);
    let free = ExamTrial::new(json!({})).examine(data, &[data[0], ("app.txt", "two\n"), ("idle.c", "y\n"), red]);
    assert!(!blocks(&free).iter().any(|block| block.contains("reads none")), "control: it names none");
}

#[test]
fn nothing_is_poisoned_after_an_exam_that_failed() {
    let failed = ExamTrial::new(json!({})).examine(BEFORE, &[("app.c", "two\n"), BEFORE[1], TEST]);
    assert_eq!((reasons(&failed), outcomes(&failed)), (vec![Reason::VerificationFailed], vec![]));
    let weak =
        ExamTrial::new(json!({})).examine_with(BEFORE, &[("app.c", "one two\n"), BEFORE[1], TEST], &|name, spec| {
            match name {
                "control 1" => say_pytest(&[("tests/test_a.py::test_one", "PASSED")]),
                _ => pytest(&spec.cwd),
            }
        });
    assert_eq!((reasons(&weak), outcomes(&weak)), (vec![Reason::VerificationWeakened], vec![]));
}

/// Source files by their kind, and who sees them.
#[test]
fn only_source_that_a_product_could_stand_in_for_is_poisoned() {
    let poisoned = |more: Value, path: &str, text: &str| {
        let before: Files<'_> = &[("app.txt", "one\n"), TEST];
        let result: Files<'_> = &[("app.txt", "one\n"), (path, text), TEST];
        let examined = examine(more, before, result, &[]);
        outcomes(&examined).len()
    };
    let none = || json!({});
    let build = || json!({"environment": {"build": [["build"]]}});
    for (more, path, text, expected) in [
        (none(), "new.c", "x\n", 1),
        (none(), "new.txt", "x\n", 0),
        (none(), "new.py", "x\n", 0),
        (build(), "new.py", "x\n", 1),
        (none(), "new.c", "\0\u{1}\u{2}", 0),
        (none(), "fixtures/new.c", "x\n", 1),
        (json!({"protected_paths": ["new.c"]}), "new.c", "x\n", 0),
    ] {
        assert_eq!(poisoned(more.clone(), path, text), expected, "{more} {path}");
    }
}

/// A file that the contract protects is as in the baseline, whatever the patch made of it.
#[test]
fn a_protected_file_is_not_the_change() {
    let held = |more: Value| {
        let before: Files<'_> = &[("app.txt", "one\n"), ("guard.c", "a\n"), TEST];
        examine(more, before, &[("app.txt", "one\n"), ("guard.c", "b\n"), TEST], &[])
    };
    assert_eq!(outcomes(&held(json!({"protected_paths": ["guard.c"]}))), []);
    assert_eq!(outcomes(&held(json!({}))).len(), 1, "control");
    let built = held(json!({"environment": {"build": [["build"]]}}));
    assert!(!log(&built).contains("== rebuild"), "nothing is made, so that nothing is made again");
}

#[test]
fn setup_inputs_say_which_sources_a_setup_saw() {
    let seen = |environment: Value, path: &str| {
        let mut desk = ExamTrial::new(json!({}));
        let environment: contract::task::Environment = serde_json::from_value(environment).unwrap();
        desk.contract.environment = environment;
        let play = |_: &str, spec: &Spec| pytest(&spec.cwd);
        desk.ask((BEFORE, BEFORE), Furnished::default(), &play, |examiner| {
            examiner.sources_seen().unwrap()(path.as_bytes())
        })
    };
    let setup = json!([{"argv": ["true"]}]);
    for (environment, path, expected) in [
        (json!({}), "a.py", false),
        (json!({"build": setup}), "a.py", true),
        (json!({"setup": setup}), "a.py", true),
        (json!({"setup": setup, "setup_inputs": ["b.py"]}), "a.py", false),
        (json!({"setup": setup, "setup_inputs": ["b.py"]}), "b.py", true),
        (json!({"setup_inputs": ["b.py"]}), "b.py", false),
        (json!({"build": setup, "setup": setup, "setup_inputs": ["b.py"]}), "a.py", true),
    ] {
        assert_eq!(seen(environment.clone(), path), expected, "{environment} {path}");
    }
}

/// Ten files; the clock of each command is what its end says.
fn many(
    more: Value,
    elapsed: impl Fn(&str) -> u64,
    play: impl Fn(&str, &Spec) -> Ended,
) -> (Examined, Vec<(String, u64)>) {
    let names: Vec<String> = (0..10).map(|number| format!("f{number}.c")).collect();
    let test = ("tests/test_a.py", "def test_one():\n    \"one\" in app\ndef test_two():\n    \"two\" in app\n");
    let before: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), "a\n")).chain([("app.txt", "one\n"), test]).collect();
    let after: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), "b\n")).chain([("app.txt", "one two\n"), test]).collect();
    let runs = RefCell::new(Vec::new());
    let examined = ExamTrial::new(more).examine_with(&before, &after, &|name, spec| {
        runs.borrow_mut().push((name.to_owned(), spec.wall.as_secs()));
        Ended { elapsed: Duration::from_millis(elapsed(name)), ..play(name, spec) }
    });
    let poison = runs.into_inner().into_iter().filter(|(name, _)| name.starts_with("poison")).collect();
    (examined, poison)
}

fn count(examined: &Examined, outcome: PoisonOutcome) -> usize {
    examined.poisoned.iter().filter(|file| file.outcome == outcome).count()
}

/// An exam that takes longer than all the rest.
fn quick(name: &str) -> u64 {
    if name == "exam 1" { 60_000 } else { 0 }
}

#[test]
fn files_are_tried_one_by_one_and_the_rest_together() {
    let (examined, runs) =
        many(
            json!({}),
            quick,
            |name, spec| {
                if name.starts_with("exam") { say_all("PASSED") } else { all_or_pytest(name, spec) }
            },
        );
    assert_eq!(runs.len(), 9, "eight alone and two together: {runs:?} {}", log(&examined));
    assert_eq!(runs[8].0, "poison 9 command 1");
}

/// Both tests end so, as the trees of the baseline and of the exam have them.
fn say_all(outcome: &str) -> Ended {
    say_pytest(&[("tests/test_a.py::test_one", outcome), ("tests/test_a.py::test_two", outcome)])
}

/// Everything passes but for controls, which pytest itself fails.
fn all_or_pytest(name: &str, spec: &Spec) -> Ended {
    if name.contains("control") { pytest(&spec.cwd) } else { say_all("PASSED") }
}

#[test]
fn a_group_that_fails_is_exercised_as_a_group() {
    let (examined, _) = many(json!({}), quick, |name, spec| match name {
        "poison 9 command 1" | "poison 1 command 1" => say_all("FAILED"),
        _ => all_or_pytest(name, spec),
    });
    assert_eq!(count(&examined, PoisonOutcome::ExercisedInGroup), 2, "{}", log(&examined));
    assert_eq!(count(&examined, PoisonOutcome::Exercised), 1);
    assert_eq!(count(&examined, PoisonOutcome::NotExercised), 7);
}

#[test]
fn no_file_is_tried_after_as_much_time_as_the_exam_took() {
    let (examined, runs) = many(json!({}), |name| if name == "exam 1" { 30_000 } else { 20_000 }, all_or_pytest);
    assert_eq!(runs.len(), 2, "20 s of 30 s are not all, 40 s are: {runs:?}");
    assert_eq!(count(&examined, PoisonOutcome::NotTried), 8);
    assert_eq!(runs[0].1, 60, "a command has twice the exam's time");
    let (_, short) = many(json!({}), |_| 0, all_or_pytest);
    assert_eq!(short[0].1, 10, "but never less than this");
    let (_, long) = many(json!({}), |_| 400_000, all_or_pytest);
    assert_eq!(long[0].1, 300, "and never more than its own");
    let (_, exact) = many(json!({}), |_| 20_000, all_or_pytest);
    assert_eq!(exact.len(), 1, "as much is enough");
}

#[test]
fn a_poisoned_command_that_runs_out_of_time_says_nothing() {
    let (examined, _) = many(json!({}), quick, |name, spec| {
        let timed_out = name == "poison 1 command 1";
        Ended { timed_out, ..all_or_pytest(name, spec) }
    });
    assert_eq!(count(&examined, PoisonOutcome::NotTried), 1);
    assert!(examined.late.is_empty() && examined.blocks.is_empty(), "nothing of it is held against the run");
}

#[test]
fn a_command_passes_like_before_where_nothing_is_worse() {
    let before = command(Some(1), "+a -b");
    for (now, expected) in [
        (command(Some(1), "+a -b"), true),
        (command(Some(1), "+a +b"), true),
        (command(Some(0), "+a -b"), false),
        (command(Some(1), "-a -b"), false),
        (command(Some(1), ".a -b"), false),
        (command(Some(1), "-b"), false),
        (command(Some(1), ""), false),
    ] {
        let said: &Ran = &now;
        assert_eq!(passes_like(&before, said), expected, "{:?} {:?}", said.exit, said.tests);
    }
    assert!(passes_like(&command(Some(0), ""), &command(Some(0), "")), "control: no runner spoke");
}

/// Files of the tree that the build makes again when they are absent, and products that the patch carries.
#[test]
fn what_the_build_makes_again_is_generated() {
    let generated = |writes: &'static [(&'static str, &'static str)], more: Value| {
        let mut all = json!({"environment": {"build": [["build"]]}, "allowed_paths": ["app.c", "gen.c", "lib.o"]});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let before: Files<'_> = &[("app.c", "one\n"), ("gen.c", "made\n"), TEST];
        let after: Files<'_> =
            &[("app.c", "one two\n"), ("gen.c", "made of two\n"), ("lib.o", "\u{7f}ELF\u{1}\0\0"), TEST];
        examine(all, before, after, writes)
    };
    let same = generated(&[("gen.c", "made of two\n"), ("lib.o", "\u{7f}ELF\u{1}\0\0")], json!({}));
    assert!(same.products_rebuilt, "{}", log(&same));
    assert_eq!(outcomes(&same), [("app.c", PoisonOutcome::Exercised)], "a generated file is no source");
    let other = generated(&[("gen.c", "made of two\n"), ("lib.o", "\u{7f}ELF\u{2}\0\0")], json!({}));
    assert!(!other.products_rebuilt, "other bytes");
    let none = generated(&[("gen.c", "made of two\n")], json!({}));
    assert!(!none.products_rebuilt, "the build makes no product");
    let plain = generated(&[], json!({}));
    assert_eq!(outcomes(&plain).len(), 2, "control: the build writes nothing");
}
