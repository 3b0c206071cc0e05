// The box that says what this file's own checks came to, and a look into the signed files. Text of others enters as text nodes alone.
const $ = (selector) => document.querySelector(selector);
const LONGEST_LOOK = 200000;
const whole = { key: '', files: [] };

const readEmbedded = () => {
  const embedded = JSON.parse($('#cto-bundle').textContent);
  whole.key = embedded.key;
  const broken = [];
  for (const [name, text] of embedded.files) {
    try { whole.files.push([name, decodeBase64(text)]); } catch { broken.push(name); }
  }
  return broken;
};

// The key that counts: the reader's where one was given, else the one that came with the file, which proves nothing by itself.
const readGiven = (text) => {
  const given = text.trim();
  const own = readKey(whole.key);
  if (!given) return { keys: new Map([[fingerprintOf(own), own]]), isGiven: false };
  if (/^SHA256:[A-Za-z0-9+/]{43}$/.test(given)) {
    return { keys: given === fingerprintOf(own) ? new Map([[given, own]]) : new Map([[given, new Uint8Array(32)]]), isGiven: true };
  }
  const key = readKey(given);
  return { keys: new Map([[fingerprintOf(key), key]]), isGiven: true };
};

const sentenceOf = (result, isGiven) => {
  if (!result.holds) return `${result.failures.length} of ${result.made} checks do not hold. Its verdict is not to be relied on.`;
  const signer = isGiven ? 'Signed by the key you gave, ' + result.signer + '.' : 'Signed by ' + result.signer + '; compare this fingerprint with the one that the signer gave you another way, or paste the key below.';
  return `All ${result.made} checks hold, verdict ${result.report.status}. ${signer}`;
};

const show = (result, isGiven) => {
  const box = $('#verifier');
  box.dataset.holds = String(result.holds);
  box.dataset.made = String(result.made);
  $('#verifier-word').textContent = result.holds ? (isGiven ? 'holds, by your key' : 'holds, compare the key') : 'does not hold';
  $('#verifier-mark').className = 'st st-' + (result.holds ? (isGiven ? 'pass' : 'blocked') : 'fail');
  $('#verifier-mark use').setAttribute('href', '#i-' + (result.holds ? (isGiven ? 'pass' : 'key') : 'fail'));
  $('#verifier-say').textContent = sentenceOf(result, isGiven);
  const list = $('#verifier-failures');
  list.replaceChildren(...result.failures.slice(0, 100).map((failure) => {
    const [row, code, text] = ['li', 'div', 'div'].map((name) => document.createElement(name));
    code.className = 'code';
    code.textContent = failure.file;
    text.textContent = `${failure.check}: expected ${failure.expected}, found ${failure.found}`;
    Object.assign(row.dataset, { file: failure.file, check: failure.check });
    row.append(code, text);
    return row;
  }));
  list.hidden = !result.failures.length;
};

// The rendered page is signed by nobody: its first words are compared with the signed report.
const checkPage = (checks, result) => {
  if (!result.report) return;
  const said = [$('#verifier').dataset.run, $('.verdict-word span').textContent];
  checks.same('this page', 'rendered', [result.report.run_id, result.report.status], said);
  result.holds = checks.failures.length === 0;
  result.made = checks.made;
};

const verifyNow = async () => {
  let given;
  try { given = readGiven($('#verifier-key').value); } catch (error) { $('#verifier-say').textContent = 'That is no ed25519 public key: ' + error.message; return; }
  const checks = new BundleChecks(whole.files, given.keys);
  for (const name of whole.broken) checks.check(false, name, 'embedded', 'base64', 'other text');
  const result = await checks.verify();
  checkPage(checks, result);
  show(result, given.isGiven);
};

const printable = (text) => text.replace(/[^\n\t]+/g, neutral);
const openFile = () => {
  if (!location.hash.startsWith('#file:')) return;
  const name = decodeURIComponent(location.hash.slice(6));
  const found = whole.files.find(([known]) => known === name);
  const text = found ? new TextDecoder().decode(found[1].subarray(0, LONGEST_LOOK)) : 'There is no such file in this bundle.';
  $('#file-name').textContent = shownText(name) + (found ? ', ' + found[1].length + ' bytes' : '');
  $('#file-text').textContent = printable(text) + (found && found[1].length > LONGEST_LOOK ? '\n… the rest is not shown' : '');
  $('#file-view').hidden = false;
  $('#file-view').scrollIntoView();
};

addEventListener('DOMContentLoaded', () => {
  whole.broken = readEmbedded();
  $('#verifier-form').hidden = false;
  $('#verifier-again').addEventListener('click', verifyNow);
  addEventListener('hashchange', openFile);
  openFile();
  verifyNow();
});
