//! Facts on which a pass of stages 2 to 6 rests: a signed pass in which one of them is false is refused by both verifiers, and the same
//! bundle, signed again without a lie, is taken.

use std::fs;
use std::path::{Path, PathBuf};

use evidence::HarnessKey;
use serde_json::{Value, json};
use testkit::{Forger, copy_bundle, each_row, program};

use super::scene::Scene;

/// A file of a bundle, and each fact of it with what no pass says.
type Facts = (&'static str, &'static [(&'static str, bool)]);

const FACTS: &[Facts] = &[
    ("stage2-no-target-inspection.json", &[("/passed", false)]),
    (
        "stage3-copied-repo-proof.json",
        &[
            ("/unchanged", false),
            ("/clean_start", false),
            ("/clean_end", false),
            ("/never_writable", false),
            ("/passed", false),
        ],
    ),
    (
        "stage4-disposable-sandbox-proof.json",
        &[
            ("/no_forbidden_actions", false),
            ("/public_publication_attempted", true),
            ("/push_merge_deploy_close_pr_open_attempted", true),
            ("/allowed_paths_passed", false),
            ("/forbidden_paths_passed", false),
            ("/repository_start_clean", false),
            ("/repository_ending_clean", false),
            ("/case_process_started", false),
            ("/approval/approval_consumed", false),
            ("/runtime_default_activation", true),
            ("/passed", false),
        ],
    ),
    (
        "stage5-owned-repo-proof.json",
        &[
            ("/no_forbidden_actions", false),
            ("/public_publication_attempted", true),
            ("/push_merge_deploy_close_pr_open_attempted", true),
            ("/allowed_paths_passed", false),
            ("/forbidden_paths_passed", false),
            ("/target_repository_start_clean", false),
            ("/target_repository_ending_clean", false),
            ("/case_process_started", false),
            ("/operator_outcome_required", false),
            ("/approval/approval_consumed", false),
            ("/runtime_default_activation", true),
            ("/passed", false),
        ],
    ),
    (
        "stage6-candidate-default-comparison.json",
        &[
            ("/repeatability_passed", false),
            ("/operator_outcome_required", false),
            ("/failure_matrix/0/covered", false),
            ("/runtime_default_activation", true),
        ],
    ),
    (
        "stage6-real-governed-refresh-comparison.json",
        &[
            ("/repeatability_passed", false),
            ("/candidate_default_repeatability_eligible", false),
            ("/target_repository_mutation", true),
            ("/runtime_default_activation", true),
        ],
    ),
];

pub(super) fn each_false_fact_of_a_pass_is_refused(scene: &Scene) {
    for (file, facts) in FACTS {
        let bundle = find_pass_with(scene, file);
        let document: Value = serde_json::from_slice(&fs::read(bundle.join(file)).unwrap()).unwrap();
        covers_every_flag(file, &document, facts);
        check_forged(scene, &bundle, file, None);
        each_row(facts.iter().map(|row| (format!("{file} {}", row.0), row)), |(fact, lie)| {
            assert_eq!(document.pointer(fact), Some(&json!(!lie)), "a true pass says otherwise");
            check_forged(scene, &bundle, file, Some((fact, *lie)));
        });
    }
}

/// A pass of this home that has the file.
fn find_pass_with(scene: &Scene, file: &str) -> PathBuf {
    let runs = fs::read_dir(scene.home().join("harness-runs")).unwrap().map(|entry| entry.unwrap().path());
    let is_pass = |bundle: &PathBuf| {
        let report: Value = serde_json::from_slice(&fs::read(bundle.join("report.json")).unwrap()).unwrap();
        report["status"] == "pass"
    };
    let mut passes = runs.filter(|bundle| bundle.join(file).exists()).filter(is_pass);
    passes.next().unwrap_or_else(|| panic!("no pass has {file}"))
}

/// No flag at the top of a document is without a row, so that a new one needs its own.
fn covers_every_flag(file: &str, document: &Value, facts: &[(&str, bool)]) {
    for (name, value) in document.as_object().unwrap().iter().filter(|(_, value)| value.is_boolean()) {
        let is_listed = facts.iter().any(|(fact, _)| fact.trim_start_matches('/') == name);
        assert!(is_listed, "{file}: {name} is {value}, and no row is about it");
    }
}

/// Signs a copy of the bundle again, with the lie or without one, and asks both verifiers.
fn check_forged(scene: &Scene, bundle: &Path, file: &str, lie: Option<(&str, bool)>) {
    let key = HarnessKey::open_file(&scene.home().join("keys/harness.pem")).unwrap();
    let copy = scene.world.path().join("forged").join(bundle.file_name().unwrap());
    let _ = fs::remove_dir_all(&copy);
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    copy_bundle(bundle, &copy);
    let forger = Forger::new(&copy, &key);
    if let Some((fact, said)) = lie {
        forger.json(file, |document| *document.pointer_mut(fact).unwrap() = json!(said));
    }
    forger.sign(|_| {});
    let code = if lie.is_some() { 1 } else { 0 };
    let verified = scene.cto(&["verify", copy.to_str().unwrap(), "--json"]).expect(code).json();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
    let mut python = program("python3", Path::new("/"));
    python.arg(script).arg(&copy).arg("--key").arg(scene.home().join("keys/harness.pub"));
    let ran = python.output().unwrap();
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    fs::remove_dir_all(&copy).unwrap();
    assert_eq!(ran.status.code(), Some(code), "{said}");
    if lie.is_some() {
        assert!(verified.to_string().contains("stage_proof"), "{verified:#}");
        assert!(said.contains(file) && said.contains("stage_proof"), "{said}");
    }
}
