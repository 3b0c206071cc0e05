//! Bundles of every version of the format that was handed out, and of versions that do not exist yet.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evidence::names::{ATTESTATION, REPORT};
use serde_json::{Value, json};
use testkit::{Forger, files_of, program};

use super::parsed;
use crate::{tamper, world};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Bundles that were handed out must verify for ever, and are judged again only by the rules they were made under.
/// `tests/golden/README.md` says how they were made.
#[test]
fn bundles_of_earlier_versions_verify() {
    let (mut verified, mut other_rules) = (0, 0);
    let present = golden().join(format!("v{}", contract::BUNDLE_VERSION));
    assert!(present.is_dir(), "the version that is written now has golden bundles: tests/golden/README.md");
    for version in fs::read_dir(golden()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        let key = version.path().join("harness.pub");
        let verdicts = ["pass", "blocked", "fail"].into_iter().filter(|verdict| version.path().join(verdict).is_dir());
        for verdict in verdicts {
            let bundle = version.path().join(verdict);
            let args = [Path::new("verify"), &bundle, Path::new("--key"), &key, Path::new("--json")];
            let document = world().cto(args).expect(0).json();
            assert_eq!((&document["ok"], &document["status"]), (&json!(true), &json!(verdict)), "{document}");
            let report = parsed(&fs::read(bundle.join(REPORT)).unwrap());
            let rules = report["rules_version"].clone();
            let made = (report["schema_version"].as_str().unwrap(), rules.as_str().unwrap());
            let folder = version.file_name().into_string().unwrap();
            let named = folder.strip_prefix('v').map(|name| name.split_once("-rules-").unwrap_or((name, made.1)));
            assert_eq!(named, Some(made), "{folder}");
            // Rules 1.2 and 1.3 are those of now at stages 1 to 3, but for the words of refusals.
            let is_alike = (rules == "1.2" || rules == "1.3") && verdict != "blocked";
            let again = rules == contract::RULES_VERSION || is_alike;
            assert_eq!(document["judged_again"], again, "{rules}: {document}");
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
            let ran = program("python3", Path::new("/")).args([&script, &bundle, Path::new("--key"), &key]).output();
            let said = String::from_utf8(ran.unwrap().stdout).unwrap();
            assert!(said.starts_with("pass "), "{}: {said}", bundle.display());
            assert_eq!(said.ends_with(", not judged again: made under other rules\n"), !again, "{rules}: {said}");
            other_rules += usize::from(!again);
            verified += 1;
        }
    }
    assert!(verified >= 13 && other_rules >= 9, "there are golden bundles, also of rules 1.0 to 1.3");
}

/// Names of the home and of places that every sandbox shows or looks for.
const NEUTRAL: [&str; 7] = [
    "/tmp/cto-golden",
    "/tmp/tmp.",
    "/home/user",
    "/var/tmp",
    "/var/run/docker.sock",
    "/proc/1/root/etc",
    "/proc/self/root",
];

/// Nothing of the machine that made them: no other path may stand in them.
#[test]
fn golden_bundles_name_no_place_of_their_maker() {
    for file in files_of(&golden()) {
        let mut text = String::from_utf8_lossy(&fs::read(golden().join(&file)).unwrap()).into_owned();
        if file.ends_with(ATTESTATION) {
            let payload = parsed(text.as_bytes())["payload"].as_str().map(|payload| STANDARD.decode(payload).unwrap());
            text = String::from_utf8(payload.unwrap()).unwrap();
        }
        let text = NEUTRAL.iter().fold(text, |text, neutral| text.replace(neutral, ""));
        for place in ["/root", "/home", "/Users", "/target/", "/tmp/", "/var/", "/mnt/"] {
            assert!(!text.contains(place), "{}: {place}", file.display());
        }
    }
}

/// Verdict of `cto verify` and `verify.py` on a bundle: the exit code, and the failed checks.
fn judged(bundle: &Path, key: &Path) -> (i32, Vec<String>, String) {
    let args = [Path::new("verify"), bundle, Path::new("--key"), key, Path::new("--json")];
    let ran = world().cto(args);
    let document = ran.json();
    let errors = document["errors"].as_array().unwrap().iter().map(|error| error["check"].as_str().unwrap().to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
    let said = program("python3", Path::new("/")).args([&script, bundle, Path::new("--key"), key]).output().unwrap();
    (ran.code, errors.collect(), String::from_utf8(said.stdout).unwrap())
}

type Edit = fn(&mut Value);

/// Signed by a key that is trusted, whole, and of a format that is not ours to read, whether it looks like ours or not.
#[test]
fn a_bundle_of_a_newer_format_is_refused_and_told_so() {
    let corpus = tamper::corpus();
    let edits: [(&str, bool, Edit); 6] = [
        ("another major version", false, |report| report["schema_version"] = json!("2.0")),
        ("one of two digits", false, |report| report["schema_version"] = json!("11.0")),
        ("no version", false, |report| report["schema_version"] = json!("latest\u{1b}[2J")),
        ("another shape too", false, |report| {
            *report = json!({"schema_version": "3.1", "run": report["run_id"], "artifact_digests": {}})
        }),
        ("control: a later minor version", true, |report| report["schema_version"] = json!("1.99")),
        ("control: a field of a later minor version", true, |report| report["more"] = json!({"a": 1})),
    ];
    for (what, readable, edit) in edits {
        let scene = corpus.copy("pass");
        let forger = Forger::new(&scene.bundle, &corpus.key);
        forger.report(edit);
        forger.sign(|_| {});
        let (code, checks, said) = judged(&scene.bundle, &corpus.public_key());
        if readable {
            assert_eq!((code, checks), (0, Vec::<String>::new()), "{what}");
            assert!(said.starts_with("pass "), "{what}: {said}");
            continue;
        }
        assert_eq!((code, checks), (1, vec!["format_version".to_owned()]), "{what}");
        assert!(said.starts_with("fail\nreport.json: format_version: expected 1.x"), "{what}: {said}");
        let key = corpus.public_key();
        let args = [Path::new("verify"), &scene.bundle, Path::new("--key"), &key];
        let shown = world().on_terminal(args);
        let screen = shown.screen().join("\n");
        assert!(screen.contains("1.x, which this program reads") && screen.contains("a newer cto"), "{what}: {screen}");
        assert!(!shown.bytes.windows(4).any(|bytes| bytes == b"\x1b[2J"), "{what}");
        let replayed = world().cto([Path::new("replay"), &scene.bundle, Path::new("--key"), &key]).expect(1);
        assert!(replayed.stdout.is_empty() && replayed.stderr.contains("format_version"), "{what}: {replayed:?}");
    }
}
