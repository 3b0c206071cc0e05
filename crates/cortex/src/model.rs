//! Records about models: the admission of a pair and the provider decision.

use std::io;
use std::path::{Path, PathBuf};

use contract::ModelPair;
use contract::record::{FoundRecord, ModelAdmission, ProviderDecision};
use untrusted_fs::own_files;

use crate::load::{files_with_ending, load_record};
use crate::places::RecordPlaces;
use crate::signers::RecordSigners;

/// Upper bound on the entries of the folder of model admissions that are read.
const MOST_ENTRIES: usize = 1000;

/// Loads the admission that a run's pair is judged by: the named file, or the workspace's
/// record for the pair.
pub fn load_model_admission(
    places: &RecordPlaces,
    named: Option<&Path>,
    pair: Option<&ModelPair>,
    signers: &RecordSigners,
) -> FoundRecord<ModelAdmission> {
    match (named, places.model_admissions(), pair) {
        (Some(file), ..) => load_model_file(file, signers),
        (None, Some(folder), Some(pair)) => search_model_admission(&folder, pair, signers),
        (None, ..) => FoundRecord::Missing,
    }
}

/// Loads the provider decision of the workspace.
pub fn load_provider_decision(places: &RecordPlaces, signers: &RecordSigners) -> FoundRecord<ProviderDecision> {
    places.provider_decision().map_or(FoundRecord::Missing, |file| load_decision_file(&file, signers))
}

/// Loads one model admission strictly, with its signature.
pub(crate) fn load_model_file(file: &Path, signers: &RecordSigners) -> FoundRecord<ModelAdmission> {
    load_record(file, ModelAdmission::problems, signers)
}

/// Loads one provider decision strictly, with its signature.
pub(crate) fn load_decision_file(file: &Path, signers: &RecordSigners) -> FoundRecord<ProviderDecision> {
    load_record(file, ProviderDecision::problems, signers)
}

/// Finds the one record for the pair. A record that cannot be read could be that one, so it
/// is reported and not passed over.
fn search_model_admission(folder: &Path, pair: &ModelPair, signers: &RecordSigners) -> FoundRecord<ModelAdmission> {
    let files = match list_model_files(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return FoundRecord::Missing,
        Err(error) => return FoundRecord::Invalid { why: format!("the admissions cannot be listed: {error}") },
    };
    let mut invalid = None;
    let mut fitting = Vec::new();
    for file in files {
        match load_model_file(&file, signers) {
            found @ FoundRecord::Record { .. } if found.record().is_some_and(|record| record.is_for(pair)) => {
                fitting.push(found);
            }
            FoundRecord::Record { .. } | FoundRecord::Missing => {}
            FoundRecord::Invalid { why } => invalid = Some(FoundRecord::Invalid { why }),
        }
    }
    match (fitting.len(), invalid) {
        (0, Some(invalid)) => invalid,
        (0, None) => FoundRecord::Missing,
        (1, _) => fitting.remove(0),
        (count, _) => FoundRecord::Invalid { why: format!("{count} admissions are for {pair}; keep one") },
    }
}

/// JSON files of the folder; the number of entries that are read is bounded.
pub(crate) fn list_model_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    files_with_ending(own_files::read_dir(folder)?.take(MOST_ENTRIES), "json")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contract::Stamp;

    use super::*;
    use crate::{draft_model_admission, write_model_draft};

    /// Names of files, each with the model that its draft is for, or with text that is no record.
    fn check(files: &[(&str, Option<&str>)]) -> String {
        let workspace = tempfile::tempdir().unwrap();
        let places = RecordPlaces::new(workspace.path(), Some(workspace.path()));
        let now = Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap();
        let folder = workspace.path().join("admissions/model");
        for (name, model) in files {
            std::fs::create_dir_all(&folder).unwrap();
            match model {
                Some(model) => {
                    let record = draft_model_admission(&ModelPair::new("p", model).unwrap(), "c", "n", now);
                    std::fs::rename(write_model_draft(&places, &record).unwrap(), folder.join(name)).unwrap();
                }
                None => own_files::write_file(folder.join(name), "{").unwrap(),
            }
        }
        let signers = RecordSigners::read_allowed(&places, now);
        let pair = ModelPair::new("p", "m").unwrap();
        match load_model_admission(&places, None, Some(&pair), &signers) {
            FoundRecord::Missing => "missing".to_owned(),
            FoundRecord::Invalid { why } => why,
            FoundRecord::Record { record, .. } => format!("{}/{}", record.provider, record.model),
        }
    }

    #[test]
    fn the_one_record_for_the_pair_is_found() {
        assert_eq!(check(&[]), "missing");
        assert_eq!(check(&[("a.json", Some("other"))]), "missing");
        assert_eq!(check(&[("a.json", Some("other")), ("b.json", Some("m"))]), "p/m");
        assert_eq!(check(&[("a.txt", None), ("b.json", Some("m"))]), "p/m");
        assert_eq!(check(&[("a.json", None), ("b.json", Some("m"))]), "p/m");
        assert_eq!(check(&[("a.json", Some("m")), ("b.json", Some("m"))]), "2 admissions are for p/m; keep one");
        let unreadable = check(&[("a.json", None), ("b.json", Some("other"))]);
        assert!(unreadable.starts_with("a.json: "), "{unreadable}");
    }
}
