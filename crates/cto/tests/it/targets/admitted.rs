//! The target's admission: each key missing or wrong, and each signature that does not count, blocks before anything starts.

use std::fs;

use serde_json::Value;
use testkit::each_row;

use super::{ALL_ACTIONS, Scene, reasons};

/// One key of the record as it should not be; without a value it is left out.
type Wrong = (&'static str, Option<&'static str>, &'static str, &'static str);

const NOT: &str = "target_not_admitted";

const WRONG: &[Wrong] = &[
    ("admission_status", None, NOT, "invalid_admission"),
    ("admission_status", Some("not_admitted"), NOT, "not_admitted"),
    ("admission_status", Some("maybe"), NOT, "invalid_admission"),
    ("target_repository_path", None, NOT, "invalid_admission"),
    ("target_repository_path", Some("\"\""), NOT, "invalid_admission"),
    ("target_repository_path", Some("here/target"), NOT, "invalid_admission"),
    ("target_repository_path", Some("/nowhere/target"), "source_missing", "admitted"),
    ("repository_owner", None, "unowned_repository", "invalid_admission"),
    ("repository_owner", Some("\"\""), "unowned_repository", "invalid_admission"),
    ("ownership_evidence", None, "unowned_repository", "invalid_admission"),
    ("ownership_evidence", Some("\" \""), "unowned_repository", "invalid_admission"),
    ("ownership_evidence", Some("\"<FILL IN: where>\""), NOT, "invalid_admission"),
    ("risk_classification", None, "critical_repository", "invalid_admission"),
    ("risk_classification", Some("critical"), "critical_repository", "invalid_admission"),
    ("risk_classification", Some("low_risk"), "critical_repository", "invalid_admission"),
    ("noncritical_rationale", None, NOT, "invalid_admission"),
    ("noncritical_rationale", Some("\"\""), NOT, "invalid_admission"),
    ("allowed_paths", None, NOT, "invalid_admission"),
    ("allowed_paths", Some("[]"), NOT, "invalid_admission"),
    ("allowed_paths", Some("[../up]"), NOT, "invalid_admission"),
    ("allowed_paths", Some("a.txt"), NOT, "invalid_admission"),
    ("forbidden_paths", None, NOT, "invalid_admission"),
    ("forbidden_paths", Some("['[']"), NOT, "invalid_admission"),
    ("forbidden_actions", None, NOT, "invalid_admission"),
    ("forbidden_actions", Some("[]"), NOT, "invalid_admission"),
    ("forbidden_actions", Some("[push, merge, deploy, close, pr_open]"), NOT, "invalid_admission"),
    ("forbidden_actions", Some("[sing]"), NOT, "invalid_admission"),
    ("approval_source", None, NOT, "invalid_admission"),
    ("approval_source", Some("\"\""), NOT, "invalid_admission"),
    ("approval_timestamp", None, NOT, "invalid_admission"),
    ("approval_timestamp", Some("yesterday"), NOT, "invalid_admission"),
    ("approval_timestamp", Some("\"2026-11-01T10:00:00\""), NOT, "invalid_admission"),
    ("operator_outcome_required", None, NOT, "invalid_admission"),
    ("operator_outcome_required", Some("false"), NOT, "invalid_admission"),
    ("operator_outcome_required", Some("\"true\""), NOT, "invalid_admission"),
    ("review_trigger", None, NOT, "invalid_admission"),
    ("review_trigger", Some("\"\""), NOT, "invalid_admission"),
    ("schema_version", Some("\"1\""), NOT, "invalid_admission"),
    ("admission_status", Some("admitted\nadmission_status: admitted"), NOT, "invalid_admission"),
];

/// Record that admits, with one line changed, added or left out.
fn with_line(text: &str, key: &str, value: Option<&str>) -> String {
    let kept = text.lines().filter(|line| !line.starts_with(&format!("{key}: "))).map(|line| format!("{line}\n"));
    let changed = value.map(|value| format!("{key}: {value}\n"));
    kept.chain(changed).collect()
}

/// Runs and shows that nothing started, nothing was touched, and that report and event have the reason.
fn refused(scene: &Scene, reason: &str) -> Value {
    let before = scene.untouched();
    let ran = scene.world.cto(scene.words("run", "5"));
    assert_eq!(ran.code, 3, "{ran:?}");
    let report = ran.json();
    assert_eq!(reasons(&report), reason, "{:#}", report["blockers"]);
    assert_eq!((&report["engine"]["process_started"], &report["target_commit"]), (&false.into(), &Value::Null));
    assert_eq!(report["allowed_mutation_scope"], "explicitly owned low-risk repository only");
    assert_eq!((scene.untouched(), scene.branches().len()), (before, 0));
    let events = scene.events(&report);
    let blocked = events.iter().find(|event| event["type"] == "backend.gate.blocked").unwrap();
    assert!(blocked["data"].to_string().contains(reason), "{blocked}");
    let blocker = &report["blockers"][0];
    assert!(!blocker["remedy"].as_str().unwrap().is_empty(), "{blocker}");
    report
}

#[test]
fn each_key_of_the_record_must_be_there_and_right() {
    let Some(scene) = Scene::new("each_key_of_the_record_must_be_there_and_right") else { return };
    let good = fs::read_to_string(scene.world.here().join("target.yaml")).unwrap();
    let names = WRONG.iter().map(|(key, value, ..)| format!("{key}: {}", value.unwrap_or("left out")));
    each_row(names.zip(WRONG), |(key, value, reason, status)| {
        scene.world.write("target.yaml", with_line(&good, key, *value));
        scene.sign("target.yaml", &scene.key());
        let report = refused(&scene, reason);
        assert_eq!(report["target_repository_admission_status"], *status);
    });
    for action in ALL_ACTIONS.trim_matches(['[', ']']).split(", ") {
        let left: Vec<&str> = ALL_ACTIONS.trim_matches(['[', ']']).split(", ").filter(|one| *one != action).collect();
        let text = with_line(&good, "forbidden_actions", Some(&format!("[{}]", left.join(", "))));
        scene.world.write("target.yaml", text);
        scene.sign("target.yaml", &scene.key());
        let report = refused(&scene, NOT);
        assert!(report["blockers"][0]["text"].as_str().unwrap().contains(action), "{report:#}");
    }
    fs::remove_file(scene.world.here().join("target.yaml.sig")).unwrap();
    fs::remove_file(scene.world.here().join("target.yaml")).unwrap();
    let gone = scene.world.cto(scene.words("run", "5"));
    assert!(gone.code == 2 || gone.code == 3, "{gone:?}");
    scene.world.write("target.yaml", &good);
    scene.sign("target.yaml", &scene.key());
    assert_eq!(reasons(&scene.run("5", 3)), "approval_missing", "the control: the record admits, and nobody approved");
    scene.approve("5");
    assert!(scene.run("5", 0)["target_commit"].is_string(), "the control");
}

/// A signature of the record that does not count, and words of the refusal.
type Unsigned = (&'static str, fn(&Scene), &'static str);

const UNSIGNED: &[Unsigned] = &[
    ("none", |it| fs::remove_file(it.world.here().join("target.yaml.sig")).unwrap(), "is not signed"),
    ("no signature", |it| drop(it.world.write("target.yaml.sig", "no signature\n")), "signature"),
    ("of other bytes", |it| it.admit_after_signing(), "signature"),
    ("for another namespace", |it| it.sign_for("cto-approval@v1", "target.yaml", &it.key()), "signature"),
    (
        "of another document",
        |it| {
            it.world.write("other.yaml", "admission_status: not_admitted\n");
            it.sign("other.yaml", &it.key());
            fs::rename(it.world.here().join("other.yaml.sig"), it.world.here().join("target.yaml.sig")).unwrap();
        },
        "signature",
    ),
    ("by a key that is not listed", |it| it.sign("target.yaml", &it.make_unlisted_key("stranger")), "is not listed"),
    (
        "by a key of another purpose",
        |it| it.sign("target.yaml", &it.make_key("narrow", &["namespaces=\"cto-approval@v1\""])),
        "for another purpose",
    ),
    (
        "by a key that is over",
        |it| {
            let options = ["namespaces=\"cto-*\"", "valid-before=\"20200101Z\""];
            it.sign("target.yaml", &it.make_key("over", &options));
        },
        "was not valid any more",
    ),
    (
        "by a key that has not begun",
        |it| {
            let options = ["namespaces=\"cto-*\"", "valid-after=\"20990101Z\""];
            it.sign("target.yaml", &it.make_key("early", &options));
        },
        "was not valid yet",
    ),
    (
        "by a key that somebody else has had",
        |it| {
            let key = it.make_key("stolen", &[]);
            it.sign("target.yaml", &key);
            let words =
                ["trust", "key", "compromised", "stolen", "--since", "2026-01-01T00:00:00Z", "--reason", "lost"];
            let _ = it.world.cto(words).expect(0);
        },
        "compromised",
    ),
    (
        "by a short key",
        |it| {
            let path = it.world.user().join("short");
            it.keygen(&["-q", "-t", "rsa", "-b", "2048", "-N", "", "-C", "short", "-f", path.to_str().unwrap()]);
            it.list_key("short", &[], &path);
            it.sign("target.yaml", &path);
        },
        "2048",
    ),
];

impl Scene {
    /// Signs the record, then changes a byte of it.
    fn admit_after_signing(&self) {
        let text = fs::read_to_string(self.world.here().join("target.yaml")).unwrap();
        self.world.write("target.yaml", text + "\n");
    }
}

#[test]
fn a_record_counts_at_stage_5_only_with_a_signature_that_counts() {
    let Some(scene) = Scene::new("a_record_counts_at_stage_5_only_with_a_signature_that_counts") else { return };
    let path = scene.target.display().to_string();
    each_row(UNSIGNED.iter().map(|row| (row.0, row)), |(name, spoil, words)| {
        scene.admit("admitted");
        assert_eq!(reasons(&scene.run("5", 3)), "approval_missing", "the control");
        spoil(&scene);
        let report = refused(&scene, NOT);
        let text = report["blockers"][0]["text"].as_str().unwrap();
        assert!(text.contains(words), "{name}: {text}");
        assert_ne!(report["target_repository_admission_status"], "admitted", "{name}");
        assert!(!report.to_string().contains(&path), "{name}: a target that is not admitted is named: {report:#}");
    });
}
