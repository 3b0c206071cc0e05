//! Both verifiers on every kind of bundle that the whole suite makes: `cto verify` and `docs/formats/verify.py` say the same.
//!
//! `cargo xtask test` names a folder in which every test leaves a few bundles of each kind, and holds this test once more when
//! all others are done.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{COLLECTED_BUNDLE, COLLECTED_KEY, collected_bundles, copy_bundle, program};

use crate::ladder::activation::search;
use crate::{tamper, world};

/// Bundles and the keys that signed them.
fn collected(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let places = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    // The key is copied last: a place without one was left by a test that was ended.
    let whole: Vec<PathBuf> = places.filter(|place| place.join(COLLECTED_KEY).is_file()).collect();
    let inside = |name: &str| whole.iter().map(|place| place.join(name)).collect();
    (inside(COLLECTED_BUNDLE), inside(COLLECTED_KEY))
}

/// Untouched and tampered bundles of the corpus, for a run of this test alone.
fn of_the_corpus(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let corpus = tamper::corpus();
    let mut bundles: Vec<PathBuf> = corpus.kinds().map(|kind| corpus.bundle(kind).to_owned()).collect();
    let tampered = folder.join("tampered");
    copy_bundle(corpus.bundle("pass"), &tampered);
    fs::write(tampered.join("patch.diff"), "x").unwrap();
    bundles.push(tampered);
    (bundles, vec![corpus.public_key()])
}

/// Verdict of `cto verify` on each bundle.
fn judged_by_cto(bundles: &[PathBuf], keys: &[PathBuf]) -> Vec<(bool, Value)> {
    let world = world();
    let mut args: Vec<OsString> = vec!["verify".into(), "--json".into()];
    args.extend(bundles.iter().map(Into::into));
    args.extend(keys.iter().flat_map(|key| ["--key".into(), key.into()]));
    let documents = world.cto(args).json();
    let documents = documents.as_array().unwrap().iter().cloned();
    documents.map(|document| (document["ok"].as_bool().unwrap(), document)).collect()
}

/// Verdicts of the page of Python, from one process.
fn judged_by_python(bundles: &[PathBuf], keys: &[PathBuf]) -> Vec<(bool, String)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
    let mut python = program("python3", Path::new("/"));
    python.arg(script).args(bundles).args(keys.iter().flat_map(|key| [Path::new("--key"), key]));
    let ran = python.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let mut found: BTreeMap<&Path, String> = BTreeMap::new();
    let mut last = bundles[0].as_path();
    for line in said.lines() {
        let named = |bundle: &&PathBuf| line.starts_with(&format!("{}: ", bundle.display()));
        let (at, text) = match bundles.iter().find(named) {
            Some(bundle) => (bundle.as_path(), &line[bundle.as_os_str().len() + 2..]),
            None => (last, line),
        };
        last = at;
        found.entry(at).or_default().push_str(&format!("{text}\n"));
    }
    let of = |bundle: &PathBuf| found.get(bundle.as_path()).cloned().unwrap_or_default();
    bundles.iter().map(of).map(|said| (said.starts_with("pass "), said)).collect()
}

/// Different values of a key in the reports.
fn values(bundles: &[PathBuf], key: &str) -> BTreeSet<String> {
    let read = |bundle: &PathBuf| fs::read(bundle.join("report.json")).ok();
    let report = |bytes: Vec<u8>| serde_json::from_slice::<Value>(&bytes).ok();
    bundles.iter().filter_map(read).filter_map(report).map(|report| report[key].to_string()).collect()
}

/// No byte that a command of the suite wrote or printed says that a default was activated or something promoted. Tests that plant such
/// a claim take it away again.
fn nothing_activates(collected: &Path) {
    let kept = testkit::kept_claims(collected);
    assert!(kept.is_empty(), "{kept:#?}");
}

#[test]
fn both_verifiers_agree_on_every_bundle_of_the_suite() {
    let place = tempfile::tempdir().unwrap();
    let (mut bundles, mut keys) = of_the_corpus(place.path());
    if let Some(folder) = collected_bundles() {
        nothing_activates(&folder);
        let (more, signed_by) = collected(&folder);
        bundles.extend(more);
        keys.extend(signed_by);
    }
    let (ours, theirs) = (judged_by_cto(&bundles, &keys), judged_by_python(&bundles, &keys));
    assert_eq!((ours.len(), theirs.len()), (bundles.len(), bundles.len()));
    let differ = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours.0 != theirs.0);
    let told: Vec<String> = differ.map(|(ours, theirs)| format!("{:#}\n{}", ours.1, theirs.1)).collect();
    assert!(told.is_empty(), "{} of {} bundles:\n{}", told.len(), bundles.len(), told.join("\n"));
    let passed = ours.iter().filter(|(ok, _)| *ok).count();
    assert!(passed > 0 && passed < bundles.len(), "control: {passed} of {} verify", bundles.len());
    let claims: Vec<String> =
        bundles.iter().zip(&ours).filter(|(_, (ok, _))| *ok).flat_map(|(bundle, _)| search(bundle).0).collect();
    assert_eq!(claims, Vec::<String>::new(), "a bundle of the suite that verifies activates or promotes");
    let kinds = ["backend", "stage", "status", "purpose"].map(|key| format!("{key}: {:?}", values(&bundles, key)));
    println!("{passed} of {} bundles verify by both; {}", bundles.len(), kinds.join("; "));
}
