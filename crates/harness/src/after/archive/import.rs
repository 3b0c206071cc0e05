//! Taking a run in: laid out aside, checked whole, and put in place by one rename.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use contract::{Digest, Report, RunId, canonical_bytes};
use evidence::verify::AskedRun;
use evidence::{PublicKey, names as bundle_names, stop, verify};
use ledger::{Bundles, EntryKind, IMPORT_SIGNER_FILE, PlaceBundleError};
use serde_json::json;
use untrusted_fs::own_files::{self, OwnOptions as _, OwnPath as _};

use super::read::ArchiveReader;
use super::{
    ArchiveManifest, BUNDLE, FORMAT, ImportArchiveError, LARGEST_STATEMENT, MANIFEST, STATEMENTS, VERSION, refused,
    statement,
};
use crate::home::baseline;
use crate::home::clock::RunClock;
use crate::home::layout::{Home, HomePlace};
use crate::home::token::random_suffix;

/// Result of an import.
#[derive(Debug)]
pub enum Imported {
    Taken(TakenIn),
    /// The very same run was here before.
    Here(TakenIn),
}

/// A run that is here and verified.
#[derive(Debug)]
pub struct TakenIn {
    pub report: Report,
    pub bundle: PathBuf,
    pub signer: String,
    pub attestation_sha256: Digest,
    /// Statements about it that came with it.
    pub statements: usize,
}

/// Takes the run of an archive into a home, which is made where it is missing. `keys` are
/// those that count.
pub fn import_archive(place: &HomePlace, file: &Path, keys: &[PublicKey]) -> Result<Imported, ImportArchiveError> {
    let mut reader = ArchiveReader::open_archive(file)?;
    let stage = Stage::make(&place.root)?;
    lay_out(&mut reader, &stage.path)?;
    stop::pass_place("import.laid_out");
    let mut taken = check(&stage.path, keys)?;
    stop::pass_place("import.checked");
    let home = Home::create_folders(place).map_err(ImportArchiveError::Home)?;
    if let Some(bundle) = same_here(&home, &taken)? {
        taken.bundle = bundle;
        return Ok(Imported::Here(taken));
    }
    let signer = keys.iter().find(|key| key.key_id() == taken.signer);
    stage.keep_signer(signer)?;
    record(&home, &taken)?;
    stop::pass_place("import.said");
    let run_id = taken.report.run_id.clone();
    taken.bundle = home.bundles().imported_dir(&run_id);
    match stage.place(home.bundles(), &run_id) {
        Ok(()) => Ok(Imported::Taken(taken)),
        // Another import of the same archive was faster.
        Err(ImportArchiveError::Write(_, error)) if error.kind() == io::ErrorKind::AlreadyExists => {
            same_here(&home, &taken)?;
            Ok(Imported::Here(taken))
        }
        Err(error) => Err(error),
    }
}

/// A bundle that was taken out of an archive, and the run that it must be.
#[derive(Debug)]
pub struct OpenedArchive {
    pub bundle: PathBuf,
    pub asked: AskedRun,
}

/// Unpacks an archive into an empty folder for reading. Nothing in it is trusted: the
/// caller verifies the bundle.
pub fn open_archive(file: &Path, folder: &Path) -> Result<OpenedArchive, ImportArchiveError> {
    lay_out(&mut ArchiveReader::open_archive(file)?, folder)?;
    let ArchiveManifest { run_id, attestation_sha256, .. } = manifest(&folder.join(MANIFEST))?;
    let asked = AskedRun { run_id, attestation_sha256: Some(attestation_sha256) };
    Ok(OpenedArchive { bundle: folder.join(BUNDLE), asked })
}

fn lay_out(reader: &mut ArchiveReader, folder: &Path) -> Result<(), ImportArchiveError> {
    while let Some(entry) = reader.next_entry()? {
        let path = folder.join(&entry.name);
        let written = |error| ImportArchiveError::Write(path.clone(), error);
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(written)?;
        }
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(&path).map_err(written)?;
        reader.copy_entry(&entry, &mut out, &path)?;
    }
    Ok(())
}

/// Everything that can be known of what was laid out.
fn check(stage: &Path, keys: &[PublicKey]) -> Result<TakenIn, ImportArchiveError> {
    let manifest = manifest(&stage.join(MANIFEST))?;
    let bundle = stage.join(BUNDLE);
    let checked = match verify::verify_bundle(&bundle, keys, &[]) {
        Ok(checked) => checked,
        Err(verify::OpenBundleError::Read(path, error)) => return Err(ImportArchiveError::Read(path, error)),
        Err(_) => return Err(refused(BUNDLE, "is not a bundle")),
    };
    let (Some(report), Some(signer)) = (checked.report, checked.signer) else {
        return Err(ImportArchiveError::DoesNotVerify(checked.failures));
    };
    let path = bundle.join(bundle_names::ATTESTATION);
    let attestation = own_files::read_file(&path).map_err(|error| ImportArchiveError::Read(path, error))?;
    let attestation_sha256 = Digest::of_bytes(&attestation);
    if (&manifest.run_id, manifest.attestation_sha256) != (&report.run_id, attestation_sha256) {
        return Err(refused(MANIFEST, format!("is about another run than the bundle, which is {}", report.run_id)));
    }
    let statements = statements(&stage.join(STATEMENTS), attestation_sha256, keys)?;
    check_baseline(&stage.join(bundle_names::BASELINE), &report)?;
    Ok(TakenIn { report, bundle, signer, attestation_sha256, statements })
}

/// A baseline beside the bundle is the tree that the run was signed for.
fn check_baseline(path: &Path, report: &Report) -> Result<(), ImportArchiveError> {
    if !path.own_exists() {
        return Ok(());
    }
    let name = bundle_names::BASELINE;
    let tree = baseline::tree_id(path).map_err(|error| refused(name, format!("cannot be read: {error}")))?;
    match report.baseline_tree.as_deref() == Some(tree.to_string().as_str()) {
        true => Ok(()),
        false => Err(refused(name, "is another tree than the run began with")),
    }
}

fn manifest(path: &Path) -> Result<ArchiveManifest, ImportArchiveError> {
    let bytes = own_files::read_file(path).map_err(|error| ImportArchiveError::Read(path.to_owned(), error))?;
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| refused(MANIFEST, format!("cannot be read: {error}")))?;
    if value["format"] != FORMAT || value["schema_version"] != VERSION {
        let why = "is of another format or a newer version than this program knows";
        return Err(refused(MANIFEST, why));
    }
    let manifest: ArchiveManifest =
        serde_json::from_value(value).map_err(|error| refused(MANIFEST, format!("cannot be read: {error}")))?;
    match canonical_bytes(&manifest).is_ok_and(|again| again == bytes) {
        true => Ok(manifest),
        false => Err(refused(MANIFEST, "is not in its canonical form")),
    }
}

fn statements(folder: &Path, attestation: Digest, keys: &[PublicKey]) -> Result<usize, ImportArchiveError> {
    let failed = |error| ImportArchiveError::Read(folder.to_owned(), error);
    let listed = match own_files::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        listed => listed.map_err(failed)?,
    };
    let mut files = BTreeMap::new();
    for entry in listed {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, own_files::read_file(entry.path()).map_err(failed)?);
    }
    let checked = statement::check_all(&files, attestation, keys);
    checked.map_err(|(name, why)| refused(&format!("{STATEMENTS}/{name}"), why))
}

/// The bundle of this run that is here already; an error where it is another, or the ledger
/// knows it as another.
fn same_here(home: &Home, taken: &TakenIn) -> Result<Option<PathBuf>, ImportArchiveError> {
    let run_id = &taken.report.run_id;
    let expected = taken.attestation_sha256;
    let another = |found: String| Err(ImportArchiveError::Another { run_id: run_id.clone(), found });
    let ledger = home.ledger_to_read().map_err(ImportArchiveError::Home)?;
    if let Some(ledger) = ledger {
        let entries = ledger.run_entries(run_id);
        let entries = entries.map_err(|error| ImportArchiveError::Ledger(error.into()))?;
        let of = |kind: EntryKind| entries.iter().find(|entry| entry.is_kind(kind));
        match (of(EntryKind::RunStarted), of(EntryKind::EvidenceSealed)) {
            (Some(_), None) => return another("the ledger has it as a run that goes on".to_owned()),
            (_, Some(sealed)) if sealed.body["attestation_sha256"] != expected.to_string() => {
                return another("the ledger has it with another attestation".to_owned());
            }
            _ => {}
        }
    }
    for bundle in home.bundles().bundle_places(run_id) {
        let found = untrusted_fs::read_plain(&bundle, bundle_names::ATTESTATION.as_bytes(), LARGEST_STATEMENT);
        match found.map(|bytes| Digest::of_bytes(&bytes)) {
            Some(found) if found == expected => return Ok(Some(bundle)),
            None if own_files::symlink_metadata(&bundle).is_err() => {}
            _ => return another(format!("{} has another attestation, or none", bundle.display())),
        }
    }
    Ok(None)
}

fn record(home: &Home, taken: &TakenIn) -> Result<(), ImportArchiveError> {
    let now = RunClock::start_clock().map_err(|error| ImportArchiveError::Ledger(error.into()))?.started();
    let body = json!({
        "attestation_sha256": taken.attestation_sha256,
        "bundle": Bundles::imported_name(&taken.report.run_id),
        "signer": taken.signer,
        "statements": taken.statements,
    });
    let ledger = home.ledger().map_err(ImportArchiveError::Home)?;
    let run_id = &taken.report.run_id;
    let appended = ledger.append(EntryKind::EvidenceImported, Some(run_id), now, &body);
    appended.map(drop).map_err(|error| ImportArchiveError::Ledger(error.into()))
}

/// A folder to lay an archive out in. Goes with everything in it, and with the folders that
/// were made for it, unless it is placed.
struct Stage {
    path: PathBuf,
    made: Vec<PathBuf>,
    placed: bool,
    /// Locked while the import lives, so that a sweep knows what is dead.
    lock: File,
}

impl Stage {
    fn make(root: &Path) -> Result<Self, ImportArchiveError> {
        let failed = |error| ImportArchiveError::Write(root.to_owned(), error);
        let root = std::path::absolute(root).map_err(failed)?;
        let token = format!("{}-{}", std::process::id(), random_suffix().map_err(failed)?);
        let path = Bundles::in_home(&root).undone_import_dir(&token);
        let above = path.ancestors().skip(1);
        let missing: Vec<PathBuf> = above.take_while(|path| !path.own_exists()).map(Path::to_owned).collect();
        let made =
            DirBuilder::new().recursive(true).mode(0o700).create(&path).and_then(|()| own_files::open_file(&path));
        match made.and_then(|lock| lock.lock_shared().map(|()| lock)) {
            Ok(lock) => Ok(Self { path, made: missing, placed: false, lock }),
            Err(error) => {
                [path].iter().chain(&missing).for_each(|folder| drop(fs::remove_dir(folder)));
                Err(failed(error))
            }
        }
    }

    fn keep_signer(&self, signer: Option<&PublicKey>) -> Result<(), ImportArchiveError> {
        let path = self.path.join(IMPORT_SIGNER_FILE);
        let text = signer.map(|key| key.openssh("cto-imported")).unwrap_or_default();
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(&path);
        made.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| ImportArchiveError::Write(path, error))
    }

    fn place(mut self, bundles: &Bundles, run_id: &RunId) -> Result<(), ImportArchiveError> {
        let failed = |path: PathBuf, error: io::Error| ImportArchiveError::Write(path, error);
        rustix::fs::syncfs(&self.lock).map_err(|error| failed(self.path.clone(), error.into()))?;
        let published = bundles.publish_import(&self.path, run_id, &|place| stop::pass_place(place));
        self.placed = published.is_ok();
        published.map_err(|PlaceBundleError { path, error }| failed(path, error))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.placed {
            let _ = untrusted_fs::remove_tree(&self.path);
            // Only what is empty goes: by now others may use the home.
            self.made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
        }
    }
}
