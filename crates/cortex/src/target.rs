//! Admissions of target repositories.

use std::io;
use std::path::{Path, PathBuf};

use contract::record::{FoundRecord, TargetAdmission};
use contract::text::show_controls;
use untrusted_fs::own_files;

use crate::load::{files_with_ending, load_record};
use crate::places::RecordPlaces;
use crate::signers::RecordSigners;

/// Far more files than a workspace has targets.
const MOST_ENTRIES: usize = 10_000;
const ENDINGS: [&str; 3] = ["json", "yaml", "yml"];

/// Loads the admission of a target and names its file: the named file, else the one of the
/// workspace that is about `path`.
pub fn load_target_admission(
    places: &RecordPlaces,
    named: Option<&Path>,
    path: Option<&str>,
    signers: &RecordSigners,
) -> (Option<PathBuf>, FoundRecord<TargetAdmission>) {
    match (named, places.target_admissions(), path) {
        (Some(file), ..) => (Some(file.to_owned()), load_target_file(file, signers)),
        (None, Some(folder), Some(path)) => search_target_admission(&folder, path, signers),
        (None, ..) => (None, FoundRecord::Missing),
    }
}

/// Loads one target admission strictly, with its signature.
pub(crate) fn load_target_file(file: &Path, signers: &RecordSigners) -> FoundRecord<TargetAdmission> {
    load_record(file, TargetAdmission::problems, signers)
}

/// Finds the one record for the path. A record that cannot be read could be that one, so it
/// is reported and not passed over.
fn search_target_admission(
    folder: &Path,
    path: &str,
    signers: &RecordSigners,
) -> (Option<PathBuf>, FoundRecord<TargetAdmission>) {
    let files = match list_target_files(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (None, FoundRecord::Missing),
        Err(error) => return (None, FoundRecord::Invalid { why: format!("the admissions cannot be listed: {error}") }),
    };
    let mut invalid = None;
    let mut fitting = Vec::new();
    for file in files {
        match load_target_file(&file, signers) {
            found @ FoundRecord::Record { .. } if found.record().is_some_and(|record| record.is_for(path)) => {
                fitting.push((Some(file), found));
            }
            FoundRecord::Record { .. } | FoundRecord::Missing => {}
            FoundRecord::Invalid { why } => invalid = Some((Some(file), FoundRecord::Invalid { why })),
        }
    }
    match (fitting.len(), invalid) {
        (0, Some(invalid)) => invalid,
        (0, None) => (None, FoundRecord::Missing),
        (1, _) => fitting.remove(0),
        (count, _) => (
            None,
            FoundRecord::Invalid { why: format!("{count} admissions are for {}; keep one", show_controls(path)) },
        ),
    }
}

/// Files of the folder with any accepted ending, sorted; the number of entries that are
/// read is bounded.
pub(crate) fn list_target_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for ending in ENDINGS {
        files.extend(files_with_ending(own_files::read_dir(folder)?.take(MOST_ENTRIES), ending)?);
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contract::Stamp;

    use super::*;

    const SITE: &str = "target_repository_path: /srv/site\nadmission_status: not_admitted\nforbidden_paths: []\n";

    /// Name of the file that was found for `/srv/site`, and what was found.
    fn check(files: &[(&str, &str)], named: Option<&str>) -> String {
        let workspace = tempfile::tempdir().unwrap();
        let folder = workspace.path().join("admissions/target");
        for (name, text) in files {
            std::fs::create_dir_all(&folder).unwrap();
            own_files::write_file(folder.join(name), text).unwrap();
        }
        let places = RecordPlaces::new(workspace.path(), Some(workspace.path()));
        let now = Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap();
        let signers = RecordSigners::read_allowed(&places, now);
        let named = named.map(|name| folder.join(name));
        let (file, found) = load_target_admission(&places, named.as_deref(), Some("/srv/site/"), &signers);
        let file = file.map_or("-".into(), |file| file.file_name().unwrap().to_string_lossy().into_owned());
        match found {
            FoundRecord::Missing => format!("{file} missing"),
            FoundRecord::Invalid { why } => format!("{file} {why}"),
            FoundRecord::Record { record, .. } => format!("{file} {}", record.target_repository_path),
        }
    }

    #[test]
    fn the_one_record_for_the_path_is_found() {
        let other = SITE.replace("site", "other");
        let json =
            r#"{"admission_status": "not_admitted", "forbidden_paths": [], "target_repository_path": "/srv/site"}"#;
        assert_eq!(check(&[], None), "- missing");
        assert_eq!(check(&[("a.yaml", &other)], None), "- missing");
        assert_eq!(check(&[("a.yaml", &other), ("b.yaml", SITE)], None), "b.yaml /srv/site");
        assert_eq!(check(&[("a.json", json), ("a.json.sig.old", "x")], None), "a.json /srv/site");
        assert_eq!(check(&[("a.yaml", "{"), ("b.yml", SITE)], None), "b.yml /srv/site");
        assert_eq!(check(&[("a.json", json), ("b.yaml", SITE)], None), "- 2 admissions are for /srv/site/; keep one");
        assert!(check(&[("a.yaml", "{")], None).starts_with("a.yaml a.yaml: "));
        assert_eq!(
            check(&[("a.yaml", &other)], Some("a.yaml")),
            "a.yaml /srv/other",
            "the gate says that it does not fit"
        );
        assert_eq!(check(&[("a.yaml", SITE)], Some("b.yaml")), "b.yaml missing");
    }
}
