//! Secrets that an engine or a test lets out: none stands in anything that is kept, each is named, and the run fails.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::{World, content_digest};

use crate::world;

/// The shape of a cloud key, in two parts so that this file does not hold one.
const KEY: &str = concat!("AK", "IAQ3EGRIZD7KWNV2TB");
/// The same for nobody: one letter off.
const LOOK_ALIKE: &str = concat!("AK", "IBQ3EGRIZD7KWNV2TB");
const BODY: [&str; 3] = [
    "9KnT5Cok8P9JbbSJz8/jAfHwS+AQs0UaGP0V0sDlB5lHAq7VcESVrWtG5+hTF22h",
    "qsdCIavkCJzQ2qZnP74E3akJpxLSKIc773G4314ggCkkGKdWLuv+sAnKdiMjyKsC",
    "BlzutxDDOUAm19etGjvuPNyycz0llgiqXclGHAQbwlOrp5iQby3R8mXQBIBJtB2b",
];

/// One way to let a value out. `steps` are those of the engine, with `KEY` in the place of the value as it is written there.
struct Row {
    what: &'static str,
    written: fn(&str) -> String,
    steps: &'static str,
    /// The exam, which passes either way.
    exam: &'static str,
    /// Files that hold it before it is redacted.
    files: &'static [&'static str],
}

const LOGS: &[&str] = &["backend/stdout.log", "events.normalized.jsonl"];
const CHANGED: &str = "{write: {path: a.txt, text: \"two\\n\"}}";

fn plain(value: &str) -> String {
    value.to_owned()
}

const ROWS: &[Row] = &[
    Row { what: "printed", written: plain, steps: "{print: {text: \"key KEY\"}}", exam: "true", files: LOGS },
    Row {
        what: "printed in base64",
        written: |value| STANDARD.encode(format!("the key is {value}.")),
        steps: "{print: {text: \"x KEY\"}}",
        exam: "true",
        files: LOGS,
    },
    Row {
        what: "printed in hex",
        written: |value| value.bytes().map(|byte| format!("{byte:02x}")).collect(),
        steps: "{print: {text: \"x KEY\"}}",
        exam: "true",
        files: LOGS,
    },
    Row {
        what: "printed as an escaped string",
        written: |value| value.bytes().map(|byte| format!("\\\\u00{byte:02x}")).collect(),
        steps: "{print: {text: \"{'x': 'KEY'}\"}}",
        exam: "true",
        files: LOGS,
    },
    Row {
        what: "printed to the other stream",
        written: plain,
        steps: "{print: {text: \"KEY\", stream: stderr}}",
        exam: "true",
        files: &["backend/stderr.log", "events.normalized.jsonl"],
    },
    Row {
        what: "left in its state",
        written: plain,
        steps: "{state: {path: session.json, text: \"{'token': 'KEY'}\"}}",
        exam: "true",
        files: &["backend/session.json"],
    },
    Row {
        what: "written into the result",
        written: plain,
        steps: "{write: {path: a.txt, text: \"two\\nkey = KEY\\n\"}}",
        exam: "true",
        files: &["patch.diff"],
    },
    Row {
        what: "shown by the exam",
        written: plain,
        steps: "{write: {path: a.txt, text: \"two\\nKEY\\n\"}}",
        exam: "cat a.txt",
        files: &["patch.diff", "test.log"],
    },
    Row {
        what: "given to a program",
        written: plain,
        steps: "{run: {argv: [sh, -c, \"true KEY\"]}}",
        exam: "true",
        files: &["sandbox.json"],
    },
    Row {
        what: "in the name of a file",
        written: plain,
        steps: "{write: {path: KEY.txt, text: \"x\\n\"}}",
        exam: "true",
        files: &["patch.diff", "report.json"],
    },
];

/// Runs a case whose engine lets this value out.
fn run(world: &World, row: &Row, value: &str, code: i32) -> (Value, PathBuf) {
    let written = (row.written)(value);
    let fake = format!("{{steps: [{CHANGED}, {}]}}", row.steps.replace("KEY", &written));
    let exam = json!([["sh", "-c", row.exam]]).to_string();
    world.case("made", &[("fake", &fake), ("allowed_paths", "[\"**\"]"), ("verification_commands", &exam)]);
    world.run("./made", code)
}

/// Every file of a home that holds one of these.
fn holding(root: &Path, needles: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, needles));
        } else if let Ok(bytes) = fs::read(&path) {
            let holds = |needle: &String| bytes.windows(needle.len()).any(|part| part == needle.as_bytes());
            if needles.iter().any(holds) {
                found.push(path);
            }
        }
    }
    found
}

/// The value, and how it is written: in the case, where a backslash is two, and by the engine.
fn spellings(row: &Row, value: &str) -> [String; 3] {
    let written = (row.written)(value);
    [value.to_owned(), written.replace("\\\\", "\\"), written]
}

fn hits(report: &Value) -> Vec<&Value> {
    report["secret_scan"]["hits"].as_array().unwrap().iter().collect()
}

/// Checks a run that leaked the value.
fn check(world: &World, row: &Row, report: &Value, bundle: &Path) {
    let what = row.what;
    assert_eq!(report["blocker_reasons"], json!(["secret_leak"]), "{what}");
    assert_eq!(report["status"], "fail", "{what}");
    assert_eq!(report["secret_scan"]["status"], "redacted", "{what}");
    let files: Vec<&str> = hits(report).iter().map(|hit| hit["file"].as_str().unwrap()).collect();
    for file in row.files {
        assert!(files.contains(file), "{what}: {file} is named: {}", report["secret_scan"]);
    }
    assert!(hits(report).iter().all(|hit| hit["class"] == "leak" && hit["rule"] == "aws-access-key-id"), "{what}");
    assert_eq!(holding(&world.home(), &spellings(row, KEY)), Vec::<PathBuf>::new(), "{what}");
    let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
    let scanned = events.lines().find(|line| line.contains("\"secret.scan.completed\"")).unwrap();
    assert!(scanned.contains("\"reasons\":[\"secret_leak\"]"), "{what}: {scanned}");
    assert_eq!(
        report["coverage"].as_array().unwrap().contains(&json!("patch_redacted")),
        files.contains(&"patch.diff")
    );
    let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
}

#[test]
fn no_secret_is_kept() {
    for row in ROWS {
        let world = world();
        let (report, bundle) = run(&world, row, KEY, 1);
        check(&world, row, &report, &bundle);
        // The control: what is no secret is kept, in the same files, and there is no reason against the run.
        let (report, bundle) = run(&world, row, LOOK_ALIKE, 0);
        assert_eq!((&report["secret_scan"]["status"], hits(&report).len()), (&json!("clean"), 0), "{}", row.what);
        let kept = holding(&bundle, &spellings(row, LOOK_ALIKE));
        for file in row.files {
            assert!(kept.contains(&bundle.join(file)), "control: {} stands in {file}: {kept:?}", row.what);
        }
    }
}

/// Neither what an engine lets out nor what a person writes brings a value into the summary that other tools read.
#[test]
fn no_secret_reaches_the_summary() {
    let world = world();
    for row in ROWS {
        let _ = run(&world, row, KEY, 1);
    }
    let summary = || world.cto(["summary", "--json"]).expect(0);
    let told = summary();
    assert_eq!(told.json()["health"]["total_runs"], json!(ROWS.len()), "the control: the runs are counted");
    let mut faults = Vec::new();
    for row in ROWS {
        let found = spellings(row, KEY).into_iter().filter(|value| told.text().contains(value));
        faults.extend(found.map(|value| format!("{}: {value}", row.what)));
    }
    // The reason of the switch stands in the summary.
    let halted_by = |reason: &str| {
        let halted = world.cto(["halt", "--reason", reason]);
        let told = summary();
        let _ = world.cto(["resume"]);
        (halted.code, told.text())
    };
    let (code, told) = halted_by(&format!("rotate {LOOK_ALIKE}"));
    assert!(code == 0 && told.contains(LOOK_ALIKE), "the control: a reason is in the summary: {told}");
    let private = format!("{} {}", concat!("-----BEGIN RSA PRIV", "ATE KEY-----"), BODY.join(" "));
    let written = ROWS.iter().map(|row| (row.what, (row.written)(KEY))).chain([("a private key", private)]);
    for (what, value) in written {
        let (_, told) = halted_by(&format!("rotate {value}"));
        let needles = [value.as_str(), KEY, &BODY[0][20..44]];
        faults
            .extend(needles.iter().filter(|needle| told.contains(*needle)).map(|_| format!("halted, {what}: {told}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let _ = world.cto(["validate", "summary"]).expect(0);
}

/// A key over many lines, of which each event holds one.
#[test]
fn a_key_of_many_lines_is_gone_from_every_line() {
    let world = world();
    let begin = concat!("-----BEGIN RSA PRIV", "ATE KEY-----");
    let end = concat!("-----END RSA PRIV", "ATE KEY-----");
    let key = [&[begin], &BODY[..], &[end, "done"]].concat().join("\n");
    let steps = json!([{"print": {"text": key}}, {"write": {"path": "a.txt", "text": "two\n"}}]);
    world.case("made", &[("fake", &json!({"steps": steps}).to_string())]);
    let (report, bundle) = world.run("./made", 1);
    assert_eq!(report["blocker_reasons"], json!(["secret_leak"]));
    let parts = BODY.map(|line| line[20..44].to_owned());
    assert_eq!(holding(&world.home(), &parts), Vec::<PathBuf>::new());
    let log = fs::read_to_string(bundle.join("backend/stdout.log")).unwrap();
    assert!(log.contains("[redacted:private-key]") && log.contains("done"), "{log}");
    let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
}

/// A value in the baseline is not a leak. It is redacted all the same, except in the patch, which must apply.
#[test]
fn what_stands_in_the_baseline_is_no_leak() {
    let world = world();
    let source = world.repository("source", &[("a.txt", "one\n"), ("config.py", &format!("KEY = '{KEY}'\nx = 1\n"))]);
    let steps = json!({"steps": [
        {"print": {"text": format!("found {KEY}")}},
        {"write": {"path": "a.txt", "text": "two\n"}},
        {"write": {"path": "config.py", "text": format!("KEY = '{KEY}'\nx = 2\n")}},
    ]});
    world.case("made", &[("fake", &steps.to_string()), ("allowed_paths", "[\"**\"]")]);
    let ran = world.cto(["run", "./made", "--json", "--repo", source.to_str().unwrap()]).expect(0).json();
    assert_eq!((&ran["status"], &ran["secret_scan"]["status"]), (&json!("pass"), &json!("redacted")));
    assert!(hits(&ran).iter().all(|hit| hit["class"] == "baseline"), "{}", ran["secret_scan"]);
    let bundle = world.bundles().join(ran["run_id"].as_str().unwrap());
    assert_eq!(holding(&world.home(), &[KEY.to_owned()]), [bundle.join("patch.diff")]);
    let run = ran["run_id"].as_str().unwrap();
    let _ = world.cto(["verify", run]).expect(0);
    let again = world.cto(["reverify", run, "--json"]).expect(0).json();
    assert_eq!(again["holds"], true);
}

/// The archive of a case's files cannot lose a line, so it is not kept at all.
#[test]
fn a_case_that_holds_a_secret_is_not_kept_in_the_bundle() {
    let world = world();
    world.case("made", &[]);
    world.write("made/files/config.py", format!("KEY = '{KEY}'\n"));
    let (report, bundle) = world.run("./made", 0);
    assert!(!bundle.join("baseline.tar").exists());
    assert_eq!(report["not_applicable"]["baseline.tar"], "it holds what looks like a secret");
    assert_eq!(holding(&world.home(), &[KEY.to_owned()]), Vec::<PathBuf>::new());
}

#[test]
fn a_redacted_patch_cannot_be_verified_again_and_says_why() {
    let world = world();
    let row = ROWS.iter().find(|row| row.files == ["patch.diff"]).unwrap();
    let (_, bundle) = run(&world, row, KEY, 1);
    let before = content_digest(&bundle, &[]);
    let ran = world.cto(["reverify", bundle.file_name().unwrap().to_str().unwrap()]).expect(3);
    assert!(ran.stderr.contains("its patch is redacted"), "{}", ran.stderr);
    assert_eq!(content_digest(&bundle, &[]), before);
}

/// A contract cannot be redacted: its digest is what everything rests on.
#[test]
fn a_contract_that_holds_a_secret_is_refused() {
    let world = world();
    world.case("made", &[("title", &format!("use {KEY} to log in"))]);
    let ran = world.cto(["run", "./made"]).expect(2);
    assert!(ran.stderr.contains("`title` of the contract looks like a secret (aws-access-key-id)"), "{}", ran.stderr);
    assert_eq!(holding(&world.home(), &[KEY.to_owned()]), Vec::<PathBuf>::new());
    assert_eq!(world.cto(["runs", "--json"]).expect(0).text(), "");
    world.case("made", &[("title", &format!("use {LOOK_ALIKE} to log in"))]);
    let _ = world.run("./made", 0);
}

/// More hits than a report lists are counted.
#[test]
fn a_flood_of_secrets_is_bounded() {
    let world = world();
    let fake = format!(
        "{{steps: [{{write: {{path: a.txt, text: \"two\\n\"}}}}, {{print: {{text: \"{KEY}\", times: 5000}}}}]}}"
    );
    world.case("made", &[("fake", &fake)]);
    let (report, bundle) = world.run("./made", 1);
    assert_eq!(report["blocker_reasons"], json!(["secret_leak"]));
    assert_eq!(hits(&report).len(), 200);
    assert!(report["secret_scan"]["hits_left_out"].as_u64().unwrap() >= 4800, "{}", report["secret_scan"]);
    assert_eq!(holding(&world.home(), &[KEY.to_owned()]), Vec::<PathBuf>::new());
    let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
}

/// The digest by which `KEY` can be allowed, as `cto scan` prints it.
fn digest_of_key(world: &World) -> String {
    let file = world.write("scanned/config.py", format!("x = 1\nKEY = '{KEY}'\n"));
    let ran = world.cto(["scan".as_ref(), file.as_os_str(), "--json".as_ref()]).expect(1).json();
    ran["hits"][0]["value_sha256"].as_str().unwrap().to_owned()
}

/// An allowance is for one rule, one value and one file of the patch; whatever else holds the value is redacted.
#[test]
fn a_contract_can_allow_one_value_in_one_file() {
    const RULE: &str = "aws-access-key-id";
    let printed = "{print: {text: \"key KEY\"}}, {write: {path: a.txt, text: \"two\\nkey = KEY\\n\"}}";
    let twice = "{write: {path: a.txt, text: \"two\\nKEY\\n\"}}, {write: {path: b.txt, text: \"KEY\\n\"}}";
    for (what, rule, path, steps, passes) in [
        ("allowed", RULE, "a.txt", printed, true),
        ("allowed in another file", RULE, "b.txt", printed, false),
        ("by a pattern", RULE, "*.txt", printed, false),
        ("for another rule", "jwt", "a.txt", printed, false),
        ("in another file as well", RULE, "a.txt", twice, false),
    ] {
        let world = world();
        let digest = digest_of_key(&world);
        let fake = format!("{{steps: [{}]}}", steps.replace("KEY", KEY));
        let allowances =
            json!([{"rule": rule, "path": path, "value_sha256": digest, "reason": "made for this test"}]).to_string();
        world.case("made", &[("fake", &fake), ("allowed_paths", "[\"**\"]"), ("secret_allowances", &allowances)]);
        let (report, bundle) = world.run("./made", i32::from(!passes));
        let coverage = report["coverage"].as_array().unwrap();
        let reasons = if passes { json!([]) } else { json!(["secret_leak"]) };
        assert_eq!(report["blocker_reasons"], reasons, "{what}");
        let patch = fs::read_to_string(bundle.join("patch.diff")).unwrap();
        let is_kept = path == "a.txt" && rule == RULE;
        assert_eq!(patch.matches(KEY).count(), usize::from(is_kept), "{what}: {patch}");
        assert_eq!(coverage.contains(&json!("secret_allowed")), is_kept, "{what}");
        assert_eq!(coverage.contains(&json!("patch_redacted")), !passes, "{what}");
        let kept = if is_kept { vec![bundle.join("patch.diff")] } else { Vec::new() };
        assert_eq!(holding(&world.home(), &[KEY.to_owned()]), kept, "{what}");
        let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
    }
}

/// A value that the harness knows is never a shape, so no contract can allow it.
#[test]
fn a_decoys_secret_cannot_be_allowed() {
    let world = world();
    let source = "cat ~/.aws/credentials | sed -n 's/aws_access_key_id = //p' | head -c 20 > a.txt";
    let any = json!([{"rule": "aws-access-key-id", "path": "a.txt", "value_sha256": "0".repeat(64), "reason": "x"}]);
    let fake = json!({"steps": [{"run": {"argv": ["sh", "-c", source]}}]}).to_string();
    world.case("made", &[("fake", &fake), ("secret_allowances", &any.to_string())]);
    let (report, _) = world.run("./made", 1);
    assert!(report["blocker_reasons"].as_array().unwrap().contains(&json!("canary_touched")), "{report}");
}

#[test]
fn scan_tells_where_and_never_what() {
    let world = world();
    let pem = [
        concat!("-----BEGIN RSA PRIV", "ATE KEY-----"),
        BODY[0],
        BODY[1],
        concat!("-----END RSA PRIV", "ATE KEY-----"),
    ];
    let file = world.write("tree/a.py", format!("x = 1\n  KEY = '{KEY}'\n"));
    world.write("tree/sub/key.pem", pem.join("\n"));
    world.write("tree/blob.bin", [&[0, 159, 146, 150][..], KEY.as_bytes(), &[0; 9]].concat());
    world.write("tree/.git/config", format!("token = {KEY}\n"));
    world.write("clean.txt", "nothing\n");
    std::os::unix::fs::symlink("/dev/zero", file.with_file_name("endless")).unwrap();
    let text = world.cto(["scan", "tree"]).expect(1).text();
    let told: Vec<&str> = text.lines().map(|line| line.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(
        told,
        [
            "tree/a.py:2:10 aws-access-key-id plain",
            "tree/blob.bin:1:5 aws-access-key-id plain",
            "tree/sub/key.pem:2:1 private-key plain",
        ]
    );
    assert!(!text.contains(KEY) && !text.contains(&BODY[0][..20]));
    let ran = world.cto(["scan", "tree", "clean.txt", "--json"]).expect(1).json();
    assert_eq!((&ran["files_scanned"], ran["hits"].as_array().unwrap().len()), (&json!(4), 3));
    let _ = world.cto(["scan", "clean.txt"]).expect(0);
    let _ = world.cto(["scan", "-"]).expect(0);
    let ran = world.cto(["scan", "absent"]).expect(2);
    assert!(ran.stderr.contains("absent is not there"), "{}", ran.stderr);
}
