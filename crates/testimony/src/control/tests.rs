//! Places of a control, and files without one. Tests with the real runners show that it fails.

use std::collections::BTreeMap;

use contract::report::TestCounts;
use proptest::prelude::*;

use super::{ControlInputs, ControlTest, control_tests, unseen};
use crate::results::{Runner, TestOutcome, TestResults};

const NAME: &str = "qvzwkx";

fn results(runner: Runner, passed: &[&str]) -> TestResults {
    let tests: BTreeMap<String, TestOutcome> =
        passed.iter().map(|name| ((*name).to_owned(), TestOutcome::Passed)).collect();
    let executed = (tests.len() as u64).max(1);
    let mut results = TestResults::of_tests(runner, tests);
    results.counts = TestCounts { executed, passed: executed, failed: 0, skipped: 0 };
    results
}

fn control(runner: Runner, argv: &str, passed: &[&str], files: &[(&str, &str)]) -> Option<ControlTest> {
    let argv = shell_words::split(argv).expect("words");
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let read =
        |wanted: &str| files.iter().find(|(path, _)| *path == wanted).map(|(_, content)| content.as_bytes().to_vec());
    let inputs = ControlInputs { argv: &argv, cwd: "", paths: &paths, read: &read };
    let controls = control_tests(&results(runner, passed), &inputs, NAME);
    let distinct: std::collections::BTreeSet<&str> = controls.iter().map(|control| control.path.as_str()).collect();
    assert_eq!(distinct.len(), controls.len(), "one for each file");
    controls.into_iter().next().map(|control| {
        assert_eq!(control.name, format!("{NAME}aaa"), "the first of them");
        let content = String::from_utf8(control.content).expect("text").replace("vzwkxaaa", "vzwkx");
        let path = control.path.replace("vzwkxaaa", "vzwkx");
        ControlTest { path, content: content.into_bytes(), name: control.name }
    })
}

/// Expects the file it goes to and a part of what is added; nothing for none.
#[track_caller]
fn check(runner: Runner, argv: &str, passed: &[&str], files: &[(&str, &str)], expected: Option<(&str, &str)>) {
    let control = control(runner, argv, passed, files);
    let found = control.as_ref().map(|control| control.path.as_str());
    assert_eq!(found, expected.map(|(path, _)| path), "{argv}");
    if let (Some(control), Some((_, part))) = (control, expected) {
        let content = String::from_utf8(control.content).expect("text");
        assert!(content.contains(part), "{argv}: {content}");
        assert!(!content.contains("cto") && !content.contains("control"), "{content}");
    }
}

#[test]
fn pytest() {
    const FILE: (&str, &str) = ("tests/test_a.py", "def test_a(): pass\n");
    let ran = ["tests/test_a.py::test_a"];
    let at = |argv: &str, expected| check(Runner::Pytest, argv, &ran, &[FILE], expected);
    at("pytest", Some((FILE.0, "def test_a(): pass\n\n\ndef test_qvzwkx():\n")));
    at("make test", Some((FILE.0, "def test_qvzwkx():")));
    at("python -m pytest -k test_a tests", Some((FILE.0, "def test_qvzwkx_test_a():")));
    at("python -m pytest -k 'test_a or b'", None);
    at("pytest -m slow", None);
    at("pytest -m 'not slow'", Some((FILE.0, "def test_qvzwkx():")));
    at("sh -c 'cd x && pytest tests/test_a.py::test_a'", None);
    for (settings, expected) in [
        ("[pytest]\naddopts = -q -m 'unit'\n", None),
        ("[tool.pytest.ini_options]\naddopts = [\n  \"-k\",\n  \"x\",\n]\n", None),
        ("[pytest]\naddopts = -q -m 'not slow'\n\n[other]\nx = -k\n", Some((FILE.0, "test_qvzwkx"))),
    ] {
        check(Runner::Pytest, "pytest", &ran, &[FILE, ("pytest.ini", settings)], expected);
    }
    // Every test of the first file is expected to fail; the second is not named as test files are.
    let files = [("a/test_a.py", "pytestmark = x\n"), ("a/other.py", ""), ("a/test_b.py", "")];
    let ran =
        ["a/test_a.py::test_a", "a/other.py::test_o", "a/test_b.py::TestC::test_b[x::y]", "README.rst::README.rst"];
    check(Runner::Pytest, "pytest", &ran, &files, Some(("a/test_b.py", "def test_qvzwkx")));
    check(Runner::Pytest, "pytest", &ran[..2], &files, Some(("a/other.py", "def test_qvzwkx")));
    check(Runner::Pytest, "pytest", &["a.test_b.TestC::test_b"], &files, Some(("a/test_b.py", "def test_qvzwkx")));
    check(Runner::Pytest, "pytest", &["gone.py::test_a"], &files, None);
    // Seen from a folder below, only one file can be meant.
    check(Runner::Pytest, "pytest", &["test_b.py::test_b"], &files, Some(("a/test_b.py", "def test_qvzwkx")));
    check(Runner::Pytest, "pytest", &["test_b.py::test_b"], &[("a/test_b.py", ""), ("b/test_b.py", "")], None);
}

#[test]
fn unittest() {
    const CLASS: &str = "from unittest import TestCase\nclass A(TestCase):\n    def test_a(self): pass\n";
    let files = [
        ("pkg/test_a.py", CLASS),
        ("pkg/test_loads.py", "TestCase def test\ndef load_tests(): pass\n"),
        ("test_b.py", CLASS),
    ];
    let at = |argv: &str, passed: &[&str], expected| check(Runner::Unittest, argv, passed, &files, expected);
    let class = "class TestQvzwkx(__import__(\"unittest\").TestCase):\n    def test_qvzwkx(self):";
    at("python3 -m unittest -v", &["pkg.test_a.A.test_a"], Some(("pkg/test_a.py", class)));
    at("python3 -m unittest -v pkg.test_a", &["pkg.test_a.A.test_a"], Some(("pkg/test_a.py", class)));
    at("python3 -m unittest -v pkg.test_a.A", &["pkg.test_a.A.test_a"], None);
    at("python3 -m unittest -v -k 'test_*'", &["pkg.test_a.A.test_a"], None);
    at("python3 -m unittest -v", &["pkg.test_loads.A.test_a"], None);
    at("python3 -m unittest discover -s pkg -v", &["test_a.A.test_a"], Some(("pkg/test_a.py", class)));
    at("python3 -m unittest", &[], Some(("test_b.py", class)));
    at("python3 -m unittest discover -s pkg", &[], Some(("pkg/test_a.py", class)));
    at("python3 -m unittest discover -p '*.py'", &[], None);
    at("python3 -m unittest pkg/test_a.py", &[], Some(("pkg/test_a.py", class)));
    at("make test", &[], None);
    let script = format!("{CLASS}\nx = '''\nif __name__\n'''\nif __name__ == '__main__':\n    unittest.main()\n");
    let found =
        control(Runner::Unittest, "python3 run.py", &["__main__.A.test_a"], &[("run.py", &script)]).expect("a control");
    let content = String::from_utf8(found.content).expect("text");
    assert!(content.find("TestQvzwkx") < content.rfind("if __name__"), "{content}");
    assert!(content.find("'''\nif __name__ ==") < content.find("TestQvzwkx"), "{content}");
    check(Runner::Unittest, "python3 run.py", &["__main__.A.test_a"], &[("run.py", CLASS)], None);
}

const MANIFEST: &str = "[package]\nname = \"one-two\"\n";
const TEST: &str = "#[test]\nfn a() {}\n";

#[test]
fn cargo() {
    let other = "[package]\nname = 'other'\n[[test]]\nname = \"own\"\npath = \"checks/own.rs\"\n";
    let files = [
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", TEST),
        ("b/Cargo.toml", other),
        ("b/src/lib.rs", TEST),
        ("b/tests/it.rs", TEST),
        ("b/checks/own.rs", TEST),
    ];
    let at = |argv: &str, passed: &[&str], expected| check(Runner::Cargo, argv, passed, &files, expected);
    let module = "#[cfg(test)]\nmod test_qvzwkx {\n    #[test]\n    fn test_qvzwkx() {";
    at("cargo test", &["one_two (src/lib.rs) > a"], Some(("src/lib.rs", module)));
    at("cargo test", &["other (src/lib.rs) > a"], Some(("b/src/lib.rs", module)));
    at("cargo test", &["unheard_of (src/lib.rs) > a"], Some(("src/lib.rs", module)));
    at("make", &["unheard_of (src/lib.rs) > a"], None);
    let both = ["other (src/lib.rs) > a", "it (tests/it.rs) > a", "other (doc) > src/lib.rs - f"];
    at("cargo test", &both, Some(("b/tests/it.rs", "}\n\n\n#[test]\nfn test_qvzwkx() {")));
    at("cargo test", &both[2..], Some(("src/lib.rs", module)));
    at("cargo test --doc", &both[2..], None);
    at("cargo test adds -- --nocapture", &both[..1], Some(("b/src/lib.rs", "fn test_qvzwkx_adds()")));
    at("cargo test tests::adds", &both[..1], None);
    at("sh -c 'cd . && cargo test > out.txt 2>&1'", &both[..1], Some(("b/src/lib.rs", "fn test_qvzwkx()")));
    at("cargo test -- --exact adds", &both[..1], None);
    at("cargo test -- --ignored", &both[..1], None);
    at("cargo test -- --skip test_", &both[..1], None);
    at("cargo test -- --skip slow", &both[..1], Some(("b/src/lib.rs", module)));
    at("cargo test -q", &[], Some(("src/lib.rs", module)));
    at("cargo test -q -p other", &[], Some(("b/tests/it.rs", "fn test_qvzwkx")));
    at("cargo test -q --bins", &[], None);
    check(
        Runner::Cargo,
        "cargo test -q",
        &[],
        &[("Cargo.toml", &format!("{MANIFEST}[lib]\nharness = false\n")), ("src/lib.rs", TEST)],
        None,
    );
    let at = |argv: &str, passed: &[&str], expected| check(Runner::Nextest, argv, passed, &files, expected);
    at("cargo nextest run", &["one-two > a"], Some(("src/lib.rs", module)));
    at("cargo nextest run", &["other::own > a"], Some(("b/checks/own.rs", module)));
    at("cargo nextest run", &["other::it > a"], Some(("b/tests/it.rs", "\n#[test]\nfn test_qvzwkx")));
    at("cargo nextest run", &["other::bin/x > a", "gone > a"], None);
    at("cargo nextest run -E 'test(a)'", &["one-two > a"], None);
}

#[test]
fn node() {
    let script = "const { test } = require('node:test');\ntest('adds', () => {})";
    let files = [
        ("package.json", "{\"scripts\": {\"test\": \"NODE_ENV=test node --test 'lib/**/*.test.js' > out.txt 2>&1\"}}"),
        ("lib/a.test.js", "// nothing of node:test's\n"),
        ("lib/b.test.js", script),
        ("lib/c.js", script),
        ("node_modules/d/test/d.js", "require('node:test').test('elsewhere', () => {})"),
    ];
    let at = |argv: &str, passed: &[&str], expected| check(Runner::Node, argv, passed, &files, expected);
    let test = "\n;require('node:test').test('handles qvzwkx', () => {";
    at("node --test", &["adds"], Some(("lib/b.test.js", test)));
    at("make test", &["outer > adds"], Some(("lib/b.test.js", test)));
    at("make test", &["something else"], None);
    at("make test", &["elsewhere"], None);
    at("npm test", &["adds"], Some(("lib/b.test.js", test)));
    at("node --test lib/c.js", &["adds"], Some(("lib/c.js", test)));
    at("node lib/c.js lib/b.test.js", &["adds"], Some(("lib/c.js", test)));
    at("node --test lib", &["adds"], Some(("lib/b.test.js", test)));
    at("node --test --test-name-pattern adds", &["adds"], Some(("lib/b.test.js", "'handles qvzwkx adds'")));
    at("node --test --test-name-pattern='^adds$'", &["adds"], None);
    at("node --test --test-only", &["adds"], None);
    check(Runner::Junit, "node --test --test-reporter=junit", &["adds"], &files, Some(("lib/b.test.js", test)));
    check(Runner::Junit, "gotestsum", &["adds"], &files, None);
}

#[test]
fn go() {
    let file = "/* words */ // more\n//go:build linux\n\npackage one_test // x\n\nfunc TestA(t *testing.T) {}\n";
    let files = [
        ("go.mod", "module example.org/one\n"),
        ("b/go.mod", "module \"example.org/one/b\"\n"),
        ("c/c_test.go", file),
        ("b/d/d_test.go", file),
    ];
    let at = |argv: &str, passed: &[&str], expected| check(Runner::Go, argv, passed, &files, expected);
    let test = "package one_test\n\nimport \"testing\"\n\nfunc TestQvzwkx(t *testing.T) {";
    at("go test ./...", &["example.org/one/c::TestA/sub"], Some(("c/qvzwkx_test.go", test)));
    at("go test ./...", &["example.org/one/b/d::TestA"], Some(("b/d/qvzwkx_test.go", test)));
    at("go test x_test.go", &["command-line-arguments::TestA"], None);
    at("go test ./...", &["example.org/one/c::TestGone"], None);
    at("go test -run TestA ./...", &["example.org/one/c::TestA"], Some(("c/qvzwkx_test.go", "func TestAQvzwkx(")));
    at("go test -run '^TestA$' ./...", &["example.org/one/c::TestA"], None);
}

/// One control in every file with tests that ran, each with a name of its own.
#[test]
fn every_file_gets_a_control() {
    let files: Vec<(String, String)> =
        (0..30).map(|index| (format!("test_{index:02}.py"), "def test_a(): pass\n".to_owned())).collect();
    let paths: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let passed: Vec<String> = paths.iter().map(|path| format!("{path}::test_a")).collect();
    let passed: Vec<&str> = passed.iter().map(String::as_str).collect();
    let read = |_: &str| Some(b"def test_a(): pass\n".to_vec());
    let inputs = ControlInputs { argv: &["pytest".to_owned()], cwd: "", paths: &paths, read: &read };
    let controls = control_tests(&results(Runner::Pytest, &passed), &inputs, NAME);
    let names: Vec<&str> = controls.iter().map(|control| control.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[26]), (30, "qvzwkxaaa", "qvzwkxaba"));
    let failed = |which: &[usize]| {
        let tests =
            which.iter().map(|index| (format!("{}::test_{}", paths[*index], names[*index]), TestOutcome::Failed));
        TestResults::of_tests(Runner::Pytest, tests.collect())
    };
    let seen = failed(&[0, 2]);
    assert_eq!(unseen(&controls, Some(&seen)).len(), 28);
    assert_eq!(unseen(&controls, None).len(), 30);
}

#[test]
fn names_that_are_refused() {
    for name in ["", "Upper", "a b", "a;b", "é"] {
        let inputs =
            ControlInputs { argv: &[], cwd: "", paths: &["test_a.py".to_owned()], read: &|_| Some(Vec::new()) };
        assert_eq!(control_tests(&results(Runner::Pytest, &["test_a.py::test_a"]), &inputs, name), [], "{name}");
    }
}

#[test]
fn seen_to_fail() {
    let controls = [ControlTest { path: String::new(), content: Vec::new(), name: NAME.to_owned() }];
    let with = |tests: &[(&str, TestOutcome)], failed| {
        let tests = tests.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)).collect();
        let mut results = TestResults::of_tests(Runner::Go, tests);
        results.counts = TestCounts { executed: 9, passed: 0, failed, skipped: 0 };
        results
    };
    for (results, expected) in [
        (with(&[("p::TestQvzwkx", TestOutcome::Failed)], 1), true),
        (with(&[("p::TestQvzwkx", TestOutcome::Passed)], 0), false),
        (with(&[("p::TestQvzwkx", TestOutcome::Skipped)], 0), false),
        (with(&[("p::TestOther", TestOutcome::Failed)], 1), false),
        (with(&[], 1), true),
        (with(&[], 0), false),
    ] {
        assert_eq!(unseen(&controls, Some(&results)).is_empty(), expected, "{results:?}");
    }
}

proptest! {
    #[test]
    fn any_inputs(words in prop::collection::vec("[-a-z./:=*' ]{0,12}|pytest|cargo|test|node|go|-m|unittest|--test|nextest|run|-run", 0..6),
        paths in prop::collection::vec("([a-z_.]{0,6}/){0,3}(test_a.py|Cargo.toml|go.mod|a_test.go|a.test.js|lib.rs|package.json)", 0..6),
        identities in prop::collection::vec("\\PC{0,12}|[a-z/_]{0,6}test_a.py::test_a\\[?|x (src/lib.rs) > a|x::y > a|__main__.A.b", 0..4),
        cwd in "[a-z./]{0,6}", content in "\\PC{0,40}|node:test|module x|package x\nfunc|TestCase def test|\\[package\\]\nname = \"x", kind in 0..7_usize) {
        let runner = [Runner::Pytest, Runner::Unittest, Runner::Cargo, Runner::Nextest, Runner::Node, Runner::Go, Runner::Junit][kind];
        let identities: Vec<&str> = identities.iter().map(String::as_str).collect();
        let read = |_: &str| Some(content.clone().into_bytes());
        let inputs = ControlInputs { argv: &words, cwd: &cwd, paths: &paths, read: &read };
        for control in control_tests(&results(runner, &identities), &inputs, NAME) {
            prop_assert!(control.content.len() > NAME.len());
            prop_assert!(runner == Runner::Go || paths.contains(&control.path));
        }
    }
}

#[test]
fn rspec() {
    const FILE: (&str, &str) = ("spec/a_spec.rb", "RSpec.describe('a') { it('adds') {} }\n");
    let other = ("other/b_spec.rb", "");
    let at = |argv: &str, expected| check(Runner::Rspec, argv, &["a > adds"], &[FILE, other], expected);
    at("rspec --format documentation", Some((FILE.0, "it('holds qvzwkx') { expect('found').to eq('expected') }")));
    at("bundle exec rspec spec/a_spec.rb", Some((FILE.0, "handles qvzwkx")));
    at("rspec other", Some((other.0, "handles qvzwkx")));
    for choosing in ["rspec -e adds", "rspec --tag slow", "rspec spec/a_spec.rb:3", "rspec --only-failures"] {
        at(choosing, None);
    }
}

#[test]
fn phpunit() {
    const FILE: (&str, &str) = ("tests/AdderTest.php", "<?php\nclass AdderTest\n{\n    function testA() {}\n}\n");
    let method = "    public function testHandlesqvzwkx(): void { $this->assertSame('expected', 'found'); }\n}\n";
    let at = |argv: &str, ran: &[&str], expected| check(Runner::Phpunit, argv, ran, &[FILE], expected);
    at("phpunit --testdox tests", &["Adder > A"], Some((FILE.0, method)));
    at("vendor/bin/phpunit", &["tests/AdderTest.php::AdderTest::testA"], Some((FILE.0, method)));
    at("phpunit --filter testA", &["Adder > A"], None);
    at("phpunit tests", &[], None);
}

#[test]
fn surefire() {
    let path = "src/test/java/ex/AppTest.java";
    let four = "package ex;\n\npublic class AppTest {\n  @Test public void adds() {}\n}\n";
    let five = "package ex;\n\nimport org.junit.jupiter.api.Test;\n\nclass AppTest {\n  @Test void adds() {}\n}\n";
    let ran = ["ex.AppTest::adds"];
    let at = |argv: &str, text: &str, expected| check(Runner::Surefire, argv, &ran, &[(path, text)], expected);
    let (old, new) =
        ("@org.junit.Test public void handlesqvzwkx()", "@org.junit.jupiter.api.Test public void handlesqvzwkx()");
    at("mvn -o -B test", four, Some((path, old)));
    at("mvn test", five, Some((path, new)));
    at("mvn -Dtest=AppTest test", four, None);
    check(Runner::Surefire, "mvn test", &[], &[(path, four)], None);
}
