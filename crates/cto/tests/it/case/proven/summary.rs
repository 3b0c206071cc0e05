//! The control summary of a home with a comparison and a refresh: each field that they feed, and nothing older in their place.

use std::fs;

use contract::{Purpose, Stage, Status};
use ledger::Ledger;
use serde_json::{Value, json};

use super::{Proven, WORK_ITEM};
use crate::recorded_run::RecordedRun;

/// Fields that are copied from the refresh under the same name.
const COPIED: [&str; 9] = [
    "real_stage5_pass_report",
    "real_stage5_proof",
    "repeat_stage5_pass_report",
    "repeat_stage5_proof",
    "target_read_only_status",
    "target_repository_mutation",
    "repeatability_count",
    "repeatability_status",
    "candidate_default_repeatability_eligible",
];
const REFRESH: &str = "case_stage6_real_governed_refresh";

impl Proven {
    fn summary(&self) -> Value {
        let summary = self.say(5, &["summary"]);
        assert_eq!(summary["runtime_default_activation"], false);
        assert_eq!(summary["core_promotion_status"], "not-promoted");
        summary
    }

    /// The control: nothing is proven yet, and each field says so.
    pub(super) fn has_empty_summary(&self) {
        let summary = self.summary();
        assert_eq!((&summary[REFRESH], &summary["comparison_path"]), (&json!("blocked"), &Value::Null), "{summary:#}");
        assert_eq!(summary["candidate_default"]["eligible"], false);
        assert_eq!(summary["candidate_default"]["stage6_status"], "not_started");
        let expected = [
            json!(null),
            json!(null),
            json!(null),
            json!(null),
            json!("not_read"),
            json!(false),
            json!(0),
            json!("blocked"),
            json!(false),
        ];
        assert_eq!(COPIED.map(|field| summary[field].clone()), expected, "{summary:#}");
    }

    /// Comparison and refresh are in it, and their words.
    pub(super) fn has_full_summary(&self) {
        let (summary, [_, comparison, refresh]) = (self.summary(), &self.bundles);
        let path = |key: &str| self.scene.world.home().join(summary[key].as_str().unwrap());
        assert_eq!(path("comparison_path"), comparison.join("stage6-candidate-default-comparison.json"));
        let file = refresh.join("stage6-real-governed-refresh-comparison.json");
        assert_eq!(path("stage6_real_governed_refresh_comparison_path"), file);
        let document: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        assert_eq!((&summary[REFRESH], &document["status"]), (&json!("pass"), &json!("pass")));
        for field in COPIED {
            assert!(!document[field].is_null(), "{field}");
            assert_eq!(summary[field], document[field], "{field}");
        }
        let passes = document["real_stage5_passes"].as_array().unwrap().iter();
        let work: Vec<(&Value, Option<&Value>)> = passes.map(|pass| (&pass["case_id"], pass.get("work_id"))).collect();
        assert_eq!(work, [(&json!("second"), Some(&json!(WORK_ITEM))), (&json!("made"), Some(&Value::Null))]);
        for field in &COPIED[..4] {
            assert!(path(field).is_file(), "{field}");
        }
        let candidate = &summary["candidate_default"];
        assert_eq!((&candidate["stage6_status"], &candidate["eligible"]), (&json!("validated"), &json!(true)));
        assert_eq!(candidate["missing"], Value::Null);
    }

    /// However many other runs have its name, the refresh is found.
    pub(super) fn finds_refresh_among_others(&self) {
        let ledger = Ledger::open_file(&self.scene.world.home().join("ledger.db")).unwrap();
        let time = ledger.latest_time().unwrap().unwrap();
        for number in 0..45 {
            let name = format!("20261116T0000{number:02}Z-stage6-real-governed-refresh-w{number:03}");
            RecordedRun {
                name: &name,
                task: "stage6-real-governed-refresh",
                engine: "case",
                stage: Stage::ARTIFICIAL_FIXTURE,
                purpose: Purpose::Validation,
                status: Status::Pass,
                reasons: Vec::new(),
                identity: None,
            }
            .record_run(&ledger, time);
        }
        self.has_full_summary();
    }

    /// A newest refresh that rejects, is damaged or is gone is reported: the older one that passed stands in for none.
    pub(super) fn has_no_older_refresh(&self, newest: &str) {
        let bundle = self.scene.world.bundles().join(newest);
        let (file, aside) = (bundle.join("report.json"), self.scene.world.path().join("aside"));
        assert_eq!(self.summary()[REFRESH], "fail", "the control");
        let whole = fs::read(&file).unwrap();
        fs::write(&file, String::from_utf8_lossy(&whole).replacen("\"fail\"", "\"pass\"", 1)).unwrap();
        self.says_nothing_of_refresh("damaged");
        fs::write(&file, whole).unwrap();
        assert_eq!(self.summary()[REFRESH], "fail", "the control");
        fs::rename(&bundle, &aside).unwrap();
        self.says_nothing_of_refresh("gone");
        fs::rename(&aside, &bundle).unwrap();
        assert_eq!(self.summary()[REFRESH], "fail", "the control");
    }

    fn says_nothing_of_refresh(&self, what: &str) {
        let summary = self.summary();
        let found = [REFRESH, "candidate_default_repeatability_eligible", "real_stage5_proof", "repeatability_count"]
            .map(|field| summary[field].clone());
        assert_eq!(found, [json!("blocked"), json!(false), Value::Null, json!(0)], "{what}: {summary:#}");
    }
}
