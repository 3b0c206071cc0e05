// A real browser that a test drives: one command as a line of JSON on stdin, one answer as a line of JSON on stdout.
// It ends with its stdin. BROWSER_MODULES names the folder with playwright-core and axe-core.
import { readFileSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const modules = process.env.BROWSER_MODULES;
const { chromium } = createRequire(modules + '/')('playwright-core');
const axe = readFileSync(modules + '/axe-core/axe.min.js', 'utf8');
const program = (process.env.PATH || '').split(':').map((folder) => folder + '/chromium').find(existsSync);

const browser = await chromium.launch({
  executablePath: program,
  timeout: 300000,
  args: ['--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--force-color-profile=srgb'],
});
const contexts = [];
const pages = [];
const LONGEST = 300000;

// Everything that a page must not do is kept until it is asked for.
const watch = (page, origins) => {
  const said = [];
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) said.push(m.text()); });
  page.on('pageerror', (e) => said.push('script failed: ' + String(e)));
  page.on('dialog', (d) => { said.push('a dialog opened: ' + d.message()); d.dismiss().catch(() => {}); });
  page.on('popup', (p) => said.push('a window opened: ' + p.url()));
  page.on('request', (r) => { if (!origins.some((o) => r.url().startsWith(o))) said.push('asked elsewhere: ' + r.url().slice(0, 200)); });
  return said;
};

const pause = (millis) => new Promise((done) => { setTimeout(done, millis); });

// A page that is about to become another one cannot be asked.
const again = async (work) => {
  for (let left = 5; ; left -= 1) {
    try { return await work(); } catch (error) {
      if (left === 0 || !/context was destroyed|interrupted by another navigation|ERR_ABORTED/.test(String(error))) throw error;
      await pause(150);
    }
  }
};

const interactive = 'a[href],button,input:not([type=hidden]),select,textarea,summary,[tabindex="0"]';

const acts = {
  context: async ({ script = true, theme = 'light', width = 1280, height, cookies = [], origins = [], insecure = false, offline = false }) => {
    const context = await browser.newContext({
      viewport: { width, height: height || (width === 390 ? 844 : 860) }, colorScheme: theme, javaScriptEnabled: script,
      reducedMotion: 'reduce', ignoreHTTPSErrors: insecure, offline,
    });
    if (cookies.length) await context.addCookies(cookies);
    contexts.push({ context, origins });
    return contexts.length - 1;
  },
  open: async ({ context }) => {
    const { context: own, origins } = contexts[context];
    const page = await own.newPage();
    page.setDefaultTimeout(LONGEST);
    pages.push({ page, said: watch(page, origins), context: own });
    return pages.length - 1;
  },
  goto: async ({ page, url }) => {
    const answer = await again(() => pages[page].page.goto(url, { waitUntil: 'load' }));
    return { status: answer ? answer.status() : 0, url: pages[page].page.url() };
  },
  said: async ({ page }) => pages[page].said.splice(0),
  evaluate: async ({ page, code }) => again(() => pages[page].page.evaluate(code)),
  // A click on a link or the button of a form is over when another document stands there whole: the browser asks for it in a task of its own.
  click: async ({ page, selector }) => {
    const own = pages[page].page;
    const look = () => again(() => own.evaluate(() => [performance.timeOrigin, document.readyState]));
    const leads = await own.evaluate((at) => {
      const e = document.querySelector(at);
      return Boolean(e && ((e.form && e.form.method !== 'dialog' && e.type === 'submit') || (e.matches('a[href]') && !e.getAttribute('href').startsWith('#') && !e.hasAttribute('download'))));
    }, selector);
    const [before] = await look();
    await own.click(selector);
    for (const end = Date.now() + LONGEST; leads; await pause(20)) {
      const [now, state] = await look();
      if (now !== before && state === 'complete') break;
      if (Date.now() > end) throw new Error('the click led nowhere; the page is ' + own.url());
    }
    return own.url();
  },
  fill: async ({ page, selector, text }) => pages[page].page.fill(selector, text),
  press: async ({ page, key }) => pages[page].page.keyboard.press(key),
  // Asked through the debugger again and again: the policy of the pages lets no text become script, also not to wait for something.
  wait: async ({ page, code, within = LONGEST }) => {
    for (const end = Date.now() + within; Date.now() < end; await pause(40)) {
      try { if (await pages[page].page.evaluate(code)) return true; } catch { /* between two pages */ }
    }
    throw new Error('it did not become true; the page is ' + pages[page].page.url());
  },
  url: async ({ page }) => pages[page].page.url(),
  cookies: async ({ context }) => contexts[context].context.cookies(),
  shot: async ({ page, path, whole = true }) => { await pages[page].page.screenshot({ path, fullPage: whole }); },
  close: async ({ page }) => pages[page].page.close(),
  leave: async ({ context }) => contexts[context].context.close(),
  // Text that becomes script: given by the debugger, which the policy of the page does not hold back.
  axe: async ({ page }) => {
    const own = pages[page].page;
    await own.evaluate(axe);
    const result = await own.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    const serious = result.violations.filter((v) => ['serious', 'critical'].includes(v.impact));
    return { tried: result.passes.length, found: serious.map((v) => `${v.id} at ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(' | ')}`) };
  },
  // Presses Tab until the focus leaves the page; gives the elements that it never reached, and those without a visible mark of it.
  tabs: async ({ page, most = 900 }) => {
    const own = pages[page].page;
    const wanted = await own.evaluate((selector) => {
      const isShown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0;
      window.tabStops = new Map([...document.querySelectorAll(selector)].filter(isShown).map((e) => [e, false]));
      return window.tabStops.size;
    }, interactive);
    const unmarked = [];
    for (let at = 0; at < Math.min(most, wanted + 5); at += 1) {
      await own.keyboard.press('Tab');
      const bare = await own.evaluate(() => {
        const e = document.activeElement;
        if (window.tabStops.has(e)) window.tabStops.set(e, true);
        if (!e || e === document.body) return '';
        const style = getComputedStyle(e);
        const isMarked = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== 'none';
        return isMarked ? '' : e.outerHTML.slice(0, 80);
      });
      if (bare) unmarked.push(bare);
    }
    const missed = await own.evaluate(() => [...window.tabStops].filter(([, seen]) => !seen).map(([e]) => e.outerHTML.slice(0, 80)));
    return { wanted, missed, unmarked: [...new Set(unmarked)] };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { act, ...rest } = JSON.parse(line);
  let answer;
  try { answer = { done: (await acts[act](rest)) ?? null }; } catch (error) { answer = { failed: `${act} ${JSON.stringify(rest).slice(0, 200)}: ${error}` }; }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
await browser.close();
