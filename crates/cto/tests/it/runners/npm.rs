//! Mocha, Jest, Vitest and AVA as npm has them.

use serde_json::{Value, json};
use testkit::same_place;

use super::{FAILED, Project, WEAKENED, check};

const BROKEN: &str = "exports.add = (a, b) => a - b;\n";
const WRONG: &str = "exports.add = (a, b) => a - b - 0;\n";
const MENDED: &str = "exports.add = (a, b) => a + b;\n";
const EXITS: &str = "exports.add = (a, b) => process.exit(0);\n";

/// A sandbox that shows the runner as the project's own `node_modules`, and the Node that it needs.
fn environment(test: &str, runner: &str) -> Option<Value> {
    let installed = testkit::node_runner(test, runner)?;
    let bin = installed.node.parent()?;
    let mounts = json!([same_place(&installed.modules), same_place(bin)]);
    // A folder of the project's own: runners keep caches in it.
    let link =
        format!("mkdir -p node_modules && ln -sfn '{0}'/* '{0}'/.bin node_modules/", installed.modules.display());
    Some(json!({"mounts": mounts, "path": [bin], "setup": [["sh", "-c", link]]}))
}

#[test]
fn mocha() {
    let Some(environment) = environment("runners::npm::mocha", "mocha") else { return };
    check(&Project {
        runner: "mocha",
        files: &[
            (".gitignore", "node_modules\n"),
            (
                "test/adder.js",
                "const assert = require('node:assert');\nconst { add } = require('../lib/adder.js');\n\ndescribe('add', () => {\n  it('adds', () => assert.equal(add(1, 1), 2));\n  it('stays', () => assert.equal(add(1, 0), 1));\n  it.skip('later', () => {});\n});\n",
            ),
        ],
        source: "lib/adder.js",
        broken: BROKEN,
        mended: MENDED,
        exits: EXITS,
        wrong: WRONG,
        command: json!(["node_modules/.bin/mocha"]),
        environment,
        failing: "add > adds",
        when_it_exits: WEAKENED,
        skipping: Some(("it('stays'", "it.skip('stays'")),
    });
}

#[test]
fn jest() {
    let Some(environment) = environment("runners::npm::jest", "jest") else { return };
    check(&Project {
        runner: "jest",
        files: &[
            (".gitignore", "node_modules\n"),
            ("package.json", "{\"name\": \"adder\", \"version\": \"1.0.0\", \"jest\": {\"watchman\": false}}\n"),
            (
                "test/adder.test.js",
                "const { add } = require('../lib/adder.js');\n\ndescribe('add', () => {\n  test('adds', () => expect(add(1, 1)).toBe(2));\n  test('stays', () => expect(add(1, 0)).toBe(1));\n  test.skip('later', () => {});\n});\n",
            ),
        ],
        source: "lib/adder.js",
        broken: BROKEN,
        mended: MENDED,
        exits: EXITS,
        wrong: WRONG,
        command: json!(["node_modules/.bin/jest", "--verbose"]),
        environment,
        failing: "test/adder.test.js > add > adds",
        when_it_exits: WEAKENED,
        skipping: None,
    });
}

#[test]
fn vitest() {
    let Some(environment) = environment("runners::npm::vitest", "vitest") else { return };
    check(&Project {
        runner: "vitest",
        files: &[
            (".gitignore", "node_modules\n"),
            ("package.json", "{\"name\": \"adder\", \"version\": \"1.0.0\"}\n"),
            (
                "test/adder.test.mjs",
                "import { describe, expect, test } from 'vitest';\nimport { add } from '../lib/adder.mjs';\n\ndescribe('add', () => {\n  test('adds', () => expect(add(1, 1)).toBe(2));\n  test('stays', () => expect(add(1, 0)).toBe(1));\n  test.skip('later', () => {});\n});\n",
            ),
        ],
        source: "lib/adder.mjs",
        broken: "export const add = (a, b) => a - b;\n",
        mended: "export const add = (a, b) => a + b;\n",
        exits: "export const add = () => process.exit(0);\n",
        wrong: "export const add = (a, b) => a - b - 0;\n",
        command: json!(["node_modules/.bin/vitest", "run", "--reporter=verbose"]),
        environment,
        failing: "test/adder.test.mjs > add > adds",
        when_it_exits: FAILED,
        skipping: None,
    });
}

#[test]
fn ava() {
    let Some(environment) = environment("runners::npm::ava", "ava") else { return };
    check(&Project {
        runner: "ava",
        files: &[
            (".gitignore", "node_modules\n"),
            ("package.json", "{\"name\": \"adder\", \"version\": \"1.0.0\"}\n"),
            (
                "test/adder.mjs",
                "import test from 'ava';\nimport { add } from '../lib/adder.mjs';\n\ntest('adds', t => t.is(add(1, 1), 2));\ntest('stays', t => t.is(add(1, 0), 1));\ntest.skip('later', t => t.pass());\n",
            ),
        ],
        source: "lib/adder.mjs",
        broken: "export const add = (a, b) => a - b;\n",
        mended: "export const add = (a, b) => a + b;\n",
        exits: "export const add = () => process.exit(0);\n",
        wrong: "export const add = (a, b) => a - b - 0;\n",
        command: json!(["node_modules/.bin/ava"]),
        environment,
        failing: "adds",
        when_it_exits: FAILED,
        skipping: None,
    });
}
