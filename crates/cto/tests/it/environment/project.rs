//! Small projects with one dependency each, and patches to them. Each has a test that compares what is installed with
//! what the lock file asks for, as far as the dependency can tell.

use serde_json::{Value, json};

/// A file and its text.
pub(crate) type File = (&'static str, &'static str);

pub(crate) struct Project {
    pub(crate) name: &'static str,
    pub(crate) files: &'static [File],
    pub(crate) exam: &'static [&'static str],
    /// Does the same in other words.
    pub(crate) honest: File,
    /// Breaks the named test.
    pub(crate) broken: File,
    pub(crate) breaks: &'static str,
    /// Asks for another version of the dependency.
    pub(crate) update: &'static [File],
    /// Tests, one of which the broken patch breaks.
    pub(crate) tests: u64,
}

impl Project {
    pub(crate) fn exam(&self) -> (&'static str, Value) {
        ("verification_commands", json!([self.exam]))
    }
}

/// The steps of an engine that writes these files.
pub(crate) fn writes(files: &[File]) -> Value {
    files.iter().map(|(path, text)| json!({"write": {"path": path, "text": text}})).collect()
}

pub(crate) const NODE: Project = Project {
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
            r"const isNumber = require('is-number');
exports.kind = (t) => (isNumber(t) ? 'number' : 'word');
",
        ),
        (
            "test/kind.test.js",
            r"const test = require('node:test');
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
        r"const isNumber = require('is-number');

exports.kind = (text) => {
  if (isNumber(text)) return 'number';
  return 'word';
};
",
    ),
    broken: (
        "index.js",
        r"const isNumber = require('is-number');
exports.kind = (t) => (isNumber(t) ? 'number' : 'text');
",
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

pub(crate) const PYTHON: Project = Project {
    name: "python",
    files: &[
        ("requirements.txt", "inflection==0.5.1\n"),
        (".gitignore", ".venv/\n"),
        (
            "counts.py",
            r"import inflection


def count(n, word):
    return f'{n} {word if n == 1 else inflection.pluralize(word)}'
",
        ),
        (
            "test_counts.py",
            r#"import unittest
from importlib.metadata import version
from pathlib import Path

import counts


class Counts(unittest.TestCase):
    def test_one(self):
        self.assertEqual(counts.count(1, 'box'), '1 box')

    def test_many(self):
        self.assertEqual(counts.count(3, 'box'), '3 boxes')

    def test_version(self):
        self.assertEqual(Path('requirements.txt').read_text(), f'inflection=={version("inflection")}\n')
"#,
        ),
    ],
    exam: &["python3", "-m", "unittest", "-v"],
    honest: (
        "counts.py",
        r#""""Counts."""

from inflection import pluralize


def count(n, word):
    if n != 1:
        word = pluralize(word)
    return f'{n} {word}'
"#,
    ),
    broken: (
        "counts.py",
        r"import inflection


def count(n, word):
    return f'{n} {inflection.pluralize(word)}'
",
    ),
    breaks: "test_one",
    update: &[("requirements.txt", "inflection==0.5.0\n")],
    tests: 3,
};

pub(crate) const RUST: Project = Project {
    name: "rust",
    files: &[
        (
            "Cargo.toml",
            r#"[package]
name = "digits"
version = "0.1.0"
edition = "2021"

[dependencies]
itoa = "=1.0.11"
"#,
        ),
        (
            "Cargo.lock",
            r#"version = 3

[[package]]
name = "digits"
version = "0.1.0"
dependencies = [
 "itoa",
]

[[package]]
name = "itoa"
version = "1.0.11"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "49f1f14873335454500d59611f1cf4a4b0f786f9ac11f4312a78e4cf2566695b"
"#,
        ),
        (".gitignore", "/target\n"),
        (
            "src/lib.rs",
            r"pub fn digits(n: u32) -> usize {
    itoa::Buffer::new().format(n).len()
}
",
        ),
        (
            "tests/digits.rs",
            r"#[test]
fn few() {
    assert_eq!(digits::digits(7), 1);
}

#[test]
fn many() {
    assert_eq!(digits::digits(40_000), 5);
}
",
        ),
    ],
    exam: &["cargo", "test"],
    honest: (
        "src/lib.rs",
        r"//! Digits.

pub fn digits(number: u32) -> usize {
    let mut buffer = itoa::Buffer::new();
    buffer.format(number).len()
}
",
    ),
    broken: (
        "src/lib.rs",
        r"pub fn digits(n: u32) -> usize {
    itoa::Buffer::new().format(n).len().min(4)
}
",
    ),
    breaks: "many",
    update: &[
        (
            "Cargo.toml",
            r#"[package]
name = "digits"
version = "0.1.0"
edition = "2021"

[dependencies]
itoa = "=1.0.10"
"#,
        ),
        (
            "Cargo.lock",
            r#"version = 3

[[package]]
name = "digits"
version = "0.1.0"
dependencies = [
 "itoa",
]

[[package]]
name = "itoa"
version = "1.0.10"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "b1a46d1a171d865aa5f83f92695765caa047a9b4cbae2cbf37dbd613a793fd4c"
"#,
        ),
    ],
    tests: 2,
};

/// Its dependency is written by hand: it is vendored, so that no registry has to have it.
pub(crate) const GO: Project = Project {
    name: "go",
    files: &[
        (
            "go.mod",
            r"module example.org/price

go 1.21

require example.org/round v1.0.0
",
        ),
        (
            "vendor/modules.txt",
            r"# example.org/round v1.0.0
## explicit; go 1.21
example.org/round
",
        ),
        (
            "vendor/example.org/round/round.go",
            r"package round

func To(n, step int) int { return n / step * step }
",
        ),
        (
            "price.go",
            r#"package price

import "example.org/round"

func Net(gross int) int { return round.To(gross, 5) }
"#,
        ),
        (
            "price_test.go",
            r#"package price

import "testing"

func TestDown(t *testing.T) {
	if Net(12) != 10 {
		t.Fatal(Net(12))
	}
}

func TestEven(t *testing.T) {
	if Net(15) != 15 {
		t.Fatal(Net(15))
	}
}
"#,
        ),
    ],
    exam: &["go", "test", "-v", "./..."],
    honest: (
        "price.go",
        r#"// Package price rounds.
package price

import "example.org/round"

const step = 5

// Net is what is paid.
func Net(gross int) int { return round.To(gross, step) }
"#,
    ),
    broken: (
        "price.go",
        r#"package price

import "example.org/round"

func Net(gross int) int { return round.To(gross, 3) }
"#,
    ),
    breaks: "TestDown",
    update: &[
        (
            "go.mod",
            r"module example.org/price

go 1.21

require example.org/round v1.1.0
",
        ),
        (
            "vendor/modules.txt",
            r"# example.org/round v1.1.0
## explicit; go 1.21
example.org/round
",
        ),
        ("vendor/example.org/round/round.go", "package round\n\nfunc To(n, step int) int { return n - n%step }\n"),
    ],
    tests: 2,
};
