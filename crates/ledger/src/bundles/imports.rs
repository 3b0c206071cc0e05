//! Runs of other homes that were checked and taken in: each a folder as its archive lays it
//! out, with the key it was checked with.

use std::io;
use std::path::{Path, PathBuf};

use contract::RunId;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use untrusted_fs::own_files;

use super::{BundleOrigin, Bundles, KeptBundle, PlaceBundleError, STATEMENTS, list_folder, sync_folder};

/// The file of an imported run with the key that its bundle was checked with; it holds for
/// that run alone.
pub const IMPORT_SIGNER_FILE: &str = "signer.pub";
/// Folder of imported runs.
pub(super) const IMPORTED: &str = "imported";
const BUNDLE: &str = "bundle";
/// Begins the name of an import that is not done.
const UNDONE: &str = ".part-";

impl Bundles {
    /// The place of the bundle of an imported run.
    pub fn imported_dir(&self, run: &RunId) -> PathBuf {
        self.import_dir(run).join(BUNDLE)
    }

    /// The bundle of an imported run, also where this home has one of its own by that id.
    pub fn find_imported(&self, run: &RunId) -> Option<KeptBundle> {
        KeptBundle::hold(self.imported_dir(run), BundleOrigin::Imported)
    }

    /// The name that entries of the ledger give to that place, relative to the home.
    pub fn imported_name(run: &RunId) -> String {
        format!("{IMPORTED}/{run}/{BUNDLE}")
    }

    /// The text of the public key that an imported run was checked with when it was taken in.
    pub fn import_signer(&self, run: &RunId) -> Option<String> {
        own_files::read_to_string(self.import_dir(run).join(IMPORT_SIGNER_FILE)).ok()
    }

    /// The folder with the statements that came with an imported run; it may be missing.
    pub fn imported_statements_dir(&self, run: &RunId) -> PathBuf {
        self.import_dir(run).join(STATEMENTS)
    }

    /// The runs that were taken in, by id.
    pub fn list_imported(&self) -> io::Result<Vec<RunId>> {
        let names = list_folder(&self.imported())?.into_iter().filter_map(|path| name_of(&path));
        Ok(names.filter_map(|name| RunId::try_from(name).ok()).collect())
    }

    /// A folder to lay an import out in; `token` is unique to it. Nobody takes what lies
    /// there for a run.
    pub fn undone_import_dir(&self, token: &str) -> PathBuf {
        self.imported().join(format!("{UNDONE}{token}"))
    }

    /// Folders of imports that are not done, or whose process is gone.
    pub fn list_undone_imports(&self) -> io::Result<Vec<PathBuf>> {
        let is_undone = |path: &PathBuf| name_of(path).is_some_and(|name| name.starts_with(UNDONE));
        Ok(list_folder(&self.imported())?.into_iter().filter(is_undone).collect())
    }

    /// Puts an unpacked and checked import in its place, if that is free: one rename, made
    /// durable. `pass` is called between the rename and the flush.
    pub fn publish_import(
        &self,
        laid_out: &Path,
        run: &RunId,
        pass: &dyn Fn(&'static str),
    ) -> Result<(), PlaceBundleError> {
        let to = self.import_dir(run);
        renameat_with(CWD, laid_out, CWD, &to, RenameFlags::NOREPLACE)
            .map_err(|error| PlaceBundleError { path: to, error: error.into() })?;
        pass("import.placed");
        sync_folder(&self.imported())
    }

    fn imported(&self) -> PathBuf {
        self.home.join(IMPORTED)
    }

    fn import_dir(&self, run: &RunId) -> PathBuf {
        self.imported().join(run.as_str())
    }
}

fn name_of(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}
