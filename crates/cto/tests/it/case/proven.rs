//! Checks of health that rest on what Case has earned: a home in which its stand-in climbed to an accepted comparison and a refresh, and
//! each of the three proofs broken.

#![expect(clippy::panic, reason = "a test that cannot go on must stop")]

mod summary;
mod whole;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Ran, each_row, git};

use super::climb::working;
use super::scene::Scene;
use crate::climb::{Climber, has_keygen};

const CHECKS: [(&str, &str); 3] = [
    ("case_lane_passes", "case_stage6"),
    ("candidate_default_comparison", "case_stage6"),
    ("case_stage6_real_governed_refresh", "case_stage6_real_governed_refresh"),
];
const ACTIONS: &str = "[push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, \
                       vendor_source_mutation, cortex_core_mutation]";

/// Work item of the second case; the first has none.
const WORK_ITEM: &str = "DEMO-WORK-001";

struct Proven {
    scene: Scene,
    target: PathBuf,
    /// Passes of stage 5, the comparison, the refresh.
    bundles: [PathBuf; 3],
}

impl Proven {
    fn call(scene: &Scene, stage: u8, words: &[&str]) -> Ran {
        Ran::of(scene.command(words).env("CTO_HARNESS_CASE_STAGE", stage.to_string()).output().unwrap())
    }

    fn say(&self, stage: u8, words: &[&str]) -> Value {
        Self::call(&self.scene, stage, &[words, &["--json"]].concat()).expect(0).json()
    }

    /// Admits Case, its model and a target, and climbs to stage 4.
    fn climb() -> Self {
        let scene = Scene::new(working());
        let world = &scene.world;
        fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
        let target = world.repository("target", &[("a.txt", "one\n")]);
        for (case, work_id) in [("made", None), ("second", Some(WORK_ITEM))] {
            let mut changes =
                vec![("task_id", case), ("mutation_mode", "candidate-default"), ("forbidden_actions", ACTIONS)];
            changes.extend(work_id.map(|work_id| ("work_id", work_id)));
            let _ = world.case(case, &changes);
        }
        let mut call = |stage: u8, words: &[&str]| Self::call(&scene, stage, words);
        let words = ["--engine", "case"];
        let mut climber = Climber { world, home: world.home(), words: &words, call: &mut call, target_words: &[] };
        climber.make_key();
        climber.sign(&world.here().join("records/qwen-local.json"));
        climber.admit_source("case");
        for stage in 1..=3 {
            let _ = climber.run(stage, &target, 0);
        }
        let admission = world.write("target.yaml", admission_of(&target));
        climber.sign(&admission);
        let _ = climber.approve(4, &target);
        let _ = climber.run(4, &target, 0);
        Self { scene, target, bundles: Default::default() }
    }

    /// Changes the target at stage 5 and accepts that; gives the run and its branch.
    fn change_target(&self, case: &str) -> (String, String) {
        let case = format!("./{case}");
        let about = |command: &'static str| {
            [command, case.as_str(), "--engine", "case", "--stage", "5", "--target", "target.yaml"]
        };
        let request = self.say(5, &about("request"));
        let name = request["request"].as_str().unwrap();
        let packet = self.say(5, &["packet", name]);
        let sentence = packet["approval_command_text"].as_str().unwrap();
        let _ = self.say(5, &["approve", name, "--sentence", sentence]);
        let report = self.say(5, &about("run"));
        let run = report["run_id"].as_str().unwrap().to_owned();
        let _ = self.say(5, &["outcome", &run, "accept", "--reason", "read and tried"]);
        (run, report["result_branch"].as_str().unwrap().to_owned())
    }

    /// Two passes, the comparison and its acceptance, the refresh.
    fn prove(mut self) -> Self {
        let (_, branch) = self.change_target("made");
        let (run, _) = self.change_target("second");
        git(&self.target, ["merge", "-q", "--no-edit", &branch]);
        let _ = self.say(5, &["matrix"]);
        self.lane_waits_for_comparison();
        let _ = self.say(5, &["compare", "--candidate", "case"]);
        let bundles = self.scene.world.bundles();
        let comparison = find_bundle(&bundles, "stage6-candidate-default");
        let name = comparison.file_name().unwrap().to_str().unwrap().to_owned();
        let _ = self.health(&[CHECKS[0].0], 0);
        let _ = self.say(5, &["outcome", &name, "accept", "--reason", "the candidate holds"]);
        let _ = self.say(5, &["refresh"]);
        self.bundles = [bundles.join(run), comparison, find_bundle(&bundles, "stage6-real-governed-refresh")];
        self
    }

    /// Two accepted passes show no lane: a comparison does, accepted or not.
    fn lane_waits_for_comparison(&self) {
        let (check, group) = CHECKS[0];
        let health = self.health(&[check], 3);
        let said = &health[group]["checks"][check];
        assert_eq!((&said["passed"], &said["status"]), (&json!(false), &json!("blocked")), "{said:#}");
        assert!(said["missing"].as_str().unwrap().contains("cto compare"), "{said:#}");
    }

    fn health(&self, check: &[&str], code: i32) -> Value {
        let only = check.iter().flat_map(|name| ["--only", name]);
        let words: Vec<&str> = ["health", "--json"].into_iter().chain(only).collect();
        Self::call(&self.scene, 5, &words).expect(code).json()
    }
}

fn find_bundle(bundles: &Path, name: &str) -> PathBuf {
    let folders = fs::read_dir(bundles).unwrap().map(|entry| entry.unwrap().path());
    folders.into_iter().find(|path| path.to_str().unwrap().contains(name)).unwrap()
}

fn admission_of(target: &Path) -> String {
    format!(
        "admission_status: admitted\ntarget_repository_path: {}\nrepository_owner: Ada\nownership_evidence: notes/1\n\
         risk_classification: low_risk_noncritical\nnoncritical_rationale: a toy\nallowed_paths: [a.txt]\nforbidden_paths: []\n\
         forbidden_actions: {ACTIONS}\napproval_source: Ada\napproval_timestamp: 2026-11-01\n\
         operator_outcome_required: true\nreview_trigger: never\n",
        target.display()
    )
}

/// Words about each damaged proof.
const DAMAGED: [&str; 3] = ["does not verify", "does not verify", "stage6-real-governed-refresh"];
/// Words about each proof that is gone.
const GONE: [&str; 3] = ["is gone", "is gone", "stage6-real-governed-refresh"];

impl Proven {
    /// A check comes to this, with the reason under the right key alone.
    fn says(&self, (check, group): (&str, &str), code: i32, says: &str) {
        let (status, key, other) = if code == 1 { ("fail", "why", "missing") } else { ("blocked", "missing", "why") };
        let document = self.health(&[check], code);
        let said = &document[group]["checks"][check];
        assert_eq!((&document["status"], &said["passed"]), (&json!(status), &json!(false)), "{document:#}");
        let text = said[key].as_str().unwrap_or_else(|| panic!("{check} has no {key}: {said:#}"));
        assert!(text.contains(says), "{check}: {text}");
        assert_eq!(said.get(other), None, "{said:#}");
    }
}

/// Runs something while one word of a bundle's report is another.
fn while_damaged(bundle: &Path, run: impl FnOnce()) {
    let file = bundle.join("report.json");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, String::from_utf8_lossy(&whole).replacen("\"status\":\"pass\"", "\"status\":\"Pass\"", 1))
        .unwrap();
    assert_ne!(fs::read(&file).unwrap(), whole, "the proof is broken");
    run();
    fs::write(&file, whole).unwrap();
}

/// A comparison that failed is a check that was held and is wrong; a newer one that the operator accepts mends it.
fn a_comparison_that_failed_fails(proven: &Proven) {
    while_damaged(&proven.bundles[0], || {
        let words = ["compare", "--candidate", "case", "--json"];
        let failed = Proven::call(&proven.scene, 5, &words).expect(1).json();
        assert_eq!(failed["status"], "fail", "{failed:#}");
    });
    proven.says(CHECKS[1], 1, "artifact_completeness is fail");
    let again = proven.say(5, &["compare", "--candidate", "case"]);
    proven.says(CHECKS[1], 3, "operator outcome");
    let run = again["run_id"].as_str().unwrap();
    let _ = proven.say(5, &["outcome", run, "accept", "--reason", "the candidate holds again"]);
}

/// An honest refresh that rejects is a check that was held and is wrong; a newer one that passes mends it.
fn a_refresh_that_rejects_fails(proven: &Proven) {
    let (check, target) = ("case_stage6_real_governed_refresh", &proven.target);
    let good = fs::read(target.join("a.txt")).unwrap();
    fs::write(target.join("a.txt"), "neither\n").unwrap();
    git(target, ["commit", "-q", "-am", "break it"]);
    let rejected = Proven::call(&proven.scene, 5, &["refresh", "--json"]).expect(1).json();
    assert_eq!(rejected["errors"][0]["fault"], "failed_fact", "{rejected:#}");
    let failed = proven.health(&[check], 1);
    let said = &failed[check]["checks"][check];
    assert_eq!((&failed["status"], &said["passed"], &said["status"]), (&json!("fail"), &json!(false), &json!("fail")));
    assert!(said["why"].as_str().unwrap().starts_with("failed_fact: "), "{said:#}");
    assert_eq!((&said["run_id"], said.get("missing")), (&rejected["run_id"], None), "{said:#}");
    proven.has_no_older_refresh(rejected["run_id"].as_str().unwrap());
    fs::write(target.join("a.txt"), good).unwrap();
    git(target, ["commit", "-q", "-am", "mend it"]);
    let _ = proven.say(5, &["refresh"]);
}

#[test]
fn proofs_of_case_hold_until_one_is_broken() {
    if !has_keygen("case::proven::proofs_of_case_hold_until_one_is_broken") {
        return;
    }
    let proven = Proven::climb();
    proven.has_empty_summary();
    let proven = proven.prove();
    proven.has_full_summary();
    proven.finds_refresh_among_others();
    let names = CHECKS.map(|(check, _)| check);
    let control = proven.health(&names, 0);
    assert_eq!(control["status"], "pass", "the control: {control:#}");
    each_row(
        CHECKS
            .iter()
            .zip(proven.bundles.iter().zip(DAMAGED.iter().zip(&GONE)))
            .map(|(row, broken)| (row.0, (row, broken))),
        |(row, (bundle, (damaged, gone)))| {
            let (check, group) = *row;
            assert_eq!(control[group]["checks"][check]["passed"], true, "the control");
            while_damaged(bundle, || proven.says(*row, 1, damaged));
            let aside = proven.scene.world.path().join("aside");
            fs::rename(bundle, &aside).unwrap();
            proven.says(*row, 3, gone);
            fs::rename(&aside, bundle).unwrap();
        },
    );
    a_refresh_that_rejects_fails(&proven);
    a_comparison_that_failed_fails(&proven);
    assert_eq!(proven.health(&names, 0)["status"], "pass", "mended");
    proven.is_validated_to_stage_6();
    proven.passes_all_health();
    proven.keeps_rungs_without_projection();
}
