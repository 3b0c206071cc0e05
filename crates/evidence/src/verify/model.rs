//! The use of a model judged again: the report's sums equal those of `model-usage.jsonl`,
//! and refusals of the bridge block the run.

use contract::model::{ModelReport, ModelUse, RefusalCode, UsageRecord};
use contract::{Decision, Reason, Report};
use gate::model::{admission_status, is_fallback};

use super::checks::Checks;
use super::files::Tree;
use crate::names;

/// Checks the report's model block against the usage records and the decision.
pub(super) fn check_model(records: &[UsageRecord], decision: &Decision, report: &Report, checks: &mut Checks) {
    let facts = decision.inputs.settings.model.as_ref();
    let file = names::REPORT;
    checks.check_same(file, "model", facts.is_some(), report.model.is_some());
    let (Some(facts), Some(model)) = (facts, &report.model) else {
        checks.count_check(records.is_empty(), names::MODEL_USAGE, "model", "no use of a model", "records of it");
        return;
    };
    let status = admission_status(facts, decision.inputs.stage, decision.inputs.time);
    checks.check_same(file, "admission_status", status, model.admission_status);
    let same = model.requested == facts.requested
        && model.wire == facts.wire
        && model.admission_sha256 == facts.admission.sha256()
        && model.fallback == is_fallback(facts);
    checks.count_check(same, file, "model_requested", "what the decision was made for", "another");
    checks.count_check(
        model.used == ModelUse::of_records(records),
        file,
        "model_use",
        "the sums of model-usage.jsonl",
        "others",
    );
    check_blockers(records, model, report, checks);
}

/// One record a line; what cannot be read is a failure.
pub(super) fn usage_records(tree: &Tree, checks: &mut Checks) -> Vec<UsageRecord> {
    let lines = tree.content(names::MODEL_USAGE).unwrap_or_default().split(|byte| *byte == b'\n');
    let mut records = Vec::new();
    for (index, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            Err(error) => {
                let number = Some(index as u64 + 1);
                checks.fail(names::MODEL_USAGE, "shape", number, "its published schema", error);
            }
        }
    }
    records
}

fn check_blockers(records: &[UsageRecord], model: &ModelReport, report: &Report, checks: &mut Checks) {
    let file = names::MODEL_USAGE;
    let blocked = |reason: Reason| report.blocker_reasons.contains(&reason);
    // What an interrupted run had not written yet cannot be counted.
    let ended_early = blocked(Reason::HarnessInterrupted) || blocked(Reason::Halted);
    if report.engine.process_started && !ended_early {
        let missing = model.used.answered == 0;
        let listed = blocked(Reason::ModelEvidenceMissing);
        checks.check_same(file, "model_evidence", missing, listed);
    }
    for reason in records.iter().filter_map(|record| record.refusal.and_then(RefusalCode::reason)) {
        checks.count_check(
            blocked(reason) || !report.engine.process_started,
            file,
            "refusal",
            reason,
            "no such blocker",
        );
    }
}
