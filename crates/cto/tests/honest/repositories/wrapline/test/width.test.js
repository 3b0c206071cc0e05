import assert from 'node:assert/strict';
import test from 'node:test';
import { width } from '../src/index.js';

test('letters', () => assert.equal(width('abc'), 3));
test('a letter beyond the basic plane is one', () => assert.equal(width('𝔸'), 1));
test('colours take no room', () => assert.equal(width('\u001b[31mred\u001b[0m'), 3));
test('wide letters', { skip: 'needs a table of wide letters' }, () => assert.equal(width('漢字'), 4));
