//! Remains of a killed `take`, `rollback` or `outcome`, brought to their end: its folder
//! under `work/` says what it was at.
//!
//! A statement of the harness that was signed and not recorded is recorded now. One that
//! was not finished goes, and so does a person's document that the ledger does not have: it
//! was never said. Its lock and unfinished objects in the repository go too. A branch that
//! was made stays: taking again finds and records it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::statement::Envelope;
use contract::taken::{Taken, TakenStatement};
use contract::{Digest, RunId};
use ledger::{Bundles, Entry, EntryKind, ReadLedgerError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tree::{BranchName, SourceProblem, SourceRepository, TreeError};
use untrusted_fs::own_files;

use crate::after::archive::{SAID_BY_PEOPLE, check_statement};
use crate::home::lock::take_folder;
use crate::run::harness::Harness;
use crate::run::stated::{PART, Stated};
use crate::seal::landing::{LandingEnd, RecoveredLanding};

/// Begins the name of a folder under `work/`.
pub(crate) const TAKE: &str = "take";
const FILE: &str = "begun.json";
/// An older version named it so.
const OLDER_FILE: &str = "take.json";

/// Written before anything of the repository or the statements is touched.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Begun {
    pub(crate) run_id: RunId,
    /// Empty, like the branch, where no repository is touched.
    #[serde(default)]
    pub(crate) repository: PathBuf,
    #[serde(default)]
    pub(crate) branch: String,
    /// The commit that a rollback takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rolled_back: Option<String>,
}

impl Begun {
    /// Makes the note durable before anything is changed.
    pub(crate) fn write_note(&self, work: &Path) -> io::Result<()> {
        let mut file = File::create_new(work.join(FILE))?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()
    }

    /// Note of a begun act; none if nothing was begun.
    fn read(work: &Path) -> Option<Self> {
        let bytes = own_files::read_file(work.join(FILE)).or_else(|_| own_files::read_file(work.join(OLDER_FILE)));
        serde_json::from_slice(&bytes.ok()?).ok()
    }
}

/// The ledger's entry about a patch that was taken.
pub(super) fn entry_body(taken: &Taken, stated: &Stated) -> Value {
    json!({
        "attestation_sha256": stated.attestation_sha256,
        "branch": taken.branch,
        "commit": taken.commit,
        "patch_sha256": taken.patch_sha256,
        "repository": taken.repository,
        "result_tree": taken.result_tree,
        "statement": stated.name,
        "statement_sha256": stated.statement_sha256,
    })
}

/// Ends a command whose process is gone; the caller holds its folder. Gives the rollback
/// that was cut off, where it was one. An error says what is still in the way.
pub(crate) fn recover_begun(harness: &Harness, work: &Path) -> Result<Option<RecoveredLanding>, String> {
    let Some(begun) = Begun::read(work) else { return Ok(None) };
    let token = work.file_name().unwrap_or_default().to_string_lossy();
    clear_repository(&begun, &token)?;
    finish_statements(harness, &begun.run_id)?;
    begun.cut_rollback(harness)
}

impl Begun {
    /// The rollback that was cut off; none where it was none, or was recorded.
    fn cut_rollback(self, harness: &Harness) -> Result<Option<RecoveredLanding>, String> {
        let Self { run_id, repository, branch, rolled_back: Some(commit) } = self else { return Ok(None) };
        if is_rolled_back(harness, &run_id).map_err(|error| error.to_string())? {
            return Ok(None);
        }
        let names_commit = |source: SourceRepository| {
            let found = source.find_branch(&BranchName::parse_name(&branch).ok()?).ok()??;
            matches!(found, tree::Landing::There(Some(found)) if found.to_string() == commit).then_some(())
        };
        let stands = SourceRepository::open_target(&repository).ok().and_then(names_commit).is_some();
        let end = if stands { LandingEnd::NotRolledBack } else { LandingEnd::RollbackUnsaid };
        Ok(Some(RecoveredLanding { run_id, repository, branch, commit, end }))
    }
}

/// True if the ledger says that the change of a run was taken back.
pub(crate) fn is_rolled_back(harness: &Harness, run_id: &RunId) -> Result<bool, ReadLedgerError> {
    Ok(harness.ledger().run_entries(run_id)?.iter().any(|entry| entry.is_kind(EntryKind::ChangeRolledBack)))
}

fn clear_repository(begun: &Begun, token: &str) -> Result<(), String> {
    let Ok(branch) = BranchName::parse_name(&begun.branch) else { return Ok(()) };
    // A target may be bare.
    let opened =
        if begun.rolled_back.is_some() { SourceRepository::open_target } else { SourceRepository::open_repository };
    match opened(&begun.repository) {
        Ok(source) => source.clear_landing(&branch, token).map_err(|error| error.to_string()),
        // With the repository went what lay in it.
        Err(TreeError::Source { problem: SourceProblem::Missing | SourceProblem::NotARepository, .. }) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Finishes statements about the run, unless another process is making one.
fn finish_statements(harness: &Harness, run_id: &RunId) -> Result<(), String> {
    let folder = harness.home.bundles().statements_dir(run_id);
    let Some(_alone) = take_folder(&folder) else { return Ok(()) };
    let entries = harness.ledger().run_entries(run_id).map_err(|error| error.to_string())?;
    for entry in own_files::read_dir(&folder).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let name = Bundles::statement_name(run_id, &file);
        if file.starts_with(PART) {
            fs::remove_file(entry.path()).map_err(|error| format!("{name}: {error}"))?;
        } else if file.starts_with("taken-") && !entries.iter().any(|entry| entry.body["statement"] == name) {
            record(harness, run_id, &entry.path(), name)?;
        } else if SAID_BY_PEOPLE.iter().any(|said| file.starts_with(said)) && !is_said(&entries, &name) {
            fs::remove_file(entry.path()).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    // One in which nothing was said speaks for no run.
    let _ = fs::remove_dir(&folder);
    Ok(())
}

/// True if the ledger has this document, or the document that this signature belongs to.
fn is_said(entries: &[Entry], name: &str) -> bool {
    let document = name.strip_suffix(".sig").unwrap_or(name);
    entries.iter().any(|entry| entry.body["statement"] == document)
}

/// Tells the ledger of a statement of ours; one that is not is left alone.
fn record(harness: &Harness, run_id: &RunId, path: &Path, name: String) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let bytes = own_files::read_file(path).map_err(|error| failed(&error))?;
    let Some((taken, attestation_sha256)) = said(&bytes) else { return Ok(()) };
    if check_statement(&bytes, attestation_sha256, &[harness.key.public()]).is_err() || taken.run_id != *run_id {
        return Ok(());
    }
    let stated = Stated {
        path: path.to_owned(),
        name: name.clone(),
        attestation_sha256,
        statement_sha256: Digest::of_bytes(&bytes),
    };
    let (kind, body) = (EntryKind::PatchTaken, entry_body(&taken, &stated));
    harness.ledger().append(kind, Some(run_id), taken.taken_at, &body).map(drop).map_err(|error| failed(&error))
}

/// Content of a statement, and the attestation that it is about.
fn said(bytes: &[u8]) -> Option<(Taken, Digest)> {
    let envelope: Envelope = serde_json::from_slice(bytes).ok()?;
    let statement: TakenStatement = serde_json::from_slice(&STANDARD.decode(envelope.payload).ok()?).ok()?;
    let about = statement.subject.first()?.digest.sha256;
    Some((statement.predicate, about))
}
