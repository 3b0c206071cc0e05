// Pages of `cto export --html`, opened from disk with the network off: a row each, in which the box of the page must say what is expected.
// argv: a file of rows, {name, file, holds, status, files, key, plain, ran, never}. Exit 1 with a line for each fault.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.BROWSER_MODULES + '/');
const { chromium } = require('playwright-core');
const rows = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const browser = await chromium.launch({
  executablePath: process.env.BROWSER_PROGRAM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const faults = [];
for (const row of rows) {
  const said = [];
  const context = await browser.newContext({ offline: true, viewport: { width: row.width || 1280, height: 860 } });
  // Browsers that give a page from disk no digests of their own.
  if (row.plain) await context.addInitScript(() => Object.defineProperty(globalThis, 'crypto', { value: undefined }));
  const page = await context.newPage();
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type()) && !row.ran && !row.refused) said.push(m.text()); });
  page.on('pageerror', (e) => said.push(String(e)));
  page.on('request', (r) => { if (!r.url().startsWith('file:')) said.push('asked elsewhere: ' + r.url()); });
  await page.goto(pathToFileURL(row.file).href, { waitUntil: 'load' });
  await page.waitForFunction(() => document.querySelector('#verifier').dataset.holds, null, { timeout: 20000 });
  if (row.key) {
    await page.evaluate(() => { delete document.querySelector('#verifier').dataset.holds; });
    await page.fill('#verifier-key', row.key);
    await page.click('#verifier-again');
    await page.waitForFunction(() => document.querySelector('#verifier').dataset.holds, null, { timeout: 20000 });
  }
  const found = await page.evaluate(() => ({
    holds: document.querySelector('#verifier').dataset.holds === 'true',
    made: Number(document.querySelector('#verifier').dataset.made),
    word: document.querySelector('#verifier-word').textContent,
    say: document.querySelector('#verifier-say').textContent,
    failures: [...document.querySelectorAll('#verifier-failures li')].map((li) => [li.dataset.file, li.dataset.check]),
    text: document.querySelector('#main').innerText,
    ran: Boolean(window.hostileRan),
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    subtle: Boolean(globalThis.crypto?.subtle),
  }));
  if (row.open) {
    await page.click(`a[href="#file:${row.open}"]`);
    await page.waitForFunction(() => document.querySelector('#file-text').textContent);
    const text = await page.textContent('#file-text');
    if (!text.includes(row.opened)) said.push(`${row.open} does not open: ${text.slice(0, 80)}`);
  }
  if (row.shot) await page.screenshot({ path: row.shot });
  if (found.holds !== row.holds) said.push(`holds ${found.holds}: ${found.say} ${JSON.stringify(found.failures)}`);
  if (found.made < 100 && row.holds) said.push('only ' + found.made + ' checks');
  if (row.status && !found.say.includes(`verdict ${row.status}.`)) said.push('no verdict: ' + found.say);
  for (const file of row.files || []) if (!found.failures.some(([name]) => name === file)) said.push(`${file} is not named: ${JSON.stringify(found.failures)}`);
  for (const file of row.only || []) if (found.failures.some(([name]) => name !== file)) said.push('others are named: ' + JSON.stringify(found.failures));
  for (const [file, check] of row.checks || []) if (!found.failures.some(([a, b]) => a === file && b === check)) said.push(`no ${file} ${check}: ${JSON.stringify(found.failures)}`);
  if (row.says && !found.say.includes(row.says)) said.push(`does not say “${row.says}”: ${found.say}`);
  if (/trusted/i.test(found.say + found.word)) said.push('says trusted: ' + found.say);
  if (found.ran !== Boolean(row.ran)) said.push('foreign script ran: ' + found.ran);
  if (found.wide) said.push('scrolls sideways');
  if (found.subtle === Boolean(row.plain)) said.push('crypto.subtle: ' + found.subtle);
  if (said.length) faults.push(`${row.name}: ${said.join('; ')}`);
  await context.close();
}
await browser.close();
for (const fault of faults) console.log(fault);
console.log(`${rows.length} pages from disk, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);
