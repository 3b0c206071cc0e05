'use strict';

/** The value, or the bound of the range that it is beyond. */
function clamp(value, low, high) {
  return value < low ? low : value;
}

module.exports = { clamp };
