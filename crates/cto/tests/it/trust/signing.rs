//! Signatures by keys of all kinds, held by ssh-keygen and by us alike; and the ways in which none is made.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::json;
use testkit::{program, wait_for};

use super::scene::{NAMESPACE, RECORD, TrustScene, has_keygen};

const KINDS: &[(&str, &[&str])] = &[
    ("ed25519", &["-t", "ed25519"]),
    ("ecdsa-256", &["-t", "ecdsa", "-b", "256"]),
    ("ecdsa-384", &["-t", "ecdsa", "-b", "384"]),
    ("ecdsa-521", &["-t", "ecdsa", "-b", "521"]),
    ("rsa-3072", &["-t", "rsa", "-b", "3072"]),
];

#[test]
fn signatures_hold_for_ssh_keygen_and_for_us_whoever_made_them() {
    if !has_keygen("signatures_hold_for_ssh_keygen_and_for_us_whoever_made_them") {
        return;
    }
    let scene = TrustScene::new();
    for (name, kind) in KINDS {
        let key = scene.trust_key(name, kind);
        let signed = scene.sign(&key).expect(0).json();
        assert!(scene.keygen_verifies(name), "{name}: ours by theirs");
        assert_eq!(signed["good_for"], json!({"first_stage": 5, "last_stage": 6}), "{name}");
        assert_eq!(signed["signed_via"], "terminal", "{name}");
        // Theirs, in the place of ours.
        fs::remove_file(scene.signature()).unwrap();
        let record = scene.world.here().join(RECORD);
        let arguments = ["-q", "-Y", "sign", "-n", NAMESPACE, "-f", key.to_str().unwrap(), record.to_str().unwrap()];
        scene.keygen(&arguments);
        assert_eq!(scene.check()["signed_by"], signed["signed_by"], "{name}: theirs by ours");
        assert!(scene.keygen_verifies(name), "{name}: theirs by theirs");
        // Another byte, and neither holds.
        scene.write_record(|text| text + "\n");
        let checked = scene.check();
        assert!(checked["usable"] == false && !scene.keygen_verifies(name), "{name}: {checked}");
        scene.write_record(|text| text);
        fs::remove_file(scene.signature()).unwrap();
    }
    assert_eq!(scene.entries("record.signed").len(), KINDS.len());
}

/// Something that keeps a key from signing: what is done, the words, and the command that helps.
type Refusal = (&'static str, fn(&TrustScene) -> (PathBuf, i32), &'static str, &'static str);

const REFUSALS: &[Refusal] = &[
    ("no key", |it| (it.world.user().join("none"), 3), "there is no key to sign with", "cto key init"),
    ("not listed", |it| (it.make_key("key", &["-t", "ed25519"]), 3), "is not listed", "cto trust key add "),
    (
        "retired",
        |it| {
            let key = it.trust_key("key", &["-t", "ed25519"]);
            let _ = it.cto(&["trust", "key", "retire", "key"]).expect(0);
            (key, 3)
        },
        "was not valid any more",
        "cto trust key add ",
    ),
    (
        "for something else",
        |it| {
            let key = it.make_key("key", &["-t", "ed25519"]);
            let file = key.to_str().unwrap();
            let _ = it.cto(&["trust", "key", "add", file, "--namespaces", "cto-outcome@v1"]).expect(0);
            (key, 3)
        },
        "listed in allowed_signers for another purpose",
        "cto trust key add ",
    ),
    (
        "passphrase and no terminal",
        |it| (it.trust_key("key", &["-t", "ed25519", "-N", "a passphrase"]), 3),
        "the passphrase of",
        "ssh-add ",
    ),
    (
        "agent without the key",
        |it| {
            let key = it.trust_key("key", &["-t", "ed25519"]);
            fs::remove_file(&key).unwrap();
            (key.with_extension("pub"), 3)
        },
        "the agent does not have SHA256:",
        "ssh-add FILE",
    ),
    (
        "private half that others read",
        |it| {
            let key = it.trust_key("key", &["-t", "ed25519"]);
            fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
            (key, 3)
        },
        "can be read by others",
        "chmod 600 ",
    ),
    (
        "short rsa key",
        |it| (it.make_key("key", &["-t", "rsa", "-b", "2048"]), 2),
        "an RSA key of 2048 bits; 3072 to 8192 count",
        "ssh-keygen -t ed25519",
    ),
    (
        "no key file",
        |it| (it.world.write_secret("key", "a secret\n"), 2),
        "holds no key of OpenSSH",
        "ssh-keygen -t ed25519",
    ),
];

#[test]
fn a_key_that_cannot_sign_says_why_and_signs_nothing() {
    if !has_keygen("a_key_that_cannot_sign_says_why_and_signs_nothing") {
        return;
    }
    testkit::each_row(REFUSALS.iter().map(|row| (row.0, row)), |(name, prepare, words, hint)| {
        let scene = TrustScene::new();
        let (key, code) = prepare(&scene);
        let ran = scene.cto(&["record", "sign", RECORD, "--key", key.to_str().unwrap()]).expect(code);
        assert!(ran.stderr.contains(words) && ran.stderr.contains(hint), "{name}: {ran:?}");
        assert!(!scene.signature().exists(), "{name}");
        // The control: the same record and another key.
        let good = scene.trust_key("good", &["-t", "ed25519"]);
        let _ = scene.sign(&good).expect(0);
    });
}

/// ssh-keygen asks for a passphrase itself; here its own helper answers.
#[test]
fn a_passphrase_opens_its_key_and_another_does_not() {
    if !has_keygen("a_passphrase_opens_its_key_and_another_does_not") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("key", &["-t", "ed25519", "-N", "a passphrase"]);
    for (answer, code) in [("another", 3), ("a passphrase", 0)] {
        let helper = scene.world.write("ask", format!("#!/bin/sh\necho '{answer}'\n"));
        fs::set_permissions(&helper, fs::Permissions::from_mode(0o700)).unwrap();
        let mut command = scene.world.command(["record", "sign", RECORD, "--key", key.to_str().unwrap()]);
        let ran = command.env("SSH_ASKPASS", &helper).env("SSH_ASKPASS_REQUIRE", "force").output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(code), "{answer}: {said}");
        assert_eq!((said.contains("the passphrase of"), said.contains("no passphrase")), (code == 3, false), "{said}");
    }
    assert!(scene.keygen_verifies("key"));
}

#[test]
fn without_ssh_keygen_nothing_is_signed() {
    if !has_keygen("without_ssh_keygen_nothing_is_signed") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("key", &["-t", "ed25519"]);
    let mut command = scene.world.command(["record", "sign", RECORD, "--key", key.to_str().unwrap()]);
    let ran = command.env("PATH", scene.world.user()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(3) && said.contains("ssh-keygen cannot be run"), "{said}");
    assert!(said.contains("install the OpenSSH client") && !scene.signature().exists(), "{said}");
}

#[test]
fn the_operators_key_is_the_homes_or_a_named_one() {
    if !has_keygen("the_operators_key_is_the_homes_or_a_named_one") {
        return;
    }
    let scene = TrustScene::new();
    let refused = scene.cto(&["record", "sign", RECORD]).expect(3);
    assert!(refused.stderr.contains("next  cto key init"), "{refused:?}");
    let made = scene.cto(&["key", "init"]).expect(0).text();
    let next = made.lines().find_map(|line| line.strip_prefix("next  ")).unwrap();
    let words: Vec<&str> = next.split("     ").next().unwrap().split(' ').skip(1).collect();
    let _ = scene.cto(&words).expect(0);
    let signed = scene.cto(&["record", "sign", RECORD]).expect(0);
    assert!(signed.stderr.contains("no passphrase"), "{signed:?}");
    assert!(scene.keygen_verifies("operator"));
    assert!(!scene.cto(&["key", "show"]).expect(0).text().contains("next"), "it may sign now");
    let other = scene.trust_key("other", &["-t", "ed25519"]);
    let mut command = scene.world.command(["record", "sign", RECORD, "--replace"]);
    assert!(command.env("CTO_SIGNING_KEY", &other).output().unwrap().status.success());
    assert!(scene.keygen_verifies("other"));
    scene.world.write("harness.yaml", "signing_key: keys/mine\n");
    let refused = scene.cto(&["record", "check", RECORD]).expect(2);
    assert!(refused.stderr.contains("a workspace's file may not have `signing_key`"), "{refused:?}");
}

#[test]
fn an_agent_signs_with_a_key_of_which_only_the_public_half_is_here() {
    if !has_keygen("an_agent_signs_with_a_key_of_which_only_the_public_half_is_here") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("key", &["-t", "ed25519"]);
    let socket = scene.world.user().join("agent");
    let mut agent = program("ssh-agent", &scene.world.user()).args(["-D", "-a"]).arg(&socket).spawn().unwrap();
    wait_for("the agent", || UnixStream::connect(&socket).ok());
    let added = program("ssh-add", &scene.world.user()).env("SSH_AUTH_SOCK", &socket).arg(&key).output().unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    fs::remove_file(&key).unwrap();
    let public = key.with_extension("pub");
    let mut command = scene.world.command(["record", "sign", RECORD, "--json", "--key", public.to_str().unwrap()]);
    let ran = command.env("SSH_AUTH_SOCK", &socket).output().unwrap();
    agent.kill().unwrap();
    agent.wait().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.status.code(), &said["signed_via"]), (Some(0), &json!("agent")), "{said}");
    assert!(scene.keygen_verifies("key"));
}
