//! Admissions of engine sources.

use std::io;
use std::path::{Path, PathBuf};

use contract::record::{FoundRecord, SourceAdmission};
use untrusted_fs::own_files;

use crate::load::{files_with_ending, load_record};
use crate::places::RecordPlaces;
use crate::signers::RecordSigners;

/// Loads the workspace's record for an engine.
pub fn load_source_admission(
    places: &RecordPlaces,
    engine: &str,
    signers: &RecordSigners,
) -> FoundRecord<SourceAdmission> {
    places.source_admission(engine).map_or(FoundRecord::Missing, |file| load_source_file(&file, signers))
}

/// Loads one source admission strictly, with its signature.
pub(crate) fn load_source_file(file: &Path, signers: &RecordSigners) -> FoundRecord<SourceAdmission> {
    load_record(file, SourceAdmission::problems, signers)
}

/// YAML files of the folder.
pub(crate) fn list_source_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    files_with_ending(own_files::read_dir(folder)?, "yaml")
}
