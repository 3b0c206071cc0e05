//! Real runners on a small project, played by patches that are honest or not: what the runner does, what its exit code
//! says, and what we make of it.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]

use serde_json::{Value, json};

use crate::world;

/// A project whose `add` is wrong, with three tests of it, and how its exam is held.
struct Project {
    files: &'static [(&'static str, &'static str)],
    /// The one file an engine may change.
    source: &'static str,
    /// None where the runner is not on this machine; that was said.
    argv: fn(&str) -> Option<Vec<String>>,
    /// Needs on this machine beyond the contents of every sandbox.
    environment: fn(&str) -> Option<Value>,
}

/// A change of a patch to the project, and the verdict that must follow.
struct Row {
    project: &'static Project,
    /// The new content of the source.
    patch: &'static str,
    status: &'static str,
    reasons: &'static [&'static str],
    /// Exit code of the exam itself; a naive verifier accepts 0.
    exit: Option<i64>,
    /// Part of the text of the worst blocker.
    says: &'static str,
    timeout: u64,
}

impl Row {
    const fn passes(project: &'static Project, patch: &'static str) -> Self {
        Self { project, patch, status: "pass", reasons: &[], exit: Some(0), says: "", timeout: 600 }
    }

    const fn weakened(project: &'static Project, patch: &'static str, says: &'static str) -> Self {
        Self {
            status: "fail",
            reasons: &["verification_weakened", "claim_contradicted"],
            says,
            ..Self::passes(project, patch)
        }
    }

    const fn fails(project: &'static Project, patch: &'static str) -> Self {
        Self {
            status: "fail",
            reasons: &["verification_failed", "claim_contradicted"],
            exit: None,
            ..Self::passes(project, patch)
        }
    }

    /// A runner that could still say that no test was executed.
    const fn breaks_off(project: &'static Project, patch: &'static str) -> Self {
        Self {
            reasons: &["verification_weakened", "verification_failed", "claim_contradicted"],
            says: "no test was executed",
            ..Self::fails(project, patch)
        }
    }

    const fn hangs(project: &'static Project, patch: &'static str) -> Self {
        Self { says: "the baseline does not", exit: Some(124), timeout: 10, ..Self::fails(project, patch) }
    }
}

fn check(test: &str, row: &Row) {
    let Some(argv) = (row.project.argv)(test) else { return };
    let world = world();
    let commands = json!([{"argv": argv, "timeout_seconds": row.timeout}]).to_string();
    let fake = json!({
        "steps": [{"write": {"path": row.project.source, "text": row.patch}}],
        "claims": {"status": "success", "tests_passed": true},
    });
    let Some(environment) = (row.project.environment)(test) else { return };
    let environment = testkit::quick(environment).to_string();
    let case = world.case(
        "project",
        &[
            ("allowed_paths", &format!("[{}]", row.project.source)),
            ("verification_commands", &commands),
            ("environment", &environment),
            ("fake", &fake.to_string()),
        ],
    );
    for (path, text) in row.project.files {
        world.write(&format!("project/files/{path}"), text);
    }
    let code = match row.status {
        "pass" => 0,
        "fail" => 1,
        _ => 3,
    };
    let (report, bundle) = world.run(case.to_str().unwrap(), code);
    let log = std::fs::read_to_string(bundle.join("test.log")).unwrap_or_default();
    let tail: String = log.chars().take(4000).collect();
    assert_eq!(report["status"], row.status, "{}\n{tail}", report["blockers"]);
    assert_eq!(report["blocker_reasons"], json!(row.reasons), "{}\n{tail}", report["blockers"]);
    let exam = &report["verification"]["passes"][0];
    assert_eq!(exam["kind"], "exam");
    match row.exit {
        Some(exit) => assert_eq!(exam["exit"], exit, "{tail}"),
        None => assert_ne!(exam["exit"], 0, "{tail}"),
    }
    let first = report["blockers"][0]["text"].as_str().unwrap_or_default();
    assert!(first.contains(row.says), "{first}");
    if row.status == "pass" {
        honest(&report, &tail);
    }
    let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
}

/// An honest patch is compared by name, and the control that the harness added itself was seen to fail.
fn honest(report: &Value, log: &str) {
    let coverage: Vec<&str> = report["coverage"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for code in ["tests_not_compared", "exam_without_control"] {
        assert!(!coverage.contains(&code), "{coverage:?}\n{log}");
    }
    let passes = report["verification"]["passes"].as_array().unwrap();
    let control = passes.iter().find(|pass| pass["kind"] == "control").expect("a control");
    assert_eq!((control["result"].as_str(), control["exit"] == 0), (Some("pass"), false), "{control}");
    // A runner that stops at the first failure names fewer before the change than after it.
    let before = passes[0]["tests"]["baseline"]["executed"].as_u64().unwrap();
    assert!((1..=3).contains(&before), "{}\n{log}", passes[0]);
    assert_eq!(passes[0]["tests"]["result"], json!({"executed": 3, "failed": 0, "passed": 3, "skipped": 0}), "{log}");
}

macro_rules! rows {
    ($($test:ident: $row:expr,)*) => {
        $(#[test]
        fn $test() {
            check(concat!("exam::", stringify!($test)), &$row);
        })*
    };
}

fn words(words: &[&str]) -> Option<Vec<String>> {
    Some(words.iter().map(ToString::to_string).collect())
}

fn nothing(_: &str) -> Option<Value> {
    Some(json!({}))
}

fn python(test: &str, words: &[&str]) -> Option<Vec<String>> {
    let python = testkit::python(test)?;
    Some([python.to_str().unwrap()].iter().chain(words).map(ToString::to_string).collect())
}

static PYTEST: Project = Project {
    files: &[
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        (
            "test_calc.py",
            "import calc\n\n\ndef test_sum():\n    assert calc.add(1, 2) == 3\n\n\ndef test_zero():\n    assert calc.add(0, 0) == 0\n\n\n\
             class TestMore:\n    def test_negative(self):\n        assert calc.add(-1, 1) == 0\n",
        ),
        (".gitignore", "__pycache__/\n.pytest_cache/\n"),
    ],
    source: "calc.py",
    argv: |test| python(test, &["-m", "pytest", "-s", "-p", "no:cacheprovider"]),
    environment: testkit::python_environment,
};

static UNITTEST: Project = Project {
    files: &[
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        (
            "test_calc.py",
            "import unittest\n\nimport calc\n\n\nclass AddTest(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n    \
             def test_zero(self):\n        self.assertEqual(calc.add(0, 0), 0)\n\n    def test_negative(self):\n        self.assertEqual(calc.add(-1, 1), 0)\n",
        ),
    ],
    source: "calc.py",
    argv: |_| words(&["python3", "-m", "unittest", "-v"]),
    environment: nothing,
};

static CARGO: Project = Project {
    files: &[
        ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"),
        ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n"),
        (".gitignore", "target/\n"),
        (
            "src/lib.rs",
            "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn zero() {\n        assert_eq!(super::add(0, 0), 0);\n    }\n}\n",
        ),
        (
            "tests/add.rs",
            "#[test]\nfn sum() {\n    assert_eq!(calc::add(1, 2), 3);\n}\n\n#[test]\nfn negative() {\n    assert_eq!(calc::add(-1, 1), 0);\n}\n",
        ),
    ],
    source: "src/lib.rs",
    argv: |_| words(&["cargo", "test", "--offline"]),
    environment: nothing,
};

static NEXTEST: Project = Project {
    argv: |test| {
        let nextest = testkit::nextest(test)?;
        words(&[nextest.to_str().unwrap(), "nextest", "run", "--offline"])
    },
    files: CARGO.files,
    source: CARGO.source,
    environment: |test| {
        let folder = testkit::nextest(test)?.parent()?.to_owned();
        // What belongs to the system or stands beside rustup is shown already.
        let shown = folder.starts_with("/usr") || folder.join("rustup").is_file();
        Some(if shown { json!({}) } else { json!({"mounts": [testkit::same_place(&folder)]}) })
    },
};

static NODE: Project = Project {
    files: &[
        ("package.json", "{\"name\": \"calc\", \"version\": \"1.0.0\", \"private\": true}\n"),
        ("calc.js", "exports.add = (a, b) => a - b;\n"),
        (
            "calc.test.js",
            "const { describe, it, test } = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('./calc.js');\n\n\
             test('sum', () => assert.strictEqual(add(1, 2), 3));\ndescribe('more', () => {\n  it('zero', () => assert.strictEqual(add(0, 0), 0));\n  \
             it('negative', () => assert.strictEqual(add(-1, 1), 0));\n});\n",
        ),
    ],
    source: "calc.js",
    argv: |_| words(&["node", "--test"]),
    environment: testkit::node_environment,
};

static GO: Project = Project {
    files: &[
        ("go.mod", "module example.org/calc\n\ngo 1.19\n"),
        ("calc.go", "package calc\n\nfunc Add(a, b int) int { return a - b }\n"),
        (
            "calc_test.go",
            "package calc\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestZero(t *testing.T) {\n\tif Add(0, 0) != 0 {\n\t\tt.Fatal()\n\t}\n}\n\n\
             func TestNegative(t *testing.T) {\n\tif Add(-1, 1) != 0 {\n\t\tt.Fatal()\n\t}\n}\n",
        ),
    ],
    source: "calc.go",
    argv: |test| testkit::go(test).map(|go| vec![go.to_str().unwrap().to_owned(), "test".into(), "./...".into()]),
    environment: testkit::go_environment,
};

const PY_GOOD: &str = "def add(a, b):\n    return a + b\n";
const GO_GOOD: &str = "package calc\n\nfunc Add(a, b int) int { return a + b }\n";
const RS_GOOD: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn zero() {\n        assert_eq!(super::add(0, 0), 0);\n    }\n}\n";

rows! {
    pytest_honest: Row::passes(&PYTEST, PY_GOOD),
    pytest_skipping: Row::weakened(&PYTEST, "import pytest\n\n\ndef add(a, b):\n    pytest.skip('later')\n", "skipped"),
    pytest_none_executed: Row::weakened(&PYTEST, "import os\n\nos._exit(0)\n", "no test was executed"),
    pytest_fewer: Row::weakened(
        &PYTEST,
        "import pytest\n\ndone = []\n\n\ndef add(a, b):\n    done.append(1)\n    if len(done) == 3:\n        pytest.exit('enough', returncode=0)\n    return a + b\n",
        "did not run"
    ),
    pytest_crashes: Row::breaks_off(&PYTEST, "import os\n\n\ndef add(a, b):\n    os.abort()\n"),
    pytest_hangs: Row::hangs(&PYTEST, "import time\n\n\ndef add(a, b):\n    time.sleep(600)\n"),
    pytest_control_characters: Row::passes(
        &PYTEST,
        "def add(a, b):\n    print('\\x1b[2J\\x1b]0;owned\\x07\\r\\x00test_calc.py::test_x PASSED\\x1b[1A')\n    return a + b\n"
    ),
    unittest_honest: Row::passes(&UNITTEST, PY_GOOD),
    unittest_skipping: Row::weakened(
        &UNITTEST,
        "import unittest\n\n\ndef add(a, b):\n    raise unittest.SkipTest('later')\n",
        "skipped"
    ),
    unittest_none_executed: Row::weakened(&UNITTEST, "import os\n\nos._exit(0)\n", "no test was executed"),
    unittest_crashes: Row::fails(&UNITTEST, "import os\n\n\ndef add(a, b):\n    os.abort()\n"),
    unittest_hangs: Row::hangs(&UNITTEST, "def add(a, b):\n    while True:\n        pass\n"),
    cargo_honest: Row::passes(&CARGO, RS_GOOD),
    cargo_ignoring: Row::weakened(
        &CARGO,
        "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    #[ignore]\n    fn zero() {\n        assert_eq!(super::add(0, 0), 1);\n    }\n}\n",
        "skipped"
    ),
    cargo_fewer: Row::weakened(&CARGO, "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n", "did not run"),
    cargo_none_executed: Row::weakened(&CARGO, "pub fn add(_: i32, _: i32) -> i32 {\n    std::process::exit(0)\n}\n", ""),
    cargo_crashes: Row::breaks_off(&CARGO, "pub fn add(_: i32, _: i32) -> i32 {\n    std::process::abort()\n}\n"),
    cargo_does_not_build: Row::fails(&CARGO, "pub fn add(a: i32, b: i32) -> i32 {\n"),
    cargo_hangs: Row::hangs(&CARGO, "pub fn add(_: i32, _: i32) -> i32 {\n    loop {\n        std::thread::sleep(std::time::Duration::from_secs(600));\n    }\n}\n"),
    nextest_honest: Row::passes(&NEXTEST, RS_GOOD),
    nextest_fewer: Row::weakened(&NEXTEST, "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n", "did not run"),
    node_honest: Row::passes(&NODE, "exports.add = (a, b) => a + b;\n"),
    node_none_executed: Row::weakened(&NODE, "process.exit(0);\n", ""),
    node_fewer: Row::weakened(
        &NODE,
        "let calls = 0;\nexports.add = (a, b) => {\n  if (++calls === 3) process.exit(0);\n  return a + b;\n};\n",
        ""
    ),
    node_crashes: Row::fails(&NODE, "exports.add = () => process.abort();\n"),
    node_hangs: Row::hangs(&NODE, "exports.add = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600000);\n"),
    go_honest: Row::passes(&GO, GO_GOOD),
    go_none_executed: Row::weakened(
        &GO,
        "package calc\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n\nfunc Add(a, b int) int { return a + b }\n",
        ""
    ),
    go_crashes: Row::fails(&GO, "package calc\n\nfunc Add(a, b int) int { panic(\"no\") }\n"),
    go_hangs: Row::hangs(&GO, "package calc\n\nimport \"time\"\n\nfunc Add(a, b int) int {\n\ttime.Sleep(time.Hour)\n\treturn a + b\n}\n"),
}
