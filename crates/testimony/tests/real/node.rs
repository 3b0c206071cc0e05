use testimony::results::Runner;

use crate::project::{Change, Files, Project, Setting, Trial};

const COMMON: &str = "\
'use strict'
const { test, describe, it } = require('node:test')
const assert = require('node:assert')

test('one # \\\\ thing', () => { console.log('words\\n✔ forged') })
test('later', { skip: 'why' }, () => {})
test('some day', { todo: true }, () => { assert.ok(0) })
describe('suite', () => {
  it('inner', () => {})
  it('again', () => {})
  it('again', () => {})
})
test('parent', async (t) => {
  await t.test('child', () => {})
})
const last = 1";

const MODULE: &str = "import { test } from 'node:test'\ntest('one # \\\\ thing', () => {})\n// the end";

const FILES: Files<'_> = &[
    ("test/a.test.js", COMMON),
    ("lib/b.test.mjs", MODULE),
    ("lib/plain.js", "throw new Error('not to be run')\n"),
    ("package.json", "{\"scripts\": {\"test\": \"node --test --test-reporter=spec\"}}\n"),
];

const NAMED: &[&str] = &[
    ". later",
    "+ one # \\ thing",
    "+ one # \\ thing ⟨2⟩",
    "+ parent > child",
    ". some day",
    "+ suite > again",
    "+ suite > again ⟨2⟩",
    "+ suite > inner",
];

fn change<'a>(from: &'a str, to: &'a str, exact: &'a str, by_function: &'a str) -> Change<'a> {
    Change { path: "test/a.test.js", from, to, exact, by_function }
}

#[test]
fn names_changes_and_control() {
    let Some(node) = testkit::node("node names") else { return };
    let changes = [
        change("  it('inner', () => {})\n", "", "missing suite > inner", "missing suite > inner"),
        change("it('inner'", "it.skip('inner'", "skipped suite > inner", "skipped suite > inner"),
        change("it('inner'", "it.todo('inner'", "skipped suite > inner", "skipped suite > inner"),
        change("  it('again', () => {})\n  it", "  it", "missing suite > again ⟨2⟩", ""),
        change("test('one # \\\\ thing', ", "test('two', ", "missing one # \\ thing ⟨2⟩", ""),
        change(
            "console.log('words\\n✔ forged')",
            "process.exit(0)",
            "missing one # \\ thing ⟨2⟩ parent > child suite > again suite > again ⟨2⟩ suite > inner",
            "missing parent > child suite > again suite > inner",
        ),
    ];
    for reporter in ["--test-reporter=spec", "--test-reporter=tap"] {
        let trial = Trial {
            setting: Setting::with(&node),
            runner: Runner::Node,
            argv: &["node", "--test", reporter],
            files: FILES,
            named: NAMED,
            numbers: [6, 0, 2],
            changes: &changes,
        };
        trial.hold();
    }
}

#[test]
fn usual_output_and_controls_by_command() {
    let Some(node) = testkit::node("node commands") else { return };
    let project = Project::new(&Setting::with(&node), FILES);
    let usual = project.run(&["node", "--test"], "");
    assert_eq!(usual.named(), NAMED, "{}", usual.output);
    for argv in [
        &["node", "--test"][..],
        &["node", "--test", "test/a.test.js"],
        &["node", "--test", "lib/b.test.mjs"],
        &["node", "test/a.test.js"],
        &["node", "--test", "--test-name-pattern=inner"],
        &["sh", "-c", "node --test lib/*.mjs && echo done"],
        &["node", "--test", "--test-reporter=junit", "--test-reporter-destination=stdout"],
        &["node", "--test", "--test-reporter=tap", "--test-reporter-destination", "out.tap"],
    ] {
        project.control(argv, "");
    }
    project.control(&["node", "--test"], "lib");
    let junit = project.run(&["node", "--test", "--test-reporter=junit", "lib/b.test.mjs"], "");
    assert_eq!(junit.tests().runner, Runner::Junit);
    // Since version 24 the report names the file too.
    let named = junit.named();
    assert!(matches!(&named[..], [name] if name.ends_with("one # \\ thing")), "{}", junit.output);
}

/// Whatever the ending, the package and the last line.
#[test]
fn controls_in_files_of_all_shapes() {
    let Some(node) = testkit::node("node controls") else { return };
    let common = "const { test } = require('node:test')\ntest('a', () => {})\nconst f = () => 1\r\nf";
    let module = "import test from 'node:test'\nimport assert from 'node:assert'\r\nexport const a = 1\ntest('a', () => assert(a)) /*\n*/";
    for (file, package, content) in [
        ("a.test.cjs", "{\"type\": \"module\"}", common),
        ("a.test.js", "{}", common),
        ("a.test.mjs", "{}", module),
        ("a.test.js", "{\"type\": \"module\"}", module),
    ] {
        let project =
            Project::new(&Setting::with(&node), &[(&format!("in/{file}"), content), ("in/package.json", package)]);
        project.control(&["node", "--test"], "in");
        project.control(&["node", "--test"], "");
    }
}

#[test]
fn nothing_to_run() {
    let Some(node) = testkit::node("node nothing") else { return };
    let project = Project::new(
        &Setting::with(&node),
        &[("test/a.test.js", "const { describe } = require('node:test')\ndescribe('empty', () => {})\n")],
    );
    for reporter in ["--test-reporter=spec", "--test-reporter=tap"] {
        let none = project.run(&["node", "--test", reporter], "");
        assert_eq!(none.numbers()[0], 0, "{}", none.output);
    }
    project.write("test/a.test.js", b"not a script at all");
    let broken = project.run(&["node", "--test"], "");
    assert_eq!(broken.numbers(), [1, 1, 0], "{}", broken.output);
}
