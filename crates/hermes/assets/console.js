// Hermes console: progressive enhancement only. Every page is complete without this file.
// Runs in <head> so that a stored theme applies before first paint; the rest waits for the document.
// Text of others enters the document as text nodes and attributes alone: no markup is ever made from it.
(() => {
  'use strict';
  const root = document.documentElement;
  const store = {
    get: (k) => { try { return localStorage.getItem(k); } catch { return null; } },
    set: (k, v) => { try { localStorage.setItem(k, v); } catch { /* private mode */ } },
  };
  for (const [key, known] of [['theme', ['light', 'dark']], ['density', ['compact', 'comfortable']]]) {
    const value = store.get('hermes-' + key);
    if (known.includes(value)) root.dataset[key] = value;
  }
  const $ = (s, el = document) => el.querySelector(s);
  const $$ = (s, el = document) => [...el.querySelectorAll(s)];
  const say = (text) => { const live = $('#live'); if (live) live.textContent = text; };
  const isTyping = () => /INPUT|SELECT|TEXTAREA/.test(document.activeElement?.tagName || '');

  const theme = () => {
    const dark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
    for (const b of $$('[data-do="theme"]')) {
      const paint = () => { b.setAttribute('aria-label', dark() ? 'Use light theme' : 'Use dark theme'); $('use', b).setAttribute('href', dark() ? '#i-sun' : '#i-moon'); };
      b.hidden = false;
      paint();
      b.addEventListener('click', () => { root.dataset.theme = dark() ? 'light' : 'dark'; store.set('hermes-theme', root.dataset.theme); paint(); });
    }
  };

  const density = () => {
    const buttons = $$('[data-density-set]');
    const paint = () => { for (const b of buttons) b.setAttribute('aria-pressed', String(b.dataset.densitySet === (root.dataset.density || 'comfortable'))); };
    for (const b of buttons) {
      b.parentElement.hidden = false;
      b.addEventListener('click', () => { root.dataset.density = b.dataset.densitySet; store.set('hermes-density', root.dataset.density); paint(); });
    }
    paint();
  };

  const copying = () => {
    for (const b of $$('.copy')) b.hidden = false;
    document.addEventListener('click', async (e) => {
      const b = e.target.closest('.copy');
      if (!b) return;
      try { await navigator.clipboard.writeText(b.dataset.copy); b.dataset.done = ''; $('use', b).setAttribute('href', '#i-tick'); say('Copied'); } catch { say('Copy is not allowed here; select the text instead'); }
      setTimeout(() => { delete b.dataset.done; $('use', b).setAttribute('href', '#i-copy'); }, 1200);
    });
  };

  // j k between rows, / to search, g and a letter to a page, ? for this list
  const keyboard = () => {
    const pages = 'offline' in root.dataset ? {} : { o: '/', r: '/runs', a: '/approvals', c: '/compare', d: '/records', s: '/spend' };
    let going = false;
    document.addEventListener('keydown', (e) => {
      if (isTyping() || e.ctrlKey || e.metaKey || e.altKey) return;
      if (going && pages[e.key]) { location.assign(pages[e.key]); return; }
      going = e.key === 'g';
      if (e.key === '/') { const q = $('input[type="search"]'); if (q) { e.preventDefault(); q.focus(); } }
      if (e.key === '?') $('#keys')?.showModal();
      if (e.key === 'j' || e.key === 'k') {
        const rows = $$('main .rows a, main tbody a');
        const at = rows.indexOf(document.activeElement) + (e.key === 'j' ? 1 : -1);
        rows[Math.min(rows.length - 1, Math.max(0, at))]?.focus();
      }
    });
  };

  // a diff is one stop of Tab; arrows go from line to line of it, and each line is a link to itself
  const diffLines = () => {
    for (const diff of $$('.diff')) {
      diff.addEventListener('keydown', (e) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
        if (!step || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
        const links = $$('tr', diff).map((row) => $('a', row)).filter(Boolean);
        const row = document.activeElement.closest('.diff tr');
        const at = row ? links.indexOf($('a', row)) + step : step > 0 ? 0 : links.length - 1;
        if (!links[at]) return;
        e.preventDefault();
        links[at].focus();
      });
    }
  };

  // the range input is the control; the cursor and the list follow
  const scrubbing = () => {
    const scrub = $('#scrub');
    const items = $$('.events li');
    if (!scrub || !items.length) return;
    scrub.parentElement.hidden = false;
    const cursors = $$('.cursor');
    const out = $('#scrub-out');
    const list = $('.events');
    let at = items.length - 1;
    const draw = (follow) => {
      const li = items[at];
      scrub.value = Math.round(li.dataset.x * 10);
      for (const c of cursors) { c.setAttribute('x1', li.dataset.x + '%'); c.setAttribute('x2', li.dataset.x + '%'); }
      items.forEach((it, i) => { it.toggleAttribute('data-now', i === at); it.toggleAttribute('data-later', i > at); });
      out.textContent = li.dataset.t;
      scrub.setAttribute('aria-valuetext', li.dataset.t + ', ' + $('.type', li).textContent);
      if (follow) list.scrollTop = li.offsetTop - list.offsetTop - list.clientHeight / 2;
    };
    scrub.addEventListener('input', () => { at = Math.max(0, items.findLastIndex((it) => it.dataset.x * 10 <= Number(scrub.value))); draw(true); });
    scrub.addEventListener('keydown', (e) => {
      const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageUp: at + 5, PageDown: at - 5, Home: 0, End: items.length - 1 }[e.key];
      if (to === undefined) return;
      e.preventDefault(); at = Math.min(items.length - 1, Math.max(0, to)); draw(true);
    });
    items.forEach((it, i) => it.addEventListener('click', () => { at = i; draw(false); }));
    draw(false);
  };

  // printable, as the server shows it: control characters become pictures, direction and width their code
  const neutral = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu, (c) => { const at = c.codePointAt(0); return at < 0x20 ? String.fromCodePoint(0x2400 + at) : at === 0x7f ? '\u2421' : '\\u{' + at.toString(16) + '}'; });
  const describe = (data) => {
    const text = Object.entries(data || {}).filter(([, v]) => v !== null).map(([k, v]) => k + ' ' + (typeof v === 'string' ? v : JSON.stringify(v))).join(', ');
    const clean = neutral(text);
    return clean.length > 300 ? clean.slice(0, 300) + '…' : clean;
  };

  // the lanes above the list, drawn anew from it: each event moves all marks, because the run grows longer
  const LANES = { 'engine.': 'engine', 'model.': 'model', 'sandbox.': 'sandbox', 'verification.': 'verify' };
  const HOLDS = ['sandbox.refused', 'model.refused', 'backend.gate.blocked', 'approval.denied'];
  const laneOf = (type) => LANES[Object.keys(LANES).find((start) => type.startsWith(start))] || 'harness';
  const toneOf = (event) => (HOLDS.includes(event.type) ? 'hold' : (event.data?.reasons || []).length ? 'bad' : event.type === 'run.completed' && event.data?.status === 'pass' ? 'good' : '');
  const millisOf = (clock) => { const [minutes, seconds] = clock.split(':'); return Math.round((Number(minutes) * 60 + Number(seconds)) * 1000); };
  const drawing = (list) => {
    const tracks = new Map($$('.lane-name').map((name) => [name.textContent, name.nextElementSibling]));
    const svg = (name, attributes) => { const made = document.createElementNS($('svg').namespaceURI, name); for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value); return made; };
    const markOf = (x, tone, lane) => {
      const cls = 'ev ' + ({ bad: 'ev-fail', hold: 'ev-refused', good: 'ev-pass' }[tone] || (lane === 'model' ? 'ev-model' : ''));
      if (tone !== 'bad' && tone !== 'hold') return svg('circle', { class: cls, cx: x, cy: 13, r: 3.5 });
      const place = svg('svg', { class: 'ev-place', x, y: 13, overflow: 'visible' });
      place.append(svg('path', { class: cls, d: 'M0 -6 6 0 0 6 -6 0z' }));
      return place;
    };
    const draw = () => {
      const items = [...list.children];
      const span = Math.max(1, ...items.slice(-1).map((li) => millisOf(li.dataset.t)));
      for (const track of tracks.values()) for (const old of $$(':scope > circle, :scope > svg', track)) old.remove();
      for (const li of items) {
        const type = $('.type', li);
        const lane = laneOf(type.textContent);
        const tone = ['bad', 'hold', 'good'].find((one) => type.classList.contains(one)) || '';
        tracks.get(lane)?.append(markOf((1 + 98 * millisOf(li.dataset.t) / span).toFixed(2) + '%', tone, lane));
      }
      const count = $('.tabs a[href="#timeline"] span');
      if (count) count.textContent = String(items.length);
    };
    let waits = false;
    return () => { if (waits) return; waits = true; setTimeout(() => { waits = false; draw(); }, 500); };
  };

  // a live run: history is on the page, the stream goes on behind it; a cut stream resumes by itself behind the last event.
  // A browser has six connections to a server for all its tabs, so that a hidden page holds none and catches up when it is shown.
  const following = () => {
    const list = $('.events[data-live]');
    if (!list || !window.EventSource) return;
    const state = $('#live-state');
    const word = (text) => { const span = state && $('.st > span', state); if (span) span.textContent = text; say(text); };
    const first = list.firstElementChild;
    const redraw = drawing(list);
    let start = null;
    const add = (event) => {
      if (document.getElementById('event-' + event.seq)) return;
      const time = Date.parse(event.time);
      if (start === null) start = time;
      const ms = Math.max(0, time - start);
      const li = document.createElement('li');
      li.id = 'event-' + event.seq;
      const clock = Math.floor(ms / 60000) + ':' + String(Math.floor(ms / 1000) % 60).padStart(2, '0') + '.' + String(ms % 1000).padStart(3, '0');
      li.dataset.t = clock;
      for (const [cls, text] of [['seq', String(event.seq)], ['t', clock], ['type ' + toneOf(event), neutral(String(event.type))], ['say soft', describe(event.data)]]) {
        const span = document.createElement('span');
        span.className = cls.trim();
        span.textContent = text;
        li.append(span);
      }
      const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
      list.append(li);
      if (atEnd) list.scrollTop = list.scrollHeight;
      redraw();
    };
    list.scrollTop = list.scrollHeight;
    let stream = null;
    let ended = false;
    const close = () => { stream?.close(); stream = null; };
    const end = (text) => { ended = true; close(); word(text); };
    const seenText = () => 'events up to ' + (list.dataset.seen || list.dataset.after || '–') + ' are shown.';
    // After an answer that is no stream a browser does not try again by itself: the session is over, or the server is busy or gone.
    // The same is asked when the server could read no further. Only a run that stays unknown ends it.
    let missing = 0;
    const askAgain = async () => {
      close();
      let answer = null;
      try { answer = await fetch(location.pathname, { method: 'HEAD', redirect: 'manual', credentials: 'same-origin' }); } catch { /* nobody answers */ }
      if (answer && answer.type === 'opaqueredirect') { end('This session has ended; ' + seenText() + ' Log in with a new link.'); return; }
      missing = answer && answer.status === 404 ? missing + 1 : 0;
      if (missing > 4) { end('Nothing more can be read here.'); return; }
      word('The stream stopped; ' + seenText() + ' Trying again.');
      setTimeout(() => { if (!document.hidden) open(); }, 3000);
    };
    const open = () => {
      if (stream || ended) return;
      const seen = list.dataset.seen;
      stream = new EventSource(list.dataset.live + (seen ? '?after=' + encodeURIComponent(seen) : ''));
      stream.onmessage = (e) => {
        let event;
        try { event = JSON.parse(e.data); } catch { return; }
        if (start === null && first) start = Date.parse(event.time);
        add(event);
        list.dataset.seen = e.lastEventId;
      };
      stream.onopen = () => word('live');
      stream.onerror = () => { if (stream?.readyState === EventSource.CLOSED) askAgain(); else word('The stream stopped; ' + seenText() + ' Trying again.'); };
      stream.addEventListener('interrupted', () => word('The process of this run is gone. cto recover seals it.'));
      stream.addEventListener('lost', askAgain);
      stream.addEventListener('sealed', () => { list.dataset.sealed = ''; end('sealed'); location.reload(); });
    };
    const follow = () => (document.hidden ? close() : open());
    document.addEventListener('visibilitychange', follow);
    follow();
  };

  // say where the sentence stops matching; the server and the signature decide
  const sentence = () => {
    const typed = $('#sentence-in');
    if (!typed) return;
    const want = $('#sentence').textContent;
    const hint = $('#sentence-hint');
    typed.addEventListener('input', () => {
      const got = typed.value;
      let i = 0;
      while (i < got.length && got[i] === want[i]) i += 1;
      const text = !got ? 'Type or paste the sentence. Anything else is refused.'
        : got === want ? 'The sentence matches. Signing is the next step.'
          : i < got.length ? `Differs at character ${i + 1}: expected “${want.slice(i, i + 12) || 'end of sentence'}”.`
            : `Matches so far: ${i} of ${want.length} characters.`;
      hint.lastElementChild.textContent = text;
      $('use', hint).setAttribute('href', '#i-' + (!got ? 'idle' : got === want ? 'pass' : 'blocked'));
      hint.className = 'hint st ' + (got === want ? 'st-pass' : i < got.length ? 'st-blocked' : '');
    });
  };

  const ready = () => { theme(); density(); copying(); keyboard(); diffLines(); scrubbing(); following(); sentence(); };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', ready); else ready();
})();
