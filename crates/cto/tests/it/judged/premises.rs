//! Tests that count: known failures that the contract declares, tests that must pass, and tests that fail now and then.

use serde_json::{Value, json};

use super::baseline::{FILES, GOOD, made};

/// A third test, which fails whatever the engine does.
const RED: (&str, &str) = (
    "test_net.py",
    "import unittest\n\n\nclass Net(unittest.TestCase):\n    def test_net(self):\n        self.fail('no network here')\n",
);
const BREAKS: &str = "def add(a, b):\n    return a + b\n\n\ndef zero():\n    return 1\n";
const CODE: &str = "[{command: 'python3 -m unittest -v || exit $(cat code)', shell: true}]";

struct Row {
    writes: &'static [(&'static str, &'static str)],
    changes: &'static [(&'static str, &'static str)],
    /// The worst reason, or none for a pass.
    reason: Option<&'static str>,
    says: &'static str,
    coverage: &'static [&'static str],
}

fn check(files: &[(&str, &str)], row: &Row) -> Value {
    let world = made(files, row.writes, row.changes);
    let (report, _) = world.run("./made", i32::from(row.reason.is_some()));
    let worst = report["blocker_reasons"][0].as_str();
    assert_eq!(worst, row.reason, "{:?}: {:#}", row.changes, report["blockers"]);
    assert!(report["blockers"].to_string().contains(row.says), "{:?}: {}", row.changes, report["blockers"]);
    for code in row.coverage {
        assert!(
            report["coverage"].as_array().unwrap().contains(&json!(code)),
            "{:?}: {}",
            row.changes,
            report["coverage"]
        );
    }
    let _ = world.cto(["verify", "@"]).expect(0);
    let shown = world.cto(["show", "@"]).expect(0).text();
    for test in report["verification"]["passes"][0]["tests"]["failed"].as_array().into_iter().flatten() {
        let (name, message) = (test["name"].as_str().unwrap(), test["message"].as_str().unwrap());
        assert!(!message.is_empty() && shown.contains(name) && shown.contains(message), "{test}: {shown}");
    }
    report
}

const FAILED: Option<&str> = Some("verification_failed");

#[test]
fn known_failures_are_declared_never_inferred() {
    let files = [FILES, &[RED, ("code", "1\n")]].concat();
    let good = &[("calc.py", GOOD)][..];
    for (writes, changes, reason, says) in [
        (good, &[("may_stay_red", "[test_net]")][..], None, ""),
        (good, &[], FAILED, "test_net.Net.test_net (AssertionError: no network here)"),
        (&[("calc.py", BREAKS)], &[("may_stay_red", "[test_net]"), ("flaky_retries", "0")], FAILED, "test_zero"),
        (&[("calc.py", BREAKS)], &[("may_stay_red", "[test_net]")], FAILED, "test_zero"),
        // Another exit code than the baseline's is another failure.
        (
            &[("calc.py", GOOD), ("code", "2\n")],
            &[("may_stay_red", "[test_net]"), ("verification_commands", CODE)],
            FAILED,
            "exam 1",
        ),
        (good, &[("may_stay_red", "[test_net]"), ("verification_commands", CODE)], None, ""),
    ] {
        let coverage: &[&str] = if reason.is_none() { &["known_failures"] } else { &[] };
        let report = check(&files, &Row { writes, changes, reason, says, coverage });
        assert_eq!(report["coverage"].to_string().contains("known_failures"), reason.is_none());
    }
}

/// Tests of the patch prove nothing, also where the contract releases their file.
#[test]
fn must_pass_rests_on_tests_that_the_patch_did_not_bring() {
    let before = (
        "test_calc.py",
        "import unittest\n\nfrom calc import double\n\n\nclass Double(unittest.TestCase):\n    def test_double(self):\n        self.assertEqual(double(2), 4)\n",
    );
    let files = [&FILES[..1], &[before]].concat();
    let own =
        ("test_own.py", "import unittest\n\n\nclass Own(unittest.TestCase):\n    def test_own(self):\n        pass\n");
    let skips = ("calc.py", "import unittest\n\n\ndef double(a):\n    raise unittest.SkipTest('later')\n");
    for (writes, changes, reason) in [
        (vec![("calc.py", GOOD)], vec![("must_pass", "[test_double]")], None),
        (vec![("calc.py", GOOD), own], vec![("must_pass", "[test_own]")], FAILED),
        (vec![("calc.py", GOOD), own], vec![("must_pass", "[test_own]"), ("exam_may_change", "[test_own.py]")], FAILED),
        (vec![skips], vec![("must_pass", "[test_double]")], Some("verification_weakened")),
    ] {
        let world = made(&files, &writes, &changes);
        let (report, _) = world.run("./made", i32::from(reason.is_some()));
        assert_eq!(report["blocker_reasons"][0].as_str(), reason, "{changes:?}: {:#}", report["blockers"]);
        let told = report["blockers"].to_string().contains("must_pass `");
        assert_eq!(told, reason.is_some(), "{changes:?}: {:#}", report["blockers"]);
        let _ = world.cto(["verify", "@"]).expect(0);
    }
}

/// A function that tells the truth now and then, and a test of it.
const NOW_AND_THEN: &str = "import random\n\n\ndef add(a, b):\n    return a - b\n\n\ndef zero():\n    return 0\n\n\ndef luck():\n    return random.random() < 0.5\n";
const LUCK: (&str, &str) = (
    "test_luck.py",
    "import unittest\n\nimport calc\n\n\nclass Luck(unittest.TestCase):\n    def test_luck(self):\n        self.assertTrue(calc.luck())\n",
);

/// A coin falls as it likes, so that it is thrown until it has fallen each way where it must.
#[test]
fn a_flaky_test_is_excused_and_said() {
    let good = NOW_AND_THEN.replace("a - b", "a + b");
    let files = [&FILES[1..], &[("calc.py", NOW_AND_THEN), LUCK]].concat();
    let excused = (0..40).any(|_| {
        let world = made(&files, &[("calc.py", &good)], &[("flaky_retries", "6")]);
        let ran = world.cto(["run", "./made", "--json"]);
        let report = ran.json();
        let says = report["coverage"].to_string().contains("flaky_tests");
        assert!(!says || report["status"] == "pass", "{:#}", report["blockers"]);
        if says {
            let _ = world.cto(["verify", "@"]).expect(0);
            let exam = &report["verification"]["passes"][0];
            assert_ne!(exam["exit"], 0, "{exam}");
            assert_eq!(exam["tests"]["failed"][0]["excused"], "flaky", "{exam}");
        }
        says
    });
    assert!(excused);
}

/// However the coin fell on the baseline: with the patch it never passes.
#[test]
fn a_flaky_test_that_is_broken_on_purpose_is_not_excused() {
    let broken = NOW_AND_THEN.replace("a - b", "a + b").replace("random.random() < 0.5", "False");
    let files = [&FILES[1..], &[("calc.py", NOW_AND_THEN), LUCK]].concat();
    let world = made(&files, &[("calc.py", &broken)], &[("flaky_retries", "3")]);
    let (report, _) = world.run("./made", 1);
    assert_eq!(report["blocker_reasons"], json!(["verification_failed"]), "{:#}", report["blockers"]);
}
