const COLOUR = /\u001b\[[0-9;]*m/g;

/** Columns that a text takes on a terminal: colours take none. */
export function width(text) {
  return [...text.replace(COLOUR, '')].length;
}
