//! `cto refresh` on one home that an engine of one's own climbed to two accepted passes of stage 5.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod audited;
mod closed_out;
mod compared;
mod facts;
mod forged;
mod remedies;
mod rows;
mod scene;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::program;

use crate::climb::{check_repeated_refresh, has_keygen};
use scene::{ENGINE, Scene};

const DOCUMENT: &str = "stage6-real-governed-refresh-comparison";

#[test]
fn real_passes_are_looked_at_again_and_nothing_is_changed() {
    if !has_keygen("real_passes_are_looked_at_again_and_nothing_is_changed") {
        return;
    }
    let scene = Scene::new();
    lacks_everything(&scene);
    scene.climb();
    let first = scene.change_target("made", "5");
    lacks_an_outcome_and_a_merge(&scene, &first);
    remedies::answer_and_go_on(&scene);
    scene.merge(&first);
    let second = scene.change_target("other", "5");
    lacks_a_test_that_must_pass(&scene);
    scene.merge(&second);
    remedies::answer_by_the_refresh(&scene, 3);
    lacks_a_comparison(&scene);
    remedies::compare_as_told(&scene);
    passes(&scene, &first, &second);
    waits_for_the_comparison_alone(&scene);
    facts::each_false_fact_of_a_pass_is_refused(&scene);
    rows::each_damage_is_refused(&scene, &first, &second);
    compared::each_comparison_that_does_not_serve_is_refused(&scene, &first, &second);
    remedies::request_a_second_pass(&scene, &second);
    remedies::request_what_was_rejected(&scene, &first, &second);
    remedies::admit_what_is_stale(&scene);
    remedies::name_passes_of_one_identity(&scene, &first, &second);
    remedies::accept_the_comparison(&scene);
    audited::each_requirement_rests_on_its_evidence(&scene, &first, &second);
}

fn lacks_everything(scene: &Scene) {
    let empty = scene.refresh(&["--engine", ENGINE], 3);
    assert_eq!(faults(&empty), ["no_comparison", "second_owned_pass"], "{empty:#}");
}

/// Codes of every reason against it, sorted, each once.
fn faults(document: &Value) -> Vec<&str> {
    let errors = document["errors"].as_array().unwrap();
    let mut codes: Vec<&str> = errors.iter().map(|error| error["fault"].as_str().unwrap()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn verdict<'a>(document: &'a Value, subject: &str) -> &'a Value {
    let subjects = document["subjects"].as_array().unwrap();
    &subjects.iter().find(|it| it["subject"] == subject).unwrap()["verdict"]
}

/// Subjects of a comparison that speak against the candidate.
fn against(comparison: &Value) -> Vec<&str> {
    let subjects = comparison["subjects"].as_array().unwrap().iter();
    subjects.filter(|one| one["verdict"] != "pass").map(|one| one["subject"].as_str().unwrap()).collect()
}

/// One pass that nobody answered, on a branch that nobody merged.
fn lacks_an_outcome_and_a_merge(scene: &Scene, run: &str) {
    let document = scene.refresh(&["--engine", ENGINE], 1);
    let expected = ["failed_fact", "missing_operator_outcome", "no_comparison", "second_owned_pass"];
    assert_eq!(faults(&document), expected, "{document:#}");
    assert_eq!(verdict(&document, "target_validation"), "fail", "its test fails at HEAD");
    assert_eq!(verdict(&document, "operator_acceptance"), "blocked");
    assert_eq!(document["real_stage5_passes"][0]["run_id"], run);
    assert_eq!(document["real_stage5_passes"][0]["operator_outcome"], "pending");
}

/// A branch that nobody merged, with a test that must pass: HEAD has it red.
fn lacks_a_test_that_must_pass(scene: &Scene) {
    let document = scene.refresh(&["--engine", ENGINE], 1);
    assert!(faults(&document).contains(&"failed_fact"), "{document:#}");
    let errors = document["errors"].to_string();
    assert!(errors.contains("must_pass `test_four`: no test of the tree"), "{errors}");
}

fn lacks_a_comparison(scene: &Scene) {
    let document = scene.refresh(&["--engine", ENGINE], 3);
    assert_eq!(faults(&document), ["no_comparison"], "{document:#}");
    let lanes: Vec<&Value> = document["lanes"].as_array().unwrap().iter().map(|lane| &lane["engine"]).collect();
    assert_eq!(lanes, [ENGINE, "fake", "codex", "pi"]);
}

fn passes(scene: &Scene, first: &str, second: &str) {
    let before = scene.untouched();
    let document = scene.refresh(&[], 0);
    assert_eq!(scene.untouched(), before, "targets are only read");
    assert_eq!((&document["ok"], &document["checked"], &document["errors"]), (&json!(true), &json!(12), &json!([])));
    for subject in document["subjects"].as_array().unwrap() {
        assert_eq!(subject["verdict"], "pass", "{subject}");
    }
    check_repeated_refresh(&document, ENGINE);
    repeats_the_passes(scene, &document, first, second);
    is_sealed(scene, &document);
    speaks_plainly(scene);
}

/// A comparison waits for its outcome; a refresh, of which there are several now, waits for none.
fn waits_for_the_comparison_alone(scene: &Scene) {
    let status = scene.cto(&["status", "--json"]).expect(0).json();
    let waiting: Vec<&str> =
        status["waiting"].as_array().unwrap().iter().map(|one| one["subject"].as_str().unwrap()).collect();
    assert_eq!(waiting.len(), 1, "{status:#}");
    assert!(waiting[0].contains("-stage6-candidate-default-"), "{waiting:?}");
}

/// The document's fields about each pass agree with its proof and its signed outcome.
fn repeats_the_passes(scene: &Scene, document: &Value, first: &str, second: &str) {
    let passes = document["real_stage5_passes"].as_array().unwrap();
    assert_eq!(passes.iter().map(|pass| &pass["run_id"]).collect::<Vec<_>>(), [second, first], "newest first");
    for pass in passes {
        let file = |key: &str| -> Value {
            serde_json::from_slice(&fs::read(scene.home().join(pass[key].as_str().unwrap())).unwrap()).unwrap()
        };
        let (report, proof) = (file("report"), file("proof"));
        assert_eq!(pass["case_id"], report["case_id"]);
        for key in ["target_commit", "changed_files", "approval_source", "approval_digest", "approval"] {
            assert_eq!(pass[key], proof[key], "{key}");
        }
        assert_eq!(pass["operator_outcome"], "accepted");
        assert!(pass["operator_outcome_sha256"].is_string());
    }
    assert_eq!(document["real_stage5_pass_report"], passes[0]["report"]);
    assert_eq!(document["repeat_stage5_proof"], passes[1]["proof"]);
    let prior = document["prior_comparison_path"].as_str().unwrap();
    let prior: Value = serde_json::from_slice(&fs::read(scene.home().join(prior)).unwrap()).unwrap();
    let lanes = document["lanes"].as_array().unwrap();
    for (lane, carried) in lanes.iter().zip(prior["lanes"].as_array().unwrap()) {
        assert_eq!((&lane["engine"], &lane["rationale"]), (&carried["engine"], &carried["rationale"]));
    }
    let blocked = lanes.iter().filter(|lane| lane["status"] == "blocked").map(|lane| &lane["engine"]);
    assert_eq!(blocked.collect::<Vec<_>>(), ["codex", "pi"], "lanes without evidence");
}

/// A bundle of its own kind that both verifiers accept, in a folder that is named after the time alone.
fn is_sealed(scene: &Scene, document: &Value) {
    let run = document["run_id"].as_str().unwrap();
    let (time, name) = run.split_once('-').unwrap();
    assert_eq!((time.len(), name), (16, "stage6-real-governed-refresh"));
    let bundle = scene.home().join("harness-runs").join(run);
    let _ = scene.cto(&["verify", run]).expect(0);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
    let key = scene.home().join("keys/harness.pub");
    let read = program("python3", Path::new("/")).args([&page, &bundle, Path::new("--key"), &key]).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stdout));
    let report = scene.cto(&["show", run, "--json"]).expect(0).json();
    for (key, value) in [
        ("kind", json!("refresh")),
        ("stage", json!(6)),
        ("purpose", json!("validation")),
        ("backend", json!(ENGINE)),
        ("status", json!("pass")),
    ] {
        assert_eq!(report[key], value, "{key}");
    }
    assert_eq!(report["engine"]["process_started"], false);
    assert_eq!(report["bundles"], document["bundles"]);
    assert_eq!(report["bundles"].as_array().unwrap().len(), 3, "two passes and the comparison");
    let written: Value = serde_json::from_slice(&fs::read(bundle.join(format!("{DOCUMENT}.json"))).unwrap()).unwrap();
    let schema = scene.cto(&["schema", DOCUMENT]).expect(0).json();
    assert!(jsonschema::is_valid(&schema, &written), "{written:#}");
    assert!(!jsonschema::is_valid(&schema, &json!({"status": "pass"})), "the control");
    assert_eq!(document["document"], json!(bundle.join(format!("{DOCUMENT}.json"))));
}

/// On a pipe one fact a line, the verdict first; on a terminal the verdict first as well.
fn speaks_plainly(scene: &Scene) {
    let piped = scene.cto(&["refresh"]).expect(0).text();
    assert!(piped.starts_with("pass 20"), "{piped}");
    for line in ["subject target_validation pass ", "lane codex blocked ", "document /"] {
        assert!(piped.lines().any(|it| it.starts_with(line)), "{line}: {piped}");
    }
    let shown = scene.world.on_terminal(["refresh"]).screen().join("\n");
    assert!(shown.trim_start().starts_with("pass"), "{shown}");
}
