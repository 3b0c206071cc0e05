//! Keys that may sign: added, listed, retired, each time in the ledger; and lists that somebody changed by hand.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::World;

use super::scene::{RECORD, TrustScene, has_keygen};

fn listed(scene: &TrustScene) -> Value {
    scene.cto(&["trust", "key", "list", "--json"]).expect(0).json()
}

#[test]
fn every_change_is_in_the_ledger_and_one_by_hand_is_said() {
    if !has_keygen("every_change_is_in_the_ledger_and_one_by_hand_is_said") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("alice", &["-t", "ed25519"]);
    let file = key.to_str().unwrap();
    let rows = listed(&scene);
    assert_eq!((&rows["changed_by_hand"], &rows["keys"][0]["name"]), (&json!([]), &json!("alice")), "{rows}");
    assert_eq!(rows["keys"][0]["namespaces"], "cto-record@v1,cto-request@v1,cto-approval@v1,cto-outcome@v1");
    let again = scene.cto(&["trust", "key", "add", file, "--json"]).expect(0).json();
    assert_eq!(again["changed"], false, "the same again changes nothing");
    let print = rows["keys"][0]["fingerprint"].as_str().unwrap();
    let retired = scene.cto(&["trust", "key", "remove", &print[..14], "--at", "2030-01-01", "--json"]).expect(0).json();
    assert_eq!(retired["at"], "2030-01-01T00:00:00.000000Z");
    let entries = scene.trust_entries();
    let acts: Vec<&str> = entries.iter().map(|entry| entry["act"].as_str().unwrap()).collect();
    assert_eq!(acts, ["workspace_added", "key_added", "key_retired"]);
    assert_eq!(entries[1]["after"], entries[2]["before"]);
    assert_eq!(entries[2]["detail"]["fingerprint"], print);
    let mode = fs::metadata(scene.signers()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let left = fs::read_dir(scene.world.home().join("trust")).unwrap().count();
    assert_eq!(left, 2, "nothing lies aside");
    // By hand.
    let text = fs::read_to_string(scene.signers()).unwrap();
    fs::write(scene.signers(), format!("{text}nonsense\n")).unwrap();
    let rows = listed(&scene);
    assert_eq!((&rows["changed_by_hand"][0]["never_logged"], &rows["unreadable_lines"]), (&json!(false), &json!(1)));
    assert!(scene.cto(&["trust", "key", "list"]).expect(0).text().contains("changed_by_hand "));
    assert!(scene.cto(&["doctor"]).text().contains("allowed_signers was changed by hand"));
    let _ = scene.cto(&["ledger", "verify"]).expect(0);
}

#[test]
fn a_retired_key_signs_nothing_new() {
    if !has_keygen("a_retired_key_signs_nothing_new") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("alice", &["-t", "ed25519"]);
    let _ = scene.sign(&key).expect(0);
    assert_eq!(scene.check()["usable"], true, "the control");
    let _ = scene.cto(&["trust", "key", "retire", "alice"]).expect(0);
    let checked = scene.check();
    assert!(checked["problem"].as_str().unwrap().contains("was not valid any more"), "{checked}");
    assert_eq!(listed(&scene)["keys"][0]["standing"], "retired");
    // A record that is signed anew by another key is good again, without a word of replacing.
    let other = scene.trust_key("bob", &["-t", "ed25519"]);
    let _ = scene.sign(&other).expect(0);
    assert_eq!(scene.check()["usable"], true);
}

/// A key that is not taken: its arguments, and the words against it.
type Refusal = (&'static str, fn(&TrustScene) -> Vec<String>, &'static str);

/// A public key of a kind that OpenSSH makes no longer.
fn dsa_line() -> String {
    let field = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat();
    let numbers = [&[7; 128][..], &[7; 20], &[7; 128], &[7; 128]].map(field).concat();
    format!("ssh-dss {} old\n", STANDARD.encode([field(b"ssh-dss"), numbers].concat()))
}

fn key_of(scene: &TrustScene, kind: &[&str]) -> String {
    scene.make_key("key", kind).with_extension("pub").display().to_string()
}

const REFUSALS: &[Refusal] = &[
    ("short rsa", |it| vec![key_of(it, &["-t", "rsa", "-b", "2048"])], "an RSA key of 2048 bits; 3072 to 8192 count"),
    (
        "certificate",
        |it| {
            let authority = it.make_key("authority", &["-t", "ed25519"]);
            let key = key_of(it, &["-t", "ed25519"]);
            it.keygen(&["-q", "-s", authority.to_str().unwrap(), "-I", "id", "-n", "me", &key]);
            vec![key.replace(".pub", "-cert.pub")]
        },
        "a certificate or a kind of key that does not count",
    ),
    (
        "dsa",
        |it| vec![it.world.write("key.pub", dsa_line()).display().to_string()],
        "a kind of key that does not count",
    ),
    ("no key", |it| vec![it.world.write("key.pub", "ssh-ed25519 AAAA\n").display().to_string()], "no key of OpenSSH"),
    ("no file", |_| vec!["/nowhere/key.pub".to_owned()], "there is no file /nowhere/key.pub"),
    (
        "name of two words",
        |it| vec![key_of(it, &["-t", "ed25519"]), "--name".into(), "a b".into()],
        "a name has letters",
    ),
    (
        "namespace with a quote",
        |it| vec![key_of(it, &["-t", "ed25519"]), "--namespaces".into(), "a\"b".into()],
        "a name has letters",
    ),
    (
        "end before its beginning",
        |it| vec![key_of(it, &["-t", "ed25519"]), "--until".into(), "2020-01-01".into()],
        "--until is not after --from",
    ),
    ("no time", |it| vec![key_of(it, &["-t", "ed25519"]), "--from".into(), "soon".into()], "neither a date nor a time"),
];

#[test]
fn a_key_that_does_not_count_is_not_taken() {
    if !has_keygen("a_key_that_does_not_count_is_not_taken") {
        return;
    }
    testkit::each_row(REFUSALS.iter().map(|row| (row.0, row)), |(name, arguments, words)| {
        let scene = TrustScene::new();
        let arguments = arguments(&scene);
        let words_of: Vec<&str> =
            ["trust", "key", "add"].into_iter().chain(arguments.iter().map(String::as_str)).collect();
        let ran = scene.cto(&words_of).expect(2);
        assert!(ran.stderr.contains(words), "{name}: {ran:?}");
        assert!(!scene.signers().exists(), "{name}");
        scene.trust_key("good", &["-t", "ed25519"]);
        assert!(scene.signers().exists(), "the control");
    });
}

#[test]
fn keys_are_named_by_file_name_or_fingerprint_and_never_by_guessing() {
    if !has_keygen("keys_are_named_by_file_name_or_fingerprint_and_never_by_guessing") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("alice", &["-t", "ed25519"]);
    let other = scene.make_key("second", &["-t", "ed25519"]);
    let _ = scene.cto(&["trust", "key", "add", other.to_str().unwrap(), "--name", "alice"]).expect(0);
    let retire = |named: &str| scene.cto(&["trust", "key", "retire", named, "--at", "2031-01-01", "--json"]);
    assert!(retire("alice").expect(2).stderr.contains("2 keys are called alice"));
    assert!(retire("nobody").expect(2).stderr.contains("no key here is called nobody"));
    let stranger = scene.make_key("stranger", &["-t", "ed25519"]);
    assert!(retire(stranger.to_str().unwrap()).expect(2).stderr.contains("no key here is called"));
    assert!(retire("SHA").expect(2).stderr.contains("no key here is called SHA"));
    let print = retire(key.to_str().unwrap()).expect(0).json()["fingerprint"].as_str().unwrap().to_owned();
    assert_eq!(retire(&print).expect(0).json()["changed"], false);
    assert_eq!(retire(&print["SHA256:".len()..20]).expect(0).json()["fingerprint"], print);
}

#[test]
fn two_that_add_at_once_are_both_there() {
    if !has_keygen("two_that_add_at_once_are_both_there") {
        return;
    }
    let scene = TrustScene::new();
    let files: Vec<String> = (0..6)
        .map(|number| scene.make_key(&format!("key-{number}"), &["-t", "ed25519"]).display().to_string())
        .collect();
    let adding: Vec<_> = files.iter().map(|file| scene.world.start(["trust", "key", "add", file])).collect();
    for child in adding {
        let _ = World::finish(child).expect(0);
    }
    let rows = listed(&scene);
    assert_eq!((rows["keys"].as_array().unwrap().len(), &rows["changed_by_hand"]), (6, &json!([])), "{rows}");
    let _ = scene.cto(&["ledger", "verify"]).expect(0);
}

#[test]
fn lists_that_cannot_be_trusted_are_used_for_nothing() {
    if !has_keygen("lists_that_cannot_be_trusted_are_used_for_nothing") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("alice", &["-t", "ed25519"]);
    let _ = scene.sign(&key).expect(0);
    let compromised = scene.world.home().join("trust/compromised.json");
    assert_eq!(scene.check()["usable"], true, "the control");
    fs::write(&compromised, "{").unwrap();
    assert_eq!(scene.check()["usable"], false, "a compromised key must not pass for a good one");
    assert!(scene.cto(&["trust", "key", "list"]).expect(3).stderr.contains("compromised.json"));
    fs::remove_file(&compromised).unwrap();
    fs::set_permissions(scene.signers(), fs::Permissions::from_mode(0o666)).unwrap();
    let refused = scene.cto(&["trust", "key", "list"]).expect(2);
    assert!(
        refused.stderr.contains("can be written by others") && refused.stderr.contains("chmod go-w"),
        "{refused:?}"
    );
    let _ = scene.cto(&["record", "sign", RECORD, "--replace", "--key", key.to_str().unwrap()]).expect(2);
}
