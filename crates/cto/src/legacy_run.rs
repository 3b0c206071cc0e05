//! The run folder of an older harness: no attestation, a report of sixteen fields. What is
//! present has to have its shape, and files have to be what the report says; whatever it
//! shows counts for nothing.

use std::path::Path;

use contract::text::show_controls;
use contract::{Digest, Stamp, Status};
use serde_json::Value;

const REPORT: &str = "report.json";
/// Far more bytes than a file of an older run has.
const LARGEST_FILE: u64 = 64 << 20;
const APPROVALS: [&str; 4] = ["not-required", "requested", "granted", "denied"];

/// A check of a field's value; true where it has its shape.
type FieldCheck = fn(&Value) -> bool;

/// The sixteen fields of a report.
const FIELDS: [(&str, FieldCheck); 16] = [
    ("case_id", is_filled),
    ("run_id", is_filled),
    ("status", |value| [Status::Pass, Status::Fail, Status::Blocked].iter().any(|word| value == &word.to_string())),
    ("backend", is_filled),
    ("run_started_at", |value| read_time(value).is_some()),
    ("run_finished_at", |value| read_time(value).is_some()),
    ("backend_exit_code", |value| value.is_null() || value.is_i64()),
    ("artifacts_dir", is_filled),
    ("changed_files", is_text_list),
    ("allowed_writes_passed", |value| value.is_boolean() || value.is_null()),
    ("approval_status", |value| value.as_str().is_some_and(|word| APPROVALS.contains(&word))),
    ("verification", |value| value.is_object() || value.is_array()),
    ("blockers", Value::is_array),
    ("artifact_paths", |value| is_text_list(value) || value.is_object()),
    ("artifact_digests", Value::is_object),
    ("freshness", |value| value.is_object() || is_filled(value)),
];

fn is_filled(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn is_text_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

fn read_time(value: &Value) -> Option<Stamp> {
    value.as_str()?.parse().ok()
}

/// First thing in an older run's folder that contradicts itself; a folder without a report
/// contradicts nothing.
pub(crate) fn find_legacy_problem(folder: &Path) -> Option<String> {
    let bytes = untrusted_fs::read_plain(folder, REPORT.as_bytes(), LARGEST_FILE)?;
    let Ok(Value::Object(report)) = serde_json::from_slice::<Value>(&bytes) else {
        return Some("report.json is no JSON object".to_owned());
    };
    let is_wrong = |(name, check): &&(&str, FieldCheck)| report.get(*name).is_some_and(|value| !check(value));
    if let Some((name, _)) = FIELDS.iter().find(is_wrong) {
        return Some(format!("`{name}` of report.json has another shape"));
    }
    let time = |name: &str| report.get(name).and_then(read_time);
    if let (Some(began), Some(ended)) = (time("run_started_at"), time("run_finished_at"))
        && ended.timestamp() < began.timestamp()
    {
        return Some("the run ended before it began".to_owned());
    }
    let digests = report.get("artifact_digests").and_then(Value::as_object)?;
    digests.iter().find_map(|(name, digest)| {
        let expected = digest.as_str().unwrap_or_default().trim_start_matches("sha256:");
        let found = untrusted_fs::read_plain(folder, name.as_bytes(), LARGEST_FILE);
        let found = found.map(|bytes| Digest::of_bytes(&bytes).to_string());
        (found.as_deref() != Some(expected))
            .then(|| format!("{} has another digest, or is not there", show_controls(name)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole() -> Value {
        json!({
            "case_id": "r1", "run_id": "run-1", "status": "pass", "backend": "case",
            "run_started_at": "2026-01-02T03:04:05+01:00", "run_finished_at": "2026-01-02T03:05:05+01:00",
            "backend_exit_code": 0, "artifacts_dir": "runs/run-1", "changed_files": ["a.txt"],
            "allowed_writes_passed": true, "approval_status": "not-required", "verification": {"passed": true},
            "blockers": [], "artifact_paths": ["test.log"], "artifact_digests": {}, "freshness": {"fresh": true},
        })
    }

    fn problem(report: &Value) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(REPORT), report.to_string()).unwrap();
        find_legacy_problem(folder.path())
    }

    #[test]
    fn each_field_is_checked_where_it_is_present() {
        assert_eq!(problem(&whole()), None);
        assert_eq!(whole().as_object().unwrap().len(), FIELDS.len());
        for (name, _) in FIELDS {
            let mut report = whole();
            report[name] = json!(1.5);
            assert_eq!(problem(&report), Some(format!("`{name}` of report.json has another shape")));
            report.as_object_mut().unwrap().remove(name);
            assert_eq!(problem(&report), None, "{name} may be missing");
        }
        let mut report = whole();
        report["run_finished_at"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(problem(&report), Some("the run ended before it began".to_owned()));
        report = whole();
        report["artifact_digests"] = json!({"../x": "0"});
        assert_eq!(problem(&report), Some("../x has another digest, or is not there".to_owned()));
        assert_eq!(problem(&json!([])), Some("report.json is no JSON object".to_owned()));
    }
}
