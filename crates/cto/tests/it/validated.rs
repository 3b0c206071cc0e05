//! `cto validate stage N`: the validators, their document, and a defect that they notice.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::stoppable;

use crate::targets::Scene;
use crate::world;

const KEYS: [&str; 7] = ["ok", "checked", "errors", "pass_reports", "failure_reports", "baseline", "proofs"];

/// Classes of stage 5 that a defect of its own lets pass.
const OF_STAGE_5: [&str; 6] = ["approval-denied", "unowned", "critical", "dirty-start", "dirty-end", "disallowed-file"];

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Failure classes of a stage, as the document lists them.
fn classes(document: &Value, stage: u8) -> Vec<&str> {
    let rows = document["failure_reports"].as_array().unwrap().iter();
    rows.filter(|row| row["stage"] == stage).map(|row| row["class"].as_str().unwrap()).collect()
}

#[test]
fn every_stage_holds_and_an_unanswered_pass_is_listed() {
    let Some(scene) = Scene::new("validated::every_stage_holds") else { return };
    let _ = scene.approve("5");
    let report = scene.run("5", 0);
    let runs = || fs::read_dir(scene.world.bundles()).unwrap().count();
    let before = runs();
    let document = scene.world.cto(["validate", "stage", "6", "--json"]).expect(0).json();
    assert_eq!(keys(&document), KEYS);
    assert_eq!((&document["ok"], &document["errors"]), (&json!(true), &json!([])));
    assert!(document["checked"].as_u64().unwrap() > 40, "{}", document["checked"]);
    assert_eq!(document["baseline"]["engine"], "fake");
    let proofs: Vec<&str> =
        document["proofs"].as_array().unwrap().iter().map(|proof| proof["name"].as_str().unwrap()).collect();
    assert_eq!(
        proofs,
        ["stage3-copied-repo-proof.json", "stage4-disposable-sandbox-proof.json", "stage5-owned-repo-proof.json"]
    );
    assert_eq!(classes(&document, 1), ["provider-unavailable", "missing-event", "artifact-write-failure"]);
    assert_eq!(classes(&document, 3).len(), 8);
    assert_eq!(classes(&document, 4).len(), 6);
    let rows = document["failure_reports"].as_array().unwrap();
    let mine: Vec<&Value> = rows.iter().filter(|row| row["run_id"] == report["run_id"]).collect();
    assert_eq!(mine.len(), 1, "{rows:#?}");
    assert_eq!(mine[0]["class"], "missing-operator-outcome");
    assert!(Path::new(mine[0]["report"].as_str().unwrap()).is_file(), "its report is there to be read");
    assert_eq!(classes(&document, 5).len(), 12, "eleven classes, and the pass that nobody answered");
    assert_eq!(classes(&document, 6), Vec::<&str>::new(), "stage 6 inherits the classes of stage 5");
    assert_eq!(runs(), before, "nothing is left in the home");
}

#[test]
fn an_engine_that_has_earned_nothing_blocks_its_validator() {
    let world = world();
    let document = world.cto(["validate", "stage", "2", "--engine", "codex", "--json"]).expect(3).json();
    assert_eq!((keys(&document), &document["ok"]), (KEYS.to_vec(), &json!(false)));
    let errors: Vec<(u64, &str, &str)> = document["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| {
            (error["stage"].as_u64().unwrap(), error["check"].as_str().unwrap(), error["status"].as_str().unwrap())
        })
        .collect();
    assert_eq!(errors, [(1, "codex_pass", "blocked"), (2, "codex_pass", "blocked")]);
    let said = world.cto(["validate", "stage", "1", "--engine", "codex"]).expect(3).text();
    assert!(said.starts_with("blocked stage=1 engine=codex checked="), "{said}");
    assert!(said.contains("cto run"), "the command that climbs: {said}");
    let control = world.cto(["validate", "stage", "1"]).expect(0).text();
    assert!(control.starts_with("pass stage=1 checked="), "{control}");
    let wrong = world.cto(["validate", "stage", "1", "--engine", "fake"]).expect(2);
    assert!(wrong.stderr.contains("yardstick"), "{}", wrong.stderr);
    assert!(world.cto(["validate", "stage", "1", "--engine", "nobody"]).expect(2).stderr.contains("no engine"));
}

#[test]
fn a_defect_fails_the_stage_that_shows_it() {
    let Some(binary) = stoppable("validated::a_defect_fails_the_stage_that_shows_it") else { return };
    let world = world();
    for (defect, stage, code, wrong) in [
        (None, "4", 0, vec![]),
        (Some("paths_unjudged"), "2", 1, vec![(2, "disallowed-file")]),
        (Some("gate_left_open"), "2", 1, vec![]),
        (Some("validation_counted"), "2", 1, vec![(1, "validation_does_not_count"), (2, "validation_does_not_count")]),
        (Some("source_touched"), "3", 1, vec![(3, "no_mutation")]),
        (Some("dirt_overlooked"), "3", 1, vec![(3, "dirty-source"), (3, "dirty-copy-start")]),
        (Some("denial_overlooked"), "4", 1, vec![(4, "approval-denied")]),
        (
            Some(
                "denial_overlooked,owner_overlooked,risk_overlooked,dirt_overlooked,leftovers_overlooked,paths_unjudged",
            ),
            "5",
            1,
            OF_STAGE_5.map(|class| (5, class)).to_vec(),
        ),
    ] {
        let mut command = world.program(binary.to_str().unwrap());
        command.args(["validate", "stage", stage, "--json"]).envs(defect.map(|defect| ("CTO_DEFECT", defect)));
        let output = command.output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &document["ok"]), (Some(code), &json!(code == 0)), "{document:#}");
        let errors = document["errors"].as_array().unwrap();
        let is_said = |(stage, check): &(u8, &str)| {
            errors.iter().any(|error| error["stage"] == *stage && error["check"] == *check && error["status"] == "fail")
        };
        assert!(wrong.iter().all(is_said), "{defect:?}: {errors:#?}");
        if stage == "5" {
            let others = ["timeout", "provider-unavailable"].map(|class| (5, class));
            assert!(!others.iter().any(is_said), "the control: classes without a defect hold: {errors:#?}");
        }
        if defect == Some("gate_left_open") {
            let names: Vec<&str> = errors.iter().map(|error| error["check"].as_str().unwrap()).collect();
            assert!(names.contains(&"gate_missing") && names.contains(&"one_dispatch_path"), "{names:?}");
        }
    }
}
