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

/// Facts of a proof that are the same in every pass.
type ProofFacts = &'static [(&'static str, bool)];

/// The facts of each proof. Each must be there; the proofs of stages 4 to 6 have scope and mode besides.
const FACTS: [(&str, ProofFacts); 5] = [
    ("stage2-no-target-inspection", &[("passed", true)]),
    (
        "stage3-copied-repo-proof",
        &[("unchanged", true), ("clean_start", true), ("clean_end", true), ("never_writable", true)],
    ),
    (
        "stage4-disposable-sandbox-proof",
        &[
            ("repository_start_clean", true),
            ("repository_ending_clean", true),
            ("no_forbidden_actions", true),
            ("public_publication_attempted", false),
            ("push_merge_deploy_close_pr_open_attempted", false),
            ("runtime_default_activation", false),
        ],
    ),
    ("stage5-owned-repo-proof", OWNED),
    ("stage6-owned-repo-proof", OWNED),
];
const OWNED: ProofFacts = &[
    ("target_repository_start_clean", true),
    ("target_repository_ending_clean", true),
    ("no_forbidden_actions", true),
    ("public_publication_attempted", false),
    ("push_merge_deploy_close_pr_open_attempted", false),
    ("runtime_default_activation", false),
];

/// Fields of a proof that are absent or not as they must be.
fn differing(proof: &Value, name: &str, stage: u8) -> Vec<String> {
    let (mode, scope, _) = STAGES[usize::from(stage) - 1];
    let (_, facts) = FACTS.iter().find(|(known, _)| *known == name).unwrap();
    let mut constants: Vec<(&str, Value)> = facts.iter().map(|(field, value)| (*field, json!(value))).collect();
    constants.push(("stage", json!(stage)));
    if ["stage4", "stage5", "stage6"].iter().any(|start| name.starts_with(start)) {
        constants.extend([("mutation_mode", json!(mode)), ("allowed_mutation_scope", json!(scope))]);
    }
    let differs = |(field, value): &(&str, Value)| proof.get(field) != Some(value);
    constants.iter().filter(|row| differs(row)).map(|(field, _)| (*field).to_owned()).collect()
}

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
            assert_eq!(differing(&proof, name, stage), [""; 0], "{name}: {proof:#}");
            // The control: each fact that is absent is missed.
            let (_, facts) = FACTS.iter().find(|(known, _)| known == name).unwrap();
            for (field, _) in *facts {
                let mut without = proof.clone();
                without.as_object_mut().unwrap().remove(*field);
                assert_eq!(differing(&without, name, stage), [*field], "{name}");
            }
        }
    }
}
