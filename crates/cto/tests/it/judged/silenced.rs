//! Good work beside something that keeps the suite from failing ever after: controls are held on what is delivered too. And tests
//! that fall silent, and patches that speak in a runner's name.

use serde_json::{Value, json};
use testkit::each_row;

use super::baseline::{FILES, GOOD, made};

/// A small project, the engine's good work on it, and a silencer beside that.
struct Silencer<'a> {
    files: &'a [(&'static str, &'static str)],
    good: &'static [(&'static str, &'static str)],
    silencer: &'static [(&'static str, &'static str)],
    commands: String,
    environment: Value,
    /// Coverage where no control can show the change to be harmless.
    altered: bool,
}

fn covers(report: &Value, code: &str) -> bool {
    report["coverage"].as_array().is_some_and(|codes| codes.contains(&json!(code)))
}

/// Control: the good work alone passes.
fn check(row: &Silencer<'_>) {
    let environment = testkit::quick(row.environment.clone()).to_string();
    let changes = [("verification_commands", row.commands.as_str()), ("environment", &environment)];
    let alone = made(row.files, row.good, &changes);
    let (report, _) = alone.run("./made", 0);
    assert!(!covers(&report, "exam_change_not_controlled"), "{}", report["coverage"]);
    let silenced = made(row.files, &[row.good, row.silencer].concat(), &changes);
    let (report, _) = silenced.run("./made", 1);
    let expected = json!(["verification_weakened"]);
    assert_eq!(report["blocker_reasons"], expected, "{:?}: {:#}", row.silencer, report["blockers"]);
    assert_eq!(covers(&report, "exam_change_not_controlled"), row.altered, "{}", report["coverage"]);
    // The exam itself is passed: only the control of what is delivered tells.
    let exam = &report["verification"]["passes"][0];
    assert_eq!((&exam["kind"], &exam["result"]), (&json!("exam"), &json!("pass")), "{:?}", row.silencer);
    let _ = silenced.cto(["verify", "@"]).expect(0);
}

const MAKEFILE: &str = "test:\n\tpython3 -m unittest -v\n";

#[test]
fn a_makefile_that_does_not_mind_failures() {
    check(&Silencer {
        files: &[FILES[0], FILES[1], ("Makefile", MAKEFILE)],
        good: &[("calc.py", GOOD)],
        silencer: &[("Makefile", "test:\n\t-python3 -m unittest -v\n")],
        commands: "[[make, test]]".to_owned(),
        environment: json!({}),
        altered: true,
    });
}

const PLUGIN: &str = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n    outcome = yield\n    outcome.get_result().outcome = 'passed'\n";

#[test]
fn pytest_that_calls_every_outcome_passed() {
    const NAME: &str = "judged::silenced::pytest_that_calls_every_outcome_passed";
    let (Some(python), Some(environment)) = (testkit::python(NAME), testkit::python_environment(NAME)) else { return };
    let configured = &[("pytest.ini", "[pytest]\naddopts = -p calm\n"), ("calm.py", PLUGIN)];
    each_row([("conftest.py", &[("conftest.py", PLUGIN)][..]), ("pytest.ini", configured)], |silencer| {
        check(&Silencer {
            files: FILES,
            good: &[("calc.py", GOOD)],
            silencer,
            commands: json!([[python, "-m", "pytest", "-p", "no:cacheprovider"]]).to_string(),
            environment: environment.clone(),
            altered: false,
        });
    });
}

#[test]
fn npm_that_is_always_content() {
    let Some(environment) = testkit::node_environment("judged::silenced::npm_that_is_always_content") else { return };
    check(&Silencer {
        files: &[
            (
                "package.json",
                "{\n  \"name\": \"calc\",\n  \"private\": true,\n  \"scripts\": {\n    \"test\": \"node --test\"\n  }\n}\n",
            ),
            ("calc.js", "exports.add = (a, b) => a - b;\n"),
            (
                "calc.test.js",
                "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('./calc.js');\n\ntest('sum', () => assert.strictEqual(add(1, 2), 3));\ntest('zero', () => assert.strictEqual(add(0, 0), 0));\n",
            ),
        ],
        good: &[("calc.js", "exports.add = (a, b) => a + b;\n")],
        silencer: &[(
            "package.json",
            "{\n  \"name\": \"calc\",\n  \"private\": true,\n  \"scripts\": {\n    \"test\": \"node --test || true\"\n  }\n}\n",
        )],
        commands: "[[npm, test]]".to_owned(),
        environment,
        altered: true,
    });
}

#[test]
fn cargo_with_a_runner_of_its_own() {
    check(&Silencer {
        files: &[
            ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"),
            ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n"),
            ("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"),
            ("tests/add.rs", "#[test]\nfn sum() {\n    assert_eq!(calc::add(1, 2), 3);\n}\n"),
        ],
        good: &[("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n")],
        silencer: &[(
            ".cargo/config.toml",
            "[target.'cfg(all())']\nrunner = [\"sh\", \"-c\", \"\\\"$0\\\" \\\"$@\\\" || exit 0\"]\n",
        )],
        commands: "[[cargo, test, --offline]]".to_owned(),
        environment: json!({}),
        altered: false,
    });
}

/// Lines of an exam file that go are said, unless the contract releases the file; lines that come are welcome.
#[test]
fn assertions_that_are_removed_are_said() {
    let without = FILES[1].1.replace("self.assertEqual(calc.zero(), 0)", "calc.zero()");
    let more = format!("{}\n    def test_more(self):\n        self.assertEqual(calc.add(0, 1), 1)\n", FILES[1].1);
    let returns = FILES[1].1.replace("def test_zero(self):\n", "def test_zero(self):\n        return\n");
    let again = format!("{}\n    def test_zero(self):\n        pass\n", FILES[1].1);
    let patches = FILES[1].1.replace("import calc\n", "import calc\n\ncalc.zero = lambda: 0\n");
    let released = &[("exam_may_change", "[test_calc.py]")];
    let rows = [
        ("an assertion goes", (&without, &[][..], true)),
        ("an assertion goes, released", (&without, released, false)),
        ("a test comes", (&more, &[], false)),
        ("a return comes", (&returns, &[], true)),
        ("a test comes again", (&again, &[], true)),
        ("a name is replaced", (&patches, &[], true)),
    ];
    each_row(rows, |(test, changes, said)| {
        let world = made(FILES, &[("calc.py", GOOD), ("test_calc.py", test)], changes);
        let (report, _) = world.run("./made", 0);
        assert_eq!(covers(&report, "exam_change_not_controlled"), said, "{test}: {}", report["coverage"]);
        let _ = world.cto(["verify", "@"]).expect(0);
    });
}

/// Tests that the baseline cannot load, beside some that it can: nothing of the first may fall silent.
const LATER: (&str, &str) = (
    "test_later.py",
    "import unittest\n\nfrom calc import *\n\n\nclass Later(unittest.TestCase):\n    def test_double(self):\n        self.assertEqual(double(2), 4)\n\n\nassert double\n",
);

#[test]
fn what_the_baseline_could_not_load_must_run() {
    let files = [FILES, &[LATER]].concat();
    let with = |more: &str| format!("{GOOD}\n\n{more}\n");
    let weakened = Some("verification_weakened");
    let loads = "def load_tests(loader, tests, pattern):\n    return loader.suiteClass()\n";
    let rows = [
        ("good", (GOOD.to_owned(), None)),
        ("skips", (with("import unittest\nraise unittest.SkipTest('later')"), weakened)),
        ("loads nothing", (with(loads), weakened)),
        ("exits", (with("import os\nos._exit(0)"), weakened)),
    ];
    each_row(rows, |(calc, expected)| {
        let world = made(&files, &[("calc.py", &calc)], &[]);
        let (report, _) = world.run("./made", i32::from(expected.is_some()));
        assert_eq!(report["blocker_reasons"][0].as_str(), expected, "{calc}: {:#}", report["blockers"]);
        assert!(covers(&report, "tests_not_compared"), "{calc}: {}", report["coverage"]);
        let _ = world.cto(["verify", "@"]).expect(0);
    });
}

/// Output and files of a patch do not choose the runner, and so does not switch the control off.
#[test]
fn a_patch_that_speaks_as_another_runner_is_not_heard() {
    let report = "<testsuites><testsuite name=\\\"x\\\">\" + \"<testcase classname=\\\"a\\\" name=\\\"b\\\"/>\" * 50 + \"</testsuite></testsuites>";
    let prints = format!("print(\"{report}\")\n");
    let writes = format!(
        "import glob\nfor folder in glob.glob('/run/cto/reports') + ['/tmp']:\n    open(folder + '/more.xml', 'w').write(\"{report}\")\n"
    );
    let flushes = "import os, sys\nsys.stdout.flush()\nos._exit(0)\n";
    let rows = [
        ("prints", (prints.clone(), "", json!([]))),
        ("writes", (writes.clone(), "", json!([]))),
        ("prints and exits", (prints, flushes, json!(["verification_weakened"]))),
        ("writes and exits", (writes, "import os\nos._exit(0)\n", json!(["verification_weakened"]))),
    ];
    each_row(rows, |(more, exits, reasons)| {
        let world = made(FILES, &[("calc.py", &format!("{GOOD}\n\n{more}{exits}"))], &[]);
        let (report, _) = world.run("./made", i32::from(reasons != json!([])));
        assert_eq!(report["blocker_reasons"], reasons, "{more}: {:#}", report["blockers"]);
        if reasons == json!([]) {
            assert!(!covers(&report, "exam_without_control"), "{more}: {}", report["coverage"]);
            assert_eq!(report["verification"]["passes"][0]["tests"]["result"]["executed"], 2, "{more}");
        }
    });
}
