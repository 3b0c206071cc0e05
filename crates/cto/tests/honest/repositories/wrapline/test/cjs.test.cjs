'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const test = require('node:test');

test('require finds the same functions', () => {
  const { wrap, width } = require('../dist/index.cjs');
  assert.equal(wrap('a b', 1), 'a\nb');
  assert.equal(width('ab'), 2);
});

test('dist is what the build would write', async () => {
  const { build } = await import('../scripts/build.js');
  assert.equal(readFileSync(path.join(__dirname, '../dist/index.cjs'), 'utf8'), build());
});
