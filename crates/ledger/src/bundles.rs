//! Bundles of a home, and the folders kept beside them, by run: sealed bundles, imported ones, statements, late evidence, trash.
//!
//! A caller asks for the bundle of a run and gets a local folder, or none. Nobody else knows where bundles lie, so that they can lie
//! elsewhere one day. The ledger says which of them are sealed; nothing here reads it.

mod imports;
mod packed;
mod shared;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use contract::RunId;
use schemars::JsonSchema;
use serde::Serialize;
use untrusted_fs::own_files::{self, OwnPath as _};

pub use imports::IMPORT_SIGNER_FILE;
pub use packed::UnpackBundleError;
pub use shared::{HandedIn, ShareBundleError};

use crate::objects::ObjectStore;

/// The folder of a home that holds the sealed bundles of its own runs.
pub const BUNDLES_FOLDER: &str = "harness-runs";
const STATEMENTS: &str = "statements";
const LATE: &str = "late";
/// Folders of a home that hold bundles and what is kept beside them.
pub const EVIDENCE_FOLDERS: [&str; 4] = [BUNDLES_FOLDER, imports::IMPORTED, STATEMENTS, LATE];

/// The bundles of one home.
#[derive(Debug, Clone)]
pub struct Bundles {
    home: PathBuf,
    store: Option<ObjectStore>,
}

/// The home that a bundle was sealed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BundleOrigin {
    Own,
    Imported,
    /// Another home on the same ledger.
    Shared,
}

/// The bundle of a run, in a local folder.
#[derive(Debug)]
pub struct KeptBundle {
    pub dir: PathBuf,
    pub origin: BundleOrigin,
    /// The lock that keeps the folder from being collected; `None` where somebody removes it just now.
    pub held: Option<File>,
}

/// One thing in the folder of sealed bundles; nobody has checked that its name is a run's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedFolder {
    pub name: String,
    pub dir: PathBuf,
}

/// A folder could not be put in its place for good.
#[derive(Debug, thiserror::Error)]
#[error("cannot make {path} durable: {error}")]
pub struct PlaceBundleError {
    pub path: PathBuf,
    #[source]
    pub error: io::Error,
}

/// Keeps a folder from being collected while the file lives. `None` if the folder is gone, or somebody removes it just now: looking
/// does not wait.
pub fn hold_bundle(dir: &Path) -> Option<File> {
    let held = own_files::open_folder(dir).ok()?;
    (held.try_lock_shared().is_ok() && own_files::is_at(&held, dir)).then_some(held)
}

impl KeptBundle {
    /// `None` where no folder is.
    fn hold(dir: PathBuf, origin: BundleOrigin) -> Option<Self> {
        dir.own_is_dir().then(|| Self { held: hold_bundle(&dir), dir, origin })
    }
}

impl Bundles {
    /// The bundles of the home in this folder, which need not exist.
    pub fn in_home(home: &Path) -> Self {
        Self { home: home.to_owned(), store: None }
    }

    /// The same, with an object store that other machines share.
    #[must_use]
    pub fn sharing_store(self, store: Option<ObjectStore>) -> Self {
        Self { store, ..self }
    }

    /// The object store, where one is configured.
    pub fn store(&self) -> Option<&ObjectStore> {
        self.store.as_ref()
    }

    /// The place of the bundle of a run of this home, from its seal on.
    pub fn bundle_dir(&self, run: &RunId) -> PathBuf {
        self.sealed().join(run.as_str())
    }

    /// The name that entries of the ledger give to that place, relative to the home.
    pub fn bundle_name(run: &RunId) -> String {
        format!("{BUNDLES_FOLDER}/{run}")
    }

    /// True once the bundle of a run of this home is in its place.
    pub fn has_bundle(&self, run: &RunId) -> bool {
        self.bundle_dir(run).own_exists()
    }

    /// The bundle of a run: that of this home, else an imported one.
    pub fn find_bundle(&self, run: &RunId) -> Option<KeptBundle> {
        KeptBundle::hold(self.bundle_dir(run), BundleOrigin::Own).or_else(|| self.find_imported(run))
    }

    /// Places where a bundle of this run can lie: that of this home, then an imported one.
    pub fn bundle_places(&self, run: &RunId) -> [PathBuf; 2] {
        [self.bundle_dir(run), self.imported_dir(run)]
    }

    /// The name of the bundle at a path, if it lies in its place in this home.
    pub fn name_at(&self, path: &Path) -> Option<String> {
        let (path, home) = (own_files::canonicalize(path).ok()?, own_files::canonicalize(&self.home).ok()?);
        let name = path.strip_prefix(home.join(BUNDLES_FOLDER)).ok()?.to_str()?;
        (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
    }

    /// Everything in the folder of sealed bundles, by name.
    pub fn list_sealed(&self) -> io::Result<Vec<SealedFolder>> {
        let name = |dir: &Path| dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(list_folder(&self.sealed())?.into_iter().map(|dir| SealedFolder { name: name(&dir), dir }).collect())
    }

    /// Names of the folders of sealed bundles. A link to a folder is not among them.
    pub fn list_names(&self) -> io::Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for entry in own_files::read_dir(self.sealed())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    /// Puts a finished bundle in its place: one rename, made durable. `pass` is called after the rename, before it is durable.
    pub fn publish(
        &self,
        finished: &Path,
        run: &RunId,
        pass: &dyn Fn(&'static str),
    ) -> Result<PathBuf, PlaceBundleError> {
        let to = self.bundle_dir(run);
        fs::rename(finished, &to).map_err(|error| PlaceBundleError { path: to.clone(), error })?;
        pass("seal.renamed");
        // A rename is one change of the file system: it is durable once the directory that got the name is.
        sync_folder(&self.sealed())?;
        Ok(to)
    }

    /// Moves the bundle of a run out of sight; gives the folder that is left to remove.
    pub fn retire_bundle(&self, run: &RunId) -> io::Result<PathBuf> {
        self.retire_folder(&self.bundle_dir(run))
    }

    /// The same for any other folder of the home.
    pub fn retire_folder(&self, folder: &Path) -> io::Result<PathBuf> {
        let trash = self.trash();
        fs::create_dir_all(&trash)?;
        let to = trash.join(folder.file_name().unwrap_or_default());
        fs::rename(folder, &to)?;
        Ok(to)
    }

    /// Folders that were moved out of sight and not removed.
    pub fn list_retired(&self) -> io::Result<Vec<PathBuf>> {
        list_folder(&self.trash())
    }

    /// The folder for signed statements about a sealed run that are made in this home; it may be missing.
    pub fn statements_dir(&self, run: &RunId) -> PathBuf {
        self.home.join(STATEMENTS).join(run.as_str())
    }

    /// The name that entries of the ledger give to a statement, relative to the home.
    pub fn statement_name(run: &RunId, file: &str) -> String {
        format!("{STATEMENTS}/{run}/{file}")
    }

    /// Evidence of a run that had lost its lease. It counts for nothing.
    pub fn late_dir(&self, run: &RunId) -> PathBuf {
        self.home.join(LATE).join(run.as_str())
    }

    /// Moves what a run made after it had lost its lease out of the way of everything that counts: its bundle and its `draft`.
    pub fn keep_late(&self, run: &RunId, draft: &Path) -> io::Result<()> {
        fs::create_dir_all(self.home.join(LATE))?;
        for from in [self.bundle_dir(run).as_path(), draft] {
            if from.own_exists() {
                fs::rename(from, self.free_late_dir(run))?;
            }
        }
        Ok(())
    }

    /// A run can come too late more than once: as itself, and as those who tried to seal it.
    fn free_late_dir(&self, run: &RunId) -> PathBuf {
        let first = self.late_dir(run);
        let next = |number: u32| first.with_file_name(format!("{run}.{number}"));
        std::iter::once(first.clone()).chain((1..).map(next)).find(|folder| !folder.own_exists()).unwrap_or(first)
    }

    fn sealed(&self) -> PathBuf {
        self.home.join(BUNDLES_FOLDER)
    }

    fn trash(&self) -> PathBuf {
        self.home.join("trash")
    }
}

fn sync_folder(folder: &Path) -> Result<(), PlaceBundleError> {
    let synced = own_files::open_file(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| PlaceBundleError { path: folder.to_owned(), error })
}

/// Entries of a folder, by name; none if the folder is missing.
fn list_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = match own_files::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    let mut paths = listed.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests;
