//! The baseline's exam before the engine: an environment that cannot run its own tests, or a contract that is wrong about them,
//! costs no engine.

use serde_json::{Value, json};
use testkit::{World, each_row};

use crate::world;

/// A project with one test that fails and one that passes.
pub(super) const FILES: &[(&str, &str)] = &[
    ("calc.py", "def add(a, b):\n    return a - b\n\n\ndef zero():\n    return 0\n"),
    (
        "test_calc.py",
        "import unittest\n\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n    \
         def test_zero(self):\n        self.assertEqual(calc.zero(), 0)\n",
    ),
];
pub(super) const GOOD: &str =
    "def add(a, b):\n    return a + b\n\n\ndef zero():\n    return 0\n\n\ndef double(a):\n    return 2 * a\n";
/// Tests for code that is still to be written.
const BEFORE_CODE: &str = "import unittest\n\nfrom calc import double\n\n\nclass Double(unittest.TestCase):\n    def test_double(self):\n        self.assertEqual(double(2), 4)\n";
pub(super) const UNITTEST: &str = r#"[["python3", "-m", "unittest", "-v"]]"#;

/// A case whose engine writes these files.
pub(super) fn made(files: &[(&str, &str)], writes: &[(&str, &str)], changes: &[(&str, &str)]) -> World {
    let world = world();
    let steps: Vec<Value> = writes.iter().map(|(path, text)| json!({"write": {"path": path, "text": text}})).collect();
    let fake = json!({"steps": steps}).to_string();
    let allowed = json!(writes.iter().map(|(path, _)| path).collect::<Vec<_>>()).to_string();
    let environment = testkit::quick(json!({})).to_string();
    let usual = [
        ("allowed_paths", allowed.as_str()),
        ("verification_commands", UNITTEST),
        ("fake", &fake),
        ("environment", &environment),
    ];
    let usual = usual.iter().filter(|(key, _)| !changes.iter().any(|(changed, _)| changed == key));
    let all: Vec<(&str, &str)> = usual.copied().chain(changes.iter().copied()).collect();
    world.case("made", &all);
    for (path, text) in files {
        world.write(&format!("made/files/{path}"), text);
    }
    world
}

/// Change to a sound contract, and the reason why no engine starts.
struct Row {
    changes: &'static [(&'static str, &'static str)],
    files: &'static [(&'static str, &'static str)],
    reason: Option<&'static str>,
    says: &'static str,
}

fn check(row: &Row) {
    let world = made(&[FILES, row.files].concat(), &[("calc.py", GOOD)], row.changes);
    let (report, bundle) = world.run("./made", if row.reason.is_some() { 3 } else { 0 });
    let reasons: Vec<&str> = row.reason.into_iter().collect();
    assert_eq!(report["blocker_reasons"], json!(reasons), "{:?}: {:#}", row.changes, report["blockers"]);
    assert_eq!(report["engine"]["process_started"], row.reason.is_none(), "{:?}", row.changes);
    let decision: Value =
        serde_json::from_slice(&std::fs::read(bundle.join("eligibility-decision.json")).unwrap()).unwrap();
    let gates = if row.reason.is_some() { &decision["missing_gates"] } else { &decision["passed_gates"] };
    assert_eq!(gates.as_array().unwrap().last(), Some(&json!("baseline_exam")), "{:?}", row.changes);
    if let Some(reason) = row.reason {
        let text = report["blockers"][0]["text"].as_str().unwrap();
        assert!(text.contains(row.says), "{:?}: {text}", row.changes);
        let events = std::fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
        let event = events.lines().find(|line| line.contains("backend.gate.blocked")).unwrap();
        assert!(event.contains(reason) && event.contains("baseline_exam"), "{event}");
    }
    let _ = world.cto(["verify", "@"]).expect(0);
}

const BROKEN: Option<&str> = Some("environment_broken");
const FALSE: Option<&str> = Some("contract_premise_false");

#[test]
fn an_environment_that_cannot_run_its_tests_costs_no_engine() {
    let no_tool = &[("verification_commands", "[{command: no-such-tool-here, shell: true}]")];
    let no_module = &[("verification_commands", "[[python3, -m, no_such_module]]")];
    let no_test = &[("verification_commands", "[[python3, -m, unittest, discover, -p, 'x*.py']]")];
    let makefile = &[("Makefile", "all:\n\tno-such-tool-here\n")][..];
    // A command that is no test runner is judged by its exit code.
    let no_runner = &[("verification_commands", "[{command: 'grep -q \"a + b\" calc.py', shell: true}]")];
    let rows = [
        ("sound", (&[][..], &[][..], None, "")),
        ("no tool", (no_tool, &[], BROKEN, "exit 127")),
        ("no module", (no_module, &[], BROKEN, "`no_such_module` is not there")),
        ("no tool for make", (&[("verification_commands", "[[make]]")], makefile, BROKEN, "no-such-tool-here")),
        ("no test found", (no_test, &[], BROKEN, "finds no test")),
        ("tests before code", (&[], &[("test_calc.py", BEFORE_CODE)], BROKEN, "cannot import name 'double'")),
        ("no runner", (no_runner, &[], None, "")),
    ];
    each_row(rows, |(changes, files, reason, says)| check(&Row { changes, files, reason, says }));
}

#[test]
fn a_contract_that_is_wrong_about_the_baseline_costs_no_engine() {
    let green = &[("must_pass", "[test_add, test_zero]")];
    let rows = [
        ("a red test", (&[("must_pass", "[test_add]")][..], None, "")),
        ("no test", (&[("must_pass", "[test_gone]")], FALSE, "must_pass `test_gone` matches no test")),
        ("a green test", (green, FALSE, "must_pass `test_zero` matches only tests that do not fail")),
        (
            "a green test that may stay red",
            (&[("may_stay_red", "['*.Calc.*']")], FALSE, "may_stay_red `*.Calc.*` matches a test that does not fail"),
        ),
        (
            "no test that may stay red",
            (&[("may_stay_red", "[test_gone]")], FALSE, "may_stay_red `test_gone` matches no test"),
        ),
    ];
    each_row(rows, |(changes, reason, says)| check(&Row { changes, files: &[], reason, says }));
}

/// A report of a run that passed, with its coverage.
fn passes(world: &World) -> Value {
    let (report, _) = world.run("./made", 0);
    assert!(report["coverage"].as_array().unwrap().contains(&json!("tests_not_compared")), "{}", report["coverage"]);
    let _ = world.cto(["verify", "@"]).expect(0);
    report
}

fn kinds(report: &Value) -> Vec<&str> {
    report["verification"]["passes"].as_array().unwrap().iter().filter_map(|pass| pass["kind"].as_str()).collect()
}

#[test]
fn tests_before_code_go_on_with_must_pass() {
    let files = [FILES, &[("test_calc.py", BEFORE_CODE)]].concat();
    let world = made(&files, &[("calc.py", GOOD)], &[("must_pass", "[test_double]")]);
    assert_eq!(kinds(&passes(&world)), ["exam", "control"]);
}

/// The baseline's tests decide where the operator's own keep all from being found.
#[test]
fn files_of_the_operator_do_not_break_the_environment() {
    let world = made(FILES, &[("calc.py", GOOD)], &[("verification_files", "[test_calc.py]")]);
    world.write("made/test_calc.py", BEFORE_CODE);
    passes(&world);
}

#[test]
fn without_any_test_only_the_change_is_held() {
    let writes = [("calc.py", GOOD), ("test_calc.py", BEFORE_CODE)];
    let report = passes(&made(&FILES[..1], &writes, &[]));
    assert_eq!(kinds(&report), ["change", "control"]);
    // Control: a new test that fails is seen.
    let wrong = [("calc.py", "def double(a):\n    return a\n"), ("test_calc.py", BEFORE_CODE)];
    let world = made(&FILES[..1], &wrong, &[]);
    let (report, _) = world.run("./made", 1);
    assert_eq!(report["blocker_reasons"], json!(["verification_failed"]), "{:#}", report["blockers"]);
}

#[test]
fn asking_holds_no_exam_and_a_second_run_knows_it() {
    let world = made(FILES, &[("calc.py", GOOD)], &[]);
    let decided = world.cto(["decide", "./made"]).expect(0).text();
    assert!(decided.contains("not-evaluated baseline_exam"), "{decided}");
    let known = |bundle: &std::path::Path| {
        std::fs::read_to_string(bundle.join("test.log"))
            .unwrap()
            .contains("baseline 1: [\"python3\", \"-m\", \"unittest\", \"-v\"]: known")
    };
    let (_, first) = world.run("./made", 0);
    let (_, second) = world.run("./made", 0);
    assert_eq!((known(&first), known(&second)), (false, true));
}
