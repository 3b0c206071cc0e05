//! Strict loading of one record: bounded, scanned for secrets, of the right shape, filled
//! in, and unsigned or signed by an allowed key.

use std::fs::DirEntry;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::Digest;
use contract::record::{FoundRecord, find_placeholder};
use contract::source::Problems;
use schemars::JsonSchema;
use secrets::{RuleSet, Scanner};
use serde::Serialize;
use serde::de::DeserializeOwned;
use untrusted_fs::own_files;

use crate::signers::{CheckSignatureError, RecordSigners};

/// Far more bytes than a record needs.
const LARGEST_RECORD: u64 = 256 << 10;

/// Reason why a file is no usable record. The text names members and positions, never values.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadRecordError {
    #[error("it cannot be read: {0}")]
    Read(#[source] io::Error),
    #[error("it holds something secret-shaped ({rule} at byte {offset})")]
    SecretShaped { rule: Arc<str>, offset: u64 },
    #[error("{}", first_line(&.0.to_string()))]
    Shape(#[source] Box<Problems>),
    /// First contradiction within a record of the right shape.
    #[error("{0}")]
    Content(String),
    #[error("`{0}` still holds the placeholder of a draft; fill it in")]
    Placeholder(String),
    #[error(transparent)]
    Signature(#[from] CheckSignatureError),
}

/// Checks that a record could be signed: whole, without contradictions, and with nothing
/// left for a person to fill in.
pub(crate) fn check_unsigned<T: Serialize + DeserializeOwned + JsonSchema + 'static>(
    name: &str,
    bytes: &[u8],
    problems: fn(&T) -> Vec<String>,
) -> Result<T, LoadRecordError> {
    let record = parse_record(name, bytes, problems)?;
    let document = serde_json::to_value(&record).ok();
    match document.as_ref().and_then(find_placeholder) {
        Some(member) => Err(LoadRecordError::Placeholder(member)),
        None => Ok(record),
    }
}

fn parse_record<T: Serialize + DeserializeOwned + JsonSchema + 'static>(
    name: &str,
    bytes: &[u8],
    problems: fn(&T) -> Vec<String>,
) -> Result<T, LoadRecordError> {
    if let Some(hit) = Scanner::new(&[], RuleSet::standard()).scan(bytes).first() {
        return Err(LoadRecordError::SecretShaped { rule: Arc::clone(&hit.rule), offset: hit.offset });
    }
    let loaded = contract::source::load::<T>(name, bytes);
    let record = loaded.map_err(|found| LoadRecordError::Shape(Box::new(found)))?.value;
    match problems(&record).into_iter().next() {
        Some(problem) => Err(LoadRecordError::Content(problem)),
        None => Ok(record),
    }
}

/// Loads a record as a fact for the gates. `problems` tells what is wrong beyond the shape.
pub(crate) fn load_record<T: Serialize + DeserializeOwned + JsonSchema + 'static>(
    file: &Path,
    problems: fn(&T) -> Vec<String>,
    signers: &RecordSigners,
) -> FoundRecord<T> {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let checked = match read_bounded(file) {
        Ok(bytes) => check_record_bytes(file, &name, &bytes, problems, signers),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return FoundRecord::Missing,
        Err(error) => Err(LoadRecordError::Read(error)),
    };
    checked.unwrap_or_else(|error| FoundRecord::Invalid { why: format!("{name}: {error}") })
}

fn check_record_bytes<T: Serialize + DeserializeOwned + JsonSchema + 'static>(
    file: &Path,
    name: &str,
    bytes: &[u8],
    problems: fn(&T) -> Vec<String>,
    signers: &RecordSigners,
) -> Result<FoundRecord<T>, LoadRecordError> {
    let record = parse_record(name, bytes, problems)?;
    if let Some(member) = find_unfilled_member(&record) {
        return Err(LoadRecordError::Placeholder(member));
    }
    let signed_by = signers.find_signer(file, bytes)?;
    Ok(FoundRecord::Record { sha256: Digest::of_bytes(bytes), record, signed_by })
}

/// Member that a person has yet to fill in, in a record that calls itself more than a draft.
fn find_unfilled_member(record: &impl Serialize) -> Option<String> {
    let document = serde_json::to_value(record).ok()?;
    let is_draft = document["status"] == "draft" || document["admission_status"] == "not_admitted";
    if is_draft { None } else { find_placeholder(&document) }
}

fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it has another shape").trim().to_owned()
}

/// Reads a file of the operator that is no larger than a record.
pub(crate) fn read_bounded(file: &Path) -> io::Result<Vec<u8>> {
    let opened = own_files::open_file(file)?;
    let metadata = opened.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    // One more byte than there is shows the end of the file.
    let size = usize::try_from(metadata.len().min(LARGEST_RECORD)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(size + 1);
    opened.take(LARGEST_RECORD + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST_RECORD {
        true => Err(io::Error::other("it is too large for a record")),
        false => Ok(bytes),
    }
}

/// Sorted paths of the entries whose names end so.
pub(crate) fn files_with_ending(
    entries: impl Iterator<Item = io::Result<DirEntry>>,
    ending: &str,
) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|found| found == ending));
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contract::Stamp;
    use contract::record::ModelAdmission;

    use super::*;
    use crate::RecordPlaces;

    const GOOD: &str = r#"{"admission_timestamp":"2026-01-01T00:00:00Z","allowed_network_class":"n","approval_source":"a",
        "credential_source_class":"c","model":"m","provider":"p","review_trigger":"r","status":"admitted"}"#;

    /// Loads `r.json`, whose text is the good one with a part replaced; gives the status, or the reason against it.
    fn check(folder: &Path, from: &str, to: &str) -> String {
        let file = folder.join("r.json");
        own_files::write_file(&file, GOOD.replace(from, to)).unwrap();
        let now = Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap();
        let signers = RecordSigners::read_allowed(&RecordPlaces::default(), now);
        match load_record(&file, ModelAdmission::problems, &signers) {
            FoundRecord::Missing => "missing".to_owned(),
            FoundRecord::Invalid { why } => why,
            FoundRecord::Record { record, .. } => record.status,
        }
    }

    #[test]
    fn a_record_is_loaded_whole_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let left = contract::record::placeholder("who");
        // In two parts, so that it is not one in this file either.
        let secret = ["sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"].concat();
        let large = " ".repeat(LARGEST_RECORD as usize);
        for (from, to, expected) in [
            ("", "", "admitted"),
            ("\"a\"", "\" \"", "r.json: `approval_source` is empty"),
            ("\"a\"", &format!("\"{left}\""), "r.json: `approval_source` still holds the placeholder of a draft"),
            ("\"a\"", &format!("\"{secret}\""), "r.json: it holds something secret-shaped ("),
            ("{", &format!("{{{large}"), "r.json: it cannot be read: it is too large for a record"),
            ("\"model\"", "\"modle\"", "modle"),
        ] {
            let found = check(folder.path(), from, to);
            assert!(found.contains(expected) && !found.contains(&secret), "{found}");
        }
    }

    #[test]
    fn a_draft_may_hold_placeholders() {
        let folder = tempfile::tempdir().unwrap();
        let left = contract::record::placeholder("when");
        let rest = format!("\"{left}\",\"status\":\"draft\"}}");
        assert_eq!(check(folder.path(), "\"r\",\"status\":\"admitted\"}", &rest), "draft");
    }

    #[test]
    fn a_signature_that_is_none_spoils_its_record() {
        let folder = tempfile::tempdir().unwrap();
        own_files::write_file(folder.path().join("r.json.sig"), "signed, the operator\n").unwrap();
        let found = check(folder.path(), "", "");
        assert_eq!(found, "r.json: its signature does not hold: it is no SSH signature");
    }
}
