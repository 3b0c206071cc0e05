//! Proofs of stages 2 to 4 that the operator's repositories were not shown to the engine
//! and not changed: they are of this run, and a pass rests on no fact of them that is
//! false.

use contract::proof::{CopiedRepository, NoTargetInspection};
use contract::{Report, Stage};

use super::checks::{Checks, ProofChecks};
use crate::names;

/// Checks the proofs that are present; their presence itself is checked elsewhere.
pub(super) fn check_repository_proofs(
    report: &Report,
    no_target: Option<&NoTargetInspection>,
    copied: Option<&CopiedRepository>,
    checks: &mut Checks,
) {
    if let Some(proof) = no_target {
        check_no_target(report, proof, &mut ProofChecks { file: names::STAGE_2, checks });
    }
    if let Some(proof) = copied {
        check_copied(report, proof, &mut ProofChecks { file: names::STAGE_3, checks });
    }
}

fn check_no_target(report: &Report, proof: &NoTargetInspection, fields: &mut ProofChecks<'_>) {
    fields.check_field("run_id", &report.run_id, &proof.run_id);
    fields.check_field("stage", report.stage, proof.stage);
    fields.check_field("engine", &report.backend, &proof.engine);
    let is_clean = proof.places.iter().all(|looked| looked.occurrences == 0);
    fields.check_field("passed", is_clean, proof.passed);
    fields.holds_in_pass(report, "passed", proof.passed);
}

fn check_copied(report: &Report, proof: &CopiedRepository, fields: &mut ProofChecks<'_>) {
    fields.check_field("run_id", &report.run_id, &proof.run_id);
    fields.check_field("stage", Stage::COPIED_REPOSITORY, proof.stage);
    fields.check_field("engine", &report.backend, &proof.engine);
    fields.check_field("unchanged", proof.after.as_ref() == Some(&proof.before), proof.unchanged);
    for (field, found) in [
        ("unchanged", proof.unchanged),
        ("clean_start", proof.clean_start),
        ("clean_end", proof.clean_end),
        ("never_writable", proof.never_writable),
        ("passed", proof.passed),
    ] {
        fields.holds_in_pass(report, field, found);
    }
}

#[cfg(test)]
mod tests {
    use contract::{Status, from_json};
    use serde_json::{Value, json};

    use super::*;

    fn report(status: Status) -> Report {
        let golden = include_bytes!("../../../cto/tests/golden/v1.1-rules-1.2/pass/report.json");
        Report { status, ..from_json(golden).unwrap() }
    }

    /// Fields of the checks that fail for proofs with these changes.
    fn failed(status: Status, no_target: &Value, copied: &Value) -> Vec<String> {
        let report = report(status);
        let mut first = json!({
            "schema_version": "1.1", "run_id": report.run_id, "stage": report.stage, "engine": report.backend, "looked_for": [],
            "places": [{"place": "argv", "sha256": "0".repeat(64), "bytes": 1, "occurrences": 0}], "writable_roots": [], "passed": true,
            "compared_with": {"run_id": report.run_id, "engine": "fake", "stage": 2, "status": "pass", "bundle": "b"},
            "comparison": {
                "report_shape": {"this": [], "other": [], "same": true}, "event_order": {"this": [], "other": [], "same": true},
                "allowed_writes": {"this": true, "other": true, "same": true}, "verification": {"this": [], "other": [], "same": true},
                "blockers": {"this": [], "other": [], "same": true}, "digests": {"this": true, "other": true, "same": true},
                "freshness": {"this": true, "other": true, "same": true},
            },
        });
        let mut second = json!({
            "schema_version": "1.1", "run_id": report.run_id, "stage": 3, "engine": report.backend, "owner": null, "classification": null,
            "before": {"head": "h", "sha256": "s"}, "after": {"head": "h", "sha256": "s"}, "unchanged": true, "clean_start": true,
            "clean_end": true, "never_writable": true, "writable": [], "passed": true,
        });
        for (proof, edit) in [(&mut first, no_target), (&mut second, copied)] {
            proof.as_object_mut().unwrap().extend(edit.as_object().unwrap().clone());
        }
        let (first, second) = (serde_json::from_value(first).unwrap(), serde_json::from_value(second).unwrap());
        let mut checks = Checks::default();
        check_repository_proofs(&report, Some(&first), Some(&second), &mut checks);
        checks.failures.iter().map(|failure| failure.expected.clone()).collect()
    }

    #[test]
    fn a_pass_rests_on_no_false_fact() {
        let none = json!({});
        assert_eq!(failed(Status::Pass, &none, &none), Vec::<String>::new(), "the control");
        let found = json!([{"place": "argv", "sha256": "0".repeat(64), "bytes": 1, "occurrences": 1}]);
        for (edit, expected) in [
            (json!({"passed": false}), "passed true"),
            (json!({"places": found}), "passed false"),
            (json!({"places": found, "passed": false}), "passed true in a pass"),
            (json!({"engine": "other"}), "engine"),
            (json!({"stage": 1}), "stage"),
        ] {
            let failed = failed(Status::Pass, &edit, &none);
            assert!(failed.iter().any(|field| field.starts_with(expected)), "{edit}: {failed:?}");
        }
        for field in ["unchanged", "clean_start", "clean_end", "never_writable", "passed"] {
            let failed = failed(Status::Pass, &none, &json!({field: false}));
            assert!(failed.contains(&format!("{field} true in a pass")), "{failed:?}");
        }
        let changed = failed(Status::Pass, &none, &json!({"after": {"head": "h", "sha256": "another"}}));
        assert_eq!(changed, ["unchanged false"]);
        assert_eq!(failed(Status::Pass, &none, &json!({"engine": "other"})).len(), 1);
        let dirty = failed(
            Status::Fail,
            &json!({"places": found, "passed": false}),
            &json!({"clean_end": false, "passed": false}),
        );
        assert_eq!(dirty, Vec::<String>::new(), "a failure may say so");
    }
}
