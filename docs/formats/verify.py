#!/usr/bin/env python3
"""Checks a bundle of cto with a public key and nothing but the Python standard library (3.9 or newer).

    python3 verify.py BUNDLE... --key harness.pub [--key FILE ...]
    python3 verify.py BUNDLE --key harness.pub --statement FILE... --signer person.pub [--signer FILE ...]

Exit 0: every check holds. Exit 1: one does not; prints `fail`, then a line each. Exit 2: not a bundle, or wrong usage.
Of several bundles each gets its line, with its path, and the worst decides.
A key is an OpenSSH line (`ssh-ed25519 AAAA...`) or a PEM public key; a key inside the bundle is never used.

Checked: kinds and names of files, RFC 8785 bytes, envelope and ed25519 signature, signed digests of every file, the
report's index, the event chain, status against blockers and verification, report against decision and signed statement.
Of a statement about the bundle (an outcome or a rollback, with its signature in FILE.sig): its bytes, that it is about this
bundle, and the signature by one of the people's keys, if that is ed25519; `ssh-keygen -Y verify` takes keys of every kind.
Left to `cto verify`: that the decision follows from its inputs and names the ecosystems of the contract's commands, that
changed files and path verdicts follow from patch, contract and ecosystems, that report.md is what report.json renders to,
that every field has the type its schema says, which event carries which reason, the order of blockers of one status. None
of these can change without the holder of the key.
"""
import argparse
import base64
import datetime
import hashlib
import json
import os
import re
import sys

REPORT, EVENTS, TRACE, ENVELOPE = "report.json", "events.normalized.jsonl", "trace.jsonl", "attestation.dsse.json"
CONTRACT, DECISION = "task-contract.json", "eligibility-decision.json"
ALWAYS = [REPORT, "report.md", EVENTS, "patch.diff", "test.log", TRACE, CONTRACT, DECISION, "sandbox.json", ENVELOPE]
RULES = "1.4"
RUN_ID = re.compile("[0-9]{8}T[0-9]{6}Z-[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[a-z0-9]+")
# Events that stand in this order where they occur, and events that may stand anywhere.
ORDERED = """run.started task.contract.created plan.updated approval.requested approval.granted patch.applied
    git.diff.checked verification.completed run.completed""".split()
FACTS = """approval.break_glass backend.gate.blocked eligibility.decided workspace.prepared sandbox.applied
    sandbox.refused engine.started engine.output engine.exited model.requested model.answered model.refused
    secret.scan.completed""".split()
# How far a run of each stage may reach, as reports say it.
SCOPES = {1: "none", 2: "copied artificial case only", 3: "copied local repository fixture only",
          4: "disposable repository only", 5: "explicitly owned low-risk repository only", 6: "scoped real-repo use only"}
# Reasons that make a run `blocked`. harness_interrupted does so before the engine started; every other one is `fail`.
BLOCKED = """reviewer_rejected timeout budget_exceeded halted contract_invalid gate_missing stage_not_earned
    missing_test_command source_not_admitted executable_digest_mismatch license_unresolved model_not_admitted
    provider_auth_unavailable local_provider_config_missing provider_response_shape environment_broken
    contract_premise_false engine_copy_missing source_missing tool_missing target_not_admitted
    unowned_repository critical_repository approval_missing approval_expired approval_consumed approval_mismatch
    approval_not_comparable approval_revoked approval_held approval_not_yet_valid ledger_continuity_unknown
    approval_denied sandbox_unavailable dirty_starting_tree provider_unavailable missing_operator_outcome""".split()

failures = []


def check(holds, file, name, expected, found):
    """Keeps a check that does not hold. Odd characters are escaped, because the bundle's words are not ours."""
    if not holds:
        texts = [str(text).encode("unicode_escape").decode()[:300] for text in (file, name, expected, found)]
        failures.append("{}: {}: expected {} found {}".format(*texts))
    return holds


def same(file, name, expected, found):
    return check(canonical(expected) == canonical(found), file, name, expected, found)


def sha256(raw):
    return hashlib.sha256(raw).hexdigest()


# Canonical JSON (RFC 8785). No document of ours holds a float or an integer beyond 2^53 - 1.

def ordered(value):
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-16-be"))}
    if isinstance(value, list):
        return [ordered(item) for item in value]
    if isinstance(value, float) or isinstance(value, int) and abs(value) >= 2**53:
        raise ValueError("a number that no document of ours holds")
    return value


def canonical(value):
    return json.dumps(ordered(value), ensure_ascii=False, separators=(",", ":")).encode()


def parse(file, raw):
    """The value of JSON text that is its own canonical form, else None. A key that stands twice makes it differ."""
    try:
        value = json.loads(raw.decode())
        holds = canonical(value) == raw
    except (ValueError, RecursionError):
        holds = False
    return value if check(holds, file, "canonical", "RFC 8785 bytes", "other bytes") else None


def decode_base64(text):
    raw = base64.b64decode(text, validate=True)
    if base64.b64encode(raw).decode() != text:
        raise ValueError("base64 that no encoder writes")
    return raw


# Ed25519 (RFC 8032), strict: S < L, canonical points, none of small order. A point is (X, Y, Z, T): x = X/Z, y = Y/Z.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
NEUTRAL = (0, 1, 1, 0)


def add(a, b):
    low, high = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    twist, plain = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = high - low, plain - twist, plain + twist, high + low
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number, point):
    total = NEUTRAL
    while number:
        total = add(total, point) if number & 1 else total
        point, number = add(point, point), number >> 1
    return total


def equal(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def decode_point(raw):
    sign, y = divmod(int.from_bytes(raw, "little"), 2**255)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if len(raw) != 32 or y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError("not the canonical encoding of a point")
    x = x if x % 2 == sign else P - x
    return x, y, 1, x * y % P


BASE = decode_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def signature_holds(key, message, signature):
    if len(signature) != 64:
        return False
    try:
        a, r, s = decode_point(key), decode_point(signature[:32]), int.from_bytes(signature[32:], "little")
    except ValueError:
        return False
    if s >= L or equal(times(8, a), NEUTRAL) or equal(times(8, r), NEUTRAL):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little")
    return equal(times(s, BASE), add(r, times(k % L, a)))


def read_key(path):
    """Key id and the 32 bytes of an OpenSSH line or a PEM public key."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    ssh, spki = b"\0\0\0\x0bssh-ed25519\0\0\0\x20", bytes.fromhex("302a300506032b6570032100")
    if "-----BEGIN PUBLIC KEY-----" in text:
        body = text.split("-----BEGIN PUBLIC KEY-----")[1].split("-----END PUBLIC KEY-----")[0]
        head, blob = spki, decode_base64("".join(body.split()))
    else:
        lines = [line.strip() for line in text.splitlines()]
        words = [line for line in lines if line and not line.startswith("#")][0].split()
        head, blob = ssh, decode_base64(words[words.index("ssh-ed25519") + 1])
    key = blob[len(head):]
    if not blob.startswith(head):
        raise ValueError("not an ed25519 key")
    decode_point(key)
    return "SHA256:" + base64.b64encode(hashlib.sha256(ssh + key).digest()).decode().rstrip("="), key


# The bundle.

def read_files(root, below, depth, files):
    """Content by relative name. Links, devices and odd names are failures, never followed."""
    for entry in os.scandir(os.path.join(root, below)):
        name = below + entry.name
        if not check(len(files) < 50000 and depth < 32, name, "limit", "at most 50000 files, 32 deep", "more"):
            return
        if not check(name.encode("utf-8", "ignore").decode() == name, name, "name", "a UTF-8 name", "other bytes"):
            continue
        if entry.is_dir(follow_symlinks=False):
            before = len(files)
            read_files(root, name + "/", depth + 1, files)
            check(len(files) > before, name, "directory", "a directory with a signed file in it", "none")
        elif check(entry.is_file(follow_symlinks=False), name, "kind", "a regular file", "a link or a special file"):
            try:
                with open(entry.path, "rb") as file:
                    files[name] = file.read()
            except OSError as error:
                check(False, name, "readable", "a readable file", error)


def read_statement(envelope, keys):
    """The signed statement, only when there is exactly one signature and it is by a key we were given."""
    same(ENVELOPE, "envelope", ["payload", "payloadType", "signatures"], sorted(envelope))
    same(ENVELOPE, "payload_type", "application/vnd.in-toto+json", envelope["payloadType"])
    if not same(ENVELOPE, "signature", [["keyid", "sig"]], [sorted(one) for one in envelope["signatures"]]):
        return None
    key_id = envelope["signatures"][0]["keyid"]
    if not check(key_id in keys, ENVELOPE, "signer", ", ".join(keys), key_id):
        return None
    payload, signature = decode_base64(envelope["payload"]), decode_base64(envelope["signatures"][0]["sig"])
    kind = envelope["payloadType"].encode()
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    holds = signature_holds(keys[key_id], message, signature)
    if not check(holds, ENVELOPE, "signature", "a valid ed25519 signature", "an invalid one"):
        return None
    statement = parse(ENVELOPE, payload)
    if statement is None:
        return None
    same(ENVELOPE, "statement", ["_type", "predicate", "predicateType", "subject"], sorted(statement))
    same(ENVELOPE, "statement_type", "https://in-toto.io/Statement/v1", statement["_type"])
    what = "collection" if statement["predicate"].get("kind") else "run"
    same(ENVELOPE, "predicate_type", "urn:x-cto:attestation:%s:v1" % what, statement["predicateType"])
    same(ENVELOPE, "key", key_id, statement["predicate"]["key"])
    return statement


def check_digests(files, report, statement):
    """Signed subjects and files are the same set; so are the files and the report's own index."""
    digests = {name: sha256(raw) for name, raw in files.items() if name != ENVELOPE}
    if statement:
        signed = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
        shapes = {(*sorted(subject), *subject["digest"]) for subject in statement["subject"]}
        once = len(signed) == len(statement["subject"]) and shapes <= {("digest", "name", "sha256")}
        check(once, ENVELOPE, "subject", "name and sha256 of each file, once", "something else")
        for name in sorted(digests.keys() | signed.keys()):
            same(name, "digest", signed.get(name, "not signed"), digests.get(name, "missing"))
    listed = report["artifact_digests"]
    digests[REPORT] = sha256(canonical({**report, "artifact_digests": {**listed, REPORT: ""}}))
    for name in sorted(digests.keys() | listed.keys()):
        same(name, "artifact_digest", listed.get(name, "not listed"), digests.get(name, "missing"))
    same(REPORT, "artifact_paths", {name: name for name in files}, report["artifact_paths"])
    check(files.keys() <= report["freshness"].keys(), REPORT, "freshness", "every file", "some are not listed")
    for name, fresh in report["freshness"].items():
        moments = [report["run_started_at"], fresh["written_at"], fresh["checked_at"], report["run_finished_at"]]
        holds = all(map(is_stamp, moments)) and moments == sorted(moments)
        check(holds, name, "freshness", "within the run", moments)


def is_stamp(text):
    """RFC 3339, UTC, microseconds. The width is fixed, so that texts sort as times do."""
    return datetime.datetime.fromisoformat(text[:-1]).isoformat(timespec="microseconds") + "Z" == text


def read_chain(raw, run_id):
    """Events and the digest of the last line. Stops at the first broken line: nothing after it is anchored."""
    events, head = [], "0" * 64
    *lines, rest = raw.split(b"\n")
    check(rest == b"" and len(lines) <= 100000, EVENTS, "lines", "whole lines, at most 100000", "others")
    for number, line in enumerate(lines):
        name = "line %d" % (number + 1)
        event = parse(EVENTS, line)
        if event is None:
            break
        if not same(EVENTS, name, [number, head, run_id], [event["seq"], event["prev"], event["run_id"]]):
            break
        known = event["type"] in ORDERED + FACTS + ["approval.denied"] and isinstance(event["data"], dict)
        if not check(known and is_stamp(event["time"]), EVENTS, name, "an event", event):
            break
        events.append(event)
        head = sha256(line)
    return events, head


def check_events(events, head, report, predicate):
    kinds = [event["type"].replace("approval.denied", "approval.granted") for event in events]
    places = [ORDERED.index(kind) for kind in kinds if kind in ORDERED]
    check(places == sorted(places), EVENTS, "order", "the required order", kinds)
    same(EVENTS, "first", ["run.started"], kinds[:1])
    same(EVENTS, "last", ["run.completed"], kinds[-1:])
    same(EVENTS, "last", [report["status"]], [event["data"].get("status") for event in events[-1:]])
    left = iter([event["type"] for event in events])
    in_order = all(kind in left for kind in report["required_events"])
    same(EVENTS, "required_events", report["required_events_passed"], in_order)
    times = [event["time"] for event in events]
    during = all(report["run_started_at"] <= time <= report["run_finished_at"] for time in times)
    check(during and times == sorted(times), EVENTS, "time", "times during the run, in order", times)
    carried = {code for event in events for code in [event["data"].get("reason"), *event["data"].get("reasons", [])]}
    missing = [reason for reason in report["blocker_reasons"] if reason not in carried]
    check(not missing, EVENTS, "reason_event", "an event that carries each reason", missing)
    if predicate:
        same(EVENTS, "chain", predicate["events"], {"count": len(events), "head": head})
        # What a dead run had found is lost but for its events, so a recovered bundle may lack a blocker they carry.
        more = carried - {None, *report["blocker_reasons"]} if predicate["sealed_by"] == "run" else None
        check(not more, EVENTS, "unlisted_reason", "only reasons of blockers", more)


def check_signed(files, report, predicate):
    """What is signed and what the report says are the same."""
    engine, sandbox, host = report["engine"], report["sandbox"], report["host"]
    model = report["model"] or {"requested": None, "pairs_observed": [], "refused": 0}
    pair = model["requested"] and "{provider}/{model}".format(**model["requested"])
    names = lambda key: sorted({one[key] for one in model["pairs_observed"]} - {None})
    made = {
        "verdict": report["status"], "blockers": report["blocker_reasons"], "patch_sha256": sha256(files["patch.diff"]),
        "started_at": report["run_started_at"], "finished_at": report["run_finished_at"],
        "engine": {"id": engine["id"], "source_id": engine["source_id"], "tree_sha256": engine.get("tree_sha256") or engine["executable_sha256"],
                   "argv_sha256": engine["argv_sha256"], "process_started": engine["process_started"]},
        "sandbox": {"asked": sandbox["asked"], "applied": sandbox["profile"], "probe_sha256": sandbox.get("probe_sha256")},
        "model": {"requested": pair, "asked": names("asked"), "answered": names("answered"), "refused": model["refused"]},
        "harness": {"version": host["harness_version"], "executable_sha256": host["harness_sha256"]},
        "verification": [{"argv_sha256": sha256(canonical(one["argv"])), "exit": one["exit"], "kind": one["kind"],
                          "result": one["result"], "tests": one["tests"]} for one in report["verification"]["passes"]],
    }
    for field in ["run_id", "task_id", "stage", "purpose", "contract_digest", "decision_id", "baseline_commit",
                  "baseline_tree", "result_tree", "coverage"]:
        made[field] = report[field]
    for field, value in made.items():
        same(REPORT, "signed_" + field, predicate[field], value)
    for field in ["kind", "bundles", "subject_model", "request_digest", "approval_digest", "work_id", "target_commit",
                  "disposable_repository_dir", "target_repository_admission_status"]:
        same(REPORT, "signed_" + field, predicate.get(field), report.get(field))
    same(REPORT, "allowed_mutation_scope", SCOPES.get(report["stage"]), report["allowed_mutation_scope"])


def check_decision(files, report, decision):
    """The report is about the request that was judged, and no engine started against a refusal."""
    inputs, started = decision["inputs"], report["engine"]["process_started"]
    # A run that was not admitted to its target started nothing and names the target nowhere; its digest is that of the true contract.
    target = json.loads(files[CONTRACT]).get("target_repository") or ""
    redacted = target.startswith("redacted:sha256:") and "target_redacted" in report["coverage"] and not started
    if not redacted:
        same(CONTRACT, "contract_digest", report["contract_digest"], sha256(files[CONTRACT]))
    same(DECISION, "decision_id", [report["decision_id"]] * 2, [decision["decision_id"], sha256(canonical(inputs))])
    same(DECISION, "request", [report["contract_digest"], report["purpose"], report["stage"], report["backend"]],
         [inputs["contract_digest"], inputs["purpose"], inputs["stage"], inputs["engine"]])
    same(DECISION, "request", report["engine"]["id"], inputs["engine"])
    if report["baseline_commit"] is not None:
        same(DECISION, "baseline", report["baseline_commit"], (inputs["target"] or {}).get("baseline_commit"))
    same(DECISION, "kind", report.get("kind"), inputs.get("kind"))
    if report.get("kind"):
        check_document(report)
        check_stage6(files, report)
    else:
        check_approval(files, report, inputs)
        check_copied(files, report)
    refused = decision["missing_gates"] + decision["not_evaluated"]
    check(not (started and refused), DECISION, "admitted", "no engine against a refusal", refused)
    unlisted = [reason for reason in decision["reasons"] if reason not in report["blocker_reasons"]]
    check(not unlisted, REPORT, "decision_reasons", "every reason of the decision", unlisted)


def check_document(report):
    """A document about other bundles started and changed nothing, and names each bundle once."""
    idle = not report["engine"]["process_started"] and not report["changed_files"] and not report.get("target_commit")
    check(idle, REPORT, "kind", "a document that started and changed nothing", "a run")
    cited = [bundle["run_id"] for bundle in report.get("bundles", [])]
    once = len(set(cited)) == len(cited) and report["run_id"] not in cited
    check(once, REPORT, "bundles", "each bundle of another once", cited)


def check_approval(files, report, inputs):
    """A pass of a stage that changes a repository has its proof, and that names the request, its approvals and the target's admission
    as the decision has them. `cto verify` weighs the approvals again; here they are only compared."""
    stage, found = report["stage"], inputs.get("approval")
    request = found["found"].get("request") if isinstance(found, dict) else None
    known = {one["sha256"] for one in request["approvals"]} if request else set()
    name = {4: "stage4-disposable-sandbox-proof.json", 5: "stage5-owned-repo-proof.json",
            6: "stage6-owned-repo-proof.json"}.get(stage)
    if name is None or report["status"] == "pass" and not check(name in files, name, "present", "the proof of the stage", "missing"):
        return
    check(request or report["status"] != "pass", DECISION, "approval", "a request in a pass of this stage", "none")
    if name not in files:
        return
    proof = parse(name, files[name])
    same(name, "stage_proof", [report["run_id"], report["task_id"], stage, report["backend"], report["allowed_writes_passed"],
                               report["forbidden_paths_passed"], report["changed_files"], report["engine"]["process_started"], False],
         [proof[field] for field in ("run_id task_id stage engine allowed_paths_passed forbidden_paths_passed changed_files"
                                     " case_process_started runtime_default_activation").split()])
    approval = proof["approval"]
    same(name, "stage_proof", [(request or {}).get(field) for field in ("request_digest", "packet_digest", "policy_digest")],
         [approval[field] for field in ("request_digest", "packet_digest", "policy_digest")])
    unknown = sorted(set(approval["approval_digests"]) - known)
    check(not unknown, name, "stage_proof", "approvals of the decision", unknown)
    same(name, "stage_proof", ["granted", report["engine"]["process_started"]], [approval["status"], approval["approval_consumed"]])
    if report["status"] == "pass":
        clean = "target_repository_{}_clean" if stage >= 5 else "repository_{}_clean"
        check_pass_facts(name, proof, ["no_forbidden_actions", clean.format("start"), clean.format("ending")],
                         ["public_publication_attempted", "push_merge_deploy_close_pr_open_attempted"])
        landed = proof.get("landed")
        same(name, "stage_proof", [True, report["result_tree"]], [proof["passed"], (landed or {}).get("tree", report["result_tree"])])
        check(landed or not report["changed_files"], name, "stage_proof", "a landed commit", "none")
    if stage >= 5:
        admission = inputs["settings"]["target_admission"]["admission"]["record"]
        same(name, "stage_proof", [admission["sha256"], admission["record"]["allowed_paths"], "pending", True],
             [proof["admission"]["sha256"], proof["admission"]["allowed_paths"], proof["operator_outcome"],
              proof["operator_outcome_required"]])
        check(proof["approval_digest"] in known, name, "stage_proof", "an approval of the decision", proof["approval_digest"])


def check_approval_events(events, report, inputs):
    """An engine that started on a request has the events of the request and of its approval."""
    found = inputs.get("approval")
    if report["engine"]["process_started"] and isinstance(found, dict) and found["found"].get("request"):
        kinds = {event["type"] for event in events}
        for kind in ("approval.requested", "approval.granted"):
            check(kind in kinds, EVENTS, "approval_event", "an event " + kind, "none")


def check_pass_facts(name, proof, true, false=()):
    """Facts on which a pass rests: each is exactly true, or exactly false."""
    wrong = [field for field in true if proof[field] is not True] + [field for field in false if proof[field] is not False]
    check(not wrong, name, "stage_proof", "the facts of a pass", wrong)


def check_copied(files, report):
    """The proofs of stages 2 to 4 about repositories that the engine was not to see or change."""
    passed = report["status"] == "pass"
    name = "stage2-no-target-inspection.json"
    if name in files:
        proof = parse(name, files[name])
        clean = all(place["occurrences"] == 0 for place in proof["places"])
        same(name, "stage_proof", [report["run_id"], report["stage"], report["backend"], clean],
             [proof[field] for field in ("run_id", "stage", "engine", "passed")])
        check_pass_facts(name, proof, ["passed"] if passed else [])
    name = "stage3-copied-repo-proof.json"
    if name in files:
        proof = parse(name, files[name])
        same(name, "stage_proof", [report["run_id"], 3, report["backend"], proof["before"] == proof["after"]],
             [proof[field] for field in ("run_id", "stage", "engine", "unchanged")])
        facts = ["unchanged", "clean_start", "clean_end", "never_writable", "passed"]
        check_pass_facts(name, proof, facts if passed else [])


def check_stage6(files, report):
    """Documents of stage 6: nothing is activated or promoted, and a pass rests on no fact that is false."""
    passed = report["status"] == "pass"
    name = "stage6-candidate-default-comparison.json"
    if report["kind"] == "comparison" and name in files:
        document = parse(name, files[name])
        same(name, "stage_proof", [False, "not-promoted", "pending", True, document["repeatability_status"] == "pass"],
             [document[field] for field in ("runtime_default_activation core_promotion_status operator_outcome"
                                            " operator_outcome_required repeatability_passed").split()])
        bare = [row["fixture"] for row in document["failure_matrix"]
                if not (row["covered"] is True and (row.get("bundle") or row.get("rationale")))]
        few = document["repeatability_count"] < document["repeatability_required"]
        check(not (passed and (bare or few)), name, "stage_proof", "covered rows and repeated passes", bare)
        check_pass_facts(name, document, ["repeatability_passed"] if passed else [])
    name = "stage6-real-governed-refresh-comparison.json"
    if report["kind"] == "refresh" and name in files:
        document = parse(name, files[name])
        same(name, "stage_proof", [False, "not-promoted", document["repeatability_status"] == "pass"],
             [document[field] for field in ("runtime_default_activation", "core_promotion_status", "repeatability_passed")])
        if passed:
            enough = document["repeatability_count"] >= document["repeatability_required"]
            same(name, "stage_proof", ["pass", [], True], [document["status"], document["rejections"], enough])
            check_pass_facts(name, document, ["repeatability_passed", "candidate_default_repeatability_eligible"],
                             ["target_repository_mutation"])


def check_signed_approval(predicate, report, inputs):
    """Request and approval that are signed for are the decision's."""
    found = inputs.get("approval")
    request = found["found"].get("request") if isinstance(found, dict) else None
    requests, approvals = [request["request_digest"]] if request else [], [one["sha256"] for one in request["approvals"]] if request else []
    used = request is not None and report["engine"]["process_started"]
    for field, known in (("request_digest", requests), ("approval_digest", approvals)):
        signed = predicate.get(field)
        check(signed in known if used or signed else True, ENVELOPE, "signed_" + field, known, signed)


def check_status(report):
    """The status is what blockers and verification make it; coverage names what the report shows to be unproven."""
    started, status, reasons = report["engine"]["process_started"], report["status"], report["blocker_reasons"]
    blocked = BLOCKED if started else [*BLOCKED, "harness_interrupted"]
    weights = ["blocked" if reason in blocked else "fail" for reason in reasons]
    same(REPORT, "status", "fail" if "fail" in weights else "blocked" if weights else "pass", status)
    same(REPORT, "blocker_reasons", [blocker["reason"] for blocker in report["blockers"]], reasons)
    check(weights == sorted(weights, reverse=True), REPORT, "blocker_order", "worst first", reasons)
    passes, coverage = report["verification"]["passes"], report["coverage"]
    results, kinds = {one["result"] for one in passes}, {one["kind"] for one in passes}
    result = "not_run" if not passes else "pass" if results == {"pass"} else "fail"
    same(REPORT, "verification_result", result, report["verification"]["result"])
    same(REPORT, "tests_passed", {"pass": True, "fail": False}.get(result), report["tests_passed"])
    # A baseline without any test leaves only what the patch brings.
    proving = "change" if "exam" not in kinds and "tests_not_compared" in coverage else "exam"
    exams = [one for one in passes if one["kind"] == proving and one["result"] == "pass"]
    excused = report["stage"] == 1 or report.get("kind") or "no_verification" in coverage or status != "pass"
    check(exams or excused, REPORT, "verification", "an exam that passed, or a reason why there is none", "neither")
    excuses = {"known_failure": "known_failures", "flaky": "flaky_tests"}
    def excused(one):
        """Every failing test has an excuse that the coverage names."""
        tests = one["tests"].get("failed", [])
        covered = all(excuses.get(test.get("excused")) in coverage for test in tests)
        return tests and covered and len(tests) == (one["tests"]["result"] or {}).get("failed", 0)
    holds = all(one["exit"] == 0 or one["exit"] is not None and excused(one) for one in exams)
    check(holds, REPORT, "verification", "exit 0 where the exam passed", "another")
    failed = [one["name"] for one in passes if one["kind"] in ("exam", "change") and one["result"] == "pass"
              and (one["tests"]["result"] or {}).get("failed", 0) and not excused(one)]
    check(not failed, REPORT, "verification_tests", "no failed test where a check passed", failed)
    check(status != "pass" or "fail" not in results, REPORT, "verification", "no failed check in a pass", "one failed")
    for code, unproven in (("sandbox_none", started and report["sandbox"]["profile"] == "none"),
                           ("tests_not_compared", any(one["kind"] == proving and not (one["tests"]["baseline"] or {}).get("executed")
                                                      for one in passes)),
                           ("exam_in_process", proving in kinds and "blind" not in kinds),
                           ("exam_without_control", proving in kinds and "control" not in kinds)):
        check(not unproven or code in coverage, REPORT, "coverage", code, "not listed")
    classes = {hit.get("class", "leak") for hit in report["secret_scan"]["hits"]}
    for kind, reason in [("leak", "secret_leak"), ("canary", "canary_touched")]:
        same(REPORT, "secret_scan", kind in classes, reason in reasons)


def check_exam_changes(patch, contract, report):
    """A patch that takes lines out of a file of tests is said to. `cto verify` knows the whole exam set; here it is what lies in a
    folder of tests, where the contract releases nothing. Lines of a redacted patch are not those that were judged."""
    altered, path, new, hunk = set(), b"", False, False
    for line in patch.split(b"\n"):
        if line.startswith(b"diff --git "):
            path, new, hunk = line[len(line) // 2 + 6:], False, False
        elif line.startswith(b"@@ "):
            hunk = True
        new = new or not hunk and line.startswith(b"new file mode")
        gone = hunk and line.startswith(b"-") and line[1:].strip() or line.startswith(b"deleted file mode") and not hunk
        if gone and not new and {b"test", b"tests", b"testdata"} & set(path.strip(b'"').split(b"/")):
            altered.add(path)
    judged = report["verification"]["passes"] and not contract.get("exam_may_change") and "patch_redacted" not in report["coverage"]
    listed = "exam_change_not_controlled" in report["coverage"]
    check(listed or not (altered and judged), REPORT, "coverage", "exam_change_not_controlled", sorted(altered))


def check_sandbox(sandbox, report):
    """sandbox.json and the report tell of the same sandbox, and a recorder that ran out of room is told of."""
    told = [report["sandbox"]["asked"], report["sandbox"]["profile"], report["engine"]["process_started"]]
    same("sandbox.json", "sandbox", told, [sandbox["asked"], sandbox["applied"], sandbox["engine_ran"]])
    postures = canonical(sandbox["postures"])
    same("sandbox.json", "probe_sha256", None if postures == b"[]" else sha256(postures), report["sandbox"].get("probe_sha256"))
    full = any(is_full(cell["seen"]) for cell in sandbox["cells"])
    same("sandbox.json", "recorder_full", full, "recorder_full" in report["coverage"])


def check_truth(events, sandbox, usage, report):
    """One truth: what the events say is what sandbox.json, model-usage.jsonl and the report say, field by field."""
    told = {
        "run.started": {"engine": report["backend"], "purpose": report["purpose"], "stage": report["stage"],
                        "task_id": report["task_id"]},
        "task.contract.created": {"contract_digest": report["contract_digest"]},
        "eligibility.decided": {"decision_id": report["decision_id"]},
        "workspace.prepared": {"baseline_commit": report["baseline_commit"], "baseline_tree": report["baseline_tree"]},
        "sandbox.applied": {"asked": report["sandbox"]["asked"], "profile": report["sandbox"]["profile"]},
        "engine.started": {"engine": report["backend"], "wall_seconds": sandbox["wall_seconds"]},
        "engine.exited": {"exit_code": report["backend_exit_code"], "duration_ms": report["engine"]["duration_ms"],
                          "stopped_because": report["engine"].get("ended_by_harness")},
        "patch.applied": {"sha256": report["artifact_digests"].get("patch.diff")},
        "git.diff.checked": {"allowed_writes_passed": report["allowed_writes_passed"], "result_tree": report["result_tree"],
                             "forbidden_paths_passed": report["forbidden_paths_passed"]},
        "verification.completed": {"result": report["verification"]["result"]},
        "secret.scan.completed": {"hits": len(report["secret_scan"]["hits"]), "status": report["secret_scan"]["status"]},
        "run.completed": {"backend_exit_code": report["backend_exit_code"], "blockers": report["blocker_reasons"]},
    }
    if "patch.diff" not in report["not_applicable"]:
        told["git.diff.checked"]["changed_files"] = len(report["changed_files"])
    kinds = {event["type"] for event in events}
    ended = {record["seq"]: record for record in usage if record["refused"] or record["outcome"] != "local"}
    attempts = sandbox["attempts"]
    is_of = lambda event, attempt: all(event["data"].get(name) == value for name, value in attempt.items())
    for event in events:
        kind, data = event["type"], event["data"]
        expected = told.get(kind, {})
        if kind in ("model.answered", "model.refused"):
            record = ended.pop(data.get("request"), {})
            names = "model_answered model_asked outcome purpose refusal served status tokens total_ms wire".split()
            expected = {name: record.get(name) for name in names}
            same("model-usage.jsonl", "one_truth", kind == "model.refused", record.get("refused"))
        if kind == "sandbox.refused":
            check(any(is_of(event, one) for one in attempts), "sandbox.json", "one_truth", data, "no such attempt")
        same(EVENTS, "one_truth", expected, {name: data.get(name) for name in expected})
    check(not ended, EVENTS, "one_truth", "an event of each request that ended", sorted(ended))
    same(REPORT, "one_truth", report["backend_exit_code"], report["engine"]["exit_code"])
    for kind, said in (("engine.exited", report["backend_exit_code"] is not None), ("git.diff.checked", report["result_tree"]),
                       ("git.diff.checked", report["changed_files"]), ("verification.completed", report["verification"]["passes"])):
        check(not said or kind in kinds, REPORT, "one_truth", "an event " + kind, "none")
    same(REPORT, "one_truth", report["engine"].get("ended_by_harness") is not None, "engine_ended_by_harness" in report["coverage"])
    check("engine.started" not in kinds or report["engine"]["process_started"], REPORT, "one_truth", "process_started", "not")
    check(not kinds & report["not_applicable"].keys(), REPORT, "one_truth", "no event among what is not applicable", kinds)
    listed = lambda verdict: ["%s: %s" % (one["cell"], one["what"]) for one in attempts if one["judged"] == verdict]
    same("sandbox.json", "one_truth", report["forbidden_actions_attempted"], listed("forbidden_action"))
    same("sandbox.json", "one_truth", report["sandbox"]["violations"], listed("violation"))
    same("sandbox.json", "one_truth", report["engine"]["leftover_processes"], sandbox["leftover_processes"])
    refused = [event for event in events if event["type"] == "sandbox.refused"]
    unsaid = [one for one in attempts if not any(is_of(event, one) for event in refused)]
    check(not unsaid or len(attempts) > 100, EVENTS, "one_truth", "an event of every attempt", unsaid)


def is_full(seen):
    """A recorder met more than it had room to list: it keeps 256 entries of each list."""
    listed = lambda name: sum(one["count"] for one in seen[name])
    return (len(seen["refused"]) >= 256 or seen["executions_total"] > listed("executions")
            or seen["connections_total"] > listed("connections"))


def verify(root, files, keys):
    for name in ALWAYS:
        check(len(files.get(name, b"")) <= 2**28, name, "size", "at most 256 MiB", "more")
        check(name in files, name, "present", "a file that every bundle has", "missing")
    judged = [raw for name, raw in files.items() if "/" not in name and name != "baseline.tar" and len(raw) <= 2**28]
    check(sum(map(len, judged)) <= 2**29, ".", "size", "at most 512 MiB in the files at the top", "more")
    backend = os.path.join(root, "backend")
    check(os.path.isdir(backend) and not os.path.islink(backend), "backend", "present", "a directory", "none")
    tops = {name: parse(name, raw) for name, raw in files.items() if "/" not in name and name.endswith(".json")}
    trace = files.get(TRACE, b"")
    for line in (trace[:-1] if trace.endswith(b"\n") else trace).split(b"\n"):
        parse(TRACE, line)
    report, decision, envelope = tops.get(REPORT), tops.get(DECISION), tops.get(ENVELOPE)
    version = str(report.get("schema_version")) if isinstance(report, dict) else "1.0"
    known = version.startswith("1.") and version[2:].isdecimal()
    if not check(known, REPORT, "format_version", "1.x, which this program reads", version):
        failures[:] = failures[-1:]
        return None
    if None in (report, decision, envelope) or not files.keys() >= set(ALWAYS):
        return None
    statement = read_statement(envelope, keys)
    predicate = statement and statement["predicate"]
    folder = os.path.basename(os.path.realpath(root))
    if predicate and RUN_ID.fullmatch(folder):
        same(ENVELOPE, "run_mismatch", folder, predicate["run_id"])
    check_digests(files, report, statement)
    events = read_chain(files[EVENTS], report["run_id"])
    check_events(*events, report, predicate)
    if predicate:
        check_signed(files, report, predicate)
    same(REPORT, "constants", [False, "not-promoted"],
         [report["runtime_default_activation"], report["core_promotion_status"]])
    if has_these_rules(report, tops[CONTRACT], decision):
        check_decision(files, report, decision)
        check_approval_events(events[0], report, decision["inputs"])
        check_signed_approval(predicate or {}, report, decision["inputs"])
        check_status(report)
        check_exam_changes(files["patch.diff"], tops[CONTRACT], report)
        check_sandbox(tops["sandbox.json"], report)
        usage = files.get("model-usage.jsonl", b"").split(b"\n")
        check_truth(events[0], tops["sandbox.json"], [parse("model-usage.jsonl", line) for line in usage if line], report)
    return report if statement else None


def has_these_rules(report, contract, decision):
    """Rules 1.2 and 1.3 differ in approvals, beyond stage 3 and in the words of refusals, and in nothing else."""
    alike = report["stage"] < 4 and contract["mutation_mode"] in ("none", "copied-fixture") and not decision["refusals"]
    return report["rules_version"] == RULES or report["rules_version"] in ("1.2", "1.3") and alike


# Statements of people about a sealed bundle, each with an SSHSIG beside it.

NAMESPACE = b"cto-outcome@v1"
ALWAYS_STATED = {"schema", "attestation_sha256", "run_id", "task_id", "reason", "recorded_at"}
STATED = {"cto-outcome@v1": {"operator_outcome", "source"},
          "cto-rollback@v1": {"repository", "branch", "commit", "act", "key_fingerprint"}}


def string(raw):
    """The first string of the SSH wire format, and what follows it."""
    end = 4 + int.from_bytes(raw[:4], "big")
    if len(raw) < max(end, 4):
        raise ValueError("a string that is cut off")
    return raw[4:end], raw[end:]


def wire(raw):
    return len(raw).to_bytes(4, "big") + raw


def read_person_signature(text, message):
    """Key and signature of an SSHSIG by an ed25519 key, and the bytes that it has to be of."""
    lines = text.rstrip("\n").split("\n")
    if lines[0] != "-----BEGIN SSH SIGNATURE-----" or lines[-1] != "-----END SSH SIGNATURE-----":
        raise ValueError("not an armoured signature")
    raw = decode_base64("".join(lines[1:-1]))
    if raw[:10] != b"SSHSIG\0\0\0\1":
        raise ValueError("not an SSHSIG of version 1")
    public, rest = string(raw[10:])
    namespace, rest = string(rest)
    reserved, rest = string(rest)
    name, rest = string(rest)
    signature, rest = string(rest)
    kind, value = string(signature)
    signature, more = string(value)
    key_kind, key = string(public)
    key, after = string(key)
    if rest or more or after or kind != b"ssh-ed25519" or key_kind != kind:
        raise ValueError("not a signature by an ed25519 key; ssh-keygen -Y verify takes the other kinds")
    if namespace != NAMESPACE or reserved or name not in (b"sha256", b"sha512"):
        raise ValueError("not a signature for " + NAMESPACE.decode())
    digest = hashlib.new(name.decode(), message).digest()
    return key, signature, b"SSHSIG" + wire(namespace) + wire(reserved) + wire(name) + wire(digest)


def check_statement(path, attestation, report, signers):
    """A line about a statement that holds."""
    file = os.path.basename(path)
    with open(path, "rb") as opened:
        raw = opened.read(2**20)
    document = parse(file, raw)
    if document is None:
        return None
    kind = document.get("schema")
    known = ALWAYS_STATED | STATED.get(kind, set())
    optional = {"work_id", "key_fingerprint"}
    check(kind in STATED and known <= document.keys() <= known | optional, file, "shape", sorted(known), sorted(document))
    same(file, "about", [sha256(attestation), report["run_id"], report["task_id"], report.get("work_id")],
         [document.get(key) for key in ("attestation_sha256", "run_id", "task_id", "work_id")])
    check(is_stamp(document.get("recorded_at")), file, "time", "a time", document.get("recorded_at"))
    if kind == "cto-rollback@v1":
        same(file, "landed", [report.get("result_branch"), report.get("target_commit")], [document["branch"], document["commit"]])
        told = "rolled back"
    else:
        told = document.get("operator_outcome")
        check(told in ("accepted", "rejected"), file, "outcome", "accepted or rejected", told)
    signature = path + ".sig"
    if document.get("source") == "environment":
        unsigned = not os.path.lexists(signature) and "key_fingerprint" not in document
        check(unsigned, file, "signature", "none, because a variable said it", "one")
        return "%s: %s, signed by nobody" % (file, told)
    try:
        with open(signature, encoding="ascii") as opened:
            key, made, signed = read_person_signature(opened.read(2**16), raw)
    except (OSError, ValueError) as error:
        check(False, file + ".sig", "signature", "an SSHSIG", error)
        return None
    holds = signature_holds(key, signed, made)
    check(holds, file, "signature", "a signature of these bytes", "one of others")
    ours = [fingerprint for fingerprint, known in signers.items() if known == key]
    check(ours, file, "signer", sorted(signers), "another key")
    same(file, "signer", document.get("key_fingerprint"), ours[0] if ours else None)
    return "%s: %s by %s" % (file, told, document.get("key_fingerprint"))


def judge_statements(root, paths, signers):
    """What is to be printed of statements about a bundle that holds."""
    with open(os.path.join(root, REPORT), "rb") as report, open(os.path.join(root, ENVELOPE), "rb") as attestation:
        report, attestation = json.loads(report.read()), attestation.read()
    lines = []
    for path in paths:
        try:
            lines.append(check_statement(path, attestation, report, signers))
        except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
            check(False, path, "shape", "a statement as its schema describes it", repr(error))
    return (1, ["fail", *failures]) if failures else (0, lines)


def judge(root, keys):
    """The exit code of one bundle and what is to be printed of it."""
    files, report = {}, None
    if os.path.islink(root) or not os.path.isdir(root):
        return 2, ["%s is not a bundle: it is not a directory" % root]
    if not any(os.path.lexists(os.path.join(root, name)) for name in (REPORT, ENVELOPE)):
        return 2, ["%s is not a bundle: it has neither %s nor %s" % (root, REPORT, ENVELOPE)]
    read_files(root, "", 0, files)
    try:
        report = verify(root, files, keys)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        check(False, root, "shape", "documents as their schemas describe them", repr(error))
    if failures or report is None:
        return 1, ["fail", *failures]
    again = "" if has_these_rules(report, parse(CONTRACT, files[CONTRACT]), parse(DECISION, files[DECISION])) else ", not judged again: made under other rules"
    return 0, ["pass %s, verdict %s%s" % (report["run_id"], report["status"], again)]


def main():
    usage = argparse.ArgumentParser(description="Checks bundles of cto offline.")
    usage.add_argument("bundle", nargs="+")
    usage.add_argument("--key", required=True, action="append", help="OpenSSH line or PEM; may be repeated")
    usage.add_argument("--statement", action="append", default=[], help="statement about the bundle; may be repeated")
    usage.add_argument("--signer", action="append", default=[], help="key of a person; may be repeated")
    given = usage.parse_args()
    if given.statement and len(given.bundle) > 1:
        usage.error("statements are about one bundle")
    keys, signers, worst = {}, {}, 0
    for known, path in [(keys, path) for path in given.key] + [(signers, path) for path in given.signer]:
        try:
            known.update([read_key(path)])
        except (OSError, ValueError, IndexError) as error:
            usage.error("%s is not a public key: %s" % (path, error))
    for root in given.bundle:
        failures.clear()
        code, lines = judge(root, keys)
        if code == 0 and given.statement:
            code, more = judge_statements(root, given.statement, signers)
            lines = lines + more if code == 0 else more
        worst = max(worst, code)
        if len(given.bundle) > 1:
            lines[0] = "%s: %s" % (root, lines[0])
        print(*lines, sep="\n", file=sys.stderr if code == 2 else sys.stdout)
    return worst


if __name__ == "__main__":
    sys.exit(main())
