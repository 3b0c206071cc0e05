//! Records that a plan rests on, by file, digest, status and signer.

use std::path::Path;

use contract::approval::{PlannedRecord, RecordKind};
use contract::decision::SettingFacts;
use contract::record::{FoundRecord, TargetStatus};
use contract::{Digest, Stamp};
use cortex::list_records;

use crate::home::ask::Ask;
use crate::home::clock::RunClock;
use crate::run::harness::Harness;

/// Words of a record that a packet shows.
struct RecordWords<'r> {
    status: &'r str,
    approval_source: &'r str,
    review_trigger: &'r str,
}

/// Every record relied on, in the order of their kinds. One that is missing or cannot be
/// read is refused by its gate.
pub(crate) fn list_planned_records(harness: &Harness, ask: &Ask, settings: &SettingFacts) -> Vec<PlannedRecord> {
    let mut records = Vec::new();
    if let Some(engine) = &settings.engine {
        let file = format!("{}.yaml", ask.engine);
        records.extend(plan_record(RecordKind::SourceAdmission, &engine.admission, file, |record| RecordWords {
            status: &record.status,
            approval_source: &record.approval_source,
            review_trigger: &record.review_trigger,
        }));
    }
    if let Some(model) = &settings.model {
        let file = model_file(harness, ask, model.admission.sha256());
        records.extend(plan_record(RecordKind::ModelAdmission, &model.admission, file, |record| RecordWords {
            status: &record.status,
            approval_source: &record.approval_source,
            review_trigger: &record.review_trigger,
        }));
        let file = "provider.yaml".to_owned();
        records.extend(plan_record(RecordKind::ProviderDecision, &model.decision, file, |record| RecordWords {
            status: record.decision_status.as_str(),
            approval_source: &record.approval_source,
            review_trigger: &record.review_trigger,
        }));
    }
    if let Some(target) = &settings.target_admission {
        let file = file_name(target.file.as_deref().map(Path::new)).unwrap_or_else(|| "target admission".to_owned());
        records.extend(plan_record(RecordKind::TargetAdmission, &target.admission, file, |record| RecordWords {
            status: match record.admission_status {
                TargetStatus::Admitted => "admitted",
                TargetStatus::NotAdmitted => "not_admitted",
            },
            approval_source: &record.approval_source,
            review_trigger: &record.review_trigger,
        }));
    }
    records
}

fn plan_record<T>(
    kind: RecordKind,
    found: &FoundRecord<T>,
    file: String,
    words: impl Fn(&T) -> RecordWords<'_>,
) -> Option<PlannedRecord> {
    let FoundRecord::Record { sha256, record, signed_by } = found else { return None };
    let RecordWords { status, approval_source, review_trigger } = words(record);
    Some(PlannedRecord {
        kind,
        file,
        sha256: *sha256,
        status: status.to_owned(),
        approval_source: approval_source.to_owned(),
        review_trigger: review_trigger.to_owned(),
        signed_by: signed_by.clone(),
    })
}

/// Name of the file that holds the model's admission: the named one, else the workspace's
/// with this digest.
fn model_file(harness: &Harness, ask: &Ask, sha256: Option<Digest>) -> String {
    let named = file_name(ask.model.admission_file.as_deref());
    let listed = || {
        let now: Stamp = RunClock::start_clock().ok()?.started();
        let rows = list_records(&harness.records, now).ok()?;
        let row = rows
            .into_iter()
            .find(|row| row.kind == cortex::ListedKind::ModelAdmission && row.sha256 == sha256 && sha256.is_some())?;
        file_name(Some(&row.file))
    };
    named.or_else(listed).unwrap_or_else(|| "model admission".to_owned())
}

fn file_name(path: Option<&Path>) -> Option<String> {
    Some(path?.file_name()?.to_string_lossy().into_owned())
}
