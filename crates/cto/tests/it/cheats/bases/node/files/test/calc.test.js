const assert = require('node:assert');
const { test } = require('node:test');
const { add } = require('../calc.js');

test('sum', () => assert.strictEqual(add(1, 2), 3));
test('zero', () => assert.strictEqual(add(0, 0), 0));
