'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { clamp } = require('../index.js');

test('within', () => assert.strictEqual(clamp(5, 1, 9), 5));
test('below', () => assert.strictEqual(clamp(-5, 1, 9), 1));
test('above', () => assert.strictEqual(clamp(15, 1, 9), 9));
