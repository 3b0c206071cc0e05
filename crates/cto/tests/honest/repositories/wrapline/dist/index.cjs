// Made by scripts/build.js.
'use strict';

const COLOUR = /\u001b\[[0-9;]*m/g;

/** Columns that a text takes on a terminal: colours take none. */
function width(text) {
  return [...text.replace(COLOUR, '')].length;
}

/** Breaks lines between words, so that none is wider than `columns` unless one word alone is. */
function wrap(text, columns) {
  return text.split('\n').map((line) => wrapLine(line, columns)).join('\n');
}

function wrapLine(line, columns) {
  const lines = [''];
  for (const word of line.split(' ')) {
    const last = lines.at(-1);
    if (last === '') {
      lines[lines.length - 1] = word;
    } else if (width(last) + 1 + width(word) <= columns) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines.join('\n');
}

module.exports = { width, wrap };
