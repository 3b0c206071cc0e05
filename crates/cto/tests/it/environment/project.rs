//! Small projects with one dependency each, and patches to them. Each has a test that compares what is installed with what
//! the lock file asks for, as far as the dependency can tell.

use serde_json::{Value, json};

/// A file and its text.
pub(super) type File = (&'static str, &'static str);

pub(super) struct Project {
    pub(super) name: &'static str,
    pub(super) files: &'static [File],
    pub(super) exam: &'static [&'static str],
    /// Does the same in other words.
    pub(super) honest: File,
    /// Breaks the named test.
    pub(super) broken: File,
    pub(super) breaks: &'static str,
    /// Asks for another version of the dependency.
    pub(super) update: &'static [File],
    /// Tests, one of which the broken patch breaks.
    pub(super) tests: u64,
}

impl Project {
    pub(super) fn exam(&self) -> (&'static str, Value) {
        ("verification_commands", json!([self.exam]))
    }
}

/// The steps of an engine that writes these files.
pub(super) fn writes(files: &[File]) -> Value {
    files.iter().map(|(path, text)| json!({"write": {"path": path, "text": text}})).collect()
}

pub(super) const NODE: Project = Project {
    name: "node",
    files: &[
        ("package.json", r#"{"name": "kinds", "private": true, "dependencies": {"is-number": "7.0.0"}}"#),
        (
            "package-lock.json",
            r#"{"name": "kinds", "lockfileVersion": 3, "requires": true, "packages": {
  "": {"name": "kinds", "dependencies": {"is-number": "7.0.0"}},
  "node_modules/is-number": {"version": "7.0.0",
    "resolved": "https://registry.npmjs.org/is-number/-/is-number-7.0.0.tgz",
    "integrity": "sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="}}}"#,
        ),
        (".gitignore", "node_modules/\n"),
        (
            "index.js",
            "const isNumber = require('is-number');\nexports.kind = (t) => (isNumber(t) ? 'number' : 'word');\n",
        ),
        (
            "test/kind.test.js",
            "const test = require('node:test');
const assert = require('node:assert');
const { kind } = require('..');
test('a number', () => assert.equal(kind('12'), 'number'));
test('a word', () => assert.equal(kind('twelve'), 'word'));
test('the version', () => {
  assert.equal(require('is-number/package.json').version, require('../package.json').dependencies['is-number']);
});
",
        ),
    ],
    exam: &["node", "--test", "test/"],
    honest: (
        "index.js",
        "const isNumber = require('is-number');\n\nexports.kind = (text) => {\n  if (isNumber(text)) return 'number';\n  return 'word';\n};\n",
    ),
    broken: (
        "index.js",
        "const isNumber = require('is-number');\nexports.kind = (t) => (isNumber(t) ? 'number' : 'text');\n",
    ),
    breaks: "a word",
    update: &[
        ("package.json", r#"{"name": "kinds", "private": true, "dependencies": {"is-number": "6.0.0"}}"#),
        (
            "package-lock.json",
            r#"{"name": "kinds", "lockfileVersion": 3, "requires": true, "packages": {
  "": {"name": "kinds", "dependencies": {"is-number": "6.0.0"}},
  "node_modules/is-number": {"version": "6.0.0",
    "resolved": "https://registry.npmjs.org/is-number/-/is-number-6.0.0.tgz",
    "integrity": "sha512-Wu1VHeILBK8KAWJUAiSZQX94GmOE45Rg6/538fKwiloUu21KncEkYGPqob2oSZ5mUT73vLGrHQjKw3KMPwfDzg=="}}}"#,
        ),
    ],
    tests: 3,
};

pub(super) const PYTHON: Project = Project {
    name: "python",
    files: &[
        ("requirements.txt", "inflection==0.5.1\n"),
        (".gitignore", ".venv/\n"),
        (
            "counts.py",
            "import inflection\n\n\ndef count(n, word):\n    return f'{n} {word if n == 1 else inflection.pluralize(word)}'\n",
        ),
        (
            "test_counts.py",
            "import unittest
from importlib.metadata import version
from pathlib import Path

import counts


class Counts(unittest.TestCase):
    def test_one(self):
        self.assertEqual(counts.count(1, 'box'), '1 box')

    def test_many(self):
        self.assertEqual(counts.count(3, 'box'), '3 boxes')

    def test_version(self):
        self.assertEqual(Path('requirements.txt').read_text(), f'inflection=={version(\"inflection\")}\\n')
",
        ),
    ],
    exam: &["python3", "-m", "unittest", "-v"],
    honest: (
        "counts.py",
        "\"\"\"Counts.\"\"\"\n\nfrom inflection import pluralize\n\n\ndef count(n, word):\n    if n != 1:\n        word = pluralize(word)\n    return f'{n} {word}'\n",
    ),
    broken: (
        "counts.py",
        "import inflection\n\n\ndef count(n, word):\n    return f'{n} {inflection.pluralize(word)}'\n",
    ),
    breaks: "test_one",
    update: &[("requirements.txt", "inflection==0.5.0\n")],
    tests: 3,
};

pub(super) const RUST: Project = Project {
    name: "rust",
    files: &[
        (
            "Cargo.toml",
            "[package]\nname = \"digits\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nitoa = \"=1.0.11\"\n",
        ),
        (
            "Cargo.lock",
            "version = 3\n\n[[package]]\nname = \"digits\"\nversion = \"0.1.0\"\ndependencies = [\n \"itoa\",\n]\n\n\
             [[package]]\nname = \"itoa\"\nversion = \"1.0.11\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
             checksum = \"49f1f14873335454500d59611f1cf4a4b0f786f9ac11f4312a78e4cf2566695b\"\n",
        ),
        (".gitignore", "/target\n"),
        ("src/lib.rs", "pub fn digits(n: u32) -> usize {\n    itoa::Buffer::new().format(n).len()\n}\n"),
        (
            "tests/digits.rs",
            "#[test]\nfn few() {\n    assert_eq!(digits::digits(7), 1);\n}\n\n#[test]\nfn many() {\n    assert_eq!(digits::digits(40_000), 5);\n}\n",
        ),
    ],
    exam: &["cargo", "test"],
    honest: (
        "src/lib.rs",
        "//! Digits.\n\npub fn digits(number: u32) -> usize {\n    let mut buffer = itoa::Buffer::new();\n    buffer.format(number).len()\n}\n",
    ),
    broken: ("src/lib.rs", "pub fn digits(n: u32) -> usize {\n    itoa::Buffer::new().format(n).len().min(4)\n}\n"),
    breaks: "many",
    update: &[
        (
            "Cargo.toml",
            "[package]\nname = \"digits\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nitoa = \"=1.0.10\"\n",
        ),
        (
            "Cargo.lock",
            "version = 3\n\n[[package]]\nname = \"digits\"\nversion = \"0.1.0\"\ndependencies = [\n \"itoa\",\n]\n\n\
             [[package]]\nname = \"itoa\"\nversion = \"1.0.10\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
             checksum = \"b1a46d1a171d865aa5f83f92695765caa047a9b4cbae2cbf37dbd613a793fd4c\"\n",
        ),
    ],
    tests: 2,
};

/// Its dependency is written by hand: it is vendored, so that no registry has to have it.
pub(super) const GO: Project = Project {
    name: "go",
    files: &[
        ("go.mod", "module example.org/price\n\ngo 1.21\n\nrequire example.org/round v1.0.0\n"),
        ("vendor/modules.txt", "# example.org/round v1.0.0\n## explicit; go 1.21\nexample.org/round\n"),
        ("vendor/example.org/round/round.go", "package round\n\nfunc To(n, step int) int { return n / step * step }\n"),
        (
            "price.go",
            "package price\n\nimport \"example.org/round\"\n\nfunc Net(gross int) int { return round.To(gross, 5) }\n",
        ),
        (
            "price_test.go",
            "package price\n\nimport \"testing\"\n\nfunc TestDown(t *testing.T) {\n\tif Net(12) != 10 {\n\t\tt.Fatal(Net(12))\n\t}\n}\n\n\
             func TestEven(t *testing.T) {\n\tif Net(15) != 15 {\n\t\tt.Fatal(Net(15))\n\t}\n}\n",
        ),
    ],
    exam: &["go", "test", "-v", "./..."],
    honest: (
        "price.go",
        "// Package price rounds.\npackage price\n\nimport \"example.org/round\"\n\nconst step = 5\n\n// Net is what is paid.\nfunc Net(gross int) int { return round.To(gross, step) }\n",
    ),
    broken: (
        "price.go",
        "package price\n\nimport \"example.org/round\"\n\nfunc Net(gross int) int { return round.To(gross, 3) }\n",
    ),
    breaks: "TestDown",
    update: &[
        ("go.mod", "module example.org/price\n\ngo 1.21\n\nrequire example.org/round v1.1.0\n"),
        ("vendor/modules.txt", "# example.org/round v1.1.0\n## explicit; go 1.21\nexample.org/round\n"),
        ("vendor/example.org/round/round.go", "package round\n\nfunc To(n, step int) int { return n - n%step }\n"),
    ],
    tests: 2,
};
