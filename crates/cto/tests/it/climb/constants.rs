//! Constants that reports and proofs have at each stage, written out once more: nothing here asks the program for them.

use std::path::Path;

use serde_json::{Value, json};

use super::Climber;

/// Mutation mode, allowed mutation scope and proofs of a pass.
type StageConstants = (&'static str, &'static str, &'static [&'static str]);

const STAGES: [StageConstants; 6] = [
    ("none", "none", &[]),
    ("copied-fixture", "copied artificial case only", &["stage2-no-target-inspection"]),
    (
        "copied-fixture",
        "copied local repository fixture only",
        &["stage2-no-target-inspection", "stage3-copied-repo-proof"],
    ),
    ("sandbox-repo", "disposable repository only", &["stage2-no-target-inspection", "stage4-disposable-sandbox-proof"]),
    ("owned-noncritical-repo", "explicitly owned low-risk repository only", &["stage5-owned-repo-proof"]),
    ("candidate-default", "scoped real-repo use only", &["stage6-owned-repo-proof"]),
];

/// Facts of the proofs of stages 3 to 6 that are the same in every pass.
const FACTS: [(&str, bool); 10] = [
    ("unchanged", true),
    ("clean_start", true),
    ("clean_end", true),
    ("never_writable", true),
    ("repository_start_clean", true),
    ("repository_ending_clean", true),
    ("target_repository_start_clean", true),
    ("target_repository_ending_clean", true),
    ("public_publication_attempted", false),
    ("push_merge_deploy_close_pr_open_attempted", false),
];

impl Climber<'_> {
    /// Holds a report, and after a pass every proof of its stage, to the constants.
    pub(super) fn check_constants(&mut self, report: &Value, stage: u8, bundle: &Path) {
        let (mode, scope, proofs) = STAGES[usize::from(stage) - 1];
        assert_eq!((&report["stage"], &report["allowed_mutation_scope"]), (&json!(stage), &json!(scope)));
        let (activation, promotion) = (&report["runtime_default_activation"], &report["core_promotion_status"]);
        assert_eq!((activation, promotion), (&json!(false), &json!("not-promoted")));
        if report["status"] != "pass" {
            return;
        }
        assert_eq!(report["allowed_mutation_mode"], mode);
        let is_inspected = |name: &&&str| report["backend"] != "fake" || **name != "stage2-no-target-inspection";
        for name in proofs.iter().filter(is_inspected) {
            let proof = self.proof(bundle, name);
            for (field, expected) in [("run_id", &report["run_id"]), ("engine", &report["backend"])] {
                assert_eq!(&proof[field], expected, "{name} {field}");
            }
            let said = |field: &str| proof.get(field).cloned();
            let constants = [
                ("stage", json!(stage)),
                ("mutation_mode", json!(mode)),
                ("allowed_mutation_scope", json!(scope)),
                ("runtime_default_activation", json!(false)),
            ];
            let facts = FACTS.map(|(field, value)| (field, json!(value)));
            for (field, value) in constants.into_iter().chain(facts) {
                assert!(said(field).is_none_or(|found| found == value), "{name} {field}: {proof:#}");
            }
            let has_scope = ["stage4", "stage5", "stage6"].iter().any(|start| name.starts_with(start));
            assert_eq!(said("allowed_mutation_scope").is_some(), has_scope, "{name}");
        }
    }
}
