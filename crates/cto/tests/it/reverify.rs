//! `cto reverify`: repeats the exam of a sealed run today, without touching its bundle.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::{Value, json};
use testkit::{World, content_digest, contract_text, git};

use crate::world;

/// Reverifies and gives the document; shows that the bundle is as it was and that a statement about it was signed.
fn again(world: &World, bundle: &Path, more: &[&str], code: i32) -> Value {
    let before = content_digest(bundle, &[]);
    let name = bundle.file_name().unwrap().to_str().unwrap();
    let words: Vec<&str> = ["reverify", name, "--json"].iter().chain(more).copied().collect();
    let document = world.cto(words).expect(code).json();
    assert_eq!(content_digest(bundle, &[]), before, "the bundle is only read");
    let statement = PathBuf::from(document["statement"].as_str().expect("a statement"));
    let envelope: Value = serde_json::from_slice(&fs::read(statement).unwrap()).unwrap();
    let payload = base64::engine::general_purpose::STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    let attestation = contract::Digest::of_bytes(&fs::read(bundle.join("attestation.dsse.json")).unwrap());
    assert_eq!(payload["subject"][0]["digest"]["sha256"], attestation.to_string());
    assert_eq!(payload["predicate"]["holds"], document["holds"]);
    document
}

fn verdicts(document: &Value) -> (&str, &str, bool) {
    let text = |key: &str| document[key].as_str().unwrap();
    (text("verdict_then"), text("verdict_now"), document["holds"].as_bool().unwrap())
}

#[test]
fn a_pass_holds_today() {
    let world = world();
    let (_, bundle) = world.run("r1-string-slugify", 0);
    let document = again(&world, &bundle, &[], 0);
    assert_eq!(verdicts(&document), ("pass", "pass", true));
    assert_eq!(document["verification"]["result"], "pass");
    assert_eq!(document["blockers"], json!([]));
    let _ = world.cto(["verify".as_ref(), bundle.as_os_str()]).expect(0);
}

#[test]
fn a_verdict_that_no_longer_holds_is_told() {
    let world = world();
    let answer = world.write("answers/answer.txt", "two\n");
    let environment = json!({"mounts": [{"source": answer.parent().unwrap(), "target": "/opt/answers"}]}).to_string();
    let commands = json!([["cmp", "a.txt", "/opt/answers/answer.txt"]]).to_string();
    let case = world.case("case", &[("verification_commands", &commands), ("environment", &environment)]);
    let (_, bundle) = world.run(case.to_str().unwrap(), 0);
    fs::write(&answer, "three\n").unwrap();
    let document = again(&world, &bundle, &[], 1);
    assert_eq!(verdicts(&document), ("pass", "fail", false));
    assert_eq!(document["blockers"][0]["reason"], "verification_failed");
}

/// The shape of a cloud key, in two parts so that this file does not hold one, and the same for nobody: one letter off.
const KEY: &str = concat!("AK", "IAQ3EGRIZD7KWNV2TB");
const LOOK_ALIKE: &str = concat!("AK", "IBQ3EGRIZD7KWNV2TB");

/// Tests are named by the code under test, and a name can be anything.
#[test]
fn a_secret_among_the_names_of_tests_is_not_signed() {
    for (name, kept) in [(KEY, false), (LOOK_ALIKE, true)] {
        let world = world();
        let tests = |more: &str| {
            let words = "echo 'test_a (t.T.test_a) ... ok'";
            let end = "echo; echo ----------------------------------------------------------------------";
            format!("exec >&2\n{words}\n{more}\n{end}\necho 'Ran 1 test in 0.001s'; echo; echo OK\n")
        };
        let script = world.write("tools/tests.sh", tests(""));
        let environment = json!({"mounts": [{"source": script.parent().unwrap(), "target": "/opt/tools"}]}).to_string();
        let commands = json!([["sh", "/opt/tools/tests.sh"]]).to_string();
        let case = world.case("case", &[("verification_commands", &commands), ("environment", &environment)]);
        let (_, bundle) = world.run(case.to_str().unwrap(), 0);
        // A test that the baseline runs and the result does not is named in the verdict of today.
        let more = format!("grep -q one a.txt && echo 'test_{name} (t.T.test_{name}) ... ok'");
        fs::write(&script, tests(&more)).unwrap();
        let document = again(&world, &bundle, &[], 1);
        assert_eq!(document["blockers"][0]["reason"], "verification_weakened", "{document}");
        let text = document.to_string();
        assert_eq!((text.contains(name), text.contains("[redacted:")), (kept, !kept), "{text}");
        let statement = fs::read(document["statement"].as_str().unwrap()).unwrap();
        let envelope: Value = serde_json::from_slice(&statement).unwrap();
        let payload = base64::engine::general_purpose::STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
        assert_eq!(String::from_utf8(payload).unwrap().contains(name), kept);
    }
}

#[test]
fn a_stricter_contract_can_take_a_verdict_away() {
    let world = world();
    let case = world.case("case", &[]);
    let (_, bundle) = world.run(case.to_str().unwrap(), 0);
    for (changes, reason) in [
        (&[("verification_commands", "[[grep, -qx, three, a.txt]]")][..], "verification_failed"),
        (&[("allowed_paths", "[b.txt]")][..], "disallowed_file_change"),
        (&[("forbidden_paths", "[a.txt]")][..], "forbidden_path_change"),
    ] {
        let stricter = world.write("stricter.yaml", contract_text(changes));
        let document = again(&world, &bundle, &["--contract", stricter.to_str().unwrap()], 1);
        assert_eq!((verdicts(&document), &document["another_contract"]), (("pass", "fail", false), &json!(true)));
        assert_eq!(document["blockers"][0]["reason"], reason);
    }
}

#[test]
fn a_looser_contract_gives_no_better_verdict() {
    let world = world();
    let steps = r#"{steps: [{write: {path: a.txt, text: "two\n"}}, {write: {path: b.txt, text: "x"}}]}"#;
    let case = world.case("case", &[("fake", steps)]);
    let (report, bundle) = world.run(case.to_str().unwrap(), 1);
    assert_eq!(report["blocker_reasons"], json!(["disallowed_file_change"]));
    let looser = world.write("looser.yaml", contract_text(&[("allowed_paths", "[a.txt, b.txt]")]));
    let document = again(&world, &bundle, &["--contract", looser.to_str().unwrap()], 0);
    assert_eq!(verdicts(&document), ("fail", "fail", true));
}

#[test]
fn what_was_seen_while_the_engine_ran_still_stands() {
    let world = world();
    let steps = r#"{steps: [{write: {path: a.txt, text: "two\n"}}, {exit: {code: 3}}]}"#;
    let case = world.case("case", &[("fake", steps)]);
    let (_, bundle) = world.run(case.to_str().unwrap(), 1);
    let document = again(&world, &bundle, &[], 0);
    assert_eq!(verdicts(&document), ("fail", "fail", true));
    assert_eq!(document["blockers"][0]["reason"], "engine_failed");
    assert_eq!(document["verification"]["result"], "pass");
}

#[test]
fn a_repository_gives_the_old_commit_even_when_it_moved_on() {
    let world = world();
    let repository = world.repository("source", &[("a.txt", "one\n")]);
    let case = world.case("case", &[]);
    let words = ["run", case.to_str().unwrap(), "--repo", repository.to_str().unwrap(), "--json"];
    let report = world.cto(words).expect(0).json();
    let bundle = world.bundles().join(report["run_id"].as_str().unwrap());
    fs::write(repository.join("a.txt"), "another\n").unwrap();
    git(&repository, ["commit", "-q", "-a", "-m", "later"]);
    let document = again(&world, &bundle, &[], 0);
    assert_eq!(verdicts(&document), ("pass", "pass", true));

    fs::rename(&repository, world.path().join("gone")).unwrap();
    let refused = world.cto(["reverify", "@", "--json"]).expect(3).json();
    let text = refused.to_string();
    assert!(text.contains("baseline") && text.contains("bring the repository back"), "{text}");
}

#[test]
fn what_cannot_be_held_again_says_why() {
    let world = world();
    let statements = || world.home().join("statements").exists();
    let (_, blocked) = world.run("fail-missing-test-command", 3);
    let ran = world.cto(["reverify".as_ref(), blocked.as_os_str()]).expect(3);
    assert!(ran.stderr.contains("has no result"), "{}", ran.stderr);

    let (_, bundle) = world.run("r1-string-slugify", 0);
    let other = world.write("other.yaml", contract_text(&[]));
    let ran = world.cto(["reverify", "@", "--contract", other.to_str().unwrap()]).expect(3);
    assert!(ran.stderr.contains("for task `made`"), "{}", ran.stderr);

    let patch = bundle.join("patch.diff");
    let mut bytes = fs::read(&patch).unwrap();
    bytes.push(b'\n');
    fs::write(&patch, bytes).unwrap();
    let ran = world.cto(["reverify".as_ref(), bundle.as_os_str()]).expect(1);
    assert!(ran.stderr.contains("does not verify"), "{}", ran.stderr);
    assert!(!statements(), "nothing was stated");
    let _ = world.cto(["reverify", "nothing-of-that-name"]).expect(2);
}

#[test]
fn it_is_in_the_ledger_and_leaves_nothing_to_work_in() {
    let world = world();
    let (report, bundle) = world.run("r1-string-slugify", 0);
    again(&world, &bundle, &[], 0);
    let ledger = ledger::Ledger::open_existing_read_only(&world.home().join("ledger.db")).unwrap();
    assert!(ledger.verify().unwrap().problems.is_empty());
    let last = ledger.head().unwrap();
    assert_eq!(last.seq, 4, "started, engine, sealed, reverified: {}", testkit::outcome_of(&report));
    assert_eq!(fs::read_dir(world.home().join("work")).unwrap().count(), 0);
}
