//! The admission of the repository that a run would change.

use contract::approval::TargetAdmissionFacts;
use contract::record::{FoundRecord, TargetAdmission};
use contract::text::shell_word;
use contract::{Stage, Stamp};
use cortex::{RecordSigners, load_target_admission};
use evidence::stop;

use crate::home::ask::Ask;
use crate::home::task::Task;
use crate::run::harness::Harness;

/// Finds it from stage 5 on: the file that the command or the configuration names, else the
/// workspace's record for the contract's target. A contract without a target takes it from
/// the record.
pub(crate) fn find_target_admission(
    harness: &Harness,
    task: &Task,
    ask: &Ask,
    now: Stamp,
) -> Option<TargetAdmissionFacts> {
    if ask.stage < Stage::OWNED_REPOSITORY {
        return None;
    }
    let signers = RecordSigners::read_allowed(&harness.records, now);
    let wanted = task.target();
    let (file, mut admission) =
        load_target_admission(&harness.records, ask.target.as_deref(), wanted.as_deref(), &signers);
    overlook_defects(&mut admission);
    let of_record = || admission.record().map(|record| record.target_repository_path.clone());
    let path = wanted.clone().or_else(of_record).unwrap_or_default();
    let remedy = match (&file, wanted) {
        (Some(file), _) => format!("cto record check {}", shell_word(&file.display().to_string())),
        (None, Some(path)) => format!("cto admit target {}", shell_word(&path)),
        (None, None) => "name the admission of the target: --target ADMISSION".to_owned(),
    };
    let file = file.map(|file| file.display().to_string());
    Some(TargetAdmissionFacts { path, admission, file, remedy })
}

/// Fills in what a test build was told to overlook in the record.
fn overlook_defects(admission: &mut FoundRecord<TargetAdmission>) {
    let FoundRecord::Record { record, .. } = admission else { return };
    if stop::has_defect("owner_overlooked") {
        "somebody".clone_into(&mut record.repository_owner);
    }
    if stop::has_defect("risk_overlooked") {
        TargetAdmission::LOW_RISK.clone_into(&mut record.risk_classification);
    }
}
