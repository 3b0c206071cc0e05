// Pictures of the console of `cto demo --serve`, small enough for the docs. argv: ORIGIN LOGIN_PATH FOLDER [docs], the last for those pictures alone that the docs show.
import { mkdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';

const [, , origin, login, folder, which] = process.argv;
const LARGEST = 150_000;
const SHOWN = ['overview-light-1280', 'run-fail-light-1280', 'run-live-dark-1280', 'packet-light-1280', 'approvals-light-1280', 'overview-light-390'];
const require = createRequire(process.env.BROWSER_MODULES + '/');
const { chromium } = require('playwright-core');
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.BROWSER_PROGRAM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const first = await browser.newContext();
const entry = await first.newPage();
await entry.goto(origin + login);
await entry.click('button[type=submit]:has-text("Log in")');
await entry.waitForURL(origin + '/');
const cookies = await first.cookies();
const json = (path) => entry.evaluate(async (place) => (await fetch(place)).json(), path);
const newest = async (words) => (await json('/api/cto/runs?q=' + encodeURIComponent(words))).runs[0]?.run_id;
const [passed, failed, blocked] = [await newest('status:pass'), await newest('status:fail'), await newest('status:blocked')];
const requests = (await json('/api/cto/approvals')).requests;
const states = requests.map((one) => one.state).sort();
const open = requests.find((one) => one.state === 'open');
const spend = (await json('/api/cto/spend')).rows;
const faults = [];
// The run that goes on, once its engine has run some commands.
let live = null;
for (const end = Date.now() + 120000; !live && Date.now() < end; await new Promise((done) => { setTimeout(done, 500); })) {
  const run = (await json('/api/cto/overview')).running[0]?.run_id;
  const told = run ? JSON.stringify((await json('/api/cto/runs/' + run)).events) : '';
  if (told.includes('Hello, World!')) live = run;
}
if (!live) faults.push('no run goes on');
// The history has what a page is there to show.
if (!passed || !failed || !blocked) faults.push(`a verdict is missing: ${[passed, failed, blocked]}`);
for (const state of ['open', 'approved', 'used', 'denied', 'held', 'revoked', 'expired']) if (!states.includes(state)) faults.push(`no request is ${state}: ${states}`);
if (!spend.length) faults.push('no model use');
await first.close();

const pages = {
  overview: '/', runs: '/runs', 'run-live': '/runs/' + live, 'run-pass': '/runs/' + passed, 'run-fail': '/runs/' + failed, 'run-blocked': '/runs/' + blocked,
  approvals: '/approvals', packet: '/approvals/' + (open?.request ?? ''), compare: `/compare?runs=${passed}%20${failed}`, records: '/records', spend: '/spend',
};
let pictures = 0;
for (const [theme, width] of [['light', 1280], ['dark', 1280], ['light', 390], ['dark', 390]]) {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: theme, reducedMotion: 'reduce' });
  await context.addCookies(cookies);
  for (const [name, path] of Object.entries(pages)) {
    if (which === 'docs' && !SHOWN.includes(`${name}-${theme}-${width}`)) continue;
    const page = await context.newPage();
    const answer = await page.goto(origin + path, { waitUntil: 'load' });
    if (answer.status() !== 200) faults.push(`${name}: status ${answer.status()}`);
    const file = `${folder}/console-${name}-${theme}-${width}.png`;
    await page.screenshot({ path: file });
    if (statSync(file).size > LARGEST) faults.push(`${file} is larger than ${LARGEST} bytes`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) faults.push(`${name} at ${width} scrolls sideways: ${wide}`);
    pictures += 1;
    await page.close();
  }
  await context.close();
}
await browser.close();
for (const fault of faults) console.log(fault);
console.log(`${pictures} pictures, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);
