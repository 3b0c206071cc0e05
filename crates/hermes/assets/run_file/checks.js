// The checks of docs/formats/verify.py, on files that are already in memory: [name, bytes] pairs. Nothing in the bundle is believed.
const [REPORT, EVENTS, TRACE, ENVELOPE] = ['report.json', 'events.normalized.jsonl', 'trace.jsonl', 'attestation.dsse.json'];
const [CONTRACT, DECISION, SANDBOX, USAGE] = ['task-contract.json', 'eligibility-decision.json', 'sandbox.json', 'model-usage.jsonl'];
const ALWAYS = [REPORT, 'report.md', EVENTS, 'patch.diff', 'test.log', TRACE, CONTRACT, DECISION, SANDBOX, ENVELOPE];
const RULES = '1.4';
const words = (text) => text.trim().split(/\s+/);
const ORDERED = words(`run.started task.contract.created plan.updated approval.requested approval.granted patch.applied
  git.diff.checked verification.completed run.completed`);
const FACTS = words(`approval.break_glass backend.gate.blocked eligibility.decided workspace.prepared sandbox.applied
  sandbox.refused engine.started engine.output engine.exited model.requested model.answered model.refused secret.scan.completed`);
const BLOCKED = words(`reviewer_rejected timeout budget_exceeded halted contract_invalid gate_missing stage_not_earned
  missing_test_command source_not_admitted executable_digest_mismatch license_unresolved model_not_admitted
  provider_auth_unavailable local_provider_config_missing provider_response_shape environment_broken
  contract_premise_false engine_copy_missing source_missing tool_missing target_not_admitted
  unowned_repository critical_repository approval_missing approval_expired approval_consumed approval_mismatch
  approval_not_comparable approval_revoked approval_held approval_not_yet_valid ledger_continuity_unknown
  approval_denied sandbox_unavailable dirty_starting_tree provider_unavailable missing_operator_outcome`);
const SCOPES = { 1: 'none', 2: 'copied artificial case only', 3: 'copied local repository fixture only', 4: 'disposable repository only', 5: 'explicitly owned low-risk repository only', 6: 'scoped real-repo use only' };
const STAGE_PROOFS = new Map([[4, 'stage4-disposable-sandbox-proof.json'], [5, 'stage5-owned-repo-proof.json'], [6, 'stage6-owned-repo-proof.json']]);

// Canonical JSON (RFC 8785). No document of ours holds a float or an integer beyond 2^53 - 1.
const canonicalText = (value) => {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return '[' + value.map(canonicalText).join(',') + ']';
  if (typeof value === 'object') return '{' + Object.keys(value).sort().map((key) => canonicalText(key) + ':' + canonicalText(value[key])).join(',') + '}';
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new Error('a number that no document of ours holds');
  if (typeof value === 'string' && /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value)) throw new Error('half a character');
  return JSON.stringify(value);
};
const decodeText = (bytes) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
const canonical = (value) => utf8.encode(canonicalText(value));

// A field that must be there, and one that may be.
const at = (value, ...keys) => keys.reduce((inner, key) => {
  if (inner === null || typeof inner !== 'object' || !Object.hasOwn(inner, key)) throw new Error('`' + key + '` is missing');
  return inner[key];
}, value);
const opt = (value, key) => (value !== null && typeof value === 'object' && Object.hasOwn(value, key) ? value[key] : null);
const pick = (value, fields) => fields.map((field) => at(value, field));
const byCodePoint = (a, b) => {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let place = 0; place < Math.min(left.length, right.length); place += 1) {
    if (left[place] !== right[place]) return left[place].codePointAt(0) - right[place].codePointAt(0);
  }
  return left.length - right.length;
};
const isStamp = (text) => {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(text)) return false;
  const time = new Date(text.slice(0, 23) + 'Z');
  return !Number.isNaN(time.getTime()) && time.toISOString() === text.slice(0, 23) + 'Z';
};
const isSorted = (list) => list.every((one, place) => place === 0 || list[place - 1] <= one);
const linesOf = (bytes) => {
  const lines = [];
  for (let start = 0; start <= bytes.length;) {
    const end = bytes.indexOf(10, start);
    lines.push(bytes.subarray(start, end < 0 ? bytes.length : end));
    if (end < 0) break;
    start = end + 1;
  }
  return lines;
};

// Printable: a bundle's words are not ours.
const neutral = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu, (c) => { const at = c.codePointAt(0); return at < 0x20 ? String.fromCodePoint(0x2400 + at) : at === 0x7f ? '\u2421' : '\\u{' + at.toString(16) + '}'; });
const shownText = (value) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? 'nothing';
  const clean = neutral(text);
  return clean.length > 300 ? clean.slice(0, 300) + '…' : clean;
};

class BundleChecks {
  constructor(pairs, keys) {
    this.keys = keys;
    this.made = 0;
    this.failures = [];
    this.files = new Map();
    for (const [name, bytes] of pairs) {
      this.check(!this.files.has(name), name, 'name', 'each file once', 'one twice');
      this.files.set(name, bytes);
    }
  }

  check(holds, file, check, expected, found) {
    this.made += 1;
    if (!holds) this.failures.push({ file: shownText(file), check, expected: shownText(expected), found: shownText(found) });
    return Boolean(holds);
  }

  same(file, check, expected, found) {
    return this.check(canonicalText(expected) === canonicalText(found), file, check, expected, found);
  }

  // The value of JSON text that is its own canonical form. A key that stands twice makes it differ.
  parse(file, bytes) {
    let value = null, holds = false;
    try { value = JSON.parse(decodeText(bytes)); holds = isSame(canonical(value), bytes); } catch { holds = false; }
    return this.check(holds, file, 'canonical', 'RFC 8785 bytes', 'other bytes') ? value : null;
  }

  async verify() {
    let report = null;
    try { report = await this.judge(); } catch (error) { this.check(false, '.', 'shape', 'documents as their schemas describe them', String(error.message)); }
    if (!report && !this.failures.length) this.check(false, ENVELOPE, 'judged', 'a signed statement and a report', 'one cannot be read');
    return { holds: this.failures.length === 0, made: this.made, failures: this.failures, report: this.failures.length ? null : report, signer: this.signer ?? null };
  }

  async judge() {
    const { files } = this;
    this.check(files.size <= 50000, '.', 'limit', 'at most 50000 files', files.size);
    for (const name of ALWAYS) this.check(files.has(name), name, 'present', 'a file that every bundle has', 'missing');
    this.check([...files.keys()].some((name) => name.startsWith('backend/')), 'backend', 'present', 'a directory', 'none');
    const digests = new Map();
    for (const [name, bytes] of files) digests.set(name, await sha256(bytes));
    const envelope = files.has(ENVELOPE) ? this.parse(ENVELOPE, files.get(ENVELOPE)) : null;
    const statement = envelope && await this.readStatement(envelope);
    if (statement) this.checkSubjects(statement, digests);
    const tops = new Map();
    for (const [name, bytes] of files) if (!name.includes('/') && name.endsWith('.json') && name !== ENVELOPE) tops.set(name, this.parse(name, bytes));
    this.checkTrace(files.get(TRACE) ?? new Uint8Array());
    const [report, decision, contract] = [tops.get(REPORT), tops.get(DECISION), tops.get(CONTRACT)];
    const version = String(opt(report, 'schema_version') ?? '1.0');
    if (!this.check(/^1\.\d+$/.test(version), REPORT, 'format_version', '1.x, which this page reads', version)) {
      this.failures = this.failures.slice(-1);
      return null;
    }
    if (!report || !decision || !contract || !envelope || ALWAYS.some((name) => !files.has(name))) return null;
    const predicate = statement && at(statement, 'predicate');
    await this.checkIndex(report, digests);
    const chain = await this.readChain(at(report, 'run_id'));
    this.checkEvents(chain, report, predicate);
    if (predicate) await this.checkSigned(report, predicate, digests);
    this.judgedAgain = hasTheseRules(report, contract, decision);
    if (this.judgedAgain) await this.judgeAgain(report, decision, contract, tops.get(SANDBOX), chain, predicate);
    return statement ? report : null;
  }

  async judgeAgain(report, decision, contract, sandbox, chain, predicate) {
    const inputs = at(decision, 'inputs');
    await this.checkDecision(report, decision, contract);
    this.checkSignedApproval(predicate ?? {}, report, inputs);
    this.checkStatus(report);
    this.checkExamChanges(contract, report);
    await this.checkSandbox(sandbox, report);
    const usage = linesOf(this.files.get(USAGE) ?? new Uint8Array()).filter((line) => line.length).map((line) => this.parse(USAGE, line));
    this.checkTruth(chain.events, sandbox, usage, report);
  }

  checkTrace(bytes) {
    const lines = linesOf(bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes);
    for (const line of lines) this.parse(TRACE, line);
  }

  // The signed statement, only when there is exactly one signature and it is by a key that was given.
  async readStatement(envelope) {
    this.same(ENVELOPE, 'envelope', ['payload', 'payloadType', 'signatures'], Object.keys(envelope).sort());
    this.same(ENVELOPE, 'payload_type', 'application/vnd.in-toto+json', at(envelope, 'payloadType'));
    if (!this.same(ENVELOPE, 'signature_count', [['keyid', 'sig']], at(envelope, 'signatures').map((one) => Object.keys(one).sort()))) return null;
    const keyId = at(envelope, 'signatures', 0, 'keyid');
    this.signer = shownText(keyId);
    if (!this.check(this.keys.has(keyId), ENVELOPE, 'signer', [...this.keys.keys()].join(', ') || 'a key to check with', keyId)) return null;
    const payload = decodeBase64(at(envelope, 'payload'));
    const kind = utf8.encode(at(envelope, 'payloadType'));
    const message = concat(utf8.encode('DSSEv1 ' + kind.length + ' '), kind, utf8.encode(' ' + payload.length + ' '), payload);
    const holds = await signatureHolds(this.keys.get(keyId), message, decodeBase64(at(envelope, 'signatures', 0, 'sig')));
    if (!this.check(holds, ENVELOPE, 'signature', 'a valid ed25519 signature', 'an invalid one')) return null;
    const statement = this.parse(ENVELOPE, payload);
    if (!statement) return null;
    this.same(ENVELOPE, 'statement', ['_type', 'predicate', 'predicateType', 'subject'], Object.keys(statement).sort());
    this.same(ENVELOPE, 'statement_type', 'https://in-toto.io/Statement/v1', at(statement, '_type'));
    const what = opt(at(statement, 'predicate'), 'kind') ? 'collection' : 'run';
    this.same(ENVELOPE, 'predicate_type', 'urn:x-cto:attestation:' + what + ':v1', at(statement, 'predicateType'));
    this.same(ENVELOPE, 'key', keyId, at(statement, 'predicate', 'key'));
    return statement;
  }

  // Signed subjects and files are the same set, with the same digests.
  checkSubjects(statement, digests) {
    const unsigned = new Map(digests);
    unsigned.delete(ENVELOPE);
    for (const subject of at(statement, 'subject')) {
      this.same(ENVELOPE, 'subject', [['digest', 'name'], ['sha256']], [Object.keys(subject).sort(), Object.keys(at(subject, 'digest'))]);
      const name = at(subject, 'name');
      if (this.check(unsigned.has(name), name, 'present', 'the signed file', 'no such file, or signed twice')) {
        this.same(name, 'digest', at(subject, 'digest', 'sha256'), unsigned.get(name));
      }
      unsigned.delete(name);
    }
    for (const name of unsigned.keys()) this.check(false, name, 'signed', 'only signed files', 'a file that nobody signed');
  }

  // The report's own index of the bundle.
  async checkIndex(report, digests) {
    const listed = new Map(Object.entries(at(report, 'artifact_digests')));
    const blank = { ...report, artifact_digests: { ...report.artifact_digests, [REPORT]: '' } };
    const found = new Map(digests);
    found.delete(ENVELOPE);
    found.delete(REPORT);
    this.same(REPORT, 'own_digest', listed.get(REPORT) ?? 'not listed', await sha256(canonical(blank)));
    listed.delete(REPORT);
    for (const name of new Set([...found.keys(), ...listed.keys()])) {
      this.same(name, 'artifact_digest', listed.get(name) ?? 'not listed', found.get(name) ?? 'missing');
    }
    const paths = Object.entries(at(report, 'artifact_paths'));
    const is = paths.length === this.files.size && paths.every(([name, path]) => name === path && this.files.has(name));
    this.check(is, REPORT, 'artifact_paths', 'every file under its own name', 'others');
    const fresh = new Map(Object.entries(at(report, 'freshness')));
    this.check([...this.files.keys()].every((name) => fresh.has(name)), REPORT, 'freshness', 'every file', 'some are not listed');
    for (const [name, one] of fresh) {
      const moments = [at(report, 'run_started_at'), at(one, 'written_at'), at(one, 'checked_at'), at(report, 'run_finished_at')];
      this.check(moments.every(isStamp) && isSorted(moments), REPORT, 'freshness', name + ' within the run', moments);
    }
  }

  // Events and the digest of the last line. Stops at the first broken line: nothing after it is anchored.
  async readChain(runId) {
    const events = [];
    let head = '0'.repeat(64);
    const lines = linesOf(this.files.get(EVENTS));
    this.check(lines.pop()?.length === 0 && lines.length <= 100000, EVENTS, 'lines', 'whole lines, at most 100000', 'others');
    for (const [number, line] of lines.entries()) {
      const name = 'line ' + (number + 1);
      const event = this.parse(EVENTS, line);
      if (!event || !this.same(EVENTS, name, [number, head, runId], pick(event, ['seq', 'prev', 'run_id']))) break;
      const kind = at(event, 'type');
      const data = at(event, 'data');
      const isKnown = [...ORDERED, ...FACTS, 'approval.denied'].includes(kind) && data !== null && typeof data === 'object' && !Array.isArray(data);
      if (!this.check(isKnown && isStamp(at(event, 'time')), EVENTS, name, 'an event', event)) break;
      events.push(event);
      head = await sha256(line);
    }
    return { events, head };
  }

  checkEvents({ events, head }, report, predicate) {
    const kinds = events.map((event) => (event.type === 'approval.denied' ? 'approval.granted' : event.type));
    this.check(isSorted(kinds.filter((kind) => ORDERED.includes(kind)).map((kind) => ORDERED.indexOf(kind))), EVENTS, 'order', 'the required order', kinds);
    this.same(EVENTS, 'first', ['run.started'], kinds.slice(0, 1));
    this.same(EVENTS, 'last', ['run.completed'], kinds.slice(-1));
    this.same(EVENTS, 'last', [at(report, 'status')], events.slice(-1).map((event) => opt(event.data, 'status')));
    let from = 0;
    const inOrder = at(report, 'required_events').every((kind) => {
      const found = events.findIndex((event, place) => place >= from && event.type === kind);
      from = found + 1;
      return found >= 0;
    });
    this.same(EVENTS, 'required_events', at(report, 'required_events_passed'), inOrder);
    const moments = events.map((event) => event.time);
    const during = moments.every((time) => report.run_started_at <= time && time <= report.run_finished_at);
    this.check(during && isSorted(moments), EVENTS, 'time', 'times during the run, in order', 'others');
    const carried = new Set(events.flatMap((event) => [opt(event.data, 'reason'), ...(opt(event.data, 'reasons') ?? [])]));
    const listed = at(report, 'blocker_reasons');
    const missing = listed.filter((reason) => !carried.has(reason));
    this.check(!missing.length, EVENTS, 'reason_event', 'an event that carries each reason', missing);
    if (!predicate) return;
    this.same(EVENTS, 'event_count', at(predicate, 'events', 'count'), events.length);
    this.same(EVENTS, 'chain_head', at(predicate, 'events', 'head'), head);
    // What a dead run had found is lost but for its events, so a recovered bundle may lack a blocker they carry.
    const more = at(predicate, 'sealed_by') === 'run' ? [...carried].filter((code) => code !== null && !listed.includes(code)) : [];
    this.check(!more.length, EVENTS, 'unlisted_reason', 'only reasons of blockers', more);
  }

  // What is signed and what the report says are the same.
  async checkSigned(report, predicate, digests) {
    const [engine, sandbox, host] = pick(report, ['engine', 'sandbox', 'host']);
    const model = at(report, 'model') ?? { requested: null, pairs_observed: [], refused: 0 };
    const pair = at(model, 'requested') && at(model, 'requested', 'provider') + '/' + at(model, 'requested', 'model');
    const names = (key) => [...new Set(at(model, 'pairs_observed').map((one) => at(one, key)))].filter((one) => one !== null).sort(byCodePoint);
    const passes = [];
    for (const one of at(report, 'verification', 'passes')) {
      const [exit, kind, result, tests] = pick(one, ['exit', 'kind', 'result', 'tests']);
      passes.push({ argv_sha256: await sha256(canonical(at(one, 'argv'))), exit, kind, result, tests });
    }
    const made = {
      verdict: [['verdict', at(report, 'status')]], blockers: [['blockers', at(report, 'blocker_reasons')]],
      started: [['started_at', at(report, 'run_started_at')]], finished: [['finished_at', at(report, 'run_finished_at')]],
      engine: [['engine', { id: at(engine, 'id'), source_id: at(engine, 'source_id'), tree_sha256: opt(engine, 'tree_sha256') || at(engine, 'executable_sha256'), argv_sha256: at(engine, 'argv_sha256'), process_started: at(engine, 'process_started') }]],
      sandbox: [['sandbox', { asked: at(sandbox, 'asked'), applied: at(sandbox, 'profile'), probe_sha256: opt(sandbox, 'probe_sha256') }]],
      model: [['model', { requested: pair, asked: names('asked'), answered: names('answered'), refused: at(model, 'refused') }]],
      harness: [['harness', { version: at(host, 'harness_version'), executable_sha256: at(host, 'harness_sha256') }]],
      verification: [['verification', passes]],
    };
    const same = { run: 'run_id', task: 'task_id', stage: 'stage', purpose: 'purpose', contract: 'contract_digest', decision: 'decision_id', baseline: 'baseline_commit baseline_tree', result_tree: 'result_tree', coverage: 'coverage' };
    for (const [name, fields] of Object.entries(same)) made[name] = words(fields).map((field) => [field, at(report, field)]);
    this.same('patch.diff', 'signed_patch', at(predicate, 'patch_sha256'), digests.get('patch.diff'));
    for (const [name, fields] of Object.entries(made)) for (const [field, value] of fields) this.same(REPORT, 'signed_' + name, at(predicate, field), value);
    const optional = { kind: 'kind bundles subject_model', approval: 'request_digest approval_digest', target: 'work_id target_commit disposable_repository_dir target_repository_admission_status' };
    for (const [name, fields] of Object.entries(optional)) for (const field of words(fields)) this.same(REPORT, 'signed_' + name, opt(predicate, field), opt(report, field));
    this.same(REPORT, 'allowed_mutation_scope', SCOPES[at(report, 'stage')] ?? null, at(report, 'allowed_mutation_scope'));
    this.same(REPORT, 'runtime_default_activation', [false, 'not-promoted'], pick(report, ['runtime_default_activation', 'core_promotion_status']));
  }

  // The report is about the request that was judged, and no engine started against a refusal.
  async checkDecision(report, decision, contract) {
    const [inputs, started] = [at(decision, 'inputs'), at(report, 'engine', 'process_started')];
    const target = opt(contract, 'target_repository') ?? '';
    const redacted = target.startsWith('redacted:sha256:') && at(report, 'coverage').includes('target_redacted') && !started;
    if (!redacted) this.same(CONTRACT, 'contract_digest', at(report, 'contract_digest'), await sha256(this.files.get(CONTRACT)));
    const made = await sha256(canonical(inputs));
    this.same(DECISION, 'decision_id', [at(report, 'decision_id'), at(report, 'decision_id')], [at(decision, 'decision_id'), made]);
    for (const [name, field] of [['contract', 'contract_digest'], ['purpose', 'purpose'], ['stage', 'stage']]) this.same(DECISION, 'decision_' + name, at(report, field), at(inputs, field));
    this.same(DECISION, 'decision_engine', [at(report, 'backend'), at(report, 'engine', 'id')], [at(inputs, 'engine'), at(inputs, 'engine')]);
    if (at(report, 'baseline_commit') !== null) this.same(DECISION, 'decision_baseline', report.baseline_commit, opt(at(inputs, 'target'), 'baseline_commit'));
    this.same(DECISION, 'decision_kind', opt(report, 'kind'), opt(inputs, 'kind'));
    if (opt(report, 'kind')) this.checkDocument(report); else this.checkApproval(report, inputs);
    const refused = [...at(decision, 'missing_gates'), ...at(decision, 'not_evaluated')];
    this.check(!(started && refused.length), DECISION, 'admitted', 'no engine against a refusal', refused);
    const unlisted = at(decision, 'reasons').filter((reason) => !at(report, 'blocker_reasons').includes(reason));
    this.check(!unlisted.length, REPORT, 'decision_reasons', 'every reason of the decision', unlisted);
  }

  // A document about other bundles started and changed nothing, and names each bundle once.
  checkDocument(report) {
    const idle = !at(report, 'engine', 'process_started') && !at(report, 'changed_files').length && !opt(report, 'target_commit');
    this.check(idle, REPORT, 'kind', 'a document that started and changed nothing', 'a run');
    const cited = (opt(report, 'bundles') ?? []).map((bundle) => at(bundle, 'run_id'));
    this.check(new Set(cited).size === cited.length && !cited.includes(at(report, 'run_id')), REPORT, 'bundles', 'each bundle of another once', cited);
  }

  // A pass of a stage that changes a repository has its proof, which names request, approvals and admission as the decision has them.
  checkApproval(report, inputs) {
    const [stage, passed, request] = [at(report, 'stage'), at(report, 'status') === 'pass', requestOf(inputs)];
    const known = request ? at(request, 'approvals').map((one) => at(one, 'sha256')) : [];
    const name = STAGE_PROOFS.get(stage);
    if (!name || (passed && !this.check(this.files.has(name), name, 'present', 'the proof of the stage', 'missing'))) return;
    this.check(request || !passed, DECISION, 'approval', 'a request in a pass of this stage', 'none');
    if (!this.files.has(name)) return;
    const proof = this.parse(name, this.files.get(name));
    const expected = [...pick(report, words('run_id task_id stage backend allowed_writes_passed forbidden_paths_passed changed_files')), at(report, 'engine', 'process_started'), false];
    this.same(name, 'stage_proof', expected, pick(proof, words('run_id task_id stage engine allowed_paths_passed forbidden_paths_passed changed_files case_process_started runtime_default_activation')));
    const [approval, fields] = [at(proof, 'approval'), ['request_digest', 'packet_digest', 'policy_digest']];
    this.same(name, 'stage_proof', fields.map((field) => opt(request, field)), pick(approval, fields));
    const unknown = at(approval, 'approval_digests').filter((digest) => !known.includes(digest));
    this.check(!unknown.length, name, 'stage_proof', 'approvals of the decision', unknown);
    if (passed) {
      const landed = opt(proof, 'landed');
      const tree = landed && Object.hasOwn(landed, 'tree') ? landed.tree : at(report, 'result_tree');
      this.same(name, 'stage_proof', [true, at(report, 'result_tree')], [at(proof, 'passed'), tree]);
      this.check(landed || !at(report, 'changed_files').length, name, 'stage_proof', 'a landed commit', 'none');
    }
    if (stage < 5) return;
    const admission = at(inputs, 'settings', 'target_admission', 'admission', 'record');
    this.same(name, 'stage_proof', [at(admission, 'sha256'), at(admission, 'record', 'allowed_paths'), 'pending'],
      [at(proof, 'admission', 'sha256'), at(proof, 'admission', 'allowed_paths'), at(proof, 'operator_outcome')]);
    this.check(known.includes(at(proof, 'approval_digest')), name, 'stage_proof', 'an approval of the decision', proof.approval_digest);
  }

  // Request and approval that are signed for are the decision's.
  checkSignedApproval(predicate, report, inputs) {
    const request = requestOf(inputs);
    const used = request !== null && at(report, 'engine', 'process_started');
    const approvals = request ? at(request, 'approvals').map((one) => at(one, 'sha256')) : [];
    for (const [field, known] of [['request_digest', request ? [at(request, 'request_digest')] : []], ['approval_digest', approvals]]) {
      const signed = opt(predicate, field);
      this.check(used || signed ? known.includes(signed) : true, ENVELOPE, 'signed_' + field, known, signed);
    }
  }

  // The status is what blockers and verification make it; coverage names what the report shows to be unproven.
  checkStatus(report) {
    const [started, status, reasons] = [at(report, 'engine', 'process_started'), at(report, 'status'), at(report, 'blocker_reasons')];
    const isBlocked = (reason) => BLOCKED.includes(reason) || (!started && reason === 'harness_interrupted');
    const weights = reasons.map((reason) => (isBlocked(reason) ? 'blocked' : 'fail'));
    this.same(REPORT, 'status', weights.includes('fail') ? 'fail' : weights.length ? 'blocked' : 'pass', status);
    this.same(REPORT, 'blocker_reasons', at(report, 'blockers').map((one) => at(one, 'reason')), reasons);
    this.check(isSorted([...weights].reverse()), REPORT, 'blocker_order', 'worst first', reasons);
    const [passes, coverage] = [at(report, 'verification', 'passes'), at(report, 'coverage')];
    const [results, kinds] = [passes.map((one) => at(one, 'result')), passes.map((one) => at(one, 'kind'))];
    const result = !passes.length ? 'not_run' : results.every((one) => one === 'pass') ? 'pass' : 'fail';
    this.same(REPORT, 'verification_result', result, at(report, 'verification', 'result'));
    this.same(REPORT, 'tests_passed', { pass: true, fail: false, not_run: null }[result], at(report, 'tests_passed'));
    // A baseline without any test leaves only what the patch brings.
    const proving = !kinds.includes('exam') && coverage.includes('tests_not_compared') ? 'change' : 'exam';
    const exams = passes.filter((one) => one.kind === proving && one.result === 'pass');
    const excused = at(report, 'stage') === 1 || opt(report, 'kind') || coverage.includes('no_verification') || status !== 'pass';
    this.check(exams.length || excused, REPORT, 'verification', 'an exam that passed, or a reason why there is none', 'neither');
    const failedOf = (one) => opt(at(one, 'tests', 'result'), 'failed') ?? 0;
    const isExcused = (one) => {
      const tests = opt(at(one, 'tests'), 'failed') ?? [];
      const excuse = (test) => ({ known_failure: 'known_failures', flaky: 'flaky_tests' })[opt(test, 'excused')];
      return tests.length > 0 && tests.every((test) => coverage.includes(excuse(test))) && tests.length === failedOf(one);
    };
    const zero = exams.every((one) => at(one, 'exit') === 0 || (one.exit !== null && isExcused(one)));
    this.check(zero, REPORT, 'verification', 'exit 0 where the exam passed', 'another');
    const failed = passes.filter((one) => ['exam', 'change'].includes(one.kind) && one.result === 'pass' && failedOf(one) && !isExcused(one));
    this.check(!failed.length, REPORT, 'verification_tests', 'no failed test where a check passed', failed.map((one) => opt(one, 'name')));
    this.check(status !== 'pass' || !results.includes('fail'), REPORT, 'verification', 'no failed check in a pass', 'one failed');
    const unproven = [['sandbox_none', started && at(report, 'sandbox', 'profile') === 'none'],
      ['tests_not_compared', passes.some((one) => one.kind === proving && !opt(at(one, 'tests', 'baseline'), 'executed'))],
      ['exam_in_process', kinds.includes(proving) && !kinds.includes('blind')], ['exam_without_control', kinds.includes(proving) && !kinds.includes('control')]];
    for (const [code, is] of unproven) this.check(!is || coverage.includes(code), REPORT, 'coverage', code, 'not listed');
    const classes = at(report, 'secret_scan', 'hits').map((hit) => opt(hit, 'class') ?? 'leak');
    for (const [kind, reason] of [['leak', 'secret_leak'], ['canary', 'canary_touched']]) this.same(REPORT, 'secret_scan', classes.includes(kind), reasons.includes(reason));
  }

  // A patch that takes lines out of a file of tests is said to, where the contract releases nothing.
  checkExamChanges(contract, report) {
    const altered = new Set();
    let [path, isNew, inHunk] = ['', false, false];
    for (const bytes of linesOf(this.files.get('patch.diff'))) {
      const line = Array.from(bytes.subarray(0, 4096), (byte) => String.fromCharCode(byte)).join('');
      if (line.startsWith('diff --git ')) [path, isNew, inHunk] = [line.slice(Math.floor(line.length / 2) + 6), false, false];
      else if (line.startsWith('@@ ')) inHunk = true;
      isNew ||= !inHunk && line.startsWith('new file mode');
      const gone = (inHunk && line.startsWith('-') && line.slice(1).trim()) || (!inHunk && line.startsWith('deleted file mode'));
      const isTest = path.replace(/^"|"$/g, '').split('/').some((part) => ['test', 'tests', 'testdata'].includes(part));
      if (gone && !isNew && isTest) altered.add(path);
    }
    const released = Array.isArray(opt(contract, 'exam_may_change')) ? contract.exam_may_change.length : opt(contract, 'exam_may_change');
    const judged = at(report, 'verification', 'passes').length && !released && !at(report, 'coverage').includes('patch_redacted');
    this.check(report.coverage.includes('exam_change_not_controlled') || !(altered.size && judged), REPORT, 'coverage', 'exam_change_not_controlled', [...altered]);
  }

  // sandbox.json and the report tell of the same sandbox, and a recorder that ran out of room is told of.
  async checkSandbox(sandbox, report) {
    this.same(SANDBOX, 'sandbox_asked', at(report, 'sandbox', 'asked'), at(sandbox, 'asked'));
    this.same(SANDBOX, 'sandbox_applied', at(report, 'sandbox', 'profile'), at(sandbox, 'applied'));
    this.same(SANDBOX, 'sandbox_engine', at(report, 'engine', 'process_started'), at(sandbox, 'engine_ran'));
    const postures = at(sandbox, 'postures');
    const open = postures.flatMap((one) => at(one, 'probes')).filter((one) => at(one, 'refused') !== true);
    this.check(!open.length, SANDBOX, 'probes', 'everything that was tried is refused', open);
    const isWhole = (one) => at(one, 'profile') === at(sandbox, 'applied') && at(one, 'probes').length > 0;
    this.check(postures.every(isWhole), SANDBOX, 'postures', at(sandbox, 'applied'), 'a posture of another profile, or without a probe');
    const isPlaced = (cell) => Number.isSafeInteger(at(cell, 'posture')) && cell.posture < postures.length;
    this.check(at(sandbox, 'cells').every(isPlaced), SANDBOX, 'cells', 'a posture for each', 'one that is not there');
    this.same(SANDBOX, 'probe_sha256', postures.length ? await sha256(canonical(postures)) : null, opt(at(report, 'sandbox'), 'probe_sha256'));
    const full = at(sandbox, 'cells').some((cell) => isFull(at(cell, 'seen')));
    this.same(SANDBOX, 'recorder_full', full, at(report, 'coverage').includes('recorder_full'));
  }

  // One truth: what the events say is what sandbox.json, model-usage.jsonl and the report say, field by field.
  checkTruth(events, sandbox, usage, report) {
    const told = toldBy(report, sandbox);
    const kinds = new Set(events.map((event) => event.type));
    const ended = new Map(usage.filter((one) => at(one, 'refused') || at(one, 'outcome') !== 'local').map((one) => [at(one, 'seq'), one]));
    const attempts = at(sandbox, 'attempts');
    const isOf = (event, attempt) => Object.entries(attempt).every(([name, value]) => canonicalText(opt(event.data, name)) === canonicalText(value));
    for (const event of events) {
      const { type: kind, data } = event;
      let expected = told.get(kind) ?? {};
      if (kind === 'model.answered' || kind === 'model.refused') {
        const record = ended.get(opt(data, 'request')) ?? {};
        ended.delete(opt(data, 'request'));
        expected = Object.fromEntries(words('model_answered model_asked outcome purpose refusal served status tokens total_ms wire').map((name) => [name, opt(record, name)]));
        this.same(USAGE, 'one_truth', kind === 'model.refused', opt(record, 'refused'));
      }
      if (kind === 'sandbox.refused') this.check(attempts.some((one) => isOf(event, one)), SANDBOX, 'one_truth', data, 'no such attempt');
      this.same(EVENTS, 'one_truth', expected, Object.fromEntries(Object.keys(expected).map((name) => [name, opt(data, name)])));
    }
    this.check(!ended.size, EVENTS, 'one_truth', 'an event of each request that ended', [...ended.keys()]);
    this.same(REPORT, 'one_truth', at(report, 'backend_exit_code'), at(report, 'engine', 'exit_code'));
    const said = [['engine.exited', report.backend_exit_code !== null], ['git.diff.checked', at(report, 'result_tree')],
      ['git.diff.checked', at(report, 'changed_files').length], ['verification.completed', at(report, 'verification', 'passes').length]];
    for (const [kind, is] of said) this.check(!is || kinds.has(kind), REPORT, 'one_truth', 'an event ' + kind, 'none');
    this.same(REPORT, 'one_truth', opt(at(report, 'engine'), 'ended_by_harness') !== null, at(report, 'coverage').includes('engine_ended_by_harness'));
    this.check(!kinds.has('engine.started') || at(report, 'engine', 'process_started'), REPORT, 'one_truth', 'process_started', 'not');
    const skipped = Object.keys(at(report, 'not_applicable')).filter((name) => kinds.has(name));
    this.check(!skipped.length, REPORT, 'one_truth', 'no event among what is not applicable', skipped);
    const listed = (verdict) => attempts.filter((one) => at(one, 'judged') === verdict).map((one) => at(one, 'cell') + ': ' + at(one, 'what'));
    this.same(SANDBOX, 'one_truth', at(report, 'forbidden_actions_attempted'), listed('forbidden_action'));
    this.same(SANDBOX, 'one_truth', at(report, 'sandbox', 'violations'), listed('violation'));
    this.same(SANDBOX, 'one_truth', at(report, 'engine', 'leftover_processes'), at(sandbox, 'leftover_processes'));
    const refused = events.filter((event) => event.type === 'sandbox.refused');
    const unsaid = attempts.filter((one) => !refused.some((event) => isOf(event, one)));
    this.check(!unsaid.length || attempts.length > 100, EVENTS, 'one_truth', 'an event of every attempt', unsaid);
  }
}

// Rules 1.2 and 1.3 differ in approvals, beyond stage 3 and in the words of refusals, and in nothing else.
const hasTheseRules = (report, contract, decision) => {
  const isCopy = at(report, 'stage') < 4 && ['none', 'copied-fixture'].includes(at(contract, 'mutation_mode'));
  const alike = isCopy && !at(decision, 'refusals').length;
  return at(report, 'rules_version') === RULES || (['1.2', '1.3'].includes(report.rules_version) && alike);
};
const requestOf = (inputs) => { const found = opt(inputs, 'approval'); return found && typeof found === 'object' ? opt(at(found, 'found'), 'request') : null; };
// A recorder met more than it had room to list: it keeps 256 entries of each list.
const isFull = (seen) => {
  const listed = (name) => at(seen, name).reduce((sum, one) => sum + at(one, 'count'), 0);
  return at(seen, 'refused').length >= 256 || at(seen, 'executions_total') > listed('executions') || at(seen, 'connections_total') > listed('connections');
};
const toldBy = (report, sandbox) => {
  const [engine, checked] = [at(report, 'engine'), at(report, 'sandbox')];
  const diff = { allowed_writes_passed: at(report, 'allowed_writes_passed'), result_tree: at(report, 'result_tree'), forbidden_paths_passed: at(report, 'forbidden_paths_passed') };
  if (opt(at(report, 'not_applicable'), 'patch.diff') === null) diff.changed_files = at(report, 'changed_files').length;
  return new Map(Object.entries({
    'run.started': { engine: at(report, 'backend'), purpose: at(report, 'purpose'), stage: at(report, 'stage'), task_id: at(report, 'task_id') },
    'task.contract.created': { contract_digest: at(report, 'contract_digest') },
    'eligibility.decided': { decision_id: at(report, 'decision_id') },
    'workspace.prepared': { baseline_commit: at(report, 'baseline_commit'), baseline_tree: at(report, 'baseline_tree') },
    'sandbox.applied': { asked: at(checked, 'asked'), profile: at(checked, 'profile') },
    'engine.started': { engine: at(report, 'backend'), wall_seconds: at(sandbox, 'wall_seconds') },
    'engine.exited': { exit_code: at(report, 'backend_exit_code'), duration_ms: at(engine, 'duration_ms'), stopped_because: opt(engine, 'ended_by_harness') },
    'patch.applied': { sha256: opt(at(report, 'artifact_digests'), 'patch.diff') },
    'git.diff.checked': diff,
    'verification.completed': { result: at(report, 'verification', 'result') },
    'secret.scan.completed': { hits: at(report, 'secret_scan', 'hits').length, status: at(report, 'secret_scan', 'status') },
    'run.completed': { backend_exit_code: at(report, 'backend_exit_code'), blockers: at(report, 'blocker_reasons') },
  }));
};
