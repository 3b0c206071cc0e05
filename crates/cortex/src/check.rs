//! One record for its owner: its kind by its content, the stages it is good for, and the
//! exact bytes to sign.

use std::path::{Path, PathBuf};

use contract::record::{LicenseStatus, ModelAdmission, ProviderDecision, SourceAdmission, TargetAdmission};
use contract::source;
use contract::text::show_controls;
use contract::{Stage, Stamp};

use crate::load::{LoadRecordError, check_unsigned, read_bounded};
use crate::places::RecordPlaces;
use crate::rows::{ListedKind, RecordRow, decision_row, model_row, source_row, target_row};
use crate::signers::RecordSigners;

/// Unsigned records are good to here.
const UNSIGNED: Stage = Stage::DISPOSABLE_REPOSITORY;
/// Members that only one kind of record has.
const TELLING_MEMBERS: [(&str, ListedKind); 4] = [
    ("decision_status", ListedKind::ProviderDecision),
    ("admission_status", ListedKind::TargetAdmission),
    ("source_tree_sha256", ListedKind::SourceAdmission),
    ("admission_timestamp", ListedKind::ModelAdmission),
];
/// Ends of the folders in which records of a kind lie.
const TELLING_PLACES: [(&str, ListedKind); 4] = [
    ("decisions", ListedKind::ProviderDecision),
    ("admissions/target", ListedKind::TargetAdmission),
    ("admissions/source", ListedKind::SourceAdmission),
    ("admissions/model", ListedKind::ModelAdmission),
];

/// Reason why a file cannot be read or signed as a record.
#[derive(Debug, thiserror::Error)]
pub enum CheckRecordError {
    #[error("cannot read {}: {error}", show_controls(&.file.display().to_string()))]
    Read {
        file: PathBuf,
        #[source]
        error: std::io::Error,
    },
    #[error("{} is no record: no key shows its kind", show_controls(&.0.display().to_string()))]
    UnknownKind(PathBuf),
    /// First problem with its place, without values.
    #[error("{0}")]
    Unusable(String),
    #[error("{}: `{member}` still holds the placeholder of a draft", show_controls(&.file.display().to_string()))]
    Unfilled { file: PathBuf, member: String },
}

/// A record that a person may sign.
#[derive(Debug)]
pub struct SignableRecord {
    pub kind: ListedKind,
    /// Exactly what is to be signed.
    pub bytes: Vec<u8>,
    pub status: String,
}

/// Stages at which a record counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoodFor {
    pub first: Stage,
    /// Last stage; none if the record counts at no stage.
    pub last: Option<Stage>,
}

/// Checks one record, whatever its kind, and tells the stages it is good for.
pub fn check_record(places: &RecordPlaces, file: &Path, now: Stamp) -> Result<(RecordRow, GoodFor), CheckRecordError> {
    let bytes = read_bounded(file).map_err(|error| CheckRecordError::Read { file: file.to_owned(), error })?;
    let signers = RecordSigners::read_allowed(places, now);
    let kind = recognize_kind(file, &bytes)?;
    let row = match kind {
        ListedKind::ModelAdmission => model_row(file, &signers),
        ListedKind::ProviderDecision => decision_row(file, &signers),
        ListedKind::SourceAdmission => source_row(file, &signers),
        ListedKind::TargetAdmission => target_row(file, &signers),
    };
    let good_for = if row.problem.is_some() { none_of(kind) } else { stages_of(kind, &bytes, &row, now) };
    Ok((row, good_for))
}

/// Reads a record that is to be signed. Refuses one with placeholders, secret-shaped
/// content or problems.
pub fn read_signable(file: &Path) -> Result<SignableRecord, CheckRecordError> {
    let bytes = read_bounded(file).map_err(|error| CheckRecordError::Read { file: file.to_owned(), error })?;
    let kind = recognize_kind(file, &bytes)?;
    let name = show_controls(&file.display().to_string());
    let status = check_kind(kind, &name, &bytes).map_err(|error| match error {
        LoadRecordError::Placeholder(member) => CheckRecordError::Unfilled { file: file.to_owned(), member },
        // It names file, line and column itself.
        LoadRecordError::Shape(_) => CheckRecordError::Unusable(error.to_string()),
        _ => CheckRecordError::Unusable(format!("{name}: {error}")),
    })?;
    Ok(SignableRecord { kind, bytes, status })
}

/// Checks bytes as a record of a kind; gives its status.
fn check_kind(kind: ListedKind, name: &str, bytes: &[u8]) -> Result<String, LoadRecordError> {
    Ok(match kind {
        ListedKind::ModelAdmission => check_unsigned(name, bytes, ModelAdmission::problems)?.status,
        ListedKind::SourceAdmission => check_unsigned(name, bytes, SourceAdmission::problems)?.status,
        ListedKind::ProviderDecision => {
            check_unsigned(name, bytes, ProviderDecision::problems)?.decision_status.as_str().to_owned()
        }
        ListedKind::TargetAdmission => {
            check_unsigned(name, bytes, TargetAdmission::problems)?.admission_status.as_str().to_owned()
        }
    })
}

/// Tells the kind of a record by a member that only that kind has, else by its folder.
fn recognize_kind(file: &Path, bytes: &[u8]) -> Result<ListedKind, CheckRecordError> {
    let text = String::from_utf8_lossy(bytes);
    let read = source::read("record", &text);
    let by_member = TELLING_MEMBERS
        .iter()
        .find(|(member, _)| read.node.as_ref().is_some_and(|node| node.get_child(member).is_some()));
    let folder = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let by_place = || TELLING_PLACES.iter().find(|(place, _)| folder.parent().is_some_and(|it| it.ends_with(place)));
    let found = by_member.or_else(by_place).map(|(_, kind)| *kind);
    found.ok_or_else(|| CheckRecordError::UnknownKind(file.to_owned()))
}

const fn first_of(kind: ListedKind) -> Stage {
    match kind {
        ListedKind::ModelAdmission | ListedKind::ProviderDecision => Stage::ARTIFICIAL_FIXTURE,
        ListedKind::SourceAdmission => Stage::GATED_ENGINE,
        ListedKind::TargetAdmission => Stage::OWNED_REPOSITORY,
    }
}

const fn none_of(kind: ListedKind) -> GoodFor {
    GoodFor { first: first_of(kind), last: None }
}

/// Highest stage by signature, status, time and what the record itself says.
fn stages_of(kind: ListedKind, bytes: &[u8], row: &RecordRow, now: Stamp) -> GoodFor {
    let by_signature = if row.signed_by.is_some() { Stage::CANDIDATE_DEFAULT } else { UNSIGNED };
    let own = match kind {
        ListedKind::ModelAdmission => parse::<ModelAdmission>(bytes).and_then(|record| last_of_model(&record, now)),
        ListedKind::SourceAdmission => parse::<SourceAdmission>(bytes).and_then(|record| last_of_source(&record, now)),
        ListedKind::ProviderDecision => Some(Stage::CANDIDATE_DEFAULT),
        ListedKind::TargetAdmission => {
            let admits = parse::<TargetAdmission>(bytes).is_some_and(|record| record.defects().is_empty());
            admits.then_some(Stage::CANDIDATE_DEFAULT)
        }
    };
    let first = first_of(kind);
    GoodFor { first, last: own.map(|own| own.min(by_signature)).filter(|last| *last >= first) }
}

fn parse<T: serde::de::DeserializeOwned + schemars::JsonSchema + 'static>(bytes: &[u8]) -> Option<T> {
    source::load::<T>("the record", bytes).ok().map(|loaded| loaded.value)
}

fn last_of_model(record: &ModelAdmission, now: Stamp) -> Option<Stage> {
    let is_good = record.status == ModelAdmission::ADMITTED && record.expires_at.is_none_or(|end| now < end);
    is_good.then(|| record.max_stage.unwrap_or(Stage::CANDIDATE_DEFAULT))
}

fn last_of_source(record: &SourceAdmission, now: Stamp) -> Option<Stage> {
    if record.status != ModelAdmission::ADMITTED || record.expires_at.is_some_and(|end| now >= end) {
        return None;
    }
    let is_said = |note: &str| !note.trim().is_empty();
    let has_use = record.internal_use_note.as_deref().is_some_and(is_said);
    let by_license = match (record.license_status, has_use) {
        (LicenseStatus::Resolved, true) if is_said(&record.license_note) => Stage::CANDIDATE_DEFAULT,
        (LicenseStatus::Resolved, _) | (LicenseStatus::Unresolved, true) => Stage::DISPOSABLE_REPOSITORY,
        (LicenseStatus::Unresolved, false) => Stage::ARTIFICIAL_FIXTURE,
    };
    let allowed = |stage: &Stage| {
        *stage == Stage::GATED_ENGINE || record.allowed_execution_modes.contains(&stage.mutation_mode())
    };
    let by_mode = (1..=6).filter_map(|number| Stage::try_from(number).ok()).filter(allowed).max();
    let most = record.max_stage.unwrap_or(Stage::CANDIDATE_DEFAULT);
    by_mode.map(|mode| mode.min(by_license).min(most))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use untrusted_fs::own_files;

    use super::*;

    const MODEL: &str = include_str!("../../../docs/examples/admissions/model/qwen-local__qwen3.6-35b-a3b.json");
    const DECISION: &str = include_str!("../../../docs/examples/decisions/provider.yaml");
    const TARGET: &str = r#"{"admission_status": "admitted", "target_repository_path": "/srv/site", "repository_owner": "me",
        "ownership_evidence": "records/site.md", "risk_classification": "low_risk_noncritical", "noncritical_rationale": "a toy",
        "allowed_paths": ["src/"], "forbidden_paths": [], "forbidden_actions": ["push", "merge", "deploy", "close", "pr_open",
        "issue_close", "public_publication", "credential_change", "vendor_source_mutation", "cortex_core_mutation"],
        "approval_source": "me", "approval_timestamp": "2026-01-01", "operator_outcome_required": true, "review_trigger": "yearly"}"#;

    /// Kind, stages and signability of a record of some text.
    fn check(name: &str, text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        own_files::write_file(&file, text).unwrap();
        let now = Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap();
        let signable = read_signable(&file).is_ok();
        match check_record(&RecordPlaces::default(), &file, now) {
            Ok((row, GoodFor { first, last })) => {
                format!("{} {first}-{} {signable}", row.kind.as_str(), last.map_or(0, Stage::number))
            }
            Err(error) => error.to_string().replace(&folder.path().display().to_string(), ""),
        }
    }

    #[test]
    fn a_record_is_known_by_what_it_holds() {
        assert_eq!(check("x.json", MODEL), "model 2-4 true");
        assert_eq!(check("x.json", &MODEL.replace("\"admitted\"", "\"draft\"")), "model 2-0 true");
        assert_eq!(check("x.yaml", DECISION), "provider decision 2-4 true");
        assert_eq!(check("x.json", TARGET), "target 5-0 true", "unsigned");
        assert_eq!(check("admissions/target/x.yaml", "admitted: yes"), "target 5-0 false");
        assert_eq!(check("x.yaml", "admitted: yes"), "/x.yaml is no record: no key shows its kind");
        let left = contract::record::placeholder("who");
        assert_eq!(check("x.json", &TARGET.replace("\"me\"", &format!("\"{left}\""))), "target 5-0 false");
    }
}
