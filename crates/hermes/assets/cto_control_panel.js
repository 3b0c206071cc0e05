// Control panel of cto for hermes-webui: strictly read-only, no buttons. It asks the sidecar through the host's proxy and polls with
// ETag, because that proxy passes no stream. Everything shown is text.
(() => {
  'use strict';
  const ID = 'cto-panel';
  if (window.ctoControlPanel) return;
  window.ctoControlPanel = true;
  const EVERY = 15000;
  // Longer than the host waits for the sidecar.
  const LONGEST = 30000;
  const ADDRESS = '/api/extensions/' + ID + '/sidecar/api/cto/control-summary';
  let tag = null;
  let asOf = '–';

  // Printable, as the console shows it: control characters become pictures, direction and width their code.
  const neutral = (text) => text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu, (c) => { const at = c.codePointAt(0); return at < 0x20 ? String.fromCodePoint(0x2400 + at) : at === 0x7f ? '\u2421' : '\\u{' + at.toString(16) + '}'; });
  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = neutral(String(text));
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const panel = element('section', undefined, { class: 'cto-panel', id: ID, 'aria-label': 'cto control summary' });
  const state = element('p', 'Asking the sidecar', { 'data-state': 'loading', role: 'status' });
  const body = element('div');
  panel.append(element('h2', 'cto control summary'), state, body);

  const say = (name, text) => { state.dataset.state = name; state.textContent = neutral(text); };
  const list = (items) => { const made = element('ul'); for (const item of items || []) made.append(element('li', item)); return made; };
  const word = (value) => (value === null || value === undefined || value === '' ? '–' : neutral(String(value)));
  const lanes = (summary, engine) => (summary.blocked_lanes || []).filter((lane) => lane.engine === engine).map((lane) => lane.rationale).join('; ') || 'no blocked lane';

  const show = (summary) => {
    const rows = element('dl');
    const row = (label, value) => { const cell = element('dd'); cell.append(value instanceof Node ? value : word(value)); rows.append(element('dt', label), cell); };
    row('Refresh', summary.case_stage6_real_governed_refresh);
    row('Refresh comparison', summary.stage6_real_governed_refresh_comparison_path);
    row('Real stage 5 report', summary.real_stage5_pass_report);
    row('Real stage 5 proof', summary.real_stage5_proof);
    row('Target', summary.target_read_only_status + ', mutation ' + summary.target_repository_mutation);
    row('Repeatability eligible', summary.candidate_default_repeatability_eligible);
    row('Runtime default activation', summary.runtime_default_activation);
    row('Codex', lanes(summary, 'codex'));
    row('Pi', lanes(summary, 'pi'));
    row('Next operator action', element('code', summary.next_operator_action));
    row('Approval', 'required ' + summary.approval_required + ', granted ' + summary.approval_granted + ', execution allowed ' + summary.execution_allowed + '; ' + summary.approval_reason);
    row('Allowed next', list(summary.allowed_next_actions));
    row('Blocked next', list(summary.blocked_next_actions));
    row('Packet', element('pre', word(summary.approval_packet && summary.approval_packet.approval_command_text)));
    row('Consumed by pass', summary.governed_execution && summary.governed_execution.consumed_pass_report_path);
    row('Consumed proof', summary.governed_execution && summary.governed_execution.consumed_proof_path);
    body.replaceChildren(rows);
    asOf = word(summary.generated_at);
    say('fresh', 'As of ' + asOf);
  };

  const STATES = { 401: ['login', 'The login at this host has ended. Log in there again.'], 403: ['consent', 'The host does not let this panel ask the sidecar yet. Give consent in its settings. A host without a login of its own never lets it.'], 503: ['down', 'The sidecar has no token file yet.'], 502: ['down', 'cto serve does not answer.'], 504: ['down', 'cto serve does not answer.'] };

  // The host answers 401 when its own login has lapsed, and passes the sidecar's 401 on, which says that it is the sidecar's.
  const explain = async (answer) => {
    const isSidecar = answer.status === 401 && (await answer.text()).startsWith('sidecar: ');
    if (isSidecar) return ['token', 'The sidecar does not know this token. Give consent again.'];
    return STATES[answer.status] || ['error', 'The host answered ' + answer.status + '.'];
  };

  // One question at a time: a newer one takes the place of one that nobody answers.
  let asking = null;
  const ask = async () => {
    if (document.hidden) return;
    asking?.abort();
    const own = new AbortController();
    asking = own;
    const timer = setTimeout(() => own.abort(), LONGEST);
    try {
      const answer = await fetch(ADDRESS, { headers: tag ? { 'If-None-Match': tag } : {}, credentials: 'same-origin', signal: own.signal });
      const told = answer.status === 304 || answer.ok ? null : await explain(answer);
      const summary = answer.ok ? await answer.json() : null;
      if (asking !== own) return;
      tag = summary ? answer.headers.get('ETag') : told ? null : tag;
      if (summary) show(summary); else if (told) say(...told); else say('fresh', 'Unchanged since ' + asOf);
    } catch { if (asking === own) { tag = null; say('host', 'The host of this page does not answer.'); } } finally { clearTimeout(timer); }
  };

  const start = () => {
    const place = document.querySelector('[data-extension-panels]') || document.body;
    place.append(panel);
    if (window.hermesExt && window.hermesExt.register) window.hermesExt.register(ID);
    document.addEventListener('visibilitychange', ask);
    ask();
    setInterval(ask, EVERY);
  };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start); else start();
})();
