//! Records: drafted, filled in, signed, checked.

use std::fs;

use serde_json::{Value, json};

use super::scene::{RECORD, TrustScene, filled_in, has_keygen};

#[test]
fn a_target_is_drafted_filled_in_signed_and_good() {
    if !has_keygen("a_target_is_drafted_filled_in_signed_and_good") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("alice", &["-t", "ed25519"]);
    let repository = scene.repository("depot");
    let drafted = scene.cto(&["admit", "target", repository.to_str().unwrap(), "--json"]).expect(0).json();
    assert_eq!(drafted["status"], "not_admitted");
    let file = drafted["file"].as_str().unwrap();
    assert!(file.ends_with("admissions/target/depot.yaml") && drafted["next"] == format!("cto record sign {file}"));
    let text = fs::read_to_string(file).unwrap();
    let keys = text.lines().filter(|line| !line.starts_with('#')).count();
    let path = repository.canonicalize().unwrap().display().to_string();
    assert!(keys == 13 && text.contains(&format!("target_repository_path: \"{path}\"\n")), "{text}");
    let check = |code| scene.cto(&["record", "check", file, "--json"]).expect(code).json();
    let sign = |code| scene.cto(&["record", "sign", file, "--key", key.to_str().unwrap()]).expect(code);
    let row = check(1);
    assert_eq!((&row["status"], &row["good_for"]), (&json!("not_admitted"), &Value::Null), "{row}");
    assert!(sign(1).stderr.contains("still holds the placeholder of a draft"));
    // One word does not admit it.
    fs::write(file, text.replace("\"not_admitted\"", "admitted")).unwrap();
    assert!(check(1)["problem"].as_str().unwrap().contains("placeholder"));
    let _ = scene.cto(&["admit", "target", "--check", file]).expect(1);
    fs::write(file, filled_in(&path)).unwrap();
    let row = check(1);
    assert_eq!((&row["signed_by"], &row["good_for"]), (&Value::Null, &Value::Null), "unsigned: {row}");
    assert_eq!(row["next"], format!("cto record sign {file}"));
    let _ = sign(0);
    let row = check(0);
    assert_eq!((&row["kind"], &row["good_for"]["first_stage"]), (&json!("target"), &json!(5)), "{row}");
    let _ = scene.cto(&["admit", "target", "--check", file]).expect(0);
    let again = scene.cto(&["admit", "target", repository.to_str().unwrap()]).expect(2);
    assert!(again.stderr.contains("never overwritten"), "{again:?}");
    let listed = scene.cto(&["records", "--json"]).expect(0).json();
    assert!(listed.as_array().unwrap().iter().any(|row| row["kind"] == "target" && row["subject"] == path.as_str()));
    let nothing = scene.cto(&["admit", "target", scene.world.here().to_str().unwrap()]).expect(2);
    assert!(nothing.stderr.contains("it has no .git"), "{nothing:?}");
}

/// Change of a record that could be signed, and the words against it.
type Refusal = (&'static str, fn(String) -> String, &'static str);

const REFUSALS: &[Refusal] = &[
    (
        "placeholder",
        |it| it.replace("every year", "\"<FILL IN: when>\""),
        "`review_trigger` still holds the placeholder",
    ),
    ("placeholder in small letters", |it| it.replace("[src/]", "[\"<fill in>\"]"), "placeholder"),
    // In two parts, so that it is not one in this file either.
    ("secret", |it| it.replace("every year", &["sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"].concat()), "secret-shaped"),
    ("unknown key", |it| it + "further: 1\n", "further"),
    ("key twice", |it| it + "review_trigger: never\n", "review_trigger"),
    ("relative path", |it| it.replace("/srv/site", "srv/site"), "not a plain absolute path"),
    ("time", |it| it.replace("2026-01-01", "soon"), "`approval_timestamp`"),
    ("no record", |_| "hello: world\n".to_owned(), ""),
];

#[test]
fn a_record_that_is_not_whole_is_not_signed() {
    if !has_keygen("a_record_that_is_not_whole_is_not_signed") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("alice", &["-t", "ed25519"]);
    testkit::each_row(REFUSALS.iter().map(|row| (row.0, row)), |(name, change, words)| {
        scene.write_record(change);
        let ran = scene.sign(&key).expect(1);
        assert!(ran.stderr.contains(words) && !scene.signature().exists(), "{name}: {ran:?}");
    });
    scene.write_record(|text| text);
    let _ = scene.sign(&key).expect(0);
    let elsewhere = scene.world.write("notes.yaml", "hello: world\n");
    let ran = scene.cto(&["record", "check", elsewhere.to_str().unwrap()]).expect(2);
    assert!(ran.stderr.contains("is no record") && ran.stderr.contains("cto admit"), "{ran:?}");
    let _ = scene.cto(&["record", "check", "nothing.yaml"]).expect(2);
}

#[test]
fn a_signature_that_holds_stays_until_it_is_replaced_by_request() {
    if !has_keygen("a_signature_that_holds_stays_until_it_is_replaced_by_request") {
        return;
    }
    let scene = TrustScene::new();
    let (alice, bob) = (scene.trust_key("alice", &["-t", "ed25519"]), scene.trust_key("bob", &["-t", "ed25519"]));
    let _ = scene.sign(&alice).expect(0);
    let kept = fs::read(scene.signature()).unwrap();
    let refused = scene.sign(&bob).expect(2);
    assert!(refused.stderr.contains("holds already") && refused.stderr.contains("--replace"), "{refused:?}");
    assert_eq!(fs::read(scene.signature()).unwrap(), kept);
    let _ = scene.cto(&["record", "sign", RECORD, "--replace", "--key", bob.to_str().unwrap()]).expect(0);
    assert!(scene.keygen_verifies("bob"));
    // A signature that does not hold makes way by itself.
    for text in ["no signature\n".to_owned(), String::from_utf8(kept).unwrap().replace('A', "B")] {
        fs::write(scene.signature(), text).unwrap();
        assert_eq!(scene.check()["usable"], false);
        let _ = scene.sign(&alice).expect(0);
        assert!(scene.keygen_verifies("alice"));
    }
}

/// Parts left out of an admission that says `admitted`, and the words.
const DEFECTS: &[(&str, &str, &str)] = &[
    ("ownership_evidence: records/site.md\n", "", "`ownership_evidence` is not filled in"),
    ("low_risk_noncritical", "production", "`risk_classification` is `production`"),
    ("[src/]", "[]", "`allowed_paths` is not filled in"),
    ("push, ", "", "leaves out push"),
    ("approval_source: the operator\n", "", "`approval_source` is not filled in"),
    ("operator_outcome_required: true", "operator_outcome_required: false", "`operator_outcome_required` is not true"),
];

#[test]
fn a_target_that_lacks_something_is_good_for_no_stage() {
    let scene = TrustScene::new();
    for (from, to, words) in DEFECTS {
        scene.write_record(|text| text.replace(from, to));
        let row = scene.cto(&["record", "check", RECORD, "--json"]).expect(1).json();
        assert!(row["problem"].as_str().unwrap().contains(words) && row["good_for"].is_null(), "{from}: {row}");
    }
    scene.write_record(|text| text);
    assert_eq!(scene.check()["problem"], Value::Null, "the control");
}

/// The operator's own records load unaltered.
#[test]
fn the_operators_own_records_are_usable() {
    let scene = TrustScene::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");
    for (name, kind, stages) in [
        ("decisions/provider.yaml", "provider decision", json!({"first_stage": 2, "last_stage": 4})),
        ("admissions/model/openai-codex__gpt-5.5.json", "model", json!({"first_stage": 2, "last_stage": 4})),
        ("admissions/model/qwen-local__qwen3.6-35b-a3b.json", "model", json!({"first_stage": 2, "last_stage": 4})),
    ] {
        let file = scene.world.write(name, fs::read(format!("{examples}/{name}")).unwrap());
        let row = scene.cto(&["record", "check", file.to_str().unwrap(), "--json"]).expect(0).json();
        assert_eq!((&row["kind"], &row["good_for"], &row["usable"]), (&json!(kind), &stages, &json!(true)), "{row}");
    }
    let _ = scene.cto(&["records"]).expect(0);
}

#[test]
fn what_is_said_of_a_record_reads_the_same_on_a_pipe_and_in_json() {
    let scene = TrustScene::new();
    let said = scene.cto(&["record", "check", RECORD]).expect(1).text();
    let expected =
        ["unsigned ", "kind target", "subject /srv/site", "status admitted", "signed_by nobody", "good_for no stage"];
    assert!(expected.iter().all(|words| said.lines().any(|line| line.starts_with(words))), "{said}");
    let shown = scene.world.on_terminal(["record", "check", RECORD]);
    assert_eq!((shown.code, shown.screen()[0].starts_with("unsigned  ")), (1, true), "{:?}", shown.screen());
}

/// The operator's own records, as they ship.
const EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "decisions/provider.yaml",
        "provider-decision",
        include_str!("../../../../../docs/examples/decisions/provider.yaml"),
    ),
    (
        "admissions/model/qwen.json",
        "model-admission",
        include_str!("../../../../../docs/examples/admissions/model/qwen-local__qwen3.6-35b-a3b.json"),
    ),
    (
        "admissions/model/codex.json",
        "model-admission",
        include_str!("../../../../../docs/examples/admissions/model/openai-codex__gpt-5.5.json"),
    ),
];

#[test]
fn the_operators_own_records_are_signed_unaltered_and_held_by_ssh_keygen() {
    if !has_keygen("the_operators_own_records_are_signed_unaltered_and_held_by_ssh_keygen") {
        return;
    }
    let scene = TrustScene::new();
    let key = scene.trust_key("alice", &["-t", "ed25519"]);
    testkit::each_row(EXAMPLES.iter().map(|row| (row.0, row)), |(file, schema, text)| {
        let record = scene.world.write(file, text);
        let schema = scene.cto(&["schema", schema]).expect(0).json();
        let value = contract::source::read(file, text).node.unwrap().to_value();
        assert!(jsonschema::is_valid(&schema, &value), "{value:#}");
        let _ = scene.cto(&["record", "sign", file, "--key", key.to_str().unwrap()]).expect(0);
        assert_eq!(fs::read_to_string(&record).unwrap(), *text, "signing alters nothing");
        let checked = scene.cto(&["record", "check", file, "--json"]).expect(0).json();
        assert_eq!((&checked["usable"], &checked["good_for"]["last_stage"]), (&json!(true), &json!(6)), "{checked}");
        let verifies = |file: &std::path::Path| {
            let mut command = testkit::program("ssh-keygen", &scene.world.here());
            command.args(["-Y", "verify", "-n", "cto-record@v1", "-I", "alice", "-f"]).arg(scene.signers());
            command.arg("-s").arg(format!("{}.sig", record.display())).stdin(fs::File::open(file).unwrap());
            command.output().unwrap().status.success()
        };
        assert!(verifies(&record), "the control");
        let edited = scene.world.write("edited", format!("{text}\n"));
        assert!(!verifies(&edited), "after an edit");
        fs::write(&record, format!("{text}\n")).unwrap();
        assert_eq!(scene.cto(&["record", "check", file, "--json"]).json()["usable"], false, "after an edit");
    });
}
