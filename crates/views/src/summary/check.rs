//! Checks of a summary that lies somewhere: shape, bounds, constants, and values that
//! belong into no summary.

use serde::Serialize;

use super::{ControlSummary, LARGEST_SUMMARY, SUMMARY_VERSION};

/// Names of keys that hold credentials or endpoints.
const SECRET_KEYS: &[&str] =
    &["token", "secret", "password", "credential", "api_key", "authorization", "endpoint", "base_url"];

/// A check that a summary does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SummaryProblem {
    pub check: &'static str,
    pub text: String,
}

/// One check of a parsed summary.
type SummaryCheck = (&'static str, fn(&ControlSummary) -> Option<String>);

const CHECKS: &[SummaryCheck] = &[
    ("schema_version", |summary| {
        (summary.schema_version != SUMMARY_VERSION).then(|| format!("it is not {SUMMARY_VERSION}"))
    }),
    ("runtime_default_activation", |summary| summary.runtime_default_activation.then(|| "it is true".to_owned())),
    ("case_runtime_default_active", |summary| summary.case_runtime_default_active.then(|| "it is true".to_owned())),
    ("target_repository_mutation", |summary| summary.target_repository_mutation.then(|| "it is true".to_owned())),
    ("approval_packet.executable", |summary| summary.approval_packet.executable.then(|| "it is true".to_owned())),
    ("approval_required", |summary| (!summary.approval_required).then(|| "it is false".to_owned())),
    ("execution_allowed", |summary| {
        let needs = summary.execution_allowed && !summary.approval_granted;
        needs.then(|| "execution is allowed without an approval".to_owned())
    }),
    ("governed_execution", |summary| {
        let execution = &summary.governed_execution;
        let again = execution.approval_consumed && summary.execution_allowed;
        let unproven = execution.consumed_by_pass_evidence && execution.consumed_pass_report_path.is_none();
        match (again, unproven) {
            (true, _) => Some("an approval that was used up still allows a run".to_owned()),
            (_, true) => Some("the pass that used the approval up has no report".to_owned()),
            _ => None,
        }
    }),
    ("candidate_default", |summary| {
        let candidate = &summary.candidate_default;
        let validated = candidate.stage6_status == crate::RungStatus::Validated;
        (candidate.eligible != validated).then(|| "eligibility and rung 6 disagree".to_owned())
    }),
    ("ladder", |summary| {
        let is_whole = |ladder: &super::SummaryLadder| ladder.rungs.len() == crate::ladder::stages().count();
        summary.ladder.iter().find(|ladder| !is_whole(ladder)).map(|ladder| format!("{} lacks a rung", ladder.engine))
    }),
    ("blocked_lanes", |summary| {
        let silent = summary.blocked_lanes.iter().find(|lane| lane.rationale.trim().is_empty());
        silent.map(|lane| format!("{} has no rationale", lane.engine))
    }),
    ("next_operator_action", |summary| summary.next_operator_action.is_empty().then(|| "it is empty".to_owned())),
];

/// Checks the bytes of a summary. Gives the number of checks and the problems.
pub fn check_summary(bytes: &[u8]) -> (usize, Vec<SummaryProblem>) {
    let checked = CHECKS.len() + 3;
    let mut problems = Vec::new();
    let mut refuse = |check, text| problems.push(SummaryProblem { check, text });
    if bytes.len() > LARGEST_SUMMARY {
        refuse("size", format!("{} bytes, at most {LARGEST_SUMMARY} are allowed", bytes.len()));
    }
    match serde_json::from_slice::<ControlSummary>(bytes) {
        Err(error) => refuse("shape", error.to_string()),
        Ok(summary) => {
            for (name, check) in CHECKS {
                if let Some(text) = check(&summary) {
                    refuse(name, text);
                }
            }
        }
    }
    if let Some(found) = find_secret(bytes) {
        refuse("secrets", found);
    }
    (checked, problems)
}

/// A key that names a credential or an endpoint, an address, or a value of a secret's shape.
fn find_secret(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("://") {
        return Some("it holds an address".to_owned());
    }
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    if let Some(key) = find_key(&value) {
        return Some(format!("it has the key `{}`", contract::text::show_controls(&key)));
    }
    let is_clean = evidence::censor::Censor::new(Vec::new()).is_clean(bytes);
    (!is_clean).then(|| "it holds a value of a secret's shape".to_owned())
}

fn find_key(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Object(map) => map.iter().find_map(|(key, value)| {
            let is_secret = SECRET_KEYS.iter().any(|name| key.to_ascii_lowercase().contains(name));
            if is_secret { Some(key.clone()) } else { find_key(value) }
        }),
        serde_json::Value::Array(items) => items.iter().find_map(find_key),
        _ => None,
    }
}
