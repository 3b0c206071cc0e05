//! One truth: events, `sandbox.json`, `model-usage.jsonl` and the report agree, field by
//! field, also for an interrupted run.

use contract::model::{RequestOutcome, UsageRecord};
use contract::sandbox::AttemptVerdict;
use contract::{Coverage, Event, EventKind, Report};
use serde::Serialize;
use serde_json::{Value, json};

use super::checks::Checks;
use super::sandbox::Document;
use crate::names;

/// Most events of each kind of attempt that fails a run at once.
const ATTEMPT_EVENTS: usize = 100;

/// Everything that tells of the same run.
pub(super) struct RunDocuments<'a> {
    pub(super) events: &'a [Event],
    pub(super) report: &'a Report,
    pub(super) sandbox: Option<&'a Document>,
    pub(super) records: &'a [UsageRecord],
}

/// Checks every event against the documents that record the same fact.
pub(super) fn check_events(told: &RunDocuments<'_>, checks: &mut Checks) {
    for event in told.events {
        check_event(told, event, checks);
    }
    check_absent(told, checks);
    check_requests(told, checks);
    if let Some(document) = told.sandbox {
        check_attempts(told, document, checks);
    }
}

/// A field of an event is the value that another document has of it.
fn same_field(event: &Event, field: &str, value: impl Serialize, checks: &mut Checks) {
    let found = event.data.get(field).unwrap_or(&Value::Null);
    let expected = json!(value);
    let same = *found == expected;
    checks.count_check(same, names::EVENTS, "one_truth", format_args!("{} {field} {expected}", event.kind), found);
}

fn check_event(told: &RunDocuments<'_>, event: &Event, checks: &mut Checks) {
    let report = told.report;
    let mut same = |field: &str, value: Value| same_field(event, field, value, checks);
    match event.kind {
        EventKind::RunStarted => {
            same("engine", json!(report.backend));
            same("purpose", json!(report.purpose));
            same("stage", json!(report.stage));
            same("task_id", json!(report.task_id));
        }
        EventKind::TaskContractCreated => same("contract_digest", json!(report.contract_digest)),
        EventKind::EligibilityDecided => same("decision_id", json!(report.decision_id)),
        EventKind::WorkspacePrepared => {
            same("baseline_commit", json!(report.baseline_commit));
            same("baseline_tree", json!(report.baseline_tree));
        }
        EventKind::SandboxApplied => {
            same("asked", json!(report.sandbox.asked));
            same("profile", json!(report.sandbox.profile));
        }
        EventKind::EngineStarted => {
            same("engine", json!(report.backend));
            same("wall_seconds", json!(told.sandbox.map(|document| document.wall_seconds)));
        }
        EventKind::EngineExited => {
            same("exit_code", json!(report.backend_exit_code));
            same("exit_code", json!(report.engine.exit_code));
            same("duration_ms", json!(report.engine.duration_ms));
            same("stopped_because", json!(report.engine.ended_by_harness));
        }
        EventKind::PatchApplied => same("sha256", json!(report.artifact_digests.get(names::PATCH))),
        EventKind::GitDiffChecked => {
            same("allowed_writes_passed", json!(report.allowed_writes_passed));
            same("forbidden_paths_passed", json!(report.forbidden_paths_passed));
            same("result_tree", json!(report.result_tree));
            if !report.not_applicable.contains_key(names::PATCH) {
                same("changed_files", json!(report.changed_files.len()));
            }
        }
        EventKind::VerificationCompleted => same("result", json!(report.verification.result)),
        EventKind::SecretScanCompleted => {
            same("hits", json!(report.secret_scan.hits.len()));
            same("status", json!(report.secret_scan.status));
        }
        EventKind::RunCompleted => {
            same("backend_exit_code", json!(report.backend_exit_code));
            same("blockers", json!(report.blocker_reasons));
        }
        _ => {}
    }
}

/// Checks that the report states nothing without an event, and that no event is about a
/// part called inapplicable.
fn check_absent(told: &RunDocuments<'_>, checks: &mut Checks) {
    let (file, report) = (names::REPORT, told.report);
    let seen = |kind: EventKind| told.events.iter().any(|event| event.kind == kind);
    let unsaid = [
        (EventKind::EngineExited, report.backend_exit_code.is_some() || report.engine.exit_code.is_some()),
        (EventKind::GitDiffChecked, report.result_tree.is_some() || !report.changed_files.is_empty()),
        (EventKind::VerificationCompleted, !report.verification.passes.is_empty()),
    ];
    for (kind, said) in unsaid {
        checks.count_check(!said || seen(kind), file, "one_truth", format_args!("an event {kind}"), "none");
    }
    let ended = report.engine.ended_by_harness.is_some();
    let told_ended = report.coverage.contains(&Coverage::EngineEndedByHarness);
    checks.count_check(
        ended == told_ended,
        file,
        "one_truth",
        format_args!("engine_ended_by_harness: {ended}"),
        told_ended,
    );
    let started = !seen(EventKind::EngineStarted) || report.engine.process_started;
    checks.count_check(
        started,
        file,
        "one_truth",
        "process_started, as engine.started says",
        report.engine.process_started,
    );
    let denied = told.events.iter().find(|event| report.not_applicable.contains_key(event.kind.name()));
    let found = denied.map_or("", |event| event.kind.name());
    checks.count_check(denied.is_none(), file, "one_truth", "no event among what is not applicable", found);
}

/// Each request that ended has one event and one record, and both say the same.
fn check_requests(told: &RunDocuments<'_>, checks: &mut Checks) {
    let ended = |event: &&Event| matches!(event.kind, EventKind::ModelAnswered | EventKind::ModelRefused);
    let mut records: Vec<&UsageRecord> =
        told.records.iter().filter(|record| record.refused || record.outcome != RequestOutcome::Local).collect();
    for event in told.events.iter().filter(ended) {
        let its = records.iter().position(|record| event.data.get("request") == Some(&json!(record.seq)));
        let Some(record) = its.map(|at| records.swap_remove(at)) else {
            let expected = "a record of each request";
            checks.count_check(
                false,
                names::MODEL_USAGE,
                "one_truth",
                expected,
                event.data.get("request").unwrap_or(&Value::Null),
            );
            continue;
        };
        let refused = (event.kind == EventKind::ModelRefused) == record.refused;
        checks.count_check(refused, names::MODEL_USAGE, "one_truth", event.kind, record.refused);
        let mut same = |field: &str, value: Value| same_field(event, field, value, checks);
        same("model_answered", json!(record.model_answered));
        same("model_asked", json!(record.model_asked));
        same("outcome", json!(record.outcome));
        same("purpose", json!(record.purpose));
        same("refusal", json!(record.refusal));
        same("served", json!(record.served));
        same("status", json!(record.status));
        same("tokens", json!(record.tokens));
        same("total_ms", json!(record.total_ms));
        same("wire", json!(record.wire));
    }
    let unsaid = records.first().map_or(String::new(), |record| record.seq.to_string());
    checks.count_check(records.is_empty(), names::EVENTS, "one_truth", "an event of each request that ended", unsaid);
}

/// Checks that events, `sandbox.json` and the report list the same attempts.
fn check_attempts(told: &RunDocuments<'_>, document: &Document, checks: &mut Checks) {
    let (file, report) = (names::SANDBOX, told.report);
    let listed = |verdict: AttemptVerdict| -> Vec<String> {
        let of = document.attempts.iter().filter(|attempt| attempt.judged == verdict);
        of.map(|attempt| format!("{}: {}", attempt.cell, attempt.what)).collect()
    };
    let actions = listed(AttemptVerdict::ForbiddenAction) == report.forbidden_actions_attempted;
    checks.count_check(actions, file, "one_truth", "the forbidden actions of the report", "others");
    let violations = listed(AttemptVerdict::Violation) == report.sandbox.violations;
    checks.count_check(violations, file, "one_truth", "the violations of the report", "others");
    let left = document.leftover_processes == report.engine.leftover_processes;
    checks.count_check(left, file, "one_truth", "the leftover processes of the report", "others");
    let attempts: Vec<Value> = document.attempts.iter().map(|attempt| json!(attempt)).collect();
    let tells = |event: &Event, attempt: &Value| {
        attempt.as_object().is_some_and(|fields| fields.iter().all(|(name, value)| event.data.get(name) == Some(value)))
    };
    let refused = || told.events.iter().filter(|event| event.kind == EventKind::SandboxRefused);
    let untold = refused().find(|event| !attempts.iter().any(|attempt| tells(event, attempt)));
    let found = untold.map_or(Value::Null, |event| json!(event.data));
    checks.count_check(untold.is_none(), file, "one_truth", "every attempt that an event tells of", found);
    let unsaid = attempts.iter().find(|attempt| !refused().any(|event| tells(event, attempt)));
    let all_said = unsaid.is_none() || attempts.len() > ATTEMPT_EVENTS;
    checks.count_check(
        all_said,
        names::EVENTS,
        "one_truth",
        "an event of every attempt",
        unsaid.unwrap_or(&Value::Null),
    );
}
