//! Repositories as public ones are built: a lock file or none, dependencies from a registry, and one function that is wrong.

use crate::environment::project::File;

/// A repository with one thing that is wrong, and the words that set it right.
pub(in crate::first_hour) struct System {
    pub(in crate::first_hour) name: &'static str,
    /// Files of this machine that it cannot do without.
    pub(in crate::first_hour) needs: &'static [&'static str],
    pub(in crate::first_hour) files: &'static [File],
    pub(in crate::first_hour) allow: &'static str,
    pub(in crate::first_hour) fix: &'static str,
    /// A file of the branch, and what stands in it afterwards.
    pub(in crate::first_hour) fixed: (&'static str, &'static str),
}

impl System {
    /// True if it needs pnpm or Yarn.
    pub(in crate::first_hour) fn wants_managers(&self) -> bool {
        self.files.iter().any(|(path, _)| matches!(*path, "pnpm-lock.yaml" | "yarn.lock"))
    }

    /// The agent that works on it: most agents take seconds to start.
    pub(super) fn engine(&self) -> &'static str {
        match self.name {
            "make" => "opencode",
            "node" | "pip with a lock" => "claude",
            "unittest" | "uv" => "pi",
            _ => "codex",
        }
    }
}

const SHELL_ADDER: File = ("src/adder.sh", "echo $(($1 - $2))\n");
const SHELL_FIX: &str = "sed -i 's/1 - /1 + /' src/adder.sh";
const SHELL_FIXED: (&str, &str) = ("src/adder.sh", "$1 + $2");

/// Needs packages from a registry, one of which needs a compiled one, and forgets that one is not many.
const COUNTS: &str = "import inflection\nfrom jinja2 import Template\n\nTEXT = Template('{{ n }} {{ word }}')\n\n\ndef count(n, word):\n    return TEXT.render(n=n, word=inflection.pluralize(word))\n";
const COUNTS_TEST: &str = "import unittest\n\nfrom counts import count\n\n\nclass Counts(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(count(1, 'box'), '1 box')\n\n    def test_many(self):\n        self.assertEqual(count(3, 'box'), '3 boxes')\n";
const COUNTS_FIX: &str = "sed -i 's/word=inflection/word=word if n == 1 else inflection/' counts.py";
const COUNTS_FIXED: (&str, &str) = ("counts.py", "if n == 1");

pub(in crate::first_hour) const SYSTEMS: &[System] = &[
    System {
        name: "unittest",
        needs: &["/usr/bin/python3"],
        files: &[
            ("adder.py", "def add(a, b):\n    return a - b\n"),
            (
                "tests/test_adder.py",
                "import unittest\nfrom adder import add\n\n\nclass Adder(unittest.TestCase):\n    def test_zero(self):\n        self.assertEqual(add(1, 0), 1)\n\n    def test_adds(self):\n        self.assertEqual(add(1, 1), 2)\n",
            ),
        ],
        allow: "adder.py",
        fix: "sed -i 's/a - b/a + b/' adder.py",
        fixed: ("adder.py", "a + b"),
    },
    System {
        name: "make",
        needs: &["/usr/bin/make"],
        files: &[SHELL_ADDER, ("Makefile", "test:\n\ttest \"$$(sh src/adder.sh 1 1)\" = 2\n")],
        allow: "src/",
        fix: SHELL_FIX,
        fixed: SHELL_FIXED,
    },
    System {
        name: "cmake",
        needs: &["/usr/bin/ctest"],
        files: &[
            (".gitignore", "build/\n"),
            SHELL_ADDER,
            (
                "CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.16)\nproject(adder NONE)\nenable_testing()\nadd_test(NAME adds COMMAND sh -c \"test $(sh ${CMAKE_SOURCE_DIR}/src/adder.sh 1 1) = 2\")\n",
            ),
        ],
        allow: "src/",
        fix: SHELL_FIX,
        fixed: SHELL_FIXED,
    },
    System {
        name: "node",
        needs: &["/usr/bin/node"],
        files: &[
            ("package.json", "{\"name\": \"adder\", \"version\": \"1.0.0\"}\n"),
            ("lib/adder.js", "exports.add = (a, b) => a - b;\n"),
            (
                "test/adder.test.js",
                "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('../lib/adder.js');\ntest('adds', () => assert.strictEqual(add(1, 1), 2));\n",
            ),
        ],
        allow: "lib/",
        fix: "sed -i 's/a - b/a + b/' lib/adder.js",
        fixed: ("lib/adder.js", "a + b"),
    },
    System {
        name: "npm with a lock",
        needs: &["/usr/bin/npm"],
        files: &[
            ("package.json", KIND_PACKAGE),
            ("package-lock.json", include_str!("locks/package-lock.json")),
            (".gitignore", "node_modules/\n"),
            ("index.js", KIND),
            ("test/kind.test.js", KIND_TEST),
        ],
        allow: "index.js",
        fix: "sed -i \"s/'text'/'word'/\" index.js",
        fixed: ("index.js", "'word'"),
    },
    System {
        name: "npm workspaces",
        needs: &["/usr/bin/npm"],
        files: &[
            (
                "package.json",
                "{\"name\": \"all\", \"private\": true, \"workspaces\": [\"packages/kinds\"], \"scripts\": {\"test\": \"npm test --workspaces\"}}\n",
            ),
            ("package-lock.json", WORKSPACE_LOCK),
            (".gitignore", "node_modules/\n"),
            (
                "packages/kinds/package.json",
                "{\"name\": \"kinds\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test\"}, \"dependencies\": {\"is-number\": \"7.0.0\"}}\n",
            ),
            (
                "packages/kinds/index.js",
                "const isNumber = require('is-number');\nexports.kind = (t) => (isNumber(t) ? 'number' : 'text');\n",
            ),
            ("packages/kinds/test/kind.test.js", KIND_TEST),
        ],
        allow: "packages/kinds/index.js",
        fix: "sed -i \"s/'text'/'word'/\" packages/kinds/index.js",
        fixed: ("packages/kinds/index.js", "'word'"),
    },
    System {
        name: "pnpm",
        needs: &[],
        files: &[
            ("package.json", KIND_PACKAGE),
            ("pnpm-lock.yaml", include_str!("locks/pnpm-lock.yaml")),
            (".gitignore", "node_modules/\n"),
            ("index.js", KIND),
            ("test/kind.test.js", KIND_TEST),
        ],
        allow: "index.js",
        fix: "sed -i \"s/'text'/'word'/\" index.js",
        fixed: ("index.js", "'word'"),
    },
    System {
        name: "yarn",
        needs: &[],
        files: &[
            ("package.json", KIND_PACKAGE),
            ("yarn.lock", include_str!("locks/yarn.lock")),
            (".gitignore", "node_modules/\n"),
            ("index.js", KIND),
            ("test/kind.test.js", KIND_TEST),
        ],
        allow: "index.js",
        fix: "sed -i \"s/'text'/'word'/\" index.js",
        fixed: ("index.js", "'word'"),
    },
    System {
        name: "pip with a lock",
        needs: &["/usr/bin/python3"],
        files: &[
            ("requirements.txt", "inflection==0.5.1\njinja2==3.1.6\nmarkupsafe==3.0.4\n"),
            (".gitignore", ".venv/\n"),
            ("counts.py", COUNTS),
            ("tests/test_counts.py", COUNTS_TEST),
        ],
        allow: "counts.py",
        fix: COUNTS_FIX,
        fixed: COUNTS_FIXED,
    },
    System {
        name: "uv",
        needs: &["/usr/bin/python3"],
        files: &[
            (
                "pyproject.toml",
                "[project]\nname = \"counts\"\nversion = \"1.0.0\"\nrequires-python = \">=3.9\"\ndependencies = [\"inflection==0.5.1\", \"jinja2==3.1.6\"]\n",
            ),
            ("uv.lock", include_str!("locks/uv.lock")),
            (".gitignore", ".venv/\n"),
            ("counts.py", COUNTS),
            ("tests/test_counts.py", COUNTS_TEST),
        ],
        allow: "counts.py",
        fix: COUNTS_FIX,
        fixed: COUNTS_FIXED,
    },
    System {
        name: "poetry",
        needs: &["/usr/bin/python3"],
        files: &[
            (
                "pyproject.toml",
                "[tool.poetry]\nname = \"counts\"\nversion = \"1.0.0\"\ndescription = \"\"\nauthors = []\npackage-mode = false\n\n[tool.poetry.dependencies]\npython = \"^3.9\"\njinja2 = \"3.1.6\"\ninflection = \"0.5.1\"\n",
            ),
            ("poetry.lock", include_str!("locks/poetry.lock")),
            (".gitignore", ".venv/\n"),
            ("counts.py", COUNTS),
            ("tests/test_counts.py", COUNTS_TEST),
        ],
        allow: "counts.py",
        fix: COUNTS_FIX,
        fixed: COUNTS_FIXED,
    },
    System {
        name: "pip without a lock",
        needs: &["/usr/bin/python3"],
        files: &[
            (
                "pyproject.toml",
                "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\n[project]\nname = \"counts\"\nversion = \"1.0.0\"\ndependencies = [\"inflection\", \"jinja2\"]\n\n[tool.setuptools]\npackage-dir = {\"\" = \"src\"}\npy-modules = [\"counts\"]\n",
            ),
            (".gitignore", ".venv/\n*.egg-info/\nbuild/\n"),
            ("src/counts.py", COUNTS),
            ("tests/test_counts.py", COUNTS_TEST),
        ],
        allow: "src/counts.py",
        fix: "sed -i 's/word=inflection/word=word if n == 1 else inflection/' src/counts.py",
        fixed: ("src/counts.py", "if n == 1"),
    },
    System {
        name: "a C extension in a src layout",
        needs: &["/usr/bin/python3", "/usr/bin/gcc", "/usr/include/python3.11/Python.h"],
        files: &[
            ("requirements.txt", "inflection==0.5.1\nsetuptools\nwheel\n"),
            (
                "pyproject.toml",
                "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\n[project]\nname = \"adder\"\nversion = \"1.0.0\"\n",
            ),
            (
                "setup.py",
                "from setuptools import Extension, setup\n\nsetup(package_dir={'': 'src'}, packages=[], ext_modules=[Extension('adder', ['src/adder.c'])])\n",
            ),
            (".gitignore", ".venv/\n*.egg-info/\nbuild/\n*.so\n"),
            (
                "src/adder.c",
                "#include <Python.h>\n\nstatic PyObject *add(PyObject *self, PyObject *args) {\n    long a, b;\n    if (!PyArg_ParseTuple(args, \"ll\", &a, &b)) return NULL;\n    return PyLong_FromLong(a - b);\n}\n\nstatic PyMethodDef methods[] = {{\"add\", add, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};\nstatic struct PyModuleDef module = {PyModuleDef_HEAD_INIT, \"adder\", NULL, -1, methods};\nPyMODINIT_FUNC PyInit_adder(void) { return PyModule_Create(&module); }\n",
            ),
            (
                "tests/test_adder.py",
                "import unittest\n\nfrom adder import add\n\n\nclass Adder(unittest.TestCase):\n    def test_zero(self):\n        self.assertEqual(add(1, 0), 1)\n\n    def test_adds(self):\n        self.assertEqual(add(1, 1), 2)\n",
            ),
        ],
        allow: "src/adder.c",
        fix: "sed -i 's/a - b/a + b/' src/adder.c",
        fixed: ("src/adder.c", "a + b"),
    },
    System {
        name: "cargo",
        needs: &[],
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"digits\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nitoa = \"=1.0.11\"\ntextwrap = \"=0.16.1\"\n",
            ),
            ("Cargo.lock", include_str!("locks/Cargo.lock")),
            (".gitignore", "/target\n"),
            (
                "src/lib.rs",
                "pub fn digits(n: u32) -> usize {\n    let text = itoa::Buffer::new().format(n).to_owned();\n    textwrap::wrap(&text, 80)[0].len().min(4)\n}\n",
            ),
            (
                "tests/digits.rs",
                "#[test]\nfn few() {\n    assert_eq!(digits::digits(7), 1);\n}\n\n#[test]\nfn many() {\n    assert_eq!(digits::digits(40_000), 5);\n}\n",
            ),
        ],
        allow: "src/",
        fix: "sed -i 's/.min(4)/ + 0/' src/lib.rs",
        fixed: ("src/lib.rs", "len() + 0"),
    },
    System {
        name: "go with vendored modules",
        needs: &[],
        files: &[
            ("go.mod", "module example.org/price\n\ngo 1.21\n\nrequire example.org/round v1.0.0\n"),
            ("vendor/modules.txt", "# example.org/round v1.0.0\n## explicit; go 1.21\nexample.org/round\n"),
            (
                "vendor/example.org/round/round.go",
                "package round\n\nfunc To(n, step int) int { return n / step * step }\n",
            ),
            (
                "price.go",
                "package price\n\nimport \"example.org/round\"\n\nfunc Net(gross int) int { return round.To(gross, 3) }\n",
            ),
            (
                "price_test.go",
                "package price\n\nimport \"testing\"\n\nfunc TestDown(t *testing.T) {\n\tif Net(14) != 10 {\n\t\tt.Fatal(Net(14))\n\t}\n}\n\nfunc TestEven(t *testing.T) {\n\tif Net(15) != 15 {\n\t\tt.Fatal(Net(15))\n\t}\n}\n",
            ),
        ],
        allow: "price.go",
        fix: "sed -i 's/gross, 3/gross, 5/' price.go",
        fixed: ("price.go", "gross, 5"),
    },
    System {
        name: "maven offline",
        needs: &[
            "/usr/bin/mvn",
            "/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin",
            "/usr/share/maven-repo/org/apache/maven/plugins/maven-compiler-plugin",
            "/usr/share/maven-repo/org/apache/maven/plugins/maven-resources-plugin",
            "/usr/share/maven-repo/junit/junit",
        ],
        files: &[
            (".gitignore", "target/\n"),
            ("pom.xml", include_str!("../../runners/adder.pom.xml")),
            (
                "src/main/java/demo/Adder.java",
                "package demo;\n\npublic class Adder {\n  public static int add(int a, int b) { return a - b; }\n}\n",
            ),
            (
                "src/test/java/demo/AdderTest.java",
                "package demo;\n\nimport static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\npublic class AdderTest {\n  @Test public void adds() { assertEquals(2, Adder.add(1, 1)); }\n\n  @Test public void stays() { assertEquals(1, Adder.add(1, 0)); }\n}\n",
            ),
        ],
        allow: "src/main/",
        fix: "sed -i 's/a - b/a + b/' src/main/java/demo/Adder.java",
        fixed: ("src/main/java/demo/Adder.java", "a + b"),
    },
];

const KIND_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { kind } = require('..');\ntest('a number', () => assert.equal(kind('12'), 'number'));\ntest('a word', () => assert.equal(kind('twelve'), 'word'));\n";

/// Asks for a package that needs others, and those others in turn.
const KIND_PACKAGE: &str = "{\"name\": \"kinds\", \"private\": true, \"scripts\": {\"test\": \"node --test\"}, \"dependencies\": {\"chalk\": \"4.1.2\", \"is-number\": \"7.0.0\"}}\n";
const KIND: &str = "const chalk = require('chalk');\nconst isNumber = require('is-number');\nconst plain = new chalk.Instance({ level: 0 });\nexports.kind = (t) => plain.bold(isNumber(t) ? 'number' : 'text');\n";

const WORKSPACE_LOCK: &str = concat!(
    "{\"name\": \"all\", \"lockfileVersion\": 3, \"requires\": true, \"packages\": {\n",
    "  \"\": {\"name\": \"all\", \"workspaces\": [\"packages/kinds\"]},\n",
    "  \"packages/kinds\": {\"name\": \"kinds\", \"version\": \"1.0.0\", \"dependencies\": {\"is-number\": \"7.0.0\"}},\n",
    "  \"node_modules/kinds\": {\"resolved\": \"packages/kinds\", \"link\": true},\n",
    "  \"node_modules/is-number\": {\"version\": \"7.0.0\", \"resolved\": \"https://registry.npmjs.org/is-number/-/is-number-7.0.0.tgz\",\n",
    "    \"integrity\": \"sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==\"}}}\n",
);
