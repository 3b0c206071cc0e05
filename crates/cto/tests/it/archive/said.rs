//! Statements of people are exported with a run, and no others.

use std::fs;

use contract::canonical_bytes;
use serde_json::{Value, json};
use testkit::program;

use super::craft::{Files, compress, tar_of, unpack};
use super::{export, import, key};
use crate::targets::Scene;
use crate::world;

/// The one file whose name has these ends.
fn name_of(files: &Files, begin: &str, end: &str) -> String {
    let fits = |name: &&String| name.starts_with(&format!("statements/{begin}")) && name.ends_with(end);
    files.keys().find(fits).unwrap().clone()
}

#[test]
fn outcome_and_rollback_go_along_and_are_checked() {
    let Some(scene) = Scene::new("outcome_and_rollback_go_along_and_are_checked") else { return };
    let (here, there) = (&scene.world, world());
    scene.approve("5");
    let run = scene.run("5", 0)["run_id"].as_str().unwrap().to_owned();
    let _ = here.cto(["outcome", "@", "reject", "--reason", "slower"]).expect(0);
    let _ = here.cto(["rollback", "@", "--reason", "slower"]).expect(0);
    let archive = export(here, &run, "said.tar.zst");
    let (good, key) = (unpack(&archive), key(here));
    let outcome = name_of(&good, "outcome-", ".json");
    let rollback = name_of(&good, "rollback-", ".json");
    let (outcome_sig, rollback_sig) = (format!("{outcome}.sig"), format!("{rollback}.sig"));

    // Another key of the same person signs the same bytes.
    let other = here.user().join("other");
    let signed = here.here().join("signed.json");
    fs::write(&signed, &good[&outcome]).unwrap();
    for words in [
        vec!["-q", "-t", "ed25519", "-N", "", "-f", other.to_str().unwrap()],
        vec!["-q", "-Y", "sign", "-n", "cto-outcome@v1", "-f", other.to_str().unwrap(), signed.to_str().unwrap()],
    ] {
        assert!(program("ssh-keygen", &here.here()).args(words).status().unwrap().success());
    }
    let by_other = fs::read(signed.with_extension("json.sig")).unwrap();
    let edited = |name: &str, key: &str, value: Value| {
        let mut document: Value = serde_json::from_slice(&good[name]).unwrap();
        document[key] = value;
        canonical_bytes(&document).unwrap()
    };
    type Edit<'a> = &'a dyn Fn(&mut Files);
    let put = |name: &str, bytes: Vec<u8>| {
        let name = name.to_owned();
        move |files: &mut Files| drop(files.insert(name.clone(), bytes.clone()))
    };
    let rows: &[(&str, Edit<'_>, &str)] = &[
        (
            "a changed word",
            &put(&outcome, edited(&outcome, "operator_outcome", json!("accepted"))),
            "has a signature that does not hold",
        ),
        (
            "another run",
            &put(&outcome, edited(&outcome, "attestation_sha256", json!("0".repeat(64)))),
            "is about another run",
        ),
        ("no signature", &|files| drop(files.remove(&outcome_sig)), "has no signature"),
        ("no signature of a rollback", &|files| drop(files.remove(&rollback_sig)), "has no signature"),
        ("a signature alone", &|files| drop(files.remove(&rollback)), "is a signature of nothing"),
        ("a signature of the other", &put(&outcome_sig, good[&rollback_sig].clone()), "does not hold"),
        ("another key", &put(&outcome_sig, by_other), "is signed by another key than it names"),
        (
            "a word of nobody that is signed",
            &put(&outcome, edited(&outcome, "source", json!("environment"))),
            "says that nobody signs it, and is signed",
        ),
        ("other bytes", &put(&outcome, [&good[&outcome], b"\n".as_slice()].concat()), "is not in the form"),
        ("something else", &put(&outcome, b"{}".to_vec()), "cannot be read"),
    ];
    for (what, edit, words) in rows {
        let mut files = good.clone();
        edit(&mut files);
        let path = here.path().join("hostile.tar.zst");
        fs::write(&path, compress(&tar_of(&files))).unwrap();
        let ran = there.cto(import(&path, &key)).expect(1);
        assert!(ran.stderr.contains(words) && ran.stderr.contains("Nothing was kept"), "{what}: {}", ran.stderr);
        assert!(!there.home().exists(), "{what}");
    }

    let taken = there.cto(import(&archive, &key).iter().chain(&["--json"])).expect(0).json();
    assert_eq!((&taken["run_id"], &taken["statements"]), (&json!(run), &json!(2)), "the control");
    let again = export(&there, &run, "again.tar.zst");
    assert_eq!(fs::read(&archive).unwrap(), fs::read(&again).unwrap(), "also from where it was imported");
}
