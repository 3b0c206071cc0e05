//! Documents that somebody with a hand in the ledger puts there: each is read again with its signature, and counts for nothing unless it
//! is what its key signed, for this request, in this ledger.

use std::fs;
use std::path::{Path, PathBuf};

use contract::{Digest, Stamp, canonical_bytes};
use ledger::{Ledger, RequestIntent, RequestStep};
use serde_json::{Value, json};
use testkit::{each_row, program};

use super::{Scene, text};
use crate::controls::append_by_hand;

pub(super) const NAMESPACE: &str = "cto-approval@v1";

pub(super) fn now() -> Stamp {
    harness::RunClock::start_clock().unwrap().started()
}

/// Signature by `ssh-keygen -Y sign`.
pub(super) fn sign(scene: &Scene, key: &Path, namespace: &str, bytes: &[u8]) -> String {
    let file = scene.world.write("document", bytes);
    let _ = fs::remove_file(file.with_extension("sig"));
    let ran = program("ssh-keygen", &scene.world.here())
        .args(["-q", "-Y", "sign", "-n", namespace, "-f"])
        .args([key, &file])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    fs::read_to_string(file.with_extension("sig")).unwrap()
}

/// Fingerprint as `ssh-keygen -l` prints it.
pub(super) fn fingerprint(scene: &Scene, key: &Path) -> String {
    let ran = program("ssh-keygen", &scene.world.here()).args(["-l", "-f"]).arg(key).output().unwrap();
    String::from_utf8(ran.stdout).unwrap().split(' ').nth(1).unwrap().to_owned()
}

pub(super) fn ledger(scene: &Scene) -> Ledger {
    Ledger::open_file(&scene.world.home().join("ledger.db")).unwrap()
}

/// Puts a signed document into the ledger, as `cto approve` does once it has checked everything.
pub(super) fn record(scene: &Scene, request: &Value, step: RequestStep, document: &str, armour: &str) {
    let digest: Digest = text(&request["request_digest"]).parse().unwrap();
    let detail = json!({"document": document, "signature": armour});
    ledger(scene).request_stepped(digest, step, now(), &detail).unwrap();
}

/// The request document that a command has recorded.
pub(super) fn requested(scene: &Scene) -> Value {
    let name = text(&scene.request()["request"]);
    let mut request: Value = serde_json::from_slice(&fs::read(scene.document(&name, "request.json")).unwrap()).unwrap();
    request["name"] = json!(name);
    request
}

/// An approval as this key's person would sign it.
pub(super) fn approval(scene: &Scene, request: &Value, key_fingerprint: &str) -> Value {
    let stage = scene.stage;
    let plan = &request["plan"];
    let time = now();
    json!({
        "schema": "cto-approval@v1", "request_digest": request["request_digest"], "ledger_id": plan["ledger_id"],
        "key_fingerprint": key_fingerprint, "sentence": scene.sentence(&text(&request["name"])),
        "scope": stage.allowed_mutation_scope(), "mutation_mode": stage.mutation_mode(), "approval_source": "me",
        "execution_scope": "one approved Harness run only", "packet_digest": request["packet_digest"],
        "policy_digest": plan["policy_digest"], "signed_via": "terminal", "granted_at": time, "not_before": time,
        "expires_at": time.after(std::time::Duration::from_secs(3600)), "nonce": "a".repeat(32),
    })
}

fn bytes_of(document: &Value) -> String {
    String::from_utf8(canonical_bytes(document).unwrap()).unwrap()
}

/// An edit of an approval before it is signed, and the refusal with a word of it.
type Edit = (&'static str, fn(&mut Value), &'static str, &'static str);

const EDITS: &[Edit] = &[
    ("ledger", |it| it["ledger_id"] = json!("0".repeat(32)), "approval_mismatch", "ledger_id differs"),
    ("sentence", |it| it["sentence"] = json!("yes"), "approval_mismatch", "sentence differs"),
    ("scope", |it| it["scope"] = json!("everything"), "approval_mismatch", "scope differs"),
    ("mode", |it| it["mutation_mode"] = json!("candidate-default"), "approval_mismatch", "mutation_mode differs"),
    ("packet", |it| it["packet_digest"] = json!(Digest::ZERO), "approval_mismatch", "packet_digest differs"),
    ("policy", |it| it["policy_digest"] = json!(Digest::ZERO), "approval_mismatch", "policy_digest differs"),
    ("request", |it| it["request_digest"] = json!(Digest::ZERO), "approval_missing", "is requested and not granted"),
    ("key", |it| it["key_fingerprint"] = json!("SHA256:none"), "approval_missing", "is requested and not granted"),
    ("another kind", |it| it["schema"] = json!("cto-hold@v1"), "approval_missing", "is requested and not granted"),
    (
        "two runs",
        |it| it["execution_scope"] = json!("any number of runs"),
        "approval_missing",
        "is requested and not granted",
    ),
    ("a further key", |it| it["note"] = json!("x"), "approval_missing", "is requested and not granted"),
    ("over", |it| it["expires_at"] = it["not_before"].clone(), "approval_expired", "expired at"),
    ("to come", |it| it["not_before"] = it["expires_at"].clone(), "approval_not_yet_valid", "is not valid before"),
];

/// Refusal of the next run, whose approval stays unused; then the request makes way for another.
fn refuse(scene: &Scene, request: &Value, reason: &str, words: &str) {
    let report = scene.run(3);
    let told = &report["blockers"][0];
    assert_eq!(told["reason"], reason, "{told}");
    assert!(told["text"].as_str().unwrap().contains(words), "{told}");
    assert_eq!((&report["engine"]["process_started"], &report["blockers"][1]), (&false.into(), &Value::Null));
    let name = text(&request["name"]);
    assert_eq!(scene.packet(&name)["approval_consumed"], false);
    let _ = scene.cto(&["revoke", &name, "--reason", "next"]).expect(0);
}

#[test]
fn an_approval_is_for_this_request_or_for_nothing() {
    let Some(scene) = Scene::new("an_approval_is_for_this_request_or_for_nothing") else { return };
    let me = fingerprint(&scene, &scene.key);
    each_row(EDITS.iter().map(|row| (row.0, row)), |(_, edit, reason, words)| {
        let request = requested(&scene);
        let mut document = approval(&scene, &request, &me);
        edit(&mut document);
        let document = bytes_of(&document);
        let armour = sign(&scene, &scene.key, NAMESPACE, document.as_bytes());
        record(&scene, &request, RequestStep::Granted, &document, &armour);
        refuse(&scene, &request, reason, words);
    });
    // Signatures that were made for something else.
    let names = ["of other bytes", "for another namespace", "of another request", "by another key", "cut off"];
    each_row(names.map(|name| (name, name)), |name| {
        let request = requested(&scene);
        let document = bytes_of(&approval(&scene, &request, &me));
        let armour = match name {
            "of other bytes" => sign(&scene, &scene.key, NAMESPACE, format!("{document} ").as_bytes()),
            "for another namespace" => sign(&scene, &scene.key, "cto-request@v1", document.as_bytes()),
            "of another request" => {
                fs::read_to_string(scene.document(&text(&request["name"]), "request.json.sig")).unwrap()
            }
            "by another key" => sign(&scene, &scene.make_key("other"), NAMESPACE, document.as_bytes()),
            _ => sign(&scene, &scene.key, NAMESPACE, document.as_bytes()).replace("-----END", "-----"),
        };
        record(&scene, &request, RequestStep::Granted, &document, &armour);
        refuse(&scene, &request, "approval_missing", "is requested and not granted");
    });
    let request = requested(&scene);
    let document = bytes_of(&approval(&scene, &request, &me));
    let armour = sign(&scene, &scene.key, NAMESPACE, document.as_bytes());
    record(&scene, &request, RequestStep::Granted, &document, &armour);
    assert_eq!(scene.run(0)["status"], "pass", "the control: the same by the same way, unedited");
}

/// An edit of a request's plan, the refusal, and a word of it.
type Replan = (&'static str, fn(&mut Value), &'static str, &'static str);

const REPLANS: &[Replan] = &[
    ("nothing", |_| {}, "", ""),
    ("another schema", |it| it["schema"] = json!("cto-plan@v2"), "approval_not_comparable", "a plan of `cto-plan@v2`"),
    ("a field of later", |it| it["colour"] = json!("red"), "approval_mismatch", ""),
    ("another renderer", |it| it["packet_renderer"] = json!("2"), "approval_mismatch", "/packet_renderer: `2` was"),
    ("another ledger", |it| it["ledger_id"] = json!("0".repeat(32)), "approval_mismatch", "/ledger_id: `000"),
    ("another instance", |it| it["instance_id"] = json!(Digest::ZERO), "approval_mismatch", "/instance_id: `000"),
    (
        "another version",
        |it| it["harness"]["version"] = json!("0.0.0"),
        "approval_mismatch",
        "/harness/version: `0.0.0`",
    ),
    ("another policy", |it| it["policy_digest"] = json!(Digest::ZERO), "approval_mismatch", "/policy_digest: `000"),
];

/// An honest request, out of the way, and a copy of its document that a test forges.
pub(super) fn begin_forgery(scene: &Scene) -> (Value, Value) {
    let honest = requested(scene);
    let _ = scene.cto(&["revoke", &text(&honest["name"]), "--reason", "forged next"]).expect(0);
    let mut forged = honest.clone();
    forged.as_object_mut().unwrap().remove("name");
    (honest, forged)
}

/// Gives a forged plan the digests that fit it, signs the request and records it; gives its name.
pub(super) fn record_forgery(scene: &Scene, request: &mut Value) -> String {
    let digest = Digest::of_bytes(&canonical_bytes(&request["plan"]).unwrap());
    request["request_digest"] = json!(digest);
    if let Ok(plan) = serde_json::from_value(request["plan"].clone()) {
        let packet = contract::approval::render_packet(&plan).unwrap();
        request["packet_digest"] = json!(Digest::of_bytes(packet.as_bytes()));
    }
    let document = bytes_of(request);
    let armour = sign(scene, &scene.key, "cto-request@v1", document.as_bytes());
    let intent = RequestIntent {
        request: digest,
        task_id: "made".to_owned().try_into().unwrap(),
        stage: scene.stage,
        detail: json!({"document": document, "signature": armour}),
    };
    format!("req-{}", ledger(scene).request_recorded(now(), &intent).unwrap().seq)
}

#[test]
fn a_request_is_for_the_plan_of_this_ledger_and_version() {
    let Some(scene) = Scene::new("a_request_is_for_the_plan_of_this_ledger_and_version") else { return };
    let me = fingerprint(&scene, &scene.key);
    each_row(REPLANS.iter().map(|row| (row.0, row)), |(_, edit, reason, words)| {
        let (honest, mut request) = begin_forgery(&scene);
        edit(&mut request["plan"]);
        request["plan"]["nonce"] = json!(format!("{:032x}", request["plan"].to_string().len()));
        let name = record_forgery(&scene, &mut request);
        request["name"] = honest["name"].clone();
        let mut approved = approval(&scene, &request, &me);
        request["name"] = json!(name);
        approved["policy_digest"] = request["plan"]["policy_digest"].clone();
        let approved = bytes_of(&approved);
        let armour = sign(&scene, &scene.key, NAMESPACE, approved.as_bytes());
        record(&scene, &request, RequestStep::Granted, &approved, &armour);
        if reason.is_empty() {
            assert_eq!(scene.run(0)["status"], "pass", "the control: an honest plan by the same way");
            return;
        }
        let report = scene.run(3);
        let told = &report["blockers"][0];
        assert_eq!(told["reason"], *reason, "{:#}", report["blockers"]);
        assert!(told["text"].as_str().unwrap().contains(words), "{told}");
        assert!(told["remedy"].as_str().unwrap().starts_with("cto request "), "{told}");
        assert_eq!(report["engine"]["process_started"], false);
        // Out of the way of the next one.
        let revocation = bytes_of(&json!({
            "schema": "cto-revocation@v1", "request_digest": request["request_digest"], "ledger_id": request["plan"]["ledger_id"],
            "key_fingerprint": me, "reason": "next", "revoked_at": now(), "nonce": "b".repeat(32),
        }));
        let armour = sign(&scene, &scene.key, NAMESPACE, revocation.as_bytes());
        record(&scene, &request, RequestStep::Revoked, &revocation, &armour);
    });
    let _ = scene.cto(&["ledger", "verify"]).expect(0);
}

/// A key that may sign no more, and why its approval does not count.
const LOST: &[(&str, &str)] =
    &[("compromised", "was compromised by then"), ("retired", "was not valid any more"), ("good", "")];

fn hours_ago(hours: i64) -> String {
    let seconds = u64::try_from(now().unix_seconds() - hours * 3600).unwrap();
    Stamp::from_unix(std::time::Duration::from_secs(seconds)).unwrap().to_string()
}

/// Makes a key beside the operator's that has this standing since an hour.
fn lose_key(scene: &Scene, standing: &str) -> PathBuf {
    let key = scene.make_key(standing);
    let end: String = hours_ago(1).chars().filter(char::is_ascii_digit).take(14).collect();
    let public = |key: &Path| fs::read_to_string(key.with_extension("pub")).unwrap();
    let valid = if standing == "retired" { format!(",valid-before=\"{end}Z\"") } else { String::new() };
    let me = public(&scene.key);
    let line = format!("me namespaces=\"cto-*\" {me}{standing} namespaces=\"cto-*\"{valid} {}", public(&key));
    scene.world.write_own("trust/allowed_signers", line);
    if standing == "compromised" {
        let _ = scene.cto(&["trust", "key", "compromised", standing, "--since", &hours_ago(1)]).expect(0);
    }
    key
}

/// An entry whose time is before its own request: the key is judged by the time that the ledger had reached.
#[test]
fn an_entry_that_is_dated_back_brings_no_key_back() {
    let Some(scene) = Scene::new("an_entry_that_is_dated_back_brings_no_key_back") else { return };
    each_row(LOST.iter().map(|row| (row.0, row)), |(standing, words)| {
        let key = lose_key(&scene, standing);
        let request = requested(&scene);
        let document = bytes_of(&approval(&scene, &request, &fingerprint(&scene, &key)));
        let armour = sign(&scene, &key, NAMESPACE, document.as_bytes());
        let detail = json!({"document": document, "signature": armour});
        let body = json!({"detail": detail, "request": request["request_digest"]});
        append_by_hand(&scene.world, "approval.granted", None, &hours_ago(2), &body);
        match *words {
            "" => assert_eq!(scene.run(0)["status"], "pass", "the control: dated back, by a key that may sign"),
            words => refuse(&scene, &request, "approval_missing", words),
        }
    });
}

/// A hold that is ended by an entry of an earlier time: a person whose key was retired cannot go back to when it was good.
#[test]
fn a_release_that_is_dated_back_ends_no_hold() {
    let Some(scene) = Scene::new("a_release_that_is_dated_back_ends_no_hold") else { return };
    each_row(LOST.iter().map(|row| (row.0, row)), |(standing, words)| {
        let key = lose_key(&scene, standing);
        let request = requested(&scene);
        let name = text(&request["name"]);
        let _ = scene.approve(&name, &["--key", scene.key.to_str().unwrap()]).expect(0);
        let _ = scene.cto(&["hold", &name, "--reason", "wait"]).expect(0);
        assert_eq!(scene.refusal(), "approval_held", "the control");
        let document = super::replayed::hold(&request, &fingerprint(&scene, &key), "released");
        let armour = sign(&scene, &key, NAMESPACE, document.as_bytes());
        let body = json!({
            "detail": {"document": document, "signature": armour}, "request": request["request_digest"],
        });
        append_by_hand(&scene.world, "approval.released", None, &hours_ago(2), &body);
        let row = "UPDATE requests SET held_seq = NULL WHERE request = ?1";
        let file = rusqlite::Connection::open(scene.world.home().join("ledger.db")).unwrap();
        assert_eq!(file.execute(row, [text(&request["request_digest"])]).unwrap(), 1);
        drop(file);
        match *words {
            "" => assert_eq!(scene.run(0)["status"], "pass", "the control: dated back, by a key that may sign"),
            _ => refuse(&scene, &request, "approval_held", "is held by"),
        }
    });
}

/// A requester that the plan names and that did not sign is nobody: where duties are separate, the request does not do.
#[test]
fn who_asked_is_who_signed() {
    let Some(scene) = Scene::new("who_asked_is_who_signed") else { return };
    let other = scene.make_key("other");
    scene.allow(&[("me", &scene.key), ("other", &other)]);
    scene.world.write_own("trust/approval-policy.yaml", "distinct_from_requester: true\n");
    for (names_other, expected) in [(true, "approval_missing"), (false, "")] {
        let (_, mut request) = begin_forgery(&scene);
        // Names the other as who asked, so that the one who asked can approve.
        let requester = if names_other { fingerprint(&scene, &other) } else { fingerprint(&scene, &scene.key) };
        request["plan"]["requester_fingerprint"] = json!(requester);
        request["plan"]["nonce"] = json!("c".repeat(32));
        let name = record_forgery(&scene, &mut request);
        let approver = if names_other { scene.key.clone() } else { other.clone() };
        let granted = scene.approve(&name, &["--key", approver.to_str().unwrap()]);
        if names_other {
            assert_eq!(granted.code, 0, "the command takes the document's word: {granted:?}");
            let report = scene.run(3);
            assert_eq!(report["blockers"][0]["reason"], expected, "{report:#}");
            let told = report["blockers"][0]["text"].as_str().unwrap();
            assert!(told.contains("names") && told.contains("and is signed by"), "{told}");
            let _ = scene.cto(&["revoke", &name, "--reason", "next"]).expect(0);
        } else {
            assert_eq!(granted.code, 0, "{granted:?}");
            assert_eq!(scene.run(0)["status"], "pass", "the control");
        }
    }
}

/// The policy, who approves by hand in the ledger, and why that is not enough. `me` requested it.
const PEOPLE: &[(&str, &str, &[&str], &str)] = &[
    ("one's own request", "distinct_from_requester: true", &["me"], "asked for it; somebody else approves"),
    ("another's request", "distinct_from_requester: true", &["second"], ""),
    ("two documents of one key", "approvals_required: 2", &["second", "second"], "1 of 2"),
    ("two keys", "approvals_required: 2", &["second", "third"], ""),
];

/// Recorded by hand, past the command that refuses it.
#[test]
fn one_key_is_one_person_whatever_is_recorded() {
    let Some(scene) = Scene::new("one_key_is_one_person_whatever_is_recorded") else { return };
    let (second, third) = (scene.make_key("second"), scene.make_key("third"));
    let keys = [("me", scene.key.as_path()), ("second", &second), ("third", &third)];
    scene.allow(&keys);
    each_row(PEOPLE.iter().map(|row| (row.0, row)), |(_, policy, people, words)| {
        scene.world.write_own("trust/approval-policy.yaml", policy);
        let request = requested(&scene);
        for (number, person) in people.iter().enumerate() {
            let key = keys.iter().find(|(name, _)| name == person).unwrap().1;
            let mut document = approval(&scene, &request, &fingerprint(&scene, key));
            document["nonce"] = json!(number.to_string().repeat(32));
            let document = bytes_of(&document);
            let armour = sign(&scene, key, NAMESPACE, document.as_bytes());
            record(&scene, &request, RequestStep::Granted, &document, &armour);
        }
        match *words {
            "" => assert_eq!(scene.run(0)["status"], "pass", "the control"),
            words => refuse(&scene, &request, "approval_missing", words),
        }
    });
}
