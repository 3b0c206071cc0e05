//! Setup makes dependencies, build makes what is under test: of the tree that is judged, and of nothing older.

mod planted;
mod records;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::each_row;

use crate::world;

/// A repository, its environment, what an engine does in a shell, and what must come of it.
#[derive(Default)]
struct Row<'a> {
    name: &'a str,
    files: &'a [(&'a str, &'a str)],
    environment: Value,
    commands: Value,
    more: &'a [(&'a str, &'a str)],
    does: &'a str,
    status: &'a str,
    /// Part of the blockers' texts and of the logs.
    says: &'a str,
    /// Path and outcome of each file that was replaced by what cannot compile.
    poisoned: &'a [(&'a str, &'a str)],
    /// Codes about products that coverage has.
    coverage: &'a [&'a str],
}

fn check(row: &Row<'_>) {
    let world = world();
    let script = ["sh", "-c", "sh -ec \"$1\" || touch FAILED", "sh", row.does];
    let fake = json!({"steps": [{"run": {"argv": script}}]}).to_string();
    let (environment, commands) = (testkit::quick(row.environment.clone()).to_string(), row.commands.to_string());
    let changes = [
        ("allowed_paths", "['**', dist/app.bin]"),
        ("verification_commands", &commands),
        ("environment", &environment),
        ("fake", &fake),
    ];
    world.case("made", &[&changes[..], row.more].concat());
    for (path, text) in row.files {
        world.write(&format!("made/files/{path}"), text);
    }
    let code = match row.status {
        "pass" => 0,
        "fail" => 1,
        _ => 3,
    };
    let (report, bundle) = world.run("./made", code);
    let logs = ["test.log", "setup.log"].map(|name| fs::read_to_string(bundle.join(name)).unwrap_or_default()).concat();
    let told = format!("{}: {:#}\n{logs}", row.name, report["blockers"]);
    let reasons: &[&str] = match row.status {
        "pass" => &[],
        "fail" => &["verification_failed"],
        _ => &["environment_broken"],
    };
    assert_eq!(report["blocker_reasons"], json!(reasons), "{told}");
    assert!(told.contains(row.says), "{told}");
    let is_refusal = row.says.starts_with("the baseline cannot");
    assert!(!is_refusal || report["blockers"].to_string().contains(row.says), "the refusal names it: {told}");
    let poisoned: Vec<Value> =
        row.poisoned.iter().map(|(path, outcome)| json!({"path": path, "outcome": outcome})).collect();
    let found = report["verification"]["poisoned"].as_array().cloned().unwrap_or_default();
    assert_eq!(found, poisoned, "{told}");
    let coverage = report["coverage"].as_array().unwrap();
    for code in ["change_not_exercised", "product_not_rebuilt"] {
        assert_eq!(coverage.contains(&json!(code)), row.coverage.contains(&code), "{code}: {told}");
    }
    let _ = world.cto(["verify", "@"]).expect(0);
    if row.coverage.contains(&"change_not_exercised") {
        let (first_screen, unread) = (world.cto(["show", "@"]).text(), row.poisoned[0].0);
        assert!(first_screen.contains(&format!("not-exercised {unread}")), "{first_screen}");
    }
}

fn check_all<'a>(rows: impl IntoIterator<Item = Row<'a>>) {
    each_row(rows.into_iter().map(|row| (row.name, row)), |row| check(&row));
}

const EXERCISED: &str = "exercised";
const NOT_EXERCISED: &str = "not_exercised";

/// A stand-in for tsc: takes types out of `src`, refuses what is no program, and writes `dist`.
pub(super) const TSC: &str = "const fs = require('fs'), vm = require('vm');
fs.mkdirSync('dist', {recursive: true});
for (const name of fs.readdirSync('src').filter((name) => name.endsWith('.ts'))) {
  const program = fs.readFileSync('src/' + name, 'utf8').replace(/: number/g, '');
  new vm.Script(program);
  fs.writeFileSync('dist/' + name.replace('.ts', '.js'), program);
}
";

const TYPESCRIPT: &[(&str, &str)] = &[
    ("package-lock.json", "{}\n"),
    ("tools/tsc.js", TSC),
    ("src/add.ts", "exports.add = (a: number, b: number) => a - b;\n"),
    (
        "test/add.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\n\
         test('add', () => assert.equal(require('../dist/add.js').add(1, 2), 3));\n",
    ),
];
const COMMITTED: (&str, &str) = ("dist/add.js", "exports.add = (a, b) => a - b;\n");
const GOOD_TS: &str = "echo 'exports.add = (a: number, b: number) => a + b;' > src/add.ts";
const BROKEN_TS: &str = "echo 'exports.add = (a: number, b: number => {' > src/add.ts";
const GOOD_DIST: &str = "echo 'exports.add = (a, b) => a + b;' > dist/add.js";

fn typescript<'a>(name: &'a str, environment: Value, does: &'a str, status: &'a str, says: &'a str) -> Row<'a> {
    Row {
        name,
        files: TYPESCRIPT,
        environment,
        commands: json!([["node", "--test", "test/"]]),
        does,
        status,
        says,
        poisoned: if status == "pass" { &[("src/add.ts", EXERCISED)] } else { &[] },
        ..Row::default()
    }
}

#[test]
fn what_tests_run_is_made_of_the_tree_that_is_judged() {
    let tsc = || json!([["node", "tools/tsc.js"]]);
    let build = || json!({"build": tsc()});
    let whole = || json!({"setup": tsc()});
    let with_inputs = || json!({"setup": tsc(), "setup_inputs": ["package-lock.json", "src/", "tools/tsc.js"]});
    // Setup that names its lock file sees nothing else, so that nothing stale can be tested.
    let locked = json!({"setup": tsc(), "setup_inputs": ["package-lock.json"]});
    let broken = json!({"build": ["sh -c 'echo no compiler here; exit 3'"]});
    let says = "the baseline cannot be set up and built: build 1: `sh -c echo no compiler here; exit 3` ended with exit 3; it ends with: no compiler here";
    check_all([
        typescript("built", build(), GOOD_TS, "pass", "exam build 1"),
        typescript("broken, built", build(), BROKEN_TS, "fail", "build 1: `node tools/tsc.js` ended with exit 1"),
        typescript("set up", whole(), GOOD_TS, "pass", ""),
        typescript("broken, set up", whole(), BROKEN_TS, "fail", "setup 1: `node tools/tsc.js` ended with exit 1"),
        typescript("named", with_inputs(), GOOD_TS, "pass", ""),
        typescript("broken, named", with_inputs(), BROKEN_TS, "fail", "setup 1"),
        Row { poisoned: &[], ..typescript("locked", locked, GOOD_TS, "blocked", "Cannot find module") },
        Row { poisoned: &[], ..typescript("broken on the baseline", broken, GOOD_TS, "blocked", says) },
    ]);
}

#[test]
fn a_committed_product_counts_for_nothing_where_the_build_makes_it() {
    let files = [TYPESCRIPT, &[COMMITTED]].concat();
    let build = json!({"build": [["node", "tools/tsc.js"]]});
    let row = |name, environment, does, status, says| Row {
        files: &files,
        ..typescript(name, environment, does, status, says)
    };
    let honest = format!("{GOOD_TS} && node tools/tsc.js");
    let shipped = format!("echo 'exports.add = (a: number, b: number) => a * b;' > src/add.ts; {GOOD_DIST}");
    // Control: nothing builds here, so that the product is all that is tested. The bundle says so.
    let unread = Row {
        poisoned: &[("src/add.ts", NOT_EXERCISED)],
        coverage: &["change_not_exercised"],
        ..row("unbuilt", json!({}), &shipped, "pass", "")
    };
    let rebuilt = row("rebuilt", build.clone(), &honest, "pass", "");
    check_all([rebuilt, row("shipped", build, &shipped, "fail", ""), unread]);
}

/// Text beside its source that a generator makes, newer than what it was made from, where the generator is not there.
#[test]
fn text_that_nothing_here_generates_is_said_to_be_unread() {
    let files = [
        ("src/add.ts", "exports.add = (a: number, b: number) => a - b;\n"),
        ("src/add.js", "exports.add = (a, b) => a - b;\n"),
        (
            "test/add.test.js",
            "require('node:test')('add', () => require('assert').equal(require('../src/add.js').add(1, 2), 3));\n",
        ),
    ];
    let cheat = "echo 'exports.add = (a: number, b: number) => a * b;' > src/add.ts
                 echo 'exports.add = (a, b) => a + b;' > src/add.js";
    let coverage = &["change_not_exercised", "product_not_rebuilt"][..];
    let poisoned = &[("src/add.ts", NOT_EXERCISED)][..];
    check(&Row { files: &files, poisoned, coverage, ..typescript("generated", json!({}), cheat, "pass", "") });
}

const SETUP_PY: &str = "from setuptools import Extension, setup
setup(name='fast', version='1', ext_modules=[Extension('fast', ['fast.c'])], py_modules=[])
";
const FAST_C: &str = "#include <Python.h>
static PyObject *add(PyObject *self, PyObject *args) {
    long a, b;
    if (!PyArg_ParseTuple(args, \"ll\", &a, &b)) return NULL;
    return PyLong_FromLong(a + b);
}
static PyMethodDef methods[] = {{\"add\", add, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, \"fast\", NULL, -1, methods};
PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&module); }
";

/// An extension in C that is installed as people install it, in setup and in build.
#[test]
fn an_extension_is_compiled_again_from_the_patch() {
    let named = |entry: fs::DirEntry| entry.path().join("Python.h").is_file();
    let headers = fs::read_dir("/usr/include").unwrap().flatten().any(named);
    let can_build = ["/usr/lib/python3/dist-packages/setuptools", "/usr/lib/python3/dist-packages/pip"];
    if !headers || !can_build.iter().all(|dir| Path::new(dir).is_dir()) {
        testkit::skip(
            "judged::built::an_extension_is_compiled_again_from_the_patch",
            "no headers or setuptools of Python",
        );
        return;
    }
    let venv = json!(["/usr/bin/python3", "-m", "venv", "--system-site-packages", "--without-pip", ".venv"]);
    let pip = "/usr/bin/python3 -m pip -q --python .venv install --no-index --no-build-isolation --no-deps -e .";
    let files = [
        (".gitignore", ".venv/\nbuild/\n*.so\n*.egg-info/\n"),
        ("setup.py", SETUP_PY),
        ("fast.c", FAST_C),
        (
            "test_fast.py",
            "import unittest, fast\n\n\nclass Fast(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(fast.add(1, 2), 3)\n",
        ),
    ];
    let in_setup = json!({"setup": [venv, pip], "path": [".venv/bin"]});
    let in_build = json!({"build": ["/usr/bin/python3 setup.py -q build_ext --inplace"]});
    let row = |name, environment, does, status, says, poisoned| Row {
        name,
        files: &files,
        environment,
        commands: json!([["python3", "-m", "unittest", "-v"]]),
        does,
        status,
        says,
        poisoned,
        ..Row::default()
    };
    let honest = "sed -i 's/a + b/b + a/' fast.c";
    let error = "sed -i '1i #error no' fast.c";
    check_all([
        row("built", in_build.clone(), honest, "pass", "", &[("fast.c", EXERCISED)]),
        row("error, built", in_build, error, "fail", "#error no", &[]),
        row("error, set up", in_setup, error, "fail", "#error no", &[]),
    ]);
}

/// A check by a script of the repository, which reads what setup and build left.
const SHELL: &[(&str, &str)] = &[
    ("plugins/a.sh", "echo one > made\n"),
    ("answer.py", "def answer():\n    return 41\n"),
    ("build.sh", "echo built > out\n"),
    (
        "test_answer.py",
        "import unittest, answer\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(answer.answer(), 42)\n",
    ),
];
const GOOD_PY: &str = "sed -i s/41/42/ answer.py";
fn python<'a>(name: &'a str, environment: Value, does: &'a str, status: &'a str, says: &'a str) -> Row<'a> {
    Row {
        name,
        files: SHELL,
        environment,
        commands: json!([["python3", "-m", "unittest", "-v"]]),
        does,
        status,
        says,
        ..Row::default()
    }
}

#[test]
fn a_product_that_the_contract_names_is_proven_by_the_build_that_makes_it() {
    let files = [
        ("a.txt", "one\n"),
        ("mk.sh", "mkdir -p dist; printf \"\\001\\000$(cat a.txt)\" > dist/app.bin\n"),
        ("dist/app.bin", "\u{1}\u{0}one"),
    ];
    let row = |name, does, coverage| Row {
        name,
        files: &files,
        environment: json!({"build": [["sh", "mk.sh"]]}),
        commands: json!([["grep", "-q", "two", "a.txt", "dist/app.bin"]]),
        does,
        status: "pass",
        coverage,
        ..Row::default()
    };
    let another = "echo two > a.txt; printf '\\001\\000other' > dist/app.bin";
    check_all([row("made", "echo two > a.txt; sh mk.sh", &[]), row("another", another, &["product_not_rebuilt"])]);
}

/// A setup that cannot run twice over the same layer is run over none.
#[test]
fn a_setup_that_is_not_repeatable_is_run_anew() {
    let environment = json!({"setup": [["sh", "-c", "mkdir lib && cp answer.py lib/answer.py"]]});
    let says = "setup fails on the baseline's layer";
    let files = [("answer.py", "one\n")];
    let row = |name, does, status| Row {
        name,
        files: &files,
        environment: environment.clone(),
        commands: json!([["grep", "-qx", "two", "lib/answer.py"]]),
        does,
        status,
        says,
        ..Row::default()
    };
    let good = row("good", "echo two > answer.py", "pass");
    check_all([row("wrong", "echo three > answer.py", "fail"), Row { poisoned: &[("answer.py", EXERCISED)], ..good }]);
}
