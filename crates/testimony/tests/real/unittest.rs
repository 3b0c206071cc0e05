use testimony::results::Runner;

use crate::project::{Change, Files, Project, Setting, Trial};

const TESTS: &str = "\
import sys
import unittest


class A(unittest.TestCase):
    def test_one(self):
        sys.stderr.write('words\\nok\\nmore')

    def test_two(self):
        \"\"\"Says something ... ok\"\"\"

    @unittest.skip('it ... ok')
    def test_later(self):
        pass

    def test_parts(self):
        for n in range(2):
            with self.subTest(n=n):
                pass
";

const FILES: Files<'_> = &[
    ("test_a.py", TESTS),
    ("pkg/__init__.py", ""),
    ("pkg/test_b.py", "from unittest import TestCase\nclass B(TestCase):\n    def test_b(self): pass"),
];

fn setting(test: &str) -> Option<Setting> {
    testkit::python(test).map(|python| Setting::with(&python))
}

fn change<'a>(from: &'a str, to: &'a str, exact: &'a str) -> Change<'a> {
    Change { path: "test_a.py", from, to, exact, by_function: exact }
}

#[test]
fn names_changes_and_control() {
    let Some(setting) = setting("unittest names") else { return };
    let mut trial = Trial {
        setting,
        runner: Runner::Unittest,
        argv: &["python3", "-m", "unittest", "-v"],
        files: FILES,
        named: &[
            "+ pkg.test_b.B.test_b",
            ". test_a.A.test_later",
            "+ test_a.A.test_one",
            "+ test_a.A.test_parts",
            "+ test_a.A.test_two",
        ],
        numbers: [4, 0, 1],
        changes: &[
            change("def test_one", "def one", "missing test_a.A.test_one"),
            change("    def test_one", "    @unittest.skip('x')\n    def test_one", "skipped test_a.A.test_one"),
            change("    def test_one", "    @unittest.expectedFailure\n    def test_one", ""),
            change("pass\n\n    def test_parts", "pass\n\n    def parts", "missing test_a.A.test_parts"),
            change("class A", "import os; os._exit(0)\nclass A", "none"),
            change(
                "sys.stderr.write('words\\nok\\nmore')",
                "import os; os._exit(0)",
                "missing test_a.A.test_one test_a.A.test_parts test_a.A.test_two",
            ),
        ],
    };
    trial.hold();
    trial.changes = &[];
    trial.argv = &["sh", "-c", "python3 -m unittest -v test_a pkg/test_b.py 2>&1"];
    trial.hold();
}

#[test]
fn numbers_alone() {
    let Some(setting) = setting("unittest numbers") else { return };
    Trial {
        setting,
        runner: Runner::Unittest,
        argv: &["python3", "-m", "unittest"],
        files: FILES,
        named: &[],
        numbers: [4, 0, 1],
        changes: &[
            change("def test_one", "def one", "4 to 3"),
            change("    def test_one", "    @unittest.skip('x')\n    def test_one", "4 to 3"),
            change("class A", "raise unittest.SkipTest('x')\nclass A", "4 to 1"),
        ],
    }
    .hold();
}

#[test]
fn nothing_to_run() {
    let Some(setting) = setting("unittest nothing") else { return };
    let project = Project::new(&setting, &[("test_a.py", "")]);
    assert_eq!(project.run(&["python3", "-m", "unittest"], "").numbers(), [0, 0, 0]);
    project.write("test_a.py", b"import nothing_of_this_name\n");
    let broken = project.run(&["python3", "-m", "unittest", "-v"], "");
    assert_eq!(broken.tests().tests.len(), 0, "{}", broken.output);
}

#[test]
fn controls_by_command_and_shape() {
    let Some(setting) = setting("unittest controls") else { return };
    let project = Project::new(&setting, FILES);
    for argv in [
        &["python3", "-m", "unittest", "-v", "test_a"][..],
        &["python3", "-m", "unittest", "test_a"],
        &["python3", "-m", "unittest", "-q", "pkg/test_b.py"],
        &["python3", "-m", "unittest", "discover", "-s", "pkg", "-v"],
        &["python3", "-m", "unittest", "discover", "pkg"],
        &["python3", "-m", "unittest", "-v", "-k", "test_one"],
        &["sh", "-c", "cd . && python3 -m unittest -v"],
    ] {
        project.control(argv, "");
    }
    project.control(&["python3", "-m", "unittest", "-v"], "pkg");
    let script = "from unittest import TestCase, main\r\nclass A(TestCase):\r\n    def test_a(self): pass\r\n";
    for end in ["if __name__ == '__main__':\r\n    main(verbosity=2)", "import unittest\nunittest.main(verbosity=2)\n"]
    {
        let project = Project::new(&setting, &[("run/tests.py", &format!("{script}{end}"))]);
        project.control(&["python3", "run/tests.py"], "");
        project.control(&["python3", "tests.py"], "run");
    }
}
