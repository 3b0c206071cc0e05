//! Records of an engine and its model at stage 5: each must be there, right, and signed by a key that may sign records. The rung below is
//! missing all the while, which every row says beside its own reason; with every record right there is no other reason.

mod decided;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{each_row, git, program};

use super::scene::{Scene, TASK, good, reasons};

const SOURCE: &str = "admissions/source/case.yaml";
const MODEL: &str = "records/qwen-local.json";
const TARGET: &str = "target.yaml";

/// A workspace with every record of a stage 5 run, signed.
struct Governed {
    scene: Scene,
    key: PathBuf,
    source: String,
    model: Value,
    target: PathBuf,
    asked: usize,
}

impl Governed {
    fn new(test: &str) -> Option<Self> {
        if program("ssh-keygen", Path::new("/")).arg("-?").output().is_err() {
            testkit::skip(test, "there is no ssh-keygen");
            return None;
        }
        let mut scene = Scene::new(good());
        scene.set("CTO_HARNESS_CASE_STAGE", "5");
        let _ = scene.cto(&["key", "init"]).expect(0);
        let key = scene.world.home().join("keys/operator");
        let target = scene.world.repository("target", &[("strings.py", "text\n")]);
        let _ = scene.cto(&["admit", "source", "case"]).expect(0);
        let draft = fs::read_to_string(scene.world.here().join(SOURCE)).unwrap();
        let source = testkit::fill_in(&draft)
            .replace("status: \"draft\"", "status: admitted")
            .replace("license_status: \"unresolved\"", "license_status: resolved")
            .replace("\"copied-fixture\"", "\"owned-noncritical-repo\"");
        let model = serde_json::from_slice(&fs::read(scene.world.here().join(MODEL)).unwrap()).unwrap();
        let governed = Self { asked: scene.server.asked().len(), scene, key, source, model, target };
        governed.allow("");
        governed.scene.world.write(TARGET, governed.admission());
        governed.sign(TARGET, &governed.key, "cto-record@v1");
        governed.settle();
        Some(governed)
    }

    fn admission(&self) -> String {
        format!(
            "admission_status: admitted\ntarget_repository_path: {}\nrepository_owner: Ada\nownership_evidence: notes/1\n\
             risk_classification: low_risk_noncritical\nnoncritical_rationale: a toy\nallowed_paths: [strings.py]\n\
             forbidden_paths: []\nforbidden_actions: [push, merge, deploy, close, pr_open, issue_close, public_publication, \
             credential_change, vendor_source_mutation, cortex_core_mutation]\napproval_source: Ada\n\
             approval_timestamp: 2026-11-01\noperator_outcome_required: true\nreview_trigger: never\n",
            self.target.display()
        )
    }

    /// The operator may sign, and every other key with a line.
    fn allow(&self, more: &str) {
        let public = fs::read_to_string(self.key.with_extension("pub")).unwrap();
        self.scene.world.write_own("trust/allowed_signers", format!("ada namespaces=\"cto-*\" {public}{more}"));
    }

    fn sign(&self, file: &str, key: &Path, namespace: &str) {
        let _ = fs::remove_file(self.scene.world.here().join(format!("{file}.sig")));
        let ran = program("ssh-keygen", &self.scene.world.here())
            .args(["-q", "-Y", "sign", "-n", namespace, "-f"])
            .args([key, Path::new(file)])
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }

    /// Every record as it should be.
    fn settle(&self) {
        self.allow("");
        self.scene.world.write(SOURCE, &self.source);
        self.scene.world.write(MODEL, self.model.to_string());
        for file in [SOURCE, MODEL] {
            self.sign(file, &self.key, "cto-record@v1");
        }
    }

    /// A key with words beside it in the list; none where it is not listed.
    fn stranger(&self, name: &str, options: Option<&str>) -> PathBuf {
        let path = self.scene.world.user().join(name);
        if !path.exists() {
            let made = program("ssh-keygen", &self.scene.world.here())
                .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
                .arg(&path)
                .output()
                .unwrap();
            assert!(made.status.success());
        }
        let public = fs::read_to_string(path.with_extension("pub")).unwrap();
        self.allow(&options.map_or_else(String::new, |options| format!("{name} {options} {public}")));
        path
    }

    /// The case with a contract that goes as far as stage 5.
    fn case(&self) -> String {
        let folder = self.scene.told("nothing");
        let file = Path::new(&folder).join("case.yaml");
        let text = fs::read_to_string(&file).unwrap();
        let text = text.lines().map(|line| match line.starts_with("mutation_mode:") {
            true => "mutation_mode: candidate-default\n".to_owned(),
            false => format!("{line}\n"),
        });
        fs::write(&file, text.collect::<String>()).unwrap();
        folder
    }

    /// Reasons of a run at stage 5, beside that of the rung, and the text of the first of them.
    fn refusal(&self) -> (String, String) {
        let case = self.case();
        let before = git(&self.target, ["for-each-ref"]);
        let (report, _) = self.scene.run_named(TASK, &[&case, "--stage", "5", "--target", TARGET], 3);
        assert_eq!((&report["engine"]["process_started"], &report["target_commit"]), (&json!(false), &Value::Null));
        assert_eq!((self.scene.server.asked().len(), git(&self.target, ["for-each-ref"])), (self.asked, before));
        let mut told = reasons(&report);
        assert!(told.contains(&"stage_not_earned"), "{told:?}");
        told.retain(|reason| *reason != "stage_not_earned");
        let blockers = report["blockers"].as_array().unwrap();
        let own = blockers.iter().find(|blocker| blocker["reason"] != "stage_not_earned");
        (told.join(","), own.map_or_else(String::new, |own| own["text"].as_str().unwrap().to_owned()))
    }
}

/// A change of the line of a source admission that begins like this; nothing leaves it out.
type SourceRow = (&'static str, &'static str, Option<&'static str>, &'static str);

const SOURCE_ROWS: &[SourceRow] = &[
    ("draft", "status:", Some("status: draft"), "source_not_admitted"),
    ("no status", "status:", None, "source_not_admitted"),
    ("licence unresolved", "license_status:", Some("license_status: unresolved"), "license_unresolved"),
    ("no licence note", "license_note:", Some("license_note: \"\""), "source_not_admitted"),
    ("no note of use", "internal_use_note:", None, "license_unresolved"),
    (
        "modes of stage 4",
        "allowed_execution_modes:",
        Some("allowed_execution_modes: [sandbox-repo]"),
        "source_not_admitted",
    ),
    (
        "expired",
        "review_trigger:",
        Some("review_trigger: never\nexpires_at: 2026-01-01T00:00:00Z"),
        "source_not_admitted",
    ),
    ("to stage 4", "review_trigger:", Some("review_trigger: never\nmax_stage: 4"), "source_not_admitted"),
    ("another engine", "engine:", Some("engine: codex"), "source_not_admitted"),
    ("no approval source", "approval_source:", None, "source_not_admitted"),
    ("approved at no time", "approval_timestamp:", Some("approval_timestamp: soon"), "source_not_admitted"),
    ("fetched at no time", "retrieval_date:", Some("retrieval_date: \"\""), "source_not_admitted"),
    ("unknown key", "review_trigger:", Some("review_trigger: never\nmore: 1"), "source_not_admitted"),
    ("a placeholder", "review_trigger:", Some("review_trigger: \"<FILL IN: when>\""), "source_not_admitted"),
];

/// Keys of a source admission that only describe: without them it admits all the same.
const MAY_BE_LEFT_OUT: &[&str] = &[
    "source_url",
    "previous_source_id",
    "integrity_reference",
    "observed_branch",
    "commit_date",
    "toolchain",
    "built_at",
    "build_command",
    "package_name",
    "protected_source_boundary",
];

/// A key of a model admission as it should not be; null leaves it out.
const MODEL_ROWS: &[(&str, &str)] = &[
    ("admission_timestamp", "null"),
    ("allowed_network_class", "null"),
    ("approval_source", "null"),
    ("credential_source_class", "null"),
    ("model", "null"),
    ("model", "\"another\""),
    ("provider", "null"),
    ("provider", "\"another\""),
    ("review_trigger", "null"),
    ("status", "null"),
    ("status", "\"not_admitted\""),
    ("max_stage", "4"),
    ("expires_at", "\"2026-01-01T00:00:00Z\""),
    ("more", "1"),
];

#[test]
fn a_source_and_a_model_count_at_stage_5_only_as_their_records_should_be() {
    let Some(governed) = Governed::new("a_source_and_a_model_count_at_stage_5_only_as_their_records_should_be") else {
        return;
    };
    assert_eq!(governed.refusal().0, "", "the control: with every record right only the rung is missing");
    each_row(SOURCE_ROWS.iter().map(|row| (format!("source: {}", row.0), row)), |(_, key, value, reason)| {
        governed.settle();
        assert!(
            governed.source.lines().any(|line| line.starts_with(key)) || value.is_none(),
            "{key}: {}",
            governed.source
        );
        let changed = governed.source.lines().filter_map(|line| match line.starts_with(key) {
            true => value.map(str::to_owned),
            false => Some(line.to_owned()),
        });
        governed.scene.world.write(SOURCE, changed.map(|line| line + "\n").collect::<String>());
        governed.sign(SOURCE, &governed.key, "cto-record@v1");
        let (told, text) = governed.refusal();
        assert_eq!(told, *reason, "{text}");
    });
    let record = contract::source::read("source", &governed.source).node.unwrap().to_value();
    each_row(record.as_object().unwrap().keys().map(|key| (format!("source without {key}"), key)), |key| {
        governed.settle();
        let mut without = record.clone();
        without.as_object_mut().unwrap().remove(key);
        governed.scene.world.write(SOURCE, without.to_string());
        governed.sign(SOURCE, &governed.key, "cto-record@v1");
        let (told, text) = governed.refusal();
        assert_eq!(told.is_empty(), MAY_BE_LEFT_OUT.contains(&key.as_str()), "{told}: {text}");
    });
    each_row(MODEL_ROWS.iter().map(|row| (format!("model: {} {}", row.0, row.1), row)), |(key, value)| {
        governed.settle();
        let mut model = governed.model.clone();
        match serde_json::from_str(value).unwrap() {
            Value::Null => drop(model.as_object_mut().unwrap().remove(*key)),
            value => model[*key] = value,
        }
        governed.scene.world.write(MODEL, model.to_string());
        governed.sign(MODEL, &governed.key, "cto-record@v1");
        let (told, text) = governed.refusal();
        assert!(told.starts_with("model_not_admitted"), "{told}: {text}");
    });
    governed.settle();
    assert_eq!(governed.refusal().0, "", "the control");
}

/// A signature that does not count, and words of the refusal.
type Signature = (&'static str, fn(&Governed, &str), &'static str);

const SIGNATURES: &[Signature] = &[
    ("none", |it, file| fs::remove_file(it.scene.world.here().join(format!("{file}.sig"))).unwrap(), "is not signed"),
    ("for another namespace", |it, file| it.sign(file, &it.key, "cto-approval@v1"), "signature"),
    ("not listed", |it, file| it.sign(file, &it.stranger("unlisted", None), "cto-record@v1"), "is not listed"),
    (
        "another purpose",
        |it, file| {
            let key = it.stranger("narrow", Some("namespaces=\"cto-approval@v1\""));
            it.sign(file, &key, "cto-record@v1");
        },
        "for another purpose",
    ),
    (
        "over",
        |it, file| {
            let key = it.stranger("over", Some("namespaces=\"cto-*\",valid-before=\"20200101Z\""));
            it.sign(file, &key, "cto-record@v1");
        },
        "was not valid any more",
    ),
    (
        "compromised",
        |it, file| {
            let key = it.stranger(&format!("stolen{}", file.len()), Some("namespaces=\"cto-*\""));
            it.sign(file, &key, "cto-record@v1");
            let words =
                ["trust", "key", "compromised", key.to_str().unwrap(), "--since", "2026-01-01", "--reason", "lost"];
            let _ = it.scene.cto(&words).expect(0);
        },
        "compromised",
    ),
];

#[test]
fn a_source_and_a_model_count_at_stage_5_only_with_signatures_that_count() {
    let Some(governed) = Governed::new("a_source_and_a_model_count_at_stage_5_only_with_signatures_that_count") else {
        return;
    };
    for (file, reason) in [(SOURCE, "source_not_admitted"), (MODEL, "model_not_admitted")] {
        each_row(SIGNATURES.iter().map(|row| (format!("{file}: {}", row.0), row)), |(_, spoil, words)| {
            governed.settle();
            spoil(&governed, file);
            let (told, text) = governed.refusal();
            assert!(told.starts_with(reason) && text.contains(words), "{told}: {text}");
        });
    }
    governed.settle();
    assert_eq!(governed.refusal().0, "", "the control");
}
