//! Every defect of a target admission, and records that have none.

use super::*;
use crate::digest::Digest;
use crate::source::load;

const GOOD: &str = "\
admission_status: admitted
target_repository_path: /srv/site-tools
repository_owner: op1
ownership_evidence: decisions/site-tools.md
risk_classification: low_risk_noncritical
noncritical_rationale: a tool that nobody but us runs
allowed_paths: [src/, README.md]
forbidden_paths: [secrets/]
forbidden_actions: [push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, vendor_source_mutation, cortex_core_mutation]
approval_source: op1
approval_timestamp: 2026-11-15
operator_outcome_required: true
review_trigger: a new maintainer
";

fn read(text: &str) -> Result<TargetAdmission, String> {
    load("target.yaml", text.as_bytes()).map(|loaded| loaded.value).map_err(|problems| problems.to_string())
}

/// The record with one line of it exchanged, or left out.
fn with(key: &str, value: Option<&str>) -> String {
    let lines = GOOD.lines().filter_map(|line| match (line.starts_with(&format!("{key}:")), value) {
        (false, _) => Some(line.to_owned()),
        (true, value) => value.map(|value| format!("{key}: {value}")),
    });
    lines.map(|line| line + "\n").collect()
}

fn found(record: TargetAdmission) -> FoundRecord<TargetAdmission> {
    FoundRecord::Record { sha256: Digest::ZERO, record, signed_by: Some("SHA256:op1".to_owned()) }
}

#[test]
fn a_whole_record_admits_its_repository() {
    let record = read(GOOD).unwrap();
    assert_eq!((record.problems(), record.defects()), (vec![], vec![]));
    assert_eq!(target_admission_status(&found(record.clone()), "/srv/site-tools/"), AdmissionStatus::Admitted);
    assert_eq!(target_admission_status(&found(record.clone()), "/srv/site"), AdmissionStatus::Mismatch);
    let unsigned = FoundRecord::Record { sha256: Digest::ZERO, record: record.clone(), signed_by: None };
    assert_eq!(target_admission_status(&unsigned, "/srv/site-tools"), AdmissionStatus::InvalidAdmission);
    let json = serde_json::to_vec(&record).unwrap();
    assert_eq!(load::<TargetAdmission>("target.json", &json).unwrap().value, record, "JSON of the same shape");
    let keys: Vec<String> = serde_json::to_value(&record).unwrap().as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, TARGET_ADMISSION_KEYS);
    let schema = crate::source::schema_for::<TargetAdmission>();
    assert_eq!(schema["required"], serde_json::json!(TARGET_ADMISSION_KEYS));
}

#[test]
fn each_missing_or_wrong_field_has_its_reason() {
    use Reason::{CriticalRepository, TargetNotAdmitted, UnownedRepository};
    let rows = [
        ("admission_status", Some("not_admitted"), TargetNotAdmitted),
        ("target_repository_path", Some("\"\""), TargetNotAdmitted),
        ("target_repository_path", None, TargetNotAdmitted),
        ("repository_owner", Some("\" \""), UnownedRepository),
        ("repository_owner", None, UnownedRepository),
        ("ownership_evidence", Some("\"\""), UnownedRepository),
        ("ownership_evidence", None, UnownedRepository),
        ("ownership_evidence", Some("'<FILL IN: where it is shown>'"), UnownedRepository),
        ("risk_classification", Some("high"), CriticalRepository),
        ("risk_classification", None, CriticalRepository),
        ("noncritical_rationale", Some("\"\""), TargetNotAdmitted),
        ("allowed_paths", Some("[]"), TargetNotAdmitted),
        ("allowed_paths", None, TargetNotAdmitted),
        ("forbidden_actions", Some("[push]"), TargetNotAdmitted),
        ("forbidden_actions", None, TargetNotAdmitted),
        ("approval_source", Some("\"\""), TargetNotAdmitted),
        ("approval_timestamp", Some("\"\""), TargetNotAdmitted),
        ("operator_outcome_required", Some("false"), TargetNotAdmitted),
        ("operator_outcome_required", None, TargetNotAdmitted),
        ("review_trigger", None, TargetNotAdmitted),
    ];
    for action in ForbiddenAction::ALL {
        assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
    }
    for (key, value, reason) in rows {
        let record = read(&with(key, value)).unwrap();
        let defects = record.defects();
        let [defect] = defects.as_slice() else { panic!("{key}: {defects:?}") };
        assert_eq!(defect.reason, reason, "{key}: {defect}");
        assert!(defect.text.contains(key), "{key}: {defect}");
        let status = target_admission_status(&found(record), "/srv/site-tools");
        assert_ne!(status, AdmissionStatus::Admitted, "{key}");
    }
    // What may be empty.
    assert_eq!(read(&with("forbidden_paths", Some("[]"))).unwrap().defects(), vec![]);
    assert!(read(&with("forbidden_paths", None)).is_err(), "and must be said to be");
}

#[test]
fn a_record_that_admits_nothing_may_be_empty() {
    let record = read(
        "admission_status: not_admitted\ntarget_repository_path: ''\napproval_timestamp: ''\nforbidden_paths: []\n",
    )
    .unwrap();
    assert_eq!(record.problems(), Vec::<String>::new());
    assert_eq!(target_admission_status(&found(record), "/srv/site"), AdmissionStatus::NotAdmitted);
    assert_eq!(target_admission_status(&FoundRecord::Missing, "/srv/site"), AdmissionStatus::MissingAdmission);
    let invalid = FoundRecord::Invalid { why: String::new() };
    assert_eq!(target_admission_status(&invalid, "/srv/site"), AdmissionStatus::InvalidAdmission);
}

#[test]
fn what_contradicts_itself_is_told() {
    let rows = [
        ("target_repository_path", "srv/site", Some("target_repository_path")),
        ("target_repository_path", "/srv/../site", Some("target_repository_path")),
        ("target_repository_path", "/srv//site", Some("target_repository_path")),
        ("target_repository_path", "/srv/site/", None),
        ("approval_timestamp", "yesterday", Some("approval_timestamp")),
        ("approval_timestamp", "2026-02-30", Some("approval_timestamp")),
        ("approval_timestamp", "2026-11-15T10:00:00", Some("approval_timestamp")),
        ("approval_timestamp", "2026-11-15T10:00:00+01:00", None),
        ("approval_timestamp", "2026-11-15T10:00:00Z", None),
        ("allowed_paths", "[../up]", Some("allowed_paths")),
        ("forbidden_paths", "['[']", Some("forbidden_paths")),
    ];
    for (key, value, expected) in rows {
        let problems = read(&with(key, Some(value))).unwrap().problems();
        match (expected, problems.as_slice()) {
            (None, []) => {}
            (Some(word), [problem]) => assert!(problem.contains(word), "{problem}"),
            _ => panic!("{key}: {value}: {problems:?}"),
        }
    }
    for more in ["schema_version: '1'\n", "expires_at: 2027-01-01\n", "note: x\n"] {
        assert!(read(&format!("{GOOD}{more}")).unwrap_err().contains("unknown key"), "{more}");
    }
    assert!(read(&with("admission_status", Some("draft"))).is_err());
    assert!(read(&with("admission_status", None)).is_err());
    assert!(read(&with("forbidden_actions", Some("[push, sing]"))).is_err());
}
