//! A home in which everything is earned: health without a limit passes, and the validators list what they rest on.

use std::path::Path;

use serde_json::{Value, json};

use super::Proven;

/// Every group of `cto health`.
const GROUPS: [&str; 10] = [
    "case_provider_adapter",
    "case_stage1",
    "case_stage2",
    "case_stage3",
    "case_stage4",
    "case_stage5",
    "case_stage6",
    "case_stage6_real_governed_refresh",
    "matrix",
    "webui_summary",
];
/// Proof of a stage that a bundle of Case has.
const PROOFS: [(u8, &str); 5] = [
    (2, "stage2-no-target-inspection.json"),
    (3, "stage3-copied-repo-proof.json"),
    (4, "stage4-disposable-sandbox-proof.json"),
    (5, "stage5-owned-repo-proof.json"),
    (6, "stage6-candidate-default-comparison.json"),
];

impl Proven {
    /// Every group passes, and every stage is earned by Case itself.
    pub(super) fn passes_all_health(&self) {
        let health = self.health(&[], 0);
        let mut groups: Vec<&str> = health.as_object().unwrap().keys().map(String::as_str).collect();
        groups.retain(|key| *key != "status");
        assert_eq!((groups.as_slice(), &health["status"]), (&GROUPS[..], &json!("pass")));
        for group in GROUPS {
            let said = &health[group];
            assert_eq!((&said["passed"], &said["status"]), (&json!(true), &json!("pass")), "{said:#}");
            assert!(said["checks"].as_object().unwrap().values().all(|check| check["passed"] == true), "{said:#}");
        }
        for stage in 1..=6 {
            let said = &health[format!("case_stage{stage}")]["checks"]["case_pass"];
            assert_eq!(said["passed"], true, "stage {stage}: {said:#}");
        }
    }

    /// The validator of stage 6 holds the stages below it too, and names a bundle of Case for each.
    pub(super) fn is_validated_to_stage_6(&self) {
        let document = self.say(5, &["validate", "stage", "6", "--engine", "case"]);
        assert_eq!((&document["ok"], &document["errors"]), (&json!(true), &json!([])), "{document:#}");
        let rows = |key: &str| document[key].as_array().unwrap().clone();
        let is_file = |path: &Value| path.as_str().is_some_and(|path| Path::new(path).is_file());
        for stage in 1..=6 {
            let of_case = |row: &&Value| row["stage"] == stage && row["engine"] == "case" && row["status"] == "pass";
            let passes = rows("pass_reports");
            let found: Vec<&Value> = passes.iter().filter(of_case).collect();
            assert!(!found.is_empty() && found.iter().all(|row| is_file(&row["report"])), "{stage}: {passes:#?}");
        }
        for (stage, name) in PROOFS {
            let proofs = rows("proofs");
            let own = |row: &&Value| row["stage"] == stage && row["name"] == name && is_file(&row["proof"]);
            let found: Vec<&Value> = proofs.iter().filter(own).collect();
            assert!(!found.is_empty() && found.iter().all(|row| row["passed"] == true), "{stage}: {proofs:#?}");
        }
        let baseline = &document["baseline"];
        assert_eq!((&baseline["engine"], is_file(&baseline["report"])), (&json!("fake"), true), "{baseline:#}");
    }

    /// A real collection takes none of the bundles that a rung rests on, and rows that are made anew from the ledger's entries give
    /// the same rungs.
    pub(super) fn keeps_rungs_without_projection(&self) {
        let rungs = || {
            let ladder = self.say(5, &["ladder", "--engine", "case"]);
            let rungs = ladder["rungs"].as_array().unwrap().clone();
            let shown = rungs.iter().map(|rung| {
                assert_eq!(rung["status"], "validated", "{rung:#}");
                (rung["stage"].clone(), rung["bundles"].clone())
            });
            shown.collect::<Vec<_>>()
        };
        let before = rungs();
        assert_eq!(before.len(), 6);
        let kept = || std::fs::read_dir(self.scene.world.bundles()).unwrap().count();
        let all = kept();
        let _ = self.say(5, &["gc", "--older-than", "0s", "--keep", "0"]);
        assert!(kept() < all, "control: there was something to collect");
        assert_eq!(rungs(), before, "after a collection");
        let ledger = self.scene.world.home().join("ledger.db");
        rusqlite::Connection::open(&ledger).unwrap().execute("UPDATE runs SET status = 'fail'", []).unwrap();
        let changed = self.say(5, &["ladder", "--engine", "case"]);
        let is_validated = |rung: &Value| rung["status"] == "validated";
        assert!(!changed["rungs"].as_array().unwrap().iter().any(is_validated), "control: rows were changed");
        let _ = self.say(5, &["ledger", "rebuild"]);
        assert_eq!(rungs(), before, "rows made anew");
    }
}
