//! Finding and reading the records a model rests on. Decides nothing: what is found becomes facts.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use contract::record::{Found, ModelAdmission, ProviderDecision, find_placeholder};
use contract::{Digest, ModelPair, Stamp};
use secrets::{RuleSet, Scanner};
use serde::Serialize;
use serde::de::DeserializeOwned;
use untrusted_fs::own_files::{self, OwnPath as _};

use super::signed::Signers;
use crate::home::model_settings::ModelSettings;

/// Far more than a record needs.
const LARGEST: u64 = 256 << 10;
/// Records of one kind in a workspace.
const MOST: usize = 1000;

/// The admission a run's pair is judged by: the file that was named, or the workspace's record for the pair.
pub(super) fn admission(
    settings: &ModelSettings,
    named: Option<&Path>,
    pair: Option<&ModelPair>,
    signers: &Signers,
) -> Found<ModelAdmission> {
    match (named, &settings.admissions, pair) {
        (Some(file), ..) => read(file, ModelAdmission::problems, signers),
        (None, Some(folder), Some(pair)) => search(folder, pair, signers),
        (None, ..) => Found::Missing,
    }
}

pub(super) fn decision(settings: &ModelSettings, signers: &Signers) -> Found<ProviderDecision> {
    settings.decision.as_deref().map_or(Found::Missing, |file| read(file, ProviderDecision::problems, signers))
}

/// The one record for the pair. A record that cannot be read could be that one: it is told, not passed over.
fn search(folder: &Path, pair: &ModelPair, signers: &Signers) -> Found<ModelAdmission> {
    let files = match json_files(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Missing,
        Err(error) => return Found::Invalid { why: format!("the admissions cannot be listed: {error}") },
    };
    let mut invalid = None;
    let mut fitting = Vec::new();
    for file in files {
        match read(&file, ModelAdmission::problems, signers) {
            found @ Found::Record { .. } if found.record().is_some_and(|record| record.is_for(pair)) => {
                fitting.push(found);
            }
            Found::Record { .. } | Found::Missing => {}
            Found::Invalid { why } => invalid = Some(Found::Invalid { why }),
        }
    }
    match (fitting.len(), invalid) {
        (0, Some(invalid)) => invalid,
        (0, None) => Found::Missing,
        (1, _) => fitting.remove(0),
        (count, _) => Found::Invalid { why: format!("{count} admissions are for {pair}; keep one") },
    }
}

fn json_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = own_files::read_dir(folder)?.take(MOST).collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    Ok(files)
}

/// Reads a record strictly. Its file is named, and never what stands in it.
pub(crate) fn read<T: Serialize + DeserializeOwned + schemars::JsonSchema + 'static>(
    file: &Path,
    problems: fn(&T) -> Vec<String>,
    signers: &Signers,
) -> Found<T> {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let invalid = |why: String| Found::Invalid { why: format!("{name}: {why}") };
    let bytes = match bounded(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Missing,
        Err(error) => return invalid(format!("it cannot be read: {error}")),
    };
    if let Some(hit) = Scanner::new(&[], RuleSet::standard()).scan(&bytes).first() {
        return invalid(format!("it holds something secret-shaped ({} at byte {})", hit.rule, hit.offset));
    }
    let record = match contract::source::load::<T>(&name, &bytes) {
        Err(found) => return invalid(first_line(&found.to_string())),
        Ok(loaded) => loaded.value,
    };
    if let Some(problem) = problems(&record).first() {
        return invalid(problem.clone());
    }
    if let Some(member) = unfilled(&record) {
        return invalid(format!("`{member}` still holds the placeholder of a draft; fill it in"));
    }
    match signers.signer(file, &bytes) {
        Ok(signed_by) => Found::Record { sha256: Digest::of(&bytes), record, signed_by },
        Err(why) => invalid(why),
    }
}

/// The member that a person has yet to fill in, in a record that calls itself more than a draft.
fn unfilled(record: &impl Serialize) -> Option<String> {
    let document = serde_json::to_value(record).ok()?;
    if document["status"] == "draft" { None } else { find_placeholder(&document) }
}

fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it has another shape").trim().to_owned()
}

pub(super) fn bounded(file: &Path) -> io::Result<Vec<u8>> {
    let opened = own_files::open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    opened.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST { Err(io::Error::other("it is too large for a record")) } else { Ok(bytes) }
}

/// A record of a workspace, for people to see.
#[derive(Debug, Clone)]
pub struct RecordRow {
    pub kind: &'static str,
    pub file: PathBuf,
    /// What it is about.
    pub subject: Option<String>,
    pub status: Option<String>,
    /// Why it cannot be used.
    pub problem: Option<String>,
    pub sha256: Option<Digest>,
    /// The key whose signature of it counts.
    pub signed_by: Option<String>,
}

/// Every record of the workspace, usable or not.
pub fn list_records(settings: &ModelSettings, now: Stamp) -> io::Result<Vec<RecordRow>> {
    let signers = Signers::read(settings, now);
    let mut rows = Vec::new();
    if let Some(folder) = &settings.admissions {
        match json_files(folder) {
            Ok(files) => rows.extend(files.iter().map(|file| admission_row(file, &signers))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(file) = settings.decision.as_ref().filter(|file| file.own_exists()) {
        rows.push(decision_row(file, &signers));
    }
    Ok(rows)
}

/// One model admission.
pub fn check_record(settings: &ModelSettings, file: &Path, now: Stamp) -> RecordRow {
    admission_row(file, &Signers::read(settings, now))
}

fn admission_row(file: &Path, signers: &Signers) -> RecordRow {
    let found = read(file, ModelAdmission::problems, signers);
    let record = found.record();
    RecordRow {
        kind: "model",
        file: file.to_owned(),
        subject: record.map(|record| format!("{}/{}", record.provider, record.model)),
        status: record.map(|record| record.status.clone()),
        problem: problem(&found),
        sha256: found.sha256(),
        signed_by: found.signed_by().map(str::to_owned),
    }
}

fn decision_row(file: &Path, signers: &Signers) -> RecordRow {
    let found = read(file, ProviderDecision::problems, signers);
    let record = found.record();
    RecordRow {
        kind: "provider decision",
        file: file.to_owned(),
        subject: record.map(|record| format!("{}/{}", record.provider, record.model)).filter(|pair| pair.len() > 1),
        status: record.map(|record| record.decision_status.as_str().to_owned()),
        problem: problem(&found),
        sha256: found.sha256(),
        signed_by: found.signed_by().map(str::to_owned),
    }
}

fn problem<T>(found: &Found<T>) -> Option<String> {
    match found {
        Found::Missing => Some("it is not there".to_owned()),
        Found::Invalid { why } => Some(why.clone()),
        Found::Record { .. } => None,
    }
}
