//! Callers, their keys and their questions, also about a folder that is no bundle.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::{Forger, content_digest, program, skip};

use super::{corpus, fresh_key};
use crate::world;

/// The public key of the corpus as PEM: the last 32 bytes of the OpenSSH form, behind the fixed head of such keys.
fn pem() -> String {
    let line = fs::read_to_string(corpus().public_key()).unwrap();
    let blob = STANDARD.decode(line.split(' ').nth(1).unwrap()).unwrap();
    let head = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
    let der = [&head[..], &blob[blob.len() - 32..]].concat();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
}

#[test]
fn a_stranger_with_the_public_key_alone_can_verify_a_moved_bundle() {
    let (corpus, stranger) = (corpus(), world());
    let openssh = stranger.write("keys/openssh.pub", fs::read(corpus.public_key()).unwrap());
    let pem = stranger.write("keys/pem.pub", pem());
    let (_, other) = fresh_key(stranger.path());
    let other = stranger.write("keys/other.pub", other.openssh("other"));
    let home = stranger.path().join("empty");
    fs::create_dir(&home).unwrap();
    for kind in corpus.kinds() {
        let bundle = stranger.here().join(kind);
        testkit::copy_bundle(corpus.bundle(kind), &bundle);
        let check = |keys: &[&Path], code: i32| {
            let mut args = vec!["--home", home.to_str().unwrap(), "verify", kind, "--json"];
            keys.iter().for_each(|key| args.extend(["--key", key.to_str().unwrap()]));
            let document = stranger.cto(args).expect(code).json();
            let signer = document["errors"].as_array().unwrap().iter().any(|error| error["check"] == "signer");
            assert_eq!(signer, code == 1, "{kind}: {document:#}");
        };
        check(&[&openssh], 0);
        check(&[&pem], 0);
        check(&[&other, &openssh], 0);
        check(&[&other], 1);
        check(&[], 1);
    }
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "verifying leaves nothing in the home");
}

#[test]
fn a_key_that_is_none_is_wrong_usage() {
    let corpus = corpus();
    let bundle = corpus.bundle("pass").to_str().unwrap();
    let private = corpus.world.home().join("keys/harness.pem");
    let empty = corpus.world.write("empty.pub", "");
    for key in [private.as_path(), &empty, Path::new("missing.pub"), corpus.world.path()] {
        let _ = corpus.world.cto(["verify", bundle, "--key", key.to_str().unwrap()]).expect(2);
    }
}

#[test]
fn expectations_hold_or_are_named() {
    let corpus = corpus();
    let check = |kind: &str, expect: &str, failed: Option<&str>| {
        let bundle = corpus.bundle(kind).to_str().unwrap();
        let ran = corpus.world.cto(["verify", bundle, "--json", "--expect", expect]);
        let document = ran.expect(i32::from(failed.is_some())).json();
        let found: Vec<&str> =
            document["errors"].as_array().unwrap().iter().map(|error| error["check"].as_str().unwrap()).collect();
        assert_eq!(found, failed.into_iter().collect::<Vec<_>>(), "{kind} {expect}");
    };
    let report: Value = serde_json::from_slice(&fs::read(corpus.bundle("pass").join("report.json")).unwrap()).unwrap();
    let text = |key: &str| report[key].as_str().unwrap();
    let (contract, baseline, signer) = (text("contract_digest"), text("baseline_commit"), corpus.key.public().key_id());
    check("pass", &format!("contract={contract}"), None);
    check("fail", &format!("contract={contract}"), Some("expect_contract"));
    check("pass", &format!("baseline={baseline}"), None);
    check("pass", &format!("baseline={}", &baseline[..12]), None);
    check("fail", &format!("baseline={baseline}"), Some("expect_baseline"));
    check("pass", &format!("signer={signer}"), None);
    check("pass", "signer=SHA256:other", Some("expect_signer"));
    check("pass", "max-age=10000d", None);
    check("pass", "max-age=0s", Some("expect_max_age"));
    check("pass", "coverage=empty", Some("expect_coverage"));
    check("blocked", "coverage=empty", None);
    check("pass", &format!("contract={contract},signer={signer},max-age=10000d"), None);
    for wrong in ["coverage=full", "colour=red", "max-age=1", "contract=abc", "x"] {
        let _ = corpus.world.cto(["verify", corpus.bundle("pass").to_str().unwrap(), "--expect", wrong]).expect(2);
    }
}

/// A pass with exam, control and blind checks in the strict sandbox leaves nothing unproven, where a control group limits it.
#[test]
fn a_pass_can_leave_nothing_unproven() {
    let world = &corpus().world;
    let (report, bundle) = world.run("r1-string-slugify", 0);
    let expected: &[&str] = match report["coverage"].as_array().unwrap().is_empty() {
        true => &[],
        false => &["limits_by_rlimit"],
    };
    assert_eq!(report["coverage"], json!(expected));
    let ran = world.cto(["verify", bundle.to_str().unwrap(), "--json", "--expect", "coverage=empty"]);
    let _ = ran.expect(i32::from(!expected.is_empty()));
}

/// An expectation that cannot be looked at, because the signature does not hold, does not hold either.
#[test]
fn an_expectation_never_saves_a_broken_bundle() {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    fs::write(scene.bundle.join("patch.diff"), "x").unwrap();
    let path = scene.bundle.to_str().unwrap();
    let signer = format!("signer={}", corpus.key.public().key_id());
    let _ = corpus.world.cto(["verify", path, "--expect", &signer]).expect(1);
}

#[test]
fn several_bundles_are_verified_at_once_and_the_worst_counts() {
    let corpus = corpus();
    let broken = corpus.copy("pass");
    fs::write(broken.bundle.join("patch.diff"), "x").unwrap();
    let good: Vec<&str> = corpus.kinds().map(|kind| corpus.bundle(kind).to_str().unwrap()).collect();
    let broken = broken.bundle.to_str().unwrap();
    let check = |bundles: &[&str], code: i32| {
        let args = ["verify", "--json"].iter().chain(bundles).copied();
        let documents = corpus.world.cto(args).expect(code).json();
        let ok: Vec<bool> = documents.as_array().unwrap().iter().map(|one| one["ok"].as_bool().unwrap()).collect();
        assert_eq!(ok, bundles.iter().map(|bundle| *bundle != broken).collect::<Vec<_>>());
        let plain = corpus.world.cto(["verify"].iter().chain(bundles).copied()).expect(code).text();
        assert_eq!(plain.lines().filter(|line| line.starts_with("pass ")).count(), ok.iter().filter(|ok| **ok).count());
    };
    check(&good, 0);
    check(&[good[0], broken, good[1]], 1);
    let missing = corpus.world.cto(["verify", good[0], "./missing", broken]).expect(2);
    assert!(missing.text().contains("failed patch.diff digest"), "the others are checked all the same: {missing:?}");
    let unknown = corpus.world.cto(["verify", good[0], "no-such-run", broken]).expect(2);
    let told = unknown.text();
    assert!(told.starts_with("pass ") && told.lines().count() == 1, "what was found before is told: {unknown:?}");
}

#[test]
fn what_is_no_bundle_is_wrong_usage() {
    let (corpus, world) = (corpus(), world());
    world.write("empty/x", "");
    fs::remove_file(world.here().join("empty/x")).unwrap();
    world.write("random/notes.txt", "hello");
    world.write("random/deep/report.json", "{}");
    world.write("file", "{}");
    std::os::unix::fs::symlink(corpus.bundle("pass"), world.here().join("link")).unwrap();
    let key = corpus.public_key();
    for path in ["./empty", "./random", "./file", "./missing", "empty", "missing", "@", "./link", "/dev/null", "."] {
        let before = content_digest(world.path(), &[]);
        let ran = world.cto(["verify", path, "--key", key.to_str().unwrap(), "--json"]).expect(2);
        assert_eq!(ran.json()["status"], "invalid", "{path}");
        assert!(!ran.stderr.is_empty(), "{path}");
        assert_eq!(content_digest(world.path(), &[]), before, "{path}: nothing is made");
    }
    // A report or an attestation alone is a bundle that is damaged.
    for file in ["report.json", "attestation.dsse.json"] {
        world.write(&format!("rest-{file}/{file}"), fs::read(corpus.bundle("pass").join(file)).unwrap());
        let _ = world.cto(["verify", &format!("rest-{file}"), "--key", key.to_str().unwrap()]).expect(1);
    }
}

/// Everything a terminal could take for a command.
const NASTY: &str = "x\u{1b}[2J\u{1b}]0;title\u{7}\r\u{8}\u{7f}\u{9b}31m\u{202e}evil\n";

fn check_harmless(what: &str, text: &str) {
    for character in text.chars() {
        let fine = matches!(character, '\n' | '\t')
            || !(character.is_control() || ('\u{202a}'..='\u{202e}').contains(&character));
        assert!(fine, "{what}: {character:?} in {text:?}");
    }
}

/// A hostile bundle: odd names, and odd text in everything that is quoted.
fn hostile() -> super::Scene {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    let forger = Forger::new(&scene.bundle, &corpus.key);
    forger.events(|events| events[0]["type"] = json!(NASTY));
    forger.report(|report| {
        report["title"] = json!(NASTY);
        report["changed_files"] = json!([NASTY]);
        report["artifact_digests"] = json!({});
        report["baseline_commit"] = json!(NASTY);
    });
    forger.sign(|statement| {
        statement["predicate"]["task_id"] = json!("other");
        statement["subject"][0]["name"] = json!(NASTY);
        statement["_type"] = json!(NASTY);
    });
    fs::write(scene.bundle.join(NASTY.replace('\n', "")), "x").unwrap();
    fs::write(scene.bundle.join("a\nb"), "x").unwrap();
    scene
}

#[test]
fn a_hostile_bundle_cannot_speak_to_the_terminal() {
    let corpus = corpus();
    let scene = hostile();
    let path = scene.bundle.to_str().unwrap();
    let ran = corpus.world.cto(["verify", path]).expect(1);
    check_harmless("text", &ran.text());
    check_harmless("stderr", &ran.stderr);
    assert!(ran.text().lines().skip(1).all(|line| line.starts_with("failed ")), "a name breaks a line: {}", ran.text());
    let json = corpus.world.cto(["verify", path, "--json"]).expect(1);
    check_harmless("json", &json.text());
    assert!(json.json()["errors"].as_array().unwrap().len() > 4);
}

/// The same on a real terminal, where colours are ours: `script` gives one.
#[test]
fn a_hostile_bundle_cannot_speak_to_a_real_terminal() {
    let corpus = corpus();
    let scene = hostile();
    let command = format!(
        "CTO_HOME='{}' NO_COLOR=1 '{}' verify '{}'",
        corpus.world.home().display(),
        env!("CARGO_BIN_EXE_cto"),
        scene.bundle.display()
    );
    let ran = program("script", corpus.world.path()).args(["-qec", &command, "/dev/null"]).output();
    let Ok(ran) = ran else {
        return skip("a_hostile_bundle_cannot_speak_to_a_real_terminal", "there is no `script` to give a terminal");
    };
    let text = String::from_utf8(ran.stdout).unwrap().replace("\r\n", "\n");
    assert_eq!(ran.status.code(), Some(1), "{text}");
    assert!(text.contains("do not hold"), "{text}");
    check_harmless("terminal", &text);
}
