//! Exit code and results must agree, and time that only the patch needs counts against it.

use serde_json::{Value, json};
use testkit::each_row;

use crate::world;

/// A project in Python whose tests are run through a shell, or by a make that goes on to what cannot succeed.
const FILES: &[(&str, &str)] = &[
    ("calc.py", "def add(a, b):\n    return a - b\n\n\ndef zero():\n    return 0\n"),
    (
        "test_calc.py",
        "import unittest\n\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n    \
         def test_zero(self):\n        self.assertEqual(calc.zero(), 0)\n",
    ),
    ("Makefile", "check:\n\tpython3 -m unittest -v\n\tcmp calc.py test_calc.py\n"),
];
const GOOD: &str = "def add(a, b):\n    return a + b\n\n\ndef zero():\n    return 0\n";
const WRONG: &str = "def add(a, b):\n    return a * b\n\n\ndef zero():\n    return 0\n";
const ENDS_BADLY: &str = "import atexit\nimport os\n\natexit.register(os._exit, 7)\n\n\ndef add(a, b):\n    return a + b\n\n\ndef zero():\n    return 0\n";
const LOOPS: &str = "import time\n\n\ndef add(a, b):\n    time.sleep(600)\n\n\ndef zero():\n    return 0\n";

struct Row {
    command: &'static str,
    patch: &'static str,
    status: &'static str,
    reasons: &'static [&'static str],
    exit: i64,
    /// Part of the blockers' texts.
    says: &'static str,
}

const LIE: &[&str] = &["verification_failed", "claim_contradicted"];

fn check(row: &Row) {
    let world = world();
    // Short only where time must run out.
    let seconds = if row.exit == 124 { 15 } else { 120 };
    let commands = json!([{"command": row.command, "shell": true, "timeout_seconds": seconds}]).to_string();
    let steps = json!([{"write": {"path": "calc.py", "text": row.patch}}]);
    let fake = json!({"steps": steps, "claims": {"status": "success", "tests_passed": true}}).to_string();
    let changes = [("allowed_paths", "[calc.py]"), ("verification_commands", commands.as_str()), ("fake", &fake)];
    world.case("made", &changes);
    for (path, text) in FILES {
        world.write(&format!("made/files/{path}"), text);
    }
    let code = match row.status {
        "pass" => 0,
        "fail" => 1,
        _ => 3,
    };
    let (report, _) = world.run("./made", code);
    assert_eq!(report["blocker_reasons"], json!(row.reasons), "{}: {:#}", row.command, report["blockers"]);
    assert_eq!(report["verification"]["passes"][0]["exit"], row.exit, "{}", row.command);
    assert!(report["blockers"].to_string().contains(row.says), "{}: {}", row.command, report["blockers"]);
    let _ = world.cto(["verify", "@"]).expect(0);
}

#[test]
fn failing_tests_that_were_read_are_no_pass_whatever_the_exit_code() {
    let says = "the exit code is 0, and 1 of 2 tests failed: test_calc.Calc.test_add";
    let rows = ["python3 -m unittest -v 2>&1 | tee log", "python3 -m unittest -v || true"].map(|command| {
        let wrong = Row { command, patch: WRONG, status: "fail", reasons: LIE, exit: 0, says };
        let good = Row { patch: GOOD, status: "pass", reasons: &[], says: "", ..wrong };
        [(format!("wrong, {command}"), wrong), (format!("good, {command}"), good)]
    });
    each_row(rows.into_iter().flatten(), |row| check(&row));
}

#[test]
fn passing_tests_with_another_exit_are_no_pass_and_both_is_said() {
    let row = |command, patch, exit, says| Row { command, patch, status: "fail", reasons: LIE, exit, says };
    let unittest = "python3 -m unittest -v";
    let and_exit = "python3 -m unittest -v && exit 3";
    let rows = [
        ("the command", row(and_exit, GOOD, 3, "the exit code is 3, although all of 2 tests passed")),
        ("make", row("make check", GOOD, 2, "the exit code is 2, although all of 2 tests passed")),
        ("the code under test", row(unittest, ENDS_BADLY, 7, "the exit code is 7, although all of 2 tests passed")),
    ];
    each_row(rows, |row| check(&row));
}

/// Control: where the baseline takes as long, nothing is known of the patch.
#[test]
fn a_patch_that_makes_tests_loop_fails_and_a_slow_exam_only_blocks() {
    let says = "runs out of time, and the baseline does not: exam 1";
    let loops = Row { command: "python3 -m unittest -v", patch: LOOPS, status: "fail", reasons: LIE, exit: 124, says };
    let slow = Row { command: "sleep 60", patch: GOOD, status: "blocked", reasons: &["timeout"], exit: 124, says: "" };
    each_row([("loops", loops), ("slow", slow)], |row| check(&row));
}

/// Tests that the baseline cannot load, for code that is still to be written: nothing can be compared by name, and the runner
/// that spoke on the baseline must not fall silent.
#[test]
fn tests_before_code_are_not_compared_and_a_silent_runner_is_refused() {
    const NAME: &str = "judged::agreement::tests_before_code";
    let (Some(python), Some(environment)) = (testkit::python(NAME), testkit::python_environment(NAME)) else { return };
    let weakened = &["verification_weakened"][..];
    let rows = [
        ("good", ("def double(a):\n    return 2 * a\n", &[][..])),
        ("exits", ("import os\n\nos._exit(0)\n", weakened)),
        ("skips", ("import pytest\n\npytest.skip(allow_module_level=True)\n", weakened)),
        ("skips as unittest does", ("import unittest\n\nraise unittest.SkipTest('later')\n", weakened)),
    ];
    each_row(rows, |(patch, reasons)| {
        let world = world();
        let commands = json!([[python, "-m", "pytest", "-p", "no:cacheprovider"]]).to_string();
        let fake = json!({"steps": [{"write": {"path": "calc.py", "text": patch}}]}).to_string();
        let environment = environment.to_string();
        let changes = [
            ("allowed_paths", "[calc.py]"),
            ("verification_commands", &commands),
            ("environment", &environment),
            ("must_pass", "[test_double]"),
            ("fake", &fake),
        ];
        world.case("made", &changes);
        world.write("made/files/calc.py", "");
        world.write(
            "made/files/test_calc.py",
            "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
        );
        let (report, _) = world.run("./made", i32::from(!reasons.is_empty()));
        let found = report["blocker_reasons"].as_array().unwrap();
        assert_eq!(found.is_empty(), reasons.is_empty(), "{patch}: {:#}", report["blockers"]);
        assert!(reasons.iter().all(|reason| found.contains(&json!(reason))), "{patch}: {:#}", report["blockers"]);
        assert!(report["coverage"].to_string().contains("tests_not_compared"), "{patch}: {}", report["coverage"]);
        let _ = world.cto(["verify", "@"]).expect(0);
    });
}

/// A test that runs pytest on a test which fails, under a pytest that says little and shows what tests print.
#[test]
fn quiet_sessions_that_tests_start_are_not_read() {
    const NAME: &str = "judged::agreement::quiet_sessions_that_tests_start_are_not_read";
    let (Some(python), Some(environment)) = (testkit::python(NAME), testkit::python_environment(NAME)) else { return };
    let nests = "import subprocess, sys\n\nimport calc\n\n\ndef test_nested(tmp_path):\n    (tmp_path / 'test_x.py').write_text('def test_x():\\n    assert False\\n')\n    \
                 assert subprocess.run([sys.executable, '-m', 'pytest', '-q', str(tmp_path)]).returncode == 1\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n";
    each_row([("good", (GOOD, true)), ("wrong", (WRONG, false))], |(patch, passes)| {
        let world = world();
        let commands = json!([[python, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "tests/"]]).to_string();
        let fake = json!({"steps": [{"write": {"path": "calc.py", "text": patch}}]}).to_string();
        let environment = environment.to_string();
        let changes = [
            ("allowed_paths", "[calc.py]"),
            ("verification_commands", &commands),
            ("environment", &environment),
            ("fake", &fake),
        ];
        world.case("made", &changes);
        world.write("made/files/calc.py", FILES[0].1);
        world.write("made/files/tests/test_nests.py", nests);
        let (report, _) = world.run("./made", i32::from(!passes));
        let counts = &report["verification"]["passes"][0]["tests"]["result"];
        assert_eq!((&counts["executed"], &counts["failed"]), (&json!(2), &json!(i32::from(!passes))), "{counts}");
    });
}

/// Advice of `cto case check` and `cto decide` about a command.
fn advice(command: &str) -> (String, String) {
    let world = world();
    let commands = json!([{"command": command, "shell": true}]).to_string();
    world.case("made", &[("verification_commands", &commands)]);
    let told = |text: String| text.lines().filter(|line| line.contains("verification_commands")).collect::<String>();
    let checked = world.cto(["case", "check", "made"]).text();
    let decided = world.cto(["decide", "./made"]).expect(0).text();
    (told(checked), told(decided))
}

#[test]
fn an_author_is_told_that_a_command_hides_its_exit_code() {
    let (checked, decided) = advice("grep -qx two a.txt | cat");
    insta::assert_snapshot!(format!("{checked}\n{decided}"), @"
    advice made exit_code verification_commands: a pipe has its last command's exit code; leave the pipe out, or begin with `set -o pipefail` in bash
    advice verification_commands 1: a pipe has its last command's exit code; leave the pipe out, or begin with `set -o pipefail` in bash
    ");
    assert_eq!(advice("true && grep -qx two a.txt"), (String::new(), String::new()));
}

/// The coverage of a run with these blind checks.
fn in_process(blind_checks: &str) -> bool {
    let world = world();
    world.case("made", &[("blind_checks", blind_checks)]);
    let (report, _) = world.run("./made", 0);
    let _ = world.cto(["verify", "@"]).expect(0);
    report["coverage"].as_array().is_some_and(|codes: &Vec<Value>| codes.contains(&json!("exam_in_process")))
}

#[test]
fn a_blind_check_that_compares_nothing_proves_nothing() {
    let rows = [
        ("no expected output", ("[{argv: [cat, a.txt]}]", true)),
        ("empty output", ("[{argv: ['true'], expect_stdout: ''}]", true)),
        ("control", (r#"[{argv: [cat, a.txt], expect_stdout: "two\n"}]"#, false)),
    ];
    each_row(rows, |(blind_checks, expected)| assert_eq!(in_process(blind_checks), expected));
}
