//! Signed statements about a sealed run, made after its seal. Each is a separate file
//! beside the bundles that names the attestation by digest; the bundle is never touched.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use contract::statement::{Subject, SubjectDigest};
use contract::{Digest, RunId};
use evidence::{names, stop};
use ledger::Bundles;
use serde::Serialize;
use untrusted_fs::own_files::{self, OwnOptions as _};

use crate::run::harness::Harness;

/// Begins the name of a statement that is not whole yet.
pub(crate) const PART: &str = ".part-";

/// A statement and where it lies.
#[derive(Debug)]
pub(crate) struct Stated {
    pub(crate) path: PathBuf,
    /// Relative to the home.
    pub(crate) name: String,
    /// Attestation that the statement is about.
    pub(crate) attestation_sha256: Digest,
    /// Digest of the statement's file.
    pub(crate) statement_sha256: Digest,
}

/// Reason why a statement could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    #[error("cannot write a statement: {0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    #[error("cannot encode a statement: {0}")]
    Encode(#[source] serde_json::Error),
}

/// The folder for statements about a run, made where it is missing.
pub(crate) fn folder(harness: &Harness, run: &RunId) -> Result<PathBuf, StateError> {
    let folder = harness.home.bundles().statements_dir(run);
    match DirBuilder::new().recursive(true).mode(0o700).create(&folder) {
        Ok(()) => Ok(folder),
        Err(error) => Err(StateError::Io(folder, error)),
    }
}

/// Signs what `make` says about the bundle's attestation and writes it as `name`.
pub(crate) fn state<T: Serialize>(
    harness: &Harness,
    bundle: &Path,
    run: &RunId,
    name: &str,
    make: impl FnOnce(Vec<Subject>) -> T,
) -> Result<Stated, StateError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| StateError::Io(path, error)
    };
    let attestation = bundle.join(names::ATTESTATION);
    let sha256 = Digest::of_bytes(&own_files::read_file(&attestation).map_err(failed(&attestation))?);
    let subject = vec![Subject { name: names::ATTESTATION.to_owned(), digest: SubjectDigest { sha256 } }];
    let bytes = evidence::dsse::sign_statement(&make(subject), &harness.key).map_err(StateError::Encode)?;
    let folder = folder(harness, run)?;
    let file = format!("{name}.dsse.json");
    let path = folder.join(&file);
    // Whole or not there: a process killed in between leaves a name that no reader takes for a
    // statement.
    let part = folder.join(format!("{PART}{file}"));
    let mut opened =
        OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(&part).map_err(failed(&part))?;
    opened.write_all(&bytes).and_then(|()| opened.sync_all()).map_err(failed(&part))?;
    stop::pass_place("stated.written");
    fs::rename(&part, &path).map_err(failed(&path))?;
    own_files::open_file(&folder).and_then(|folder| folder.sync_all()).map_err(failed(&folder))?;
    Ok(Stated {
        path,
        name: Bundles::statement_name(run, &file),
        attestation_sha256: sha256,
        statement_sha256: Digest::of_bytes(&bytes),
    })
}

/// Place and digest of a person's document.
#[derive(Debug)]
pub(crate) struct StatedDocument {
    pub(crate) path: PathBuf,
    /// Relative to the home.
    pub(crate) name: String,
    /// Digest of the document's file.
    pub(crate) statement_sha256: Digest,
}

/// Writes a person's document about a run as `file`, after its signature beside it, so that
/// a document always has its signature.
pub(crate) fn state_document(
    harness: &Harness,
    run: &RunId,
    file: &str,
    bytes: &[u8],
    armour: Option<&str>,
) -> Result<StatedDocument, StateError> {
    let folder = folder(harness, run)?;
    let signature = armour.map(|armour| (format!("{file}.sig"), armour.as_bytes()));
    for (file, bytes) in signature.into_iter().chain([(file.to_owned(), bytes)]) {
        let (part, path) = (folder.join(format!("{PART}{file}")), folder.join(&file));
        let failed = |error: io::Error| StateError::Io(path.clone(), error);
        let mut opened = OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(&part).map_err(failed)?;
        opened.write_all(bytes).and_then(|()| opened.sync_all()).map_err(failed)?;
        stop::pass_place(if file.ends_with(".sig") { "statement.signature" } else { "statement.document" });
        fs::rename(&part, &path).map_err(failed)?;
    }
    let synced = own_files::open_file(&folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| StateError::Io(folder.clone(), error))?;
    Ok(StatedDocument {
        path: folder.join(file),
        name: Bundles::statement_name(run, file),
        statement_sha256: Digest::of_bytes(bytes),
    })
}
