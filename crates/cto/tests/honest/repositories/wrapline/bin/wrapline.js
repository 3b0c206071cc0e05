#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { wrap } from '../src/index.js';

const columns = Number(process.argv[2] ?? 72);
if (!Number.isInteger(columns) || columns < 1) {
  console.error('usage: wrapline [COLUMNS] < TEXT');
  process.exit(2);
}
process.stdout.write(wrap(readFileSync(0, 'utf8'), columns));
