//! Stage 6 above the climb: a second pass of stage 5, the comparison and its acceptance, a run as candidate default, the refresh.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{git, program};

use super::{ACTIONS, Climber, LandingTarget};

const COMPARISON: &str = "stage6-candidate-default-comparison";
const REFRESH: &str = "stage6-real-governed-refresh-comparison";
/// The case of the second pass: another name for the same work, since the target is the same.
const SECOND: &str = "./second";

/// A lane that has no evidence in the home of the test, with its reason.
pub(crate) type EmptyLane<'a> = (&'a str, &'a str);

impl Climber<'_> {
    /// Climbs to a run as candidate default and a refresh. `empty` names the lanes without evidence.
    pub(crate) fn climb_to_candidate(&mut self, engine: &str, empty: &[EmptyLane<'_>]) {
        let target = self.climb();
        let changes = [("task_id", "second"), ("mutation_mode", "candidate-default"), ("forbidden_actions", ACTIONS)];
        let _ = self.world.case("second", &changes);
        let _ = self.cto(6, &["matrix"], 0);
        let one = self.compare(engine, 3);
        assert_eq!(against(&one), ["repeatability"], "one accepted pass: {one:#}");

        let (_, branch) = self.accepted_run(SECOND, 5, &target);
        self.refused_at_six(&target);
        let comparison = self.compare(engine, 0);
        is_whole_comparison(&comparison, engine, empty);
        self.is_sealed_as(&comparison, "comparison", COMPARISON, "bundle");
        self.refused_at_six(&target);
        let run = comparison["run_id"].as_str().unwrap();
        let _ = self.cto(6, &["outcome", run, "accept", "--reason", "read and discussed"], 0);
        self.run_as_candidate(&target);

        git(target.root(), ["merge", "-q", "--no-edit", &branch]);
        let words = self.with_engine(&["refresh", "--engine", engine], false);
        let refresh = self.cto_words(6, &words, 0);
        is_whole_refresh(&refresh, engine, empty);
        self.is_sealed_as(&refresh, "refresh", REFRESH, "document");
        let status = self.cto(6, &["status"], 0);
        assert_eq!(status["runtime_default_activation"], false);
    }

    /// Requests, approves, runs and accepts a case; gives the report and its branch.
    fn accepted_run(&mut self, task: &str, stage: u8, target: &LandingTarget) -> (Value, String) {
        let _ = self.approve_task(task, stage, target.root());
        let (report, _) = self.run_task(task, stage, target.root(), 0);
        let run = report["run_id"].as_str().unwrap();
        let _ = self.cto(stage, &["outcome", run, "accept", "--reason", "read and tried"], 0);
        let branch = report["result_branch"].as_str().unwrap().to_owned();
        (report, branch)
    }

    fn compare(&mut self, engine: &str, code: i32) -> Value {
        let words = self.with_engine(&["compare", "--candidate", engine], true);
        self.cto_words(6, &words, code)
    }

    /// The words of a command, with the model of the climb where the command takes one.
    fn with_engine(&self, words: &[&str], takes_model: bool) -> Vec<String> {
        let model = self.words.iter().skip_while(|word| **word != "--model").filter(|_| takes_model);
        words.iter().chain(model).map(|word| (*word).to_owned()).collect()
    }

    fn cto_words(&mut self, stage: u8, words: &[String], code: i32) -> Value {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.cto(stage, &words, code)
    }

    /// Without an accepted comparison no engine starts at stage 6, and the remedy is the comparison or its acceptance.
    fn refused_at_six(&mut self, target: &LandingTarget) {
        let (report, _) = self.run_task("./made", 6, target.root(), 3);
        let blocker = &report["blockers"][0];
        assert_eq!(blocker["reason"], "stage_not_earned", "{}", testkit::outcome_of(&report));
        assert_eq!(report["engine"]["process_started"], false);
        let remedy = blocker["remedy"].as_str().unwrap();
        assert!(remedy.contains("cto compare --candidate") || remedy.contains("cto outcome"), "{remedy}");
    }

    /// A run as candidate default: admission, approval and outcome as at stage 5, and a rung that waits for the outcome.
    fn run_as_candidate(&mut self, target: &LandingTarget) {
        let before = target.untouched();
        let _ = self.approve_task("./made", 6, target.root());
        let (report, bundle) = self.run_task("./made", 6, target.root(), 0);
        let proof = self.proof(&bundle, "stage6-owned-repo-proof");
        for (document, key, value) in [
            (&report, "stage", json!(6)),
            (&report, "purpose", json!("governed")),
            (&report, "allowed_mutation_scope", json!("scoped real-repo use only")),
            (&report, "runtime_default_activation", json!(false)),
            (&report, "core_promotion_status", json!("not-promoted")),
            (&proof, "mutation_mode", json!("candidate-default")),
            (&proof, "runtime_default_activation", json!(false)),
            (&proof, "operator_outcome", json!("pending")),
            (&proof, "target_commit", report["target_commit"].clone()),
        ] {
            assert_eq!(document[key], value, "{key}");
        }
        assert!(report["target_commit"].is_string(), "{}", testkit::outcome_of(&report));
        target.is_as(&before, "a run as candidate default adds one commit on a branch");
        assert_eq!(self.rung_at_six(), "blocked missing_operator_outcome");
        let run = report["run_id"].as_str().unwrap();
        let _ = self.cto(6, &["outcome", run, "accept", "--reason", "read and tried"], 0);
        assert_eq!(self.rung_at_six(), "validated");
    }

    /// Status and gap of the rung that this climb has earned.
    fn rung_at_six(&mut self) -> String {
        let engine = self.words.get(1).copied().unwrap_or("fake").to_owned();
        let model = self.words.get(3).map(|model| json!(model));
        let ladder = self.cto(6, &["ladder", "--engine", &engine], 0);
        let is_ours = |rung: &&Value| rung["stage"] == 6 && model.as_ref().is_none_or(|model| rung["model"] == *model);
        let rung = ladder["rungs"].as_array().unwrap().iter().find(is_ours).unwrap();
        let gap = rung["gap"].as_str().map_or_else(String::new, |gap| format!(" {gap}"));
        format!("{}{gap}", rung["status"].as_str().unwrap())
    }

    /// A bundle of its own kind that both verifiers accept, whose document obeys its schema.
    fn is_sealed_as(&mut self, printed: &Value, kind: &str, name: &str, place: &str) {
        let run = printed["run_id"].as_str().unwrap();
        let bundle = self.home.join("harness-runs").join(run);
        assert!(printed[place].as_str().unwrap().starts_with(bundle.to_str().unwrap()), "{}", printed[place]);
        let _ = self.cto(6, &["verify", run], 0);
        accepted_by_python(&self.home, &bundle);
        let report = self.cto(6, &["show", run], 0);
        assert_eq!((&report["kind"], &report["engine"]["process_started"]), (&json!(kind), &json!(false)));
        assert!(!report["bundles"].as_array().unwrap().is_empty(), "the bundles that it read");
        let file = bundle.join(format!("{name}.json"));
        let document: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let schema = (self.call)(1, &["schema", name]).expect(0).json();
        assert!(jsonschema::is_valid(&schema, &document), "{document:#}");
        assert!(!jsonschema::is_valid(&schema, &json!({"status": "pass"})), "the control");
    }
}

fn accepted_by_python(home: &Path, bundle: &Path) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
    let key = home.join("keys/harness.pub");
    let read = program("python3", Path::new("/")).args([&page, bundle, Path::new("--key"), &key]).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stdout));
}

/// Subjects that speak against a candidate.
fn against(comparison: &Value) -> Vec<&str> {
    let subjects = comparison["subjects"].as_array().unwrap().iter();
    subjects.filter(|one| one["verdict"] != "pass").map(|one| one["subject"].as_str().unwrap()).collect()
}

/// Lanes without evidence are listed with their reason, and no other lane is blocked.
fn lists_lanes(document: &Value, engine: &str, empty: &[EmptyLane<'_>]) {
    let lanes = document["lanes"].as_array().unwrap();
    assert_eq!((&lanes[0]["engine"], &lanes[0]["status"]), (&json!(engine), &json!("pass")));
    assert!(lanes.iter().any(|lane| lane["engine"] == "fake" && lane["status"] == "pass"), "{lanes:#?}");
    let blocked: Vec<&Value> = lanes.iter().filter(|lane| lane["status"] == "blocked").collect();
    assert_eq!(blocked.len(), empty.len(), "{lanes:#?}");
    for (lane, (engine, reason)) in blocked.iter().zip(empty) {
        assert_eq!(lane["engine"], **engine);
        assert!(lane["rationale"].as_str().unwrap().contains(reason), "{lane:#}");
    }
}

fn is_whole_comparison(document: &Value, engine: &str, empty: &[EmptyLane<'_>]) {
    assert_eq!(against(document), Vec::<&str>::new(), "{document:#}");
    for (key, value) in [
        ("comparison_type", json!("stage6-candidate-default")),
        ("status", json!("pass")),
        ("stage", json!(6)),
        ("mutation_mode", json!("candidate-default")),
        ("allowed_mutation_scope", json!("scoped real-repo use only")),
        ("source_admission_freshness", json!("current")),
        ("repeatability_required", json!(2)),
        ("repeatability_count", json!(2)),
        ("repeatability_status", json!("pass")),
        ("repeatability_passed", json!(true)),
        ("operator_outcome", json!("pending")),
        ("operator_outcome_required", json!(true)),
        ("runtime_default_activation", json!(false)),
        ("core_promotion_status", json!("not-promoted")),
    ] {
        assert_eq!(document[key], value, "{key}");
    }
    assert_eq!(document["candidate"]["engine"], engine);
    let rows = document["failure_matrix"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    let shown = |row: &&Value| row["bundle"].is_object() || row["rationale"].is_string();
    assert!(rows.iter().all(|row| shown(&row) && row["covered"] == true), "{rows:#?}");
    let passes = document["stage5_passes"].as_array().unwrap();
    assert_ne!(passes[0]["case_id"], passes[1]["case_id"]);
    assert_ne!(passes[0]["target_commit"], passes[1]["target_commit"]);
    let run = document["run_id"].as_str().unwrap();
    assert!(run.split_once('-').unwrap().1.starts_with("stage6-candidate-default-"), "{run}");
    lists_lanes(document, engine, empty);
}

/// Checks the fields of a refresh that read two accepted passes of an engine and changed nothing.
pub(crate) fn check_repeated_refresh(document: &Value, engine: &str) {
    for (key, value) in [
        ("refresh_type", json!("stage6-real-governed-read-only")),
        ("engine", json!(engine)),
        ("repeatability_required", json!(2)),
        ("repeatability_count", json!(2)),
        ("repeatability_status", json!("pass")),
        ("repeatability_passed", json!(true)),
        ("candidate_default_repeatability_eligible", json!(true)),
        ("runtime_default_activation", json!(false)),
        ("core_promotion_status", json!("not-promoted")),
        ("source_admission_freshness", json!("current")),
        ("target_read_only_status", json!("unchanged")),
        ("target_repository_mutation", json!(false)),
    ] {
        assert_eq!(document[key], value, "{key}");
    }
}

fn is_whole_refresh(document: &Value, engine: &str, empty: &[EmptyLane<'_>]) {
    assert_eq!((&document["ok"], &document["errors"]), (&json!(true), &json!([])), "{document:#}");
    assert_eq!(document["status"], "pass");
    check_repeated_refresh(document, engine);
    lists_lanes(document, engine, empty);
}
