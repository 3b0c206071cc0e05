use testimony::results::Runner;

use crate::project::{Change, Files, Project, Setting, Trial};

const TESTS: &str = "\
import unittest
import pytest

@pytest.mark.parametrize('n', [1, 2])
def test_many(n):
    assert n

def test_one():
    assert 1

@pytest.mark.skip(reason='no')
def test_later():
    assert 0

class TestIn:
    def test_method(self):
        print('x')

class Old(unittest.TestCase):
    def test_old(self):
        self.assertTrue(1)
";

const FILES: Files<'_> = &[("tests/test_a.py", TESTS), ("tests/test_b.py", "def test_b(): pass\n")];

fn setting(test: &str) -> Option<Setting> {
    testkit::python(test).map(|python| Setting::with(&python))
}

#[test]
fn names_changes_and_control() {
    let Some(setting) = setting("pytest names") else { return };
    let change = |from, to, exact, by_function| Change { path: "tests/test_a.py", from, to, exact, by_function };
    let one = "tests/test_a.py::test_one";
    let [missing, skipped] = ["missing", "skipped"].map(|word| format!("{word} {one}"));
    let changes = [
        change("def test_one", "def one", &missing, &missing),
        change("def test_one", "@pytest.mark.skip\ndef test_one", &skipped, &skipped),
        change("def test_one", "@pytest.mark.xfail\ndef test_one", "", ""),
        change("    assert 1\n", "    pytest.xfail('no')\n", &skipped, &skipped),
        change("[1, 2]", "[1, 3]", "missing tests/test_a.py::test_many[2]", ""),
        change("def test_later", "def later", "", ""),
        change("import pytest\n", "import pytest\nimport os\nos._exit(0)\n", "none", "none"),
    ];
    let mut trial = Trial {
        setting,
        runner: Runner::Pytest,
        argv: &["python", "-m", "pytest"],
        files: FILES,
        named: &[
            "+ tests/test_a.py::Old::test_old",
            "+ tests/test_a.py::TestIn::test_method",
            ". tests/test_a.py::test_later",
            "+ tests/test_a.py::test_many[1]",
            "+ tests/test_a.py::test_many[2]",
            "+ tests/test_a.py::test_one",
            "+ tests/test_b.py::test_b",
        ],
        numbers: [6, 0, 1],
        changes: &changes,
    };
    trial.hold();
    trial.changes = &[];
    for argv in [
        &["python", "-m", "pytest", "-q"][..],
        &["python", "-m", "pytest", "-v", "-rA", "-p", "no:cacheprovider"],
        &["sh", "-c", "python -m pytest -qq tests/ && echo done"],
        &["python", "-m", "pytest", "--junitxml=out/report.xml", "-o", "junit_family=xunit1"],
        &["python", "-m", "pytest", "-m", "not slow"],
    ] {
        trial.argv = argv;
        trial.hold();
    }
}

#[test]
fn words_without_a_report() {
    let Some(mut setting) = setting("pytest words") else { return };
    setting.variables = vec![("PYTEST_ADDOPTS", String::new())];
    let argv = ["python", "-m", "pytest", "-v"];
    let project = Project::new(&setting, FILES);
    let ran = project.run(&argv, "");
    assert_eq!((ran.named().len(), ran.numbers()), (7, [6, 0, 1]), "{}", ran.output);
    project.control(&argv, "");
    let quiet = project.run(&argv[..3], "");
    assert_eq!((quiet.named().len(), quiet.numbers()), (0, [6, 0, 1]), "{}", quiet.output);
}

/// Each session writes over the report of the one before: only the printed numbers tell of the first.
#[test]
fn two_sessions() {
    let Some(setting) = setting("pytest sessions") else { return };
    let project = Project::new(&setting, FILES);
    let ran = project.run(&["sh", "-c", "python -m pytest tests/test_a.py; python -m pytest tests/test_b.py"], "");
    assert_eq!(
        (ran.named(), ran.numbers()),
        (vec!["+ tests/test_b.py::test_b".to_owned()], [6, 0, 1]),
        "{}",
        ran.output
    );
}

#[test]
fn nothing_to_run_and_broken_files() {
    let Some(setting) = setting("pytest nothing") else { return };
    let project = Project::new(&setting, &[("test_a.py", "def helper(): pass\n")]);
    assert_eq!(project.run(&["python", "-m", "pytest"], "").numbers(), [0, 0, 0]);
    project.write("test_b.py", b"import nothing_of_this_name\n");
    assert_eq!(project.run(&["python", "-m", "pytest"], "").numbers(), [0, 0, 0]);
    project.write("test_b.py", b"import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\n");
    let cut = project.run(&["python", "-m", "pytest", "-v"], "");
    assert_eq!(cut.exit, Some(0));
    assert_eq!(cut.named(), ["+ test_b.py::test_a"], "{}", cut.output);
    assert_eq!(cut.numbers(), [2, 1, 0]);
}

/// Files that are easily broken by what is put at their end.
#[test]
fn controls_in_files_of_all_shapes() {
    let Some(setting) = setting("pytest controls") else { return };
    for content in [
        "def test_a(): pass",
        "def test_a(): pass\n# the end",
        "#!/usr/bin/env python\nfrom __future__ import annotations\r\ndef test_a():\r\n    pass\r\n",
        "def test_a():\n\tassert True\n\nif __name__ == '__main__':\n\timport pytest\n\tpytest.main()",
        "class TestA:\n    def test_a(self):\n        x = '''\n# not the end\n'''",
    ] {
        let project = Project::new(&setting, &[("sub/test_a.py", content), ("sub/pytest.ini", "[pytest]\n")]);
        project.control(&["python", "-m", "pytest"], "sub");
        project.control(&["python", "-m", "pytest", "sub"], "");
        project.control(&["python", "-m", "pytest", "-k", "a"], "sub");
    }
    let checks = [
        ("checks/check_a.py", "def check_a(): pass\n"),
        ("pytest.ini", "[pytest]\npython_files = check_*.py\npython_functions = check_*\n"),
    ];
    Project::new(&setting, &checks).control(&["python", "-m", "pytest"], "");
}
