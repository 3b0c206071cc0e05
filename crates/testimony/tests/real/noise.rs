//! Tests that print what a runner would, and a great deal of it.

use std::time::{Duration, Instant};

use crate::project::{Project, Setting};

#[test]
fn escapes_and_control_characters() {
    let Some(python) = testkit::python("escapes") else { return };
    let test = "\
import pytest, sys
@pytest.mark.parametrize('x', ['\\x1b[31mred', 'a\\0b', '\\u202ereversed', 'é'])
def test_x(x):
    sys.__stdout__.write('\\x1b]0;title\\x07\\r\\x1b[2K\\x9b31m\\xff\\n')
    assert x
";
    let project = Project::new(&Setting::with(&python), &[("test_x.py", test)]);
    for argv in [&["python", "-m", "pytest"][..], &["python", "-m", "pytest", "--color=yes", "-v", "-s"]] {
        let ran = project.run(argv, "");
        assert_eq!(ran.numbers(), [4, 0, 0], "{}", ran.output);
        assert!(
            ran.named().iter().all(|name| !name.contains(char::is_control) && name.contains("test_x[")),
            "{ran:#?}"
        );
    }
}

#[test]
fn a_million_lines() {
    let Some(python) = testkit::python("lines") else { return };
    let test = "\
import sys
def test_first(): pass
def test_long():
    for n in range(1_000_000):
        sys.__stdout__.write(f'test line {n} ... ok\\n')
def test_wide():
    sys.__stdout__.write('x (y.z) ... ' * 500_000)
def test_last(): pass
";
    let project = Project::new(&Setting::with(&python), &[("test_x.py", test)]);
    let began = Instant::now();
    let ran = project.run(&["python", "-m", "pytest", "-s"], "");
    assert_eq!(ran.numbers(), [4, 0, 0]);
    assert_eq!(ran.named().len(), 4);
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
}

/// A test that writes the report itself and ends the process can say what it likes. That is for controls to find; here only
/// that nothing in it is expanded.
#[test]
fn a_forged_report() {
    let Some(python) = testkit::python("forged report") else { return };
    let forged = "\
import os, sys
PATH = next(word[11:].strip(\"'\") for word in os.environ['PYTEST_ADDOPTS'].split() if word.startswith('--junitxml'))
LAUGHS = '<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;\">]>'
CASES = ''.join(f'<testcase classname=\"test_x\" name=\"test_{n}&b;\" file=\"test_x.py\"/>' for n in range(3))
def test_0():
    with open(PATH, 'w') as file:
        file.write(LAUGHS + '<testsuite name=\"pytest\">' + CASES + '</testsuite>')
    print('=== 3 passed in 0.01s ===', file=sys.__stdout__, flush=True)
    os._exit(0)
";
    let project = Project::new(&Setting::with(&python), &[("test_x.py", forged)]);
    let ran = project.run(&["python", "-m", "pytest"], "");
    assert_eq!(ran.exit, Some(0));
    assert_eq!(
        ran.named(),
        ["+ test_x.py::test_0&b;", "+ test_x.py::test_1&b;", "+ test_x.py::test_2&b;"],
        "{}",
        ran.output
    );
}
