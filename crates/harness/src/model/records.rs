//! Finding and reading the records a model rests on. Decides nothing: what is found becomes facts.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use contract::record::{Found, ModelAdmission, ProviderDecision};
use contract::{Digest, ModelPair};
use secrets::{RuleSet, Scanner};
use serde::de::DeserializeOwned;

use super::ModelSettings;

/// Far more than a record needs.
const LARGEST: u64 = 256 << 10;
/// Records of one kind in a workspace.
const MOST: usize = 1000;

/// The admission a run's pair is judged by: the file that was named, or the workspace's record for the pair.
pub(super) fn admission(
    settings: &ModelSettings,
    named: Option<&Path>,
    pair: Option<&ModelPair>,
) -> Found<ModelAdmission> {
    match (named, &settings.admissions, pair) {
        (Some(file), ..) => read(file, ModelAdmission::problems),
        (None, Some(folder), Some(pair)) => search(folder, pair),
        (None, ..) => Found::Missing,
    }
}

pub(super) fn decision(settings: &ModelSettings) -> Found<ProviderDecision> {
    settings.decision.as_deref().map_or(Found::Missing, |file| read(file, ProviderDecision::problems))
}

/// The one record for the pair. A record that cannot be read could be that one: it is told, not passed over.
fn search(folder: &Path, pair: &ModelPair) -> Found<ModelAdmission> {
    let files = match json_files(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Missing,
        Err(error) => return Found::Invalid { why: format!("the admissions cannot be listed: {error}") },
    };
    let mut invalid = None;
    let mut fitting = Vec::new();
    for file in files {
        match read(&file, ModelAdmission::problems) {
            Found::Record { record, sha256 } if record.is_for(pair) => fitting.push(Found::Record { record, sha256 }),
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
    let entries = fs::read_dir(folder)?.take(MOST).collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    Ok(files)
}

/// Reads a record strictly. Its file is named, and never what stands in it.
fn read<T: DeserializeOwned + schemars::JsonSchema + 'static>(
    file: &Path,
    problems: fn(&T) -> Vec<String>,
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
    match contract::source::load::<T>(&name, &bytes) {
        Err(found) => invalid(first_line(&found.to_string())),
        Ok(loaded) => match problems(&loaded.value).first() {
            Some(problem) => invalid(problem.clone()),
            None => Found::Record { sha256: Digest::of(&bytes), record: loaded.value },
        },
    }
}

fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it has another shape").trim().to_owned()
}

fn bounded(file: &Path) -> io::Result<Vec<u8>> {
    let opened = fs::File::open(file)?;
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
}

/// Every record of the workspace, usable or not.
pub fn list_records(settings: &ModelSettings) -> io::Result<Vec<RecordRow>> {
    let mut rows = Vec::new();
    if let Some(folder) = &settings.admissions {
        match json_files(folder) {
            Ok(files) => rows.extend(files.iter().map(|file| check_record(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(file) = settings.decision.as_ref().filter(|file| file.exists()) {
        rows.push(decision_row(file));
    }
    Ok(rows)
}

/// One model admission.
pub fn check_record(file: &Path) -> RecordRow {
    let found = read(file, ModelAdmission::problems);
    let record = found.record();
    RecordRow {
        kind: "model",
        file: file.to_owned(),
        subject: record.map(|record| format!("{}/{}", record.provider, record.model)),
        status: record.map(|record| record.status.clone()),
        problem: problem(&found),
        sha256: found.sha256(),
    }
}

fn decision_row(file: &Path) -> RecordRow {
    let found = read(file, ProviderDecision::problems);
    let record = found.record();
    RecordRow {
        kind: "provider decision",
        file: file.to_owned(),
        subject: record.map(|record| format!("{}/{}", record.provider, record.model)).filter(|pair| pair.len() > 1),
        status: record.map(|record| record.decision_status.as_str().to_owned()),
        problem: problem(&found),
        sha256: found.sha256(),
    }
}

fn problem<T>(found: &Found<T>) -> Option<String> {
    match found {
        Found::Missing => Some("it is not there".to_owned()),
        Found::Invalid { why } => Some(why.clone()),
        Found::Record { .. } => None,
    }
}
