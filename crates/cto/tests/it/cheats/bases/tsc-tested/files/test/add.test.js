require('node:test')('adds', () => require('assert').equal(require('../dist/add.js').add(1, 2), 3));
