//! Judged again: bundles that are whole and signed by the right key, and do not hold together.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::statement::{Envelope, PAYLOAD_TYPE};
use evidence::dsse::pre_authentication;
use evidence::names::MODEL_USAGE;
use evidence::names::{ATTESTATION, CONTRACT, DECISION, EVENTS, PATCH, REPORT, REPORT_MD, SANDBOX, TRACE};
use serde_json::{Value, json};
use testkit::{Forger, each_row};

use super::edits::agreement;
use super::{all_hold, check_refused, corpus};

/// A lie: which bundle tells it, how, what is signed with it, and the check that finds it.
struct Lie {
    name: &'static str,
    kind: &'static str,
    tell: fn(&Forger<'_>),
    sign: fn(&mut Value),
    file: &'static str,
    check: &'static str,
}

const fn lie(
    name: &'static str,
    kind: &'static str,
    tell: fn(&Forger<'_>),
    sign: fn(&mut Value),
    file: &'static str,
    check: &'static str,
) -> Lie {
    Lie { name, kind, tell, sign, file, check }
}

fn same(_: &mut Value) {}

fn nothing(_: &Forger<'_>) {}

/// The statement says pass, too.
fn signed_pass(statement: &mut Value) {
    statement["predicate"]["verdict"] = json!("pass");
    statement["predicate"]["blockers"] = json!([]);
}

/// A report that says pass, without blockers.
fn claim_pass(report: &mut Value) {
    report["status"] = json!("pass");
    report["blockers"] = json!([]);
    report["blocker_reasons"] = json!([]);
    report["failure_reason"] = json!(null);
}

/// Events that say pass, without reasons.
fn tell_pass(events: &mut [Value]) {
    strip_reasons(events);
    let last = events.last_mut().unwrap();
    last["data"]["status"] = json!("pass");
    last["data"]["blockers"] = json!([]);
}

fn report_and_events_pass(forger: &Forger<'_>) {
    forger.events(|events| tell_pass(events));
    forger.report(claim_pass);
}

fn position(events: &[Value], kind: &str) -> usize {
    events.iter().position(|event| event["type"] == kind).unwrap()
}

fn drop_event(events: &mut Vec<Value>, kind: &str) {
    events.remove(position(events, kind));
}

#[rustfmt::skip]
const LIES: &[Lie] = &[
    // The verdict and its blockers.
    lie("a failure called pass", "fail", |f| f.report(|r| r["status"] = json!("pass")), same, REPORT, "signed_verdict"),
    lie("a failure signed as pass", "fail", |f| f.report(|r| r["status"] = json!("pass")), signed_pass, REPORT, "status"),
    lie("a block called pass", "blocked", |f| f.report(|r| r["status"] = json!("pass")), signed_pass, REPORT, "status"),
    lie("a pass called fail", "pass", |f| f.report(|r| r["status"] = json!("fail")), |s| s["predicate"]["verdict"] = json!("fail"), REPORT, "status"),
    lie("a leak that no blocker tells of", "pass", |f| f.report(|r| r["secret_scan"]["hits"] = json!([{"class": "leak", "file": "trace.jsonl", "offset": 0, "rule": "canary"}])), same, REPORT, "secret_scan"),
    lie("a blocker removed", "fail", |f| f.report(claim_pass), same, REPORT, "signed_blockers"),
    lie("a blocker removed from the list of codes", "fail", |f| f.report(|r| r["blocker_reasons"] = json!([])), |s| s["predicate"]["blockers"] = json!([]), REPORT, "blocker_reasons"),
    lie("a blocker removed, all signed", "fail", |f| f.report(claim_pass), signed_pass, EVENTS, "last"),
    lie("a blocker that no event carries", "fail", |f| f.events(|e| strip_reasons(e)), same, EVENTS, "reason_event"),
    lie("a reason in the events that is no blocker", "fail", events_say_more, same, EVENTS, "unlisted_reason"),
    lie("a blocker removed, events and all", "fail", report_and_events_pass, signed_pass, REPORT, "verification"),
    lie("a refusal's blocker removed, events and all", "blocked", report_and_events_pass, signed_pass, REPORT, "decision_reasons"),
    lie("a path blocker removed, events and all", "outside", report_and_events_pass, signed_pass, REPORT, "path_verdict"),
    lie("a forbidden path, blocker removed", "forbidden", report_and_events_pass, signed_pass, REPORT, "path_verdict"),
    lie("blockers in another order", "fail", |f| f.report(second_blocker_first), |s| s["predicate"]["blockers"] = json!(["timeout", "verification_failed"]), REPORT, "blocker_order"),
    // What changed.
    lie("changed files emptied", "pass", |f| f.report(|r| r["changed_files"] = json!([])), same, PATCH, "changed_files"),
    lie("a changed file added", "pass", |f| f.report(|r| r["changed_files"] = json!(["rotate-logs.sh", "x"])), same, PATCH, "changed_files"),
    lie("the patch emptied", "pass", |f| f.write(PATCH, b""), same, PATCH, "changed_files"),
    lie("the patch is no patch", "pass", |f| f.write(PATCH, b"nothing\n"), same, PATCH, "header"),
    lie("another patch signed than there is", "pass", nothing, |s| s["predicate"]["patch_sha256"] = json!("0".repeat(64)), PATCH, "signed_patch"),
    lie("writes outside called allowed", "outside", |f| f.report(|r| r["allowed_writes_passed"] = json!(true)), same, REPORT, "allowed_writes_passed"),
    lie("forbidden writes called allowed", "forbidden", |f| f.report(|r| r["forbidden_paths_passed"] = json!(true)), same, REPORT, "forbidden_paths_passed"),
    // The decision and what it rests on.
    lie("a refusal made eligible", "blocked", |f| f.json(DECISION, make_eligible), same, DECISION, "judged_again"),
    lie("a decision about other facts", "pass", |f| f.json(DECISION, |d| d["inputs"]["settings"]["halted"] = json!(true)), same, DECISION, "judged_again"),
    lie("an ecosystem left out, all signed", "pass", unsee, |s| s["predicate"]["decision_id"] = json!(UNSEEN.get().unwrap()), DECISION, "ecosystems"),
    lie("an engine started against a refusal", "blocked", |f| f.report(|r| r["engine"]["process_started"] = json!(true)), |s| s["predicate"]["engine"]["process_started"] = json!(true), DECISION, "admitted"),
    lie("another decision id", "pass", |f| f.report(|r| r["decision_id"] = json!("0".repeat(64))), |s| s["predicate"]["decision_id"] = json!("0".repeat(64)), DECISION, "decision_id"),
    lie("a contract that allows more", "outside", |f| f.json(CONTRACT, |c| c["allowed_paths"] = json!(["**"])), same, CONTRACT, "contract_digest"),
    lie("another contract, signed", "outside", widen, |s| s["predicate"]["contract_digest"] = json!(WIDE.get().unwrap()), DECISION, "decision_contract"),
    lie("a purpose changed", "pass", |f| f.report(|r| r["purpose"] = json!("validation")), same, REPORT, "signed_purpose"),
    lie("a purpose changed and signed", "pass", |f| f.report(|r| r["purpose"] = json!("validation")), |s| s["predicate"]["purpose"] = json!("validation"), DECISION, "decision_purpose"),
    lie("a stage changed and signed", "pass", |f| f.report(|r| r["stage"] = json!(3)), |s| s["predicate"]["stage"] = json!(3), DECISION, "decision_stage"),
    lie("an engine changed and signed", "pass", |f| { f.report(|r| { r["backend"] = json!("case"); r["engine"]["id"] = json!("case"); }) }, |s| s["predicate"]["engine"]["id"] = json!("case"), DECISION, "decision_engine"),
    lie("another baseline", "pass", |f| f.report(|r| r["baseline_commit"] = json!("0".repeat(40))), |s| s["predicate"]["baseline_commit"] = json!("0".repeat(40)), DECISION, "decision_baseline"),
    // The verification.
    lie("a failed check called passed", "fail", |f| f.report(|r| r["verification"]["passes"][0]["result"] = json!("pass")), same, REPORT, "signed_verification"),
    lie("a failed check signed as passed", "fail", |f| f.report(|r| r["verification"]["passes"][0]["result"] = json!("pass")), |s| s["predicate"]["verification"][0]["result"] = json!("pass"), REPORT, "verification"),
    lie("a passed check called failed", "pass", |f| f.report(|r| r["verification"]["passes"][0]["result"] = json!("fail")), |s| s["predicate"]["verification"][0]["result"] = json!("fail"), REPORT, "verification"),
    lie("the whole verification called passed", "fail", |f| f.report(|r| r["verification"]["result"] = json!("pass")), same, REPORT, "verification_result"),
    lie("tests called passed", "fail", |f| f.report(|r| r["tests_passed"] = json!(true)), same, REPORT, "tests_passed"),
    lie("no verification in a pass", "pass", |f| f.report(|r| r["verification"] = json!({"passes": [], "result": "not_run"})), |s| s["predicate"]["verification"] = json!([]), REPORT, "verification"),
    // The events.
    lie("events in another order", "pass", |f| { f.events(|e| { let (a, b) = (position(e, "plan.updated"), position(e, "git.diff.checked")); e.swap(a, b); }) }, same, EVENTS, "order"),
    lie("the beginning left out", "pass", |f| f.events(|e| drop(e.remove(0))), same, EVENTS, "first"),
    lie("the end left out", "pass", |f| f.events(|e| drop(e.pop())), same, EVENTS, "last"),
    lie("a required event left out", "pass", |f| f.events(|e| drop_event(e, "git.diff.checked")), same, EVENTS, "required_events"),
    lie("an end with another verdict", "pass", |f| f.events(|e| e.last_mut().unwrap()["data"]["status"] = json!("fail")), same, EVENTS, "last"),
    lie("events of another run", "pass", |f| f.report(|r| r["run_id"] = json!("20261115T003955Z-shell-script-rotate-logs-b9tc")), |s| s["predicate"]["run_id"] = json!("20261115T003955Z-shell-script-rotate-logs-b9tc"), EVENTS, "run_id"),
    lie("an event of no kind", "pass", |f| f.events(|e| e[1]["type"] = json!("run.blessed")), same, EVENTS, "event"),
    lie("an event in other bytes", "pass", |f| f.write(EVENTS, &spaced(&std::fs::read(f.bundle.join(EVENTS)).unwrap())), same, EVENTS, "canonical"),
    // One truth, also of a run that was interrupted.
    lie("another exit code than the events have", "pass", |f| f.report(|r| { r["backend_exit_code"] = json!(3); r["engine"]["exit_code"] = json!(3); }), same, EVENTS, "one_truth"),
    lie("an exit code that no event has", "interrupted", |f| f.report(|r| { r["backend_exit_code"] = json!(0); r["engine"]["exit_code"] = json!(0); }), same, REPORT, "one_truth"),
    lie("another profile than the events have", "interrupted", no_sandbox, |s| s["predicate"]["sandbox"] = json!({"applied": "none", "asked": "strict", "probe_sha256": null}), EVENTS, "one_truth"),
    lie("an event called inapplicable", "interrupted", |f| f.report(|r| r["not_applicable"]["engine.started"] = json!("no")), same, REPORT, "one_truth"),
    lie("another result of the exam than the events have", "fail", |f| f.events(|e| { let at = position(e, "verification.completed"); e[at]["data"]["result"] = json!("pass"); }), same, EVENTS, "one_truth"),
    lie("another number of changed files than the events have", "pass", |f| f.events(|e| { let at = position(e, "git.diff.checked"); e[at]["data"]["changed_files"] = json!(7); }), same, EVENTS, "one_truth"),
    lie("another time limit than the events have", "pass", |f| f.json(SANDBOX, |s| s["wall_seconds"] = json!(1)), same, EVENTS, "one_truth"),
    lie("a model request that nobody recorded", "pass", |f| f.events(|e| { let at = position(e, "engine.exited"); let mut more = e[at].clone(); more["type"] = json!("model.answered"); more["data"] = json!({"request": 1}); e.insert(at, more); }), same, MODEL_USAGE, "one_truth"),
    lie("an attempt that no event tells of", "pass", |f| f.json(SANDBOX, |s| s["attempts"] = json!([{"action": null, "by": null, "cell": "exam", "count": 1, "judged": "note", "kind": "call", "what": "mount"}])), same, EVENTS, "one_truth"),
    lie("another head signed", "pass", nothing, |s| s["predicate"]["events"]["head"] = json!("0".repeat(64)), EVENTS, "chain_head"),
    lie("another count signed", "pass", nothing, |s| s["predicate"]["events"]["count"] = json!(1), EVENTS, "event_count"),
    // What it does not prove, and who says so.
    lie("coverage emptied", "pass", |f| f.report(|r| r["coverage"] = json!([])), same, REPORT, "signed_coverage"),
    lie("coverage emptied and signed", "pass", |f| f.report(|r| r["coverage"] = json!([])), |s| s["predicate"]["coverage"] = json!([]), REPORT, "coverage"),
    lie("an altered exam, not said", "altered", |f| f.report(|r| leave_out(&mut r["coverage"], "exam_change_not_controlled")), |s| leave_out(&mut s["predicate"]["coverage"], "exam_change_not_controlled"), REPORT, "coverage"),
    lie("a shortened exam, not said", "shortened", |f| f.report(|r| leave_out(&mut r["coverage"], "exam_change_not_controlled")), |s| leave_out(&mut s["predicate"]["coverage"], "exam_change_not_controlled"), REPORT, "coverage"),
    lie("no control, not said", "fail", |f| f.report(|r| leave_out(&mut r["coverage"], "exam_without_control")), |s| leave_out(&mut s["predicate"]["coverage"], "exam_without_control"), REPORT, "coverage"),
    lie("the scope of another stage", "pass", |f| f.report(|r| r["allowed_mutation_scope"] = json!("scoped real-repo use only")), same, REPORT, "allowed_mutation_scope"),
    lie("activated by default", "pass", |f| f.report(|r| r["runtime_default_activation"] = json!(true)), same, REPORT, "runtime_default_activation"),
    lie("another sandbox signed", "pass", nothing, |s| s["predicate"]["sandbox"]["applied"] = json!("none"), REPORT, "signed_sandbox"),
    lie("another engine signed", "pass", nothing, |s| s["predicate"]["engine"]["source_id"] = json!("case@1"), REPORT, "signed_engine"),
    lie("another harness signed", "pass", nothing, |s| s["predicate"]["harness"]["version"] = json!("9"), REPORT, "signed_harness"),
    lie("another baseline tree signed", "pass", nothing, |s| s["predicate"]["baseline_tree"] = json!("0".repeat(40)), REPORT, "signed_baseline"),
    lie("another result tree signed", "pass", nothing, |s| s["predicate"]["result_tree"] = json!("0".repeat(40)), REPORT, "signed_result_tree"),
    lie("another stage signed", "pass", nothing, |s| s["predicate"]["stage"] = json!(3), REPORT, "signed_stage"),
    lie("another contract signed", "pass", nothing, |s| s["predicate"]["contract_digest"] = json!("0".repeat(64)), REPORT, "signed_contract"),
    lie("another decision signed", "pass", nothing, |s| s["predicate"]["decision_id"] = json!("0".repeat(64)), REPORT, "signed_decision"),
    lie("another task signed", "pass", nothing, |s| s["predicate"]["task_id"] = json!("other"), REPORT, "signed_task"),
    lie("another start signed", "pass", nothing, |s| s["predicate"]["started_at"] = json!("2020-01-01T00:00:00.000000Z"), REPORT, "signed_started"),
    lie("another end signed", "pass", nothing, |s| s["predicate"]["finished_at"] = json!("2020-01-01T00:00:00.000000Z"), REPORT, "signed_finished"),
    // The index.
    lie("report.md replaced", "pass", |f| f.write(REPORT_MD, b"# pass\n"), same, REPORT_MD, "rendered"),
    lie("written before the run", "pass", |f| f.report(|r| r["freshness"][PATCH]["written_at"] = json!("2020-01-01T00:00:00.000000Z")), same, REPORT, "freshness"),
    lie("a leap second", "pass", |f| f.report(|r| r["freshness"][PATCH]["written_at"] = json!("2016-12-31T23:59:60.000000Z")), same, REPORT, "shape"),
    lie("a float in the trace", "pass", |f| { let mut trace = std::fs::read(f.bundle.join(TRACE)).unwrap(); trace.extend(b"{\"data\":0.5}\n"); f.write(TRACE, &trace); }, same, TRACE, "canonical"),
    lie("a number beyond what every reader reads alike", "pass", |f| { let mut trace = std::fs::read(f.bundle.join(TRACE)).unwrap(); trace.extend(b"{\"data\":18446744073709552000}\n"); f.write(TRACE, &trace); }, same, TRACE, "canonical"),
    lie("a recorder that was full, not said", "pass", |f| f.json(SANDBOX, |s| s["cells"][0]["seen"]["executions_total"] = json!(1_000_000)), same, SANDBOX, "recorder_full"),
    lie("another sandbox told of", "pass", |f| f.json(SANDBOX, |s| s["asked"] = json!("none")), same, SANDBOX, "sandbox_asked"),
    lie("a file without freshness", "pass", |f| f.report(|r| drop(r["freshness"].as_object_mut().unwrap().remove(PATCH))), same, REPORT, "freshness"),
    lie("another digest of the report itself", "pass", |f| raw_report(f, |r| r["artifact_digests"][REPORT] = json!("0".repeat(64))), same, REPORT, "own_digest"),
    lie("a report without a field", "pass", |f| f.edit_report(|r| drop(r.as_object_mut().unwrap().remove("coverage"))), same, REPORT, "shape"),
    lie("a decision of another shape", "pass", |f| f.json(DECISION, |d| d["missing_gates"] = json!("none")), same, DECISION, "shape"),
    lie("another digest in the index", "pass", |f| f.edit_report(|r| r["artifact_digests"][PATCH] = json!("0".repeat(64))), same, PATCH, "artifact_digest"),
    lie("a file in the index that is not there", "pass", |f| f.edit_report(|r| r["artifact_digests"]["gone"] = json!("0".repeat(64))), same, "gone", "listed"),
    lie("a path in the index that leaves the bundle", "pass", |f| f.edit_report(|r| r["artifact_paths"][PATCH] = json!("../../etc/passwd")), same, REPORT, "artifact_paths"),
    // The statement.
    lie("another type of statement", "pass", nothing, |s| s["_type"] = json!("https://in-toto.io/Statement/v0.1"), ATTESTATION, "statement_type"),
    lie("another type of predicate", "pass", nothing, |s| s["predicateType"] = json!("urn:x"), ATTESTATION, "predicate_type"),
    lie("a statement without a field", "pass", nothing, |s| drop(s["predicate"].as_object_mut().unwrap().remove("verdict")), ATTESTATION, "statement"),
    lie("another key named", "pass", nothing, |s| s["predicate"]["key"] = json!("SHA256:x"), ATTESTATION, "key"),
    lie("a subject twice", "pass", nothing, |s| { let first = s["subject"][0].clone(); s["subject"].as_array_mut().unwrap().push(first); }, "backend/stderr.log", "present"),
    lie("a subject left out", "pass", nothing, |s| drop(s["subject"].as_array_mut().unwrap().remove(0)), "backend/stderr.log", "signed"),
    lie("a subject outside", "pass", nothing, |s| s["subject"][0]["name"] = json!("../outside"), "../outside", "present"),
];

/// The first line with a space in it.
fn spaced(lines: &[u8]) -> Vec<u8> {
    [b"{ ", &lines[1..]].concat()
}

/// Without making the report's own digest right again.
fn raw_report(forger: &Forger<'_>, edit: fn(&mut Value)) {
    let mut report = forger.read(REPORT);
    edit(&mut report);
    std::fs::write(forger.bundle.join(REPORT), contract::canonical_bytes(&report).unwrap()).unwrap();
}

/// An interrupted run as if nothing had confined it.
fn no_sandbox(forger: &Forger<'_>) {
    forger.json(SANDBOX, |sandbox| {
        sandbox["applied"] = json!("none");
        sandbox["postures"] = json!([]);
    });
    forger.report(|report| {
        report["sandbox"]["profile"] = json!("none");
        report["sandbox"]["probe_sha256"] = json!(null);
    });
}

fn strip_reasons(events: &mut [Value]) {
    for event in events {
        let data = event["data"].as_object_mut().unwrap();
        data.remove("reason");
        data.remove("reasons");
    }
}

/// Adds a reason to an event that the report does not have as a blocker.
fn events_say_more(forger: &Forger<'_>) {
    forger.events(|events| {
        let at = position(events, "engine.exited");
        events[at]["data"]["reason"] = json!("engine_failed");
    });
}

fn second_blocker_first(report: &mut Value) {
    let mut timeout = report["blockers"][0].clone();
    timeout["reason"] = json!("timeout");
    report["blockers"].as_array_mut().unwrap().insert(0, timeout);
    report["blocker_reasons"] = json!(["timeout", "verification_failed"]);
}

fn make_eligible(decision: &mut Value) {
    let missing = decision["missing_gates"].take();
    decision["missing_gates"] = json!([]);
    decision["passed_gates"].as_array_mut().unwrap().extend(missing.as_array().unwrap().clone());
    decision["reasons"] = json!([]);
    decision["refusals"] = json!([]);
    decision["denied_backends"] = json!([]);
    decision["not_evaluated"] = json!([]);
}

/// The digest of the contract that [`widen`] wrote.
static WIDE: std::sync::OnceLock<contract::Digest> = std::sync::OnceLock::new();

fn widen(forger: &Forger<'_>) {
    forger.json(CONTRACT, |contract| contract["allowed_paths"] = json!(["**"]));
    let contract: contract::TaskContract = serde_json::from_value(forger.read(CONTRACT)).unwrap();
    let digest = WIDE.get_or_init(|| contract.digest().unwrap());
    forger.report(|report| report["contract_digest"] = json!(digest));
}

/// The id of the decision that [`unsee`] wrote.
static UNSEEN: std::sync::OnceLock<contract::Digest> = std::sync::OnceLock::new();

/// The decision that would have been made of a baseline without anything that is known, but for the contract's commands.
fn unsee(forger: &Forger<'_>) {
    let mut inputs = forger.read(DECISION)["inputs"].clone();
    inputs["target"]["ecosystems"] = json!([]);
    let digest = UNSEEN.get_or_init(|| contract::canonical_digest(&inputs).unwrap());
    forger.json(DECISION, |decision| {
        decision["inputs"] = inputs;
        decision["decision_id"] = json!(digest);
    });
    forger.report(|report| report["decision_id"] = json!(digest));
}

fn leave_out(list: &mut Value, code: &str) {
    list.as_array_mut().unwrap().retain(|found| found != code);
}

fn check(lie: &Lie) {
    let corpus = corpus();
    let scene = corpus.copy(lie.kind);
    let forger = Forger::new(&scene.bundle, &corpus.key);
    (lie.tell)(&forger);
    forger.sign(lie.sign);
    check_refused(&corpus.verify(&scene.bundle), lie.name, lie.file, &[lie.check]);
}

#[test]
fn a_signed_bundle_that_contradicts_itself_is_refused() {
    each_row(LIES.iter().map(|lie| (lie.name, lie)), check);
}

/// Checks that `docs/formats/verify.py` leaves to `cto verify`: each needs the key, and most the program's own rules.
#[rustfmt::skip]
const LEFT_TO_CTO: &[&str] = &[
    // The decision from its inputs, the path verdicts, report.md: what the script says it does not recompute.
    "judged_again", "ecosystems", "changed_files", "header", "path_verdict", "allowed_writes_passed", "forbidden_paths_passed",
    "rendered",
];

#[test]
fn the_published_script_agrees_where_it_judges() {
    let corpus = corpus();
    all_hold(LIES.iter().filter(|lie| !LEFT_TO_CTO.contains(&lie.check)).map(|lie| {
        let scene = corpus.copy(lie.kind);
        let forger = Forger::new(&scene.bundle, &corpus.key);
        (lie.tell)(&forger);
        forger.sign(lie.sign);
        agreement(corpus, lie.name, &scene.bundle)
    }));
}

/// The control: what a forger does to every bundle is not what is refused.
#[test]
fn a_bundle_signed_again_unchanged_verifies() {
    let corpus = corpus();
    for kind in corpus.kinds() {
        let scene = corpus.copy(kind);
        let forger = Forger::new(&scene.bundle, &corpus.key);
        forger.events(|_| {});
        forger.report(|_| {});
        forger.sign(same);
        assert_eq!(corpus.verify(&scene.bundle).failures, vec![], "{kind}");
        let path = scene.bundle.to_str().unwrap();
        assert_eq!(corpus.world.cto(["verify", path, "--json"]).expect(0).json()["ok"], true);
    }
}

/// The signed bytes are canonical too: what is signed has one form.
#[test]
fn a_statement_in_other_bytes_is_refused() {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    let path = scene.bundle.join(ATTESTATION);
    let mut envelope: Envelope = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let mut payload = STANDARD.decode(&envelope.payload).unwrap();
    payload.push(b'\n');
    envelope.signatures[0].sig = STANDARD.encode(corpus.key.sign_message(&pre_authentication(PAYLOAD_TYPE, &payload)));
    envelope.payload = STANDARD.encode(payload);
    std::fs::write(path, contract::canonical_bytes(&envelope).unwrap()).unwrap();
    check_refused(&corpus.verify(&scene.bundle), "a newline", ATTESTATION, &["statement"]);
    all_hold([agreement(corpus, "a newline", &scene.bundle)]);
}

/// Readers of report and events ignore what later versions add.
#[test]
fn fields_of_later_versions_are_ignored() {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    let forger = Forger::new(&scene.bundle, &corpus.key);
    forger.events(|events| events[1]["later"] = json!({"a": [1]}));
    forger.report(|report| report["later"] = json!(true));
    forger.sign(|statement| statement["predicate"]["later"] = json!("x"));
    assert_eq!(corpus.verify(&scene.bundle).failures, vec![]);
}

/// Rules of another version are not judged with ours; what does not depend on them still is.
#[test]
fn a_bundle_of_other_rules_is_not_judged_again() {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    let forger = Forger::new(&scene.bundle, &corpus.key);
    forger.report(|report| report["rules_version"] = json!("0.9"));
    forger.sign(same);
    let path = scene.bundle.to_str().unwrap();
    assert_eq!(corpus.world.cto(["verify", path, "--json"]).expect(0).json()["judged_again"], false);
    forger.events(|events| drop(events.remove(0)));
    forger.sign(same);
    check_refused(&corpus.verify(&scene.bundle), "events", EVENTS, &["first"]);
}

/// The representative of these through the real binary.
#[test]
fn the_binary_says_so_too() {
    let corpus = corpus();
    let scene = corpus.copy("fail");
    let forger = Forger::new(&scene.bundle, &corpus.key);
    forger.report(|report| report["status"] = json!("pass"));
    forger.sign(signed_pass);
    let document = corpus.world.cto(["verify", scene.bundle.to_str().unwrap(), "--json"]).expect(1).json();
    let expected = json!({"check": "status", "expected": "fail", "file": "report.json", "found": "pass"});
    assert!(document["errors"].as_array().unwrap().contains(&expected), "{document:#}");
}
