// Writes dist/index.cjs: the modules of src/ in one file that `require` can load.
import { readFileSync, writeFileSync } from 'node:fs';

const MODULES = ['width', 'wrap'];

export function build() {
  const sources = MODULES.map((name) => readFileSync(new URL(`../src/${name}.js`, import.meta.url), 'utf8'));
  const bodies = sources.map((source) => source.replace(/^import .*\n\n?/gm, '').replace(/^export /gm, ''));
  return `// Made by scripts/build.js.\n'use strict';\n\n${bodies.join('\n')}\nmodule.exports = { ${MODULES.join(', ')} };\n`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  writeFileSync(new URL('../dist/index.cjs', import.meta.url), build());
}
