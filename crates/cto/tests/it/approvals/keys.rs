//! Keys of people who approve: which count, when, and what a security key must show.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::SigningKey;
use ledger::RequestStep;
use serde_json::{Value, json};
use testkit::{each_row, program};

use super::forged::{NAMESPACE, approval, fingerprint, record, requested, sign};
use super::{Scene, text};
use crate::trust::security_key::{KIND, public, sign_as_token};

/// Words beside a key in the list, and why an approval by it does not count.
const STANDINGS: &[(&str, &str, &str)] = &[
    ("another namespace", "namespaces=\"cto-record@v1\"", "for another purpose"),
    ("over", "namespaces=\"cto-*\",valid-before=\"20200101Z\"", "was not valid any more"),
    ("not begun", "namespaces=\"cto-*\",valid-after=\"20990101Z\"", "was not valid yet"),
    ("not listed", "", "is not listed"),
    ("compromised", "namespaces=\"cto-*\"", "was compromised by then"),
];

fn list(scene: &Scene, options: &str, key: &Path) {
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let me = fs::read_to_string(scene.key.with_extension("pub")).unwrap();
    let other = if options.is_empty() { String::new() } else { format!("other {options} {public}") };
    scene.world.write_own("trust/allowed_signers", format!("me namespaces=\"cto-*\" {me}{other}"));
}

#[test]
fn a_key_that_may_not_approve_is_refused_by_the_command_and_by_the_run() {
    let Some(scene) = Scene::new("a_key_that_may_not_approve_is_refused_by_the_command_and_by_the_run") else { return };
    let (good, lost) = (scene.make_key("good"), scene.make_key("lost"));
    each_row(STANDINGS.iter().map(|row| (row.0, row)), |(standing, options, words)| {
        let other = if *standing == "compromised" { &lost } else { &good };
        let print = fingerprint(&scene, other);
        list(&scene, options, other);
        if *standing == "compromised" {
            let _ = scene.cto(&["trust", "key", "compromised", &print, "--since", "2026-01-01"]).expect(0);
        }
        let request = requested(&scene);
        let name = text(&request["name"]);
        for command in ["approve", "deny", "hold", "revoke"] {
            let sentence = scene.sentence(&name);
            let said = match command {
                "approve" => vec!["--sentence", &sentence],
                _ => vec!["--reason", "r"],
            };
            let key = ["--key", other.to_str().unwrap()];
            let refused = scene.cto(&[&[command, &name], &said[..], &key[..]].concat());
            assert!(refused.code == 3 && refused.stderr.contains(words), "{command}: {refused:?}");
        }
        assert_eq!(scene.packet(&name)["state"], "open", "nothing was recorded");
        // The same in the ledger, as if the command had taken it.
        let document = contract::canonical_bytes(&approval(&scene, &request, &print)).unwrap();
        let armour = sign(&scene, other, NAMESPACE, &document);
        record(&scene, &request, RequestStep::Granted, std::str::from_utf8(&document).unwrap(), &armour);
        let report = scene.run(3);
        assert_eq!(report["blocker_reasons"], json!(["approval_missing"]));
        assert!(report["blockers"][0]["text"].as_str().unwrap().contains(words), "{}", report["blockers"]);
        let _ = scene.cto(&["revoke", &name, "--reason", "next"]).expect(0);
    });
    list(&scene, "namespaces=\"cto-*\"", &good);
    let request = requested(&scene);
    let _ = scene.approve(&text(&request["name"]), &["--key", good.to_str().unwrap()]).expect(0);
    assert_eq!(scene.run(0)["status"], "pass", "the control");
}

#[test]
fn a_key_is_judged_at_the_time_of_its_entry() {
    let Some(scene) = Scene::new("a_key_is_judged_at_the_time_of_its_entry") else { return };
    let other = scene.make_key("other");
    let _ = scene.cto(&["trust", "key", "add", other.to_str().unwrap()]).expect(0);
    let approve = || {
        let name = text(&scene.request()["request"]);
        let _ = scene.approve(&name, &["--key", other.to_str().unwrap()]).expect(0);
        name
    };
    let name = approve();
    // The list of keys knows seconds, and an end counts from its own second on.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let _ = scene.cto(&["trust", "key", "retire", "other"]).expect(0);
    let report = scene.run(0);
    assert_eq!(report["status"], "pass", "a key that was retired after its approval stays good for it");
    let third = scene.make_key("third");
    let _ = scene.cto(&["trust", "key", "add", third.to_str().unwrap()]).expect(0);
    let approve_by_third = || {
        let name = text(&scene.request()["request"]);
        let _ = scene.approve(&name, &["--key", third.to_str().unwrap()]).expect(0);
        name
    };
    assert_ne!(approve_by_third(), name);
    let rested = scene.run(0);
    approve_by_third();
    let words = ["trust", "key", "compromised", "third", "--since", "2026-01-01", "--reason", "lost", "--json"];
    let said = scene.cto(&words).expect(3).json();
    assert_eq!(said["runs"], json!([rested["run_id"]]), "the run that rested on it, and not that of the other key");
    let kinds: Vec<&Value> = said["entries"].as_array().unwrap().iter().map(|entry| &entry["kind"]).collect();
    assert_eq!(kinds, ["approval.granted"; 2], "each approval by it: {said}");
    let list = std::fs::read(scene.world.home().join("trust/compromised.json")).unwrap();
    let schema = scene.cto(&["schema", "compromised-keys"]).expect(0).json();
    let mut list: Value = serde_json::from_slice(&list).unwrap();
    assert!(jsonschema::is_valid(&schema, &list), "{list}");
    list["keys"]["x"] = json!({});
    assert!(!jsonschema::is_valid(&schema, &list), "control: a key without a time");
    let report = scene.run(3);
    assert_eq!(report["blocker_reasons"], json!(["approval_missing"]));
    assert!(report["blockers"][0]["text"].as_str().unwrap().contains("was compromised by then"), "{report:#}");
    assert_eq!(report["engine"]["process_started"], false);
}

#[test]
fn a_short_key_approves_nothing() {
    let Some(scene) = Scene::new("a_short_key_approves_nothing") else { return };
    for (bits, code) in [("2048", 2), ("3072", 0)] {
        let path = scene.world.user().join(format!("rsa-{bits}"));
        let made = program("ssh-keygen", &scene.world.here())
            .args(["-q", "-t", "rsa", "-b", bits, "-N", "", "-C", "rsa", "-f"])
            .arg(&path)
            .output()
            .unwrap();
        assert!(made.status.success());
        list(&scene, "namespaces=\"cto-*\"", &path);
        let request = requested(&scene);
        let name = text(&request["name"]);
        let said = scene.approve(&name, &["--key", path.to_str().unwrap()]);
        assert_eq!(said.code, code, "{said:?}");
        if code == 0 {
            assert_eq!(scene.run(0)["status"], "pass", "the control");
            continue;
        }
        assert!(said.stderr.contains("2048 bits"), "{said:?}");
        let document = contract::canonical_bytes(&approval(&scene, &request, &fingerprint(&scene, &path))).unwrap();
        let armour = sign(&scene, &path, NAMESPACE, &document);
        record(&scene, &request, RequestStep::Granted, std::str::from_utf8(&document).unwrap(), &armour);
        assert_eq!(scene.refusal(), "approval_missing", "in the ledger it counts for nothing either");
        let _ = scene.cto(&["revoke", &name, "--reason", "next"]).expect(0);
    }
}

/// A token that the test plays: with a touch and without, under a policy that asks for one.
#[test]
fn a_security_key_must_be_touched_where_the_policy_asks_for_one() {
    let test = "a_security_key_must_be_touched_where_the_policy_asks_for_one";
    let Some(scene) = Scene::new(test) else { return };
    let token = SigningKey::from_bytes(&[9; 32]);
    let line = format!("{} {} token", std::str::from_utf8(KIND).unwrap(), STANDARD.encode(public(&token)));
    let file = scene.world.write("token.pub", format!("{line}\n"));
    scene.world.write_own("trust/approval-policy.yaml", "require_hardware_key: true\n");
    let me = fs::read_to_string(scene.key.with_extension("pub")).unwrap();
    let list = format!("me namespaces=\"cto-*\" {me}token namespaces=\"cto-*\" {line}\n");
    scene.world.write_own("trust/allowed_signers", list);
    let print = fingerprint(&scene, &file);
    let request = requested(&scene);
    let plain = scene.approve(&text(&request["name"]), &[]);
    assert!(plain.code == 3 && plain.stderr.contains("the policy requires a touched security key"), "{plain:?}");
    for (flags, passes) in [(0_u8, false), (4, false), (1, true)] {
        let request = requested(&scene);
        let name = text(&request["name"]);
        let mut document = approval(&scene, &request, &print);
        document["signed_via"] = json!("hardware");
        let document = contract::canonical_bytes(&document).unwrap();
        let armour = sign_as_token(&token, NAMESPACE, &document, flags);
        // OpenSSH itself takes a signature with a touch for one of this key.
        let signed = scene.world.write("approval", &document);
        scene.world.write("approval.sig", &armour);
        let checked = program("ssh-keygen", &scene.world.here())
            .args(["-Y", "verify", "-n", NAMESPACE, "-I", "token", "-s", "approval.sig", "-f"])
            .arg(scene.world.home().join("trust/allowed_signers"))
            .stdin(fs::File::open(signed).unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert!(checked.status.success() || flags & 1 == 0, "{said}");
        record(&scene, &request, RequestStep::Granted, std::str::from_utf8(&document).unwrap(), &armour);
        if passes {
            let report = scene.run(0);
            assert_eq!(report["status"], "pass", "the control: with a touch");
            assert!(!report["coverage"].as_array().unwrap().contains(&"approval_key_unprotected".into()));
            continue;
        }
        let report = scene.run(3);
        assert_eq!(report["blocker_reasons"], json!(["approval_missing"]), "flags {flags}");
        assert!(report["blockers"][0]["text"].as_str().unwrap().contains("shows no touch"), "{}", report["blockers"]);
        assert_eq!(report["engine"]["process_started"], false);
        let _ = scene.cto(&["revoke", &name, "--reason", "next"]).expect(0);
    }
}

/// Words of a document about a touch, the flags of a token's signature (none of a key in a file), and why it does not count.
const HARDWARE: &[(&str, &str, Option<u8>, &str)] = &[
    ("a key in a file that says hardware", "hardware", None, "says `hardware`, and its signature shows no touch"),
    ("a token without a touch that says hardware", "hardware", Some(0), "says `hardware`, and its signature"),
    ("a token without a touch that says nothing of it", "agent", Some(0), ""),
    ("a token with a touch", "hardware", Some(1), ""),
    ("a key in a file", "terminal", None, ""),
];

/// Without a policy that asks for security keys any key counts, and none as what it is not.
#[test]
fn an_approval_says_hardware_only_where_a_security_key_was_touched() {
    let test = "an_approval_says_hardware_only_where_a_security_key_was_touched";
    let Some(scene) = Scene::new(test) else { return };
    let token = SigningKey::from_bytes(&[9; 32]);
    let line = format!("{} {} token", std::str::from_utf8(KIND).unwrap(), STANDARD.encode(public(&token)));
    let file = scene.world.write("token.pub", format!("{line}\n"));
    let me = fs::read_to_string(scene.key.with_extension("pub")).unwrap();
    let list = format!("me namespaces=\"cto-*\" {me}token namespaces=\"cto-*\" {line}\n");
    scene.world.write_own("trust/allowed_signers", list);
    each_row(HARDWARE.iter().map(|row| (row.0, row)), |(_, via, flags, words)| {
        let request = requested(&scene);
        let key = if flags.is_some() { &file } else { &scene.key };
        let mut document = approval(&scene, &request, &fingerprint(&scene, key));
        document["signed_via"] = json!(via);
        let document = contract::canonical_bytes(&document).unwrap();
        let armour = match flags {
            Some(flags) => sign_as_token(&token, NAMESPACE, &document, *flags),
            None => sign(&scene, key, NAMESPACE, &document),
        };
        record(&scene, &request, RequestStep::Granted, std::str::from_utf8(&document).unwrap(), &armour);
        if words.is_empty() {
            assert_eq!(scene.run(0)["status"], "pass", "the control");
            return;
        }
        let report = scene.run(3);
        assert_eq!(report["blocker_reasons"], json!(["approval_missing"]));
        assert!(report["blockers"][0]["text"].as_str().unwrap().contains(words), "{}", report["blockers"]);
        let _ = scene.cto(&["revoke", &text(&request["name"]), "--reason", "next"]).expect(0);
    });
}
