import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { wrap } from '../src/index.js';

describe('wrap', () => {
  it('breaks between words', () => assert.equal(wrap('the quick brown fox', 10), 'the quick\nbrown fox'));
  it('leaves a long word alone', () => assert.equal(wrap('a incomprehensible b', 5), 'a\nincomprehensible\nb'));
  it('keeps line ends', () => assert.equal(wrap('a\n\nb', 5), 'a\n\nb'));

  describe('with colours', () => {
    it('counts them as nothing', () => assert.equal(wrap('\u001b[1mab\u001b[0m cd', 5), '\u001b[1mab\u001b[0m cd'));
  });
});

test('no line is wider than asked for', async (t) => {
  for (const columns of [5, 8, 13]) {
    await t.test(`at ${columns}`, () => {
      const lines = wrap('a few short words that fit', columns).split('\n');
      assert.ok(lines.every((line) => line.length <= columns));
    });
  }
});
