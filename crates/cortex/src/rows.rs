//! Records as rows for people: each file with its kind, its subject, and the reason why it
//! cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use contract::record::{FoundRecord, TargetStatus};
use contract::{Digest, Stamp};
use untrusted_fs::own_files::OwnPath as _;

use crate::model::{list_model_files, load_decision_file, load_model_file};
use crate::places::RecordPlaces;
use crate::signers::RecordSigners;
use crate::source::{list_source_files, load_source_file};
use crate::target::{list_target_files, load_target_file};

/// Kind of a record in lists for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
    ModelAdmission,
    ProviderDecision,
    SourceAdmission,
    TargetAdmission,
}

impl ListedKind {
    /// Name of the kind in lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ModelAdmission => "model",
            Self::ProviderDecision => "provider decision",
            Self::SourceAdmission => "engine source",
            Self::TargetAdmission => "target",
        }
    }
}

/// A record of a workspace, for people to see.
#[derive(Debug, Clone)]
pub struct RecordRow {
    pub kind: ListedKind,
    pub file: PathBuf,
    /// Pair, source or path that the record is about.
    pub subject: Option<String>,
    pub status: Option<String>,
    /// Reason why it cannot be used.
    pub problem: Option<String>,
    pub sha256: Option<Digest>,
    /// Key whose signature of it counts.
    pub signed_by: Option<String>,
}

/// Lists every record of the workspace, usable or not.
pub fn list_records(places: &RecordPlaces, now: Stamp) -> io::Result<Vec<RecordRow>> {
    let signers = RecordSigners::read_allowed(places, now);
    let mut rows = Vec::new();
    if let Some(folder) = places.model_admissions() {
        match list_model_files(&folder) {
            Ok(files) => rows.extend(files.iter().map(|file| model_row(file, &signers))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(file) = places.provider_decision().filter(|file| file.own_exists()) {
        rows.push(decision_row(&file, &signers));
    }
    if let Some(folder) = places.source_admissions().filter(|folder| folder.own_is_dir()) {
        rows.extend(list_source_files(&folder)?.iter().map(|file| source_row(file, &signers)));
    }
    if let Some(folder) = places.target_admissions().filter(|folder| folder.own_is_dir()) {
        rows.extend(list_target_files(&folder)?.iter().map(|file| target_row(file, &signers)));
    }
    Ok(rows)
}

/// Checks one file as a model admission.
pub fn check_model_admission(places: &RecordPlaces, file: &Path, now: Stamp) -> RecordRow {
    model_row(file, &RecordSigners::read_allowed(places, now))
}

/// Checks one file as a source admission.
pub fn check_source_admission(places: &RecordPlaces, file: &Path, now: Stamp) -> RecordRow {
    source_row(file, &RecordSigners::read_allowed(places, now))
}

/// Checks one file as a target admission. One that says `admitted` and lacks something is a
/// problem.
pub fn check_target_admission(places: &RecordPlaces, file: &Path, now: Stamp) -> RecordRow {
    target_row(file, &RecordSigners::read_allowed(places, now))
}

/// Row of a model admission; a broken file becomes a row with its error.
pub(crate) fn model_row(file: &Path, signers: &RecordSigners) -> RecordRow {
    let found = load_model_file(file, signers);
    let record = found.record();
    let subject = record.map(|record| format!("{}/{}", record.provider, record.model));
    let status = record.map(|record| record.status.clone());
    RecordRow { subject, status, ..bare_row(ListedKind::ModelAdmission, file, &found) }
}

/// Row of a provider decision. The pair is left out while nothing is decided.
pub(crate) fn decision_row(file: &Path, signers: &RecordSigners) -> RecordRow {
    let found = load_decision_file(file, signers);
    let record = found.record();
    let subject = record.map(|record| format!("{}/{}", record.provider, record.model)).filter(|pair| pair.len() > 1);
    let status = record.map(|record| record.decision_status.as_str().to_owned());
    RecordRow { subject, status, ..bare_row(ListedKind::ProviderDecision, file, &found) }
}

/// Row of an engine's source admission.
pub(crate) fn source_row(file: &Path, signers: &RecordSigners) -> RecordRow {
    let found = load_source_file(file, signers);
    let record = found.record();
    let subject = record.map(|record| record.source_id.clone());
    let status = record.map(|record| record.status.clone());
    RecordRow { subject, status, ..bare_row(ListedKind::SourceAdmission, file, &found) }
}

/// Row of a target admission, with its first defect if it would admit.
pub(crate) fn target_row(file: &Path, signers: &RecordSigners) -> RecordRow {
    let found = load_target_file(file, signers);
    let record = found.record();
    let subject = record.map(|record| record.target_repository_path.clone()).filter(|path| !path.is_empty());
    let status = record.map(|record| record.admission_status.as_str().to_owned());
    let admits = record.filter(|record| record.admission_status == TargetStatus::Admitted);
    let defect = admits.and_then(|record| record.defects().into_iter().next()).map(|defect| defect.text);
    let bare = bare_row(ListedKind::TargetAdmission, file, &found);
    RecordRow { subject, status, problem: bare.problem.or(defect), ..bare }
}

/// Row without what only the kind of record knows.
fn bare_row<T>(kind: ListedKind, file: &Path, found: &FoundRecord<T>) -> RecordRow {
    let problem = match found {
        FoundRecord::Missing => Some("it is not there".to_owned()),
        FoundRecord::Invalid { why } => Some(why.clone()),
        FoundRecord::Record { .. } => None,
    };
    RecordRow {
        kind,
        file: file.to_owned(),
        subject: None,
        status: None,
        problem,
        sha256: found.sha256(),
        signed_by: found.signed_by().map(str::to_owned),
    }
}
