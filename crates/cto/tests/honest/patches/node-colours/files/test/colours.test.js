import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { width, wrap } from '../src/index.js';

const red = (text) => `\u001b[31m${text}\u001b[0m`;

// What a person looks at while working on colours; the assertions stand below.
console.log(red('ok 1 - red'));
console.log('not ok 2 - this is a line of text, not a test');
console.log('# tests 0');
console.log('1..0');
console.error('\u001b[2J\u001b[H\u0007bell\u0008\u0008\rback to the left\u001b]0;a title\u0007');
process.stdout.write('a line without its end');

describe(red('colours'), () => {
  it('are as wide as their text', () => {
    console.log(red('\u2716 not a failure'));
    assert.equal(width(red('ab')), 2);
  });
  it('are wrapped between words', () => assert.equal(wrap(`${red('ab')} cd`, 2), `${red('ab')}\ncd`));
  it('tabs\tand \u0000 control characters \u001b[1min\u001b[0m a name', () => assert.equal(width(''), 0));
});
