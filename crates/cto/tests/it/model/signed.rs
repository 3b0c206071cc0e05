//! Signed records, with the signatures that `ssh-keygen` makes.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::program;

use super::scene::{PAIR, Scene, ask, asking};

const NAMESPACE: &str = "cto-record@v1";
const RECORD: &str = "admissions/model/prov.json";

/// A scene whose admission is signed by a key that may sign, and that key's path.
fn signed() -> (Scene, PathBuf) {
    let scene = Scene::new();
    scene.settle();
    let key = key(&scene, "signer");
    allow(&scene, &key, "");
    sign(&scene, &key, NAMESPACE, RECORD);
    (scene, key)
}

fn keygen(scene: &Scene, arguments: &[&str]) {
    let ran = program("ssh-keygen", &scene.world.here()).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

fn key(scene: &Scene, name: &str) -> PathBuf {
    key_of(scene, name, &["-t", "ed25519"])
}

fn key_of(scene: &Scene, name: &str, kind: &[&str]) -> PathBuf {
    let path = scene.world.user().join(name);
    keygen(scene, &[&["-q", "-N", "", "-C", name, "-f", path.to_str().unwrap()], kind].concat());
    path
}

fn sign(scene: &Scene, key: &std::path::Path, namespace: &str, file: &str) {
    let _ = fs::remove_file(scene.world.here().join(format!("{file}.sig")));
    keygen(scene, &["-q", "-Y", "sign", "-n", namespace, "-f", key.to_str().unwrap(), file]);
}

fn allow(scene: &Scene, key: &std::path::Path, options: &str) {
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let trust = scene.world.home().join("trust");
    fs::create_dir_all(&trust).unwrap();
    fs::write(trust.join("allowed_signers"), format!("operator@example.com {options} {public}")).unwrap();
}

fn run(scene: &Scene, code: i32) -> Value {
    scene.run(&scene.case(&[], &asking(&[ask("m", "hello")])), &[], code).0
}

fn is_unsigned(report: &Value) -> bool {
    report["coverage"].as_array().unwrap().contains(&json!("records_unsigned"))
}

fn has_keygen(test: &str) -> bool {
    let found = program("ssh-keygen", std::path::Path::new("/")).arg("-?").output().is_ok();
    if !found {
        testkit::skip(test, "there is no ssh-keygen");
    }
    found
}

#[test]
fn a_signed_record_counts_as_signed() {
    if !has_keygen("a_signed_record_counts_as_signed") {
        return;
    }
    let (mut scene, key) = signed();
    assert!(!is_unsigned(&run(&scene, 0)));
    let listed = scene.cto(&["records", "--json"]).expect(0).json();
    assert!(listed[0]["signed_by"].as_str().unwrap().starts_with("SHA256:"), "{listed}");
    // A run rests on every record it used.
    scene.decision = Some(json!({
        "decision_status": "local_provider_required", "provider_class": "local_compatible", "provider": "prov", "model": "m",
        "fallback_provider": "prov", "fallback_model": "y", "approval_source": "tests", "credential_source_class": "key",
        "allowed_network_class": "loopback", "review_trigger": "never", "evidence_sources": ["tests"], "effect": "none",
    }));
    scene.settle();
    assert!(is_unsigned(&run(&scene, 0)));
    sign(&scene, &key, NAMESPACE, "decisions/provider.yaml");
    assert!(!is_unsigned(&run(&scene, 0)));
    // Keys of other kinds count as well.
    let other = key_of(&scene, "ecdsa", &["-t", "ecdsa"]);
    let line = |key: &std::path::Path| fs::read_to_string(key.with_extension("pub")).unwrap();
    fs::write(scene.world.home().join("trust/allowed_signers"), format!("a {}b {}", line(&key), line(&other))).unwrap();
    sign(&scene, &other, NAMESPACE, RECORD);
    assert!(!is_unsigned(&run(&scene, 0)));
    // The control: without a signature it is good, and said to be unsigned.
    fs::remove_file(scene.world.here().join(format!("{RECORD}.sig"))).unwrap();
    assert!(is_unsigned(&run(&scene, 0)));
}

/// A change to a signed record, and words of the error for it.
type Row = (&'static str, fn(&mut Scene, &std::path::Path), &'static str);

const ROWS: &[Row] = &[
    (
        "changed after it was signed",
        |it, _| {
            it.admission["review_trigger"] = json!("sometime");
            it.settle();
        },
        "not a signature of this file",
    ),
    ("signed for something else", |it, key| sign(it, key, "cto-approval@v1", RECORD), "for another purpose"),
    (
        "signed by somebody else",
        |it, _| {
            let other = key(it, "other");
            sign(it, &other, NAMESPACE, RECORD);
        },
        "whom allowed_signers does not allow",
    ),
    (
        "signed by a key that is too short",
        |it, _| {
            let other = key_of(it, "rsa", &["-t", "rsa", "-b", "2048"]);
            allow(it, &other, "");
            sign(it, &other, NAMESPACE, RECORD);
        },
        "an RSA key of 2048 bits; 3072 to 8192 count; sign it anew with `ssh-keygen -Y sign -n cto-record@v1 -f ~/.ssh/id_ed25519 prov.json`",
    ),
    (
        "signed by a key that is no longer good",
        |it, key| allow(it, key, "valid-before=\"20260101Z\""),
        "whom allowed_signers does not allow",
    ),
    (
        "signed by a key for something else",
        |it, key| allow(it, key, "namespaces=\"cto-approval@v1\""),
        "whom allowed_signers does not allow",
    ),
    (
        "signed where nobody may sign",
        |it, _| fs::remove_file(it.world.home().join("trust/allowed_signers")).unwrap(),
        "whom allowed_signers does not allow",
    ),
    (
        "beside a signature that is none",
        |it, _| drop(it.world.write(&format!("{RECORD}.sig"), "signed, the operator\n")),
        "no SSH signature",
    ),
    (
        "beside a signature that cannot be read",
        |it, _| {
            let beside = it.world.here().join(format!("{RECORD}.sig"));
            fs::remove_file(&beside).unwrap();
            fs::create_dir(beside).unwrap();
        },
        "signature cannot be read",
    ),
];

#[test]
fn a_signature_that_does_not_hold_makes_its_record_invalid() {
    if !has_keygen("a_signature_that_does_not_hold_makes_its_record_invalid") {
        return;
    }
    for (name, change, words) in ROWS {
        let (mut scene, key) = signed();
        change(&mut scene, &key);
        let report = run(&scene, 3);
        let text = report["blockers"].to_string();
        assert_eq!(report["blocker_reasons"], json!(["model_not_admitted"]), "{name}: {text}");
        assert!(text.contains("invalid_admission") && text.contains(words), "{name}: {text}");
        assert_eq!((&report["model"]["admission_status"], scene.asked()), (&json!("invalid_admission"), 0), "{name}");
        let decided = scene.cto(&["decide", "case", "--model", PAIR]);
        assert_eq!(decided.code, 3, "{name}: {}", decided.text());
    }
}

/// A key that somebody else has had counts for nothing from then on, and what rested on it is listed.
#[test]
fn a_compromised_key_is_refused_and_its_runs_are_listed() {
    if !has_keygen("a_compromised_key_is_refused_and_its_runs_are_listed") {
        return;
    }
    let (scene, key) = signed();
    let other = key_of(&scene, "other", &["-t", "ed25519"]);
    let before =
        scene.cto(&["trust", "key", "compromised", other.to_str().unwrap(), "--since", "2026-01-01", "--json"]);
    assert_eq!(before.expect(0).json()["runs"], json!([]), "the control: nothing rested on that one");
    let report = run(&scene, 0);
    let named = key.to_str().unwrap();
    let said = scene.cto(&["trust", "key", "compromised", named, "--since", "2026-01-01", "--json"]).expect(3).json();
    assert_eq!(said["runs"], json!([report["run_id"]]), "{said}");
    let refused = run(&scene, 3)["blockers"].to_string();
    assert!(refused.contains("was compromised by then"), "{refused}");
    let _ = scene.cto(&["trust", "key", "add", named]).expect(3);
    // A later time does not bring it back, and an earlier one lists the same.
    let again = scene.cto(&["trust", "key", "compromised", named, "--since", "2026-02-01", "--json"]).expect(3).json();
    assert_eq!((&again["changed"], &again["since"]), (&json!(false), &said["since"]), "{again}");
    let future = scene.cto(&["trust", "key", "compromised", named, "--since", "2999-01-01"]).expect(2);
    assert!(future.stderr.contains("in the future"), "{future:?}");
}
