'use strict';

const { readFileSync } = require('node:fs');
const { clamp } = require('./index.js');

for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  console.log(clamp(...line.split(' ').map(Number)));
}
