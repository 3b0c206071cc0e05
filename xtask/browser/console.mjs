// Every page of a running console in a real browser: light and dark, wide and narrow, with script and without. A page must have no console
// error, no policy violation, no request elsewhere, no sideways scrolling, no inline style or script, and nothing serious for axe-core.
// argv: ORIGIN LOGIN_PATH PAGES_JSON SHOTS_FOLDER (or -). Exit 1 with a line for each fault.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [, , origin, login, pagesText, shots] = process.argv;
const require = createRequire(process.env.BROWSER_MODULES + '/');
const { chromium } = require('playwright-core');
const axe = readFileSync(process.env.BROWSER_MODULES + '/axe-core/axe.min.js', 'utf8');
const pages = JSON.parse(pagesText);
if (shots !== '-') mkdirSync(shots, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.BROWSER_PROGRAM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const faults = [];

// One login for all: each link works once.
const first = await browser.newContext({ javaScriptEnabled: false });
const entry = await first.newPage();
await entry.goto(origin + login);
await entry.click('button[type=submit]:has-text("Log in")');
if (new URL(entry.url()).pathname !== '/') { console.log('the login without script did not lead to the overview: ' + entry.url()); process.exit(1); }
const cookies = await first.cookies();
if (!cookies.every((c) => c.httpOnly && c.sameSite === 'Strict')) faults.push('a cookie is not HttpOnly and SameSite=Strict');
await first.close();

const facts = () => {
  const root = document.documentElement;
  return {
    wide: root.scrollWidth > root.clientWidth ? `${root.scrollWidth} > ${root.clientWidth}` : '',
    inline: document.querySelectorAll('[style],[onclick],[onload],[onerror],style,script:not([src])').length,
    doubled: [...document.querySelectorAll('[id]')].map((e) => e.id).filter((v, i, a) => a.indexOf(v) !== i).join(','),
    ran: window.hostileRan || 0,
  };
};

let views = 0;
for (const script of [true, false]) for (const theme of ['light', 'dark']) for (const width of [1280, 390]) {
  const context = await browser.newContext({
    viewport: { width, height: width === 390 ? 844 : 860 }, colorScheme: theme, javaScriptEnabled: script, reducedMotion: 'reduce',
  });
  await context.addCookies(cookies);
  for (const [name, path] of Object.entries(pages)) {
    views += 1;
    const said = [];
    const page = await context.newPage();
    page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) said.push(m.text()); });
    page.on('pageerror', (e) => said.push(String(e)));
    page.on('dialog', (d) => { said.push('a dialog opened: ' + d.message()); d.dismiss(); });
    page.on('request', (r) => { if (!r.url().startsWith(origin)) said.push('asked elsewhere: ' + r.url()); });
    const answer = await page.goto(origin + path, { waitUntil: 'load' });
    if (new URL(page.url()).pathname !== new URL(origin + path).pathname) said.push('led to ' + page.url());
    if (answer.status() !== 200) said.push('status ' + answer.status());
    await page.waitForTimeout(60);
    const found = await page.evaluate(facts);
    if (found.wide) said.push('scrolls sideways: ' + found.wide);
    if (found.inline) said.push(found.inline + ' inline styles, scripts or handlers');
    if (found.doubled) said.push('ids stand twice: ' + found.doubled);
    if (found.ran) said.push('hostile text ran');
    if (shots !== '-' && script) await page.screenshot({ path: `${shots}/${name}-${theme}-${width}.png`, fullPage: true });
    if (said.length) faults.push(`${name} ${theme} ${width} ${script ? 'with' : 'without'} script: ${said.join('; ')}`);
    await page.close();
  }
  await context.close();
}

// axe-core is text that becomes script, which the policy forbids: it is tried on pages whose policy the browser leaves out.
for (const theme of ['light', 'dark']) for (const width of [1280, 390]) {
  const context = await browser.newContext({ viewport: { width, height: 860 }, colorScheme: theme, bypassCSP: true, reducedMotion: 'reduce' });
  await context.addCookies(cookies);
  for (const [name, path] of Object.entries(pages)) {
    const page = await context.newPage();
    await page.goto(origin + path, { waitUntil: 'load' });
    await page.addScriptTag({ content: axe });
    const result = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }));
    for (const fault of result.violations.filter((v) => ['serious', 'critical'].includes(v.impact))) {
      faults.push(`axe ${name} ${theme} ${width}: ${fault.impact} ${fault.id} at ${fault.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(' | ')}`);
    }
    await page.close();
  }
  await context.close();
}

// Keys alone: the first tab stop skips to the content, g r leads to the runs, / to the search.
const context = await browser.newContext();
await context.addCookies(cookies);
const page = await context.newPage();
await page.goto(origin + '/');
await page.keyboard.press('Tab');
if (await page.evaluate(() => document.activeElement.className) !== 'skip') faults.push('the first tab stop does not skip to the content');
await page.keyboard.press('g');
await page.keyboard.press('r');
await page.waitForURL('**/runs');
await page.keyboard.press('/');
if (await page.evaluate(() => document.activeElement.id) !== 'runs-q') faults.push('/ does not lead to the search');
// Trusted Types: markup made by script is refused by the browser itself.
const made = await page.evaluate(() => { try { document.body.innerHTML = '<img src=x onerror="window.hostileRan=1">'; return 'made'; } catch (error) { return error.name; } });
if (made !== 'TypeError') faults.push('script could make markup: ' + made);
await context.close();
await browser.close();
for (const fault of faults) console.log(fault);
console.log(`${views} page views, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);
