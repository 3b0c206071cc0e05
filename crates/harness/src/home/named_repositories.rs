//! Repositories that the operator's records and configuration name. An engine learns of one
//! of them only if it is admitted to it.

use std::io;
use std::path::{Path, PathBuf};

use contract::record::TargetStatus;
use contract::source;
use contract::text::show_controls;
use untrusted_fs::own_files::{self, OwnPath as _};

use crate::home::cause::ErrorCause;

/// The field of a target admission that names its repository.
const FIELD: &str = "target_repository_path";
/// The field that says whether it admits.
const STATUS: &str = "admission_status";

/// Places where repositories are named.
#[derive(Debug, Clone, Default)]
pub struct NamedRepositories {
    /// The workspace's `admissions/target`.
    pub admissions: Option<PathBuf>,
    /// Target admissions that the environment names.
    pub admission_files: Vec<PathBuf>,
    /// Trees that no run may change: `protected_roots` of the configuration.
    pub protected_roots: Vec<PathBuf>,
}

/// A record whose repository nobody can look for.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} cannot be read, and an engine may be told of the repository it names: {why}",
    show_controls(&.file.display().to_string())
)]
pub(crate) struct ReadTargetError {
    pub(crate) file: PathBuf,
    #[source]
    pub(crate) why: ErrorCause,
}

/// Repository that a target admission names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedTarget {
    /// The admission's file.
    pub(crate) file: PathBuf,
    /// Path of the repository, as the record writes it.
    pub(crate) path: PathBuf,
    /// False only for a record that says `not_admitted`: a draft. Whatever else a record
    /// lacks, it was not written as a draft.
    pub(crate) is_admitted: bool,
}

impl NamedRepositories {
    /// Every path that is named, as it is written and as the file system resolves it.
    pub(crate) fn paths(&self) -> Result<Vec<PathBuf>, ReadTargetError> {
        let mut paths = self.protected_roots.clone();
        paths.extend(self.targets(&[])?.into_iter().map(|target| target.path));
        let resolved: Vec<PathBuf> = paths.iter().filter_map(|path| own_files::canonicalize(path).ok()).collect();
        paths.extend(resolved);
        Ok(paths)
    }

    /// Repositories of all target admissions, and of `further` ones.
    pub(crate) fn targets(&self, further: &[&Path]) -> Result<Vec<NamedTarget>, ReadTargetError> {
        let files = self.records()?.into_iter().chain(further.iter().map(|file| (*file).to_owned()));
        files.filter_map(|file| read_target(file).transpose()).collect()
    }

    fn records(&self) -> Result<Vec<PathBuf>, ReadTargetError> {
        let Some(folder) = self.admissions.as_ref().filter(|folder| folder.own_exists()) else {
            return Ok(self.admission_files.clone());
        };
        let names = own_files::read_dir(folder)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>())
            .map_err(|error| ReadTargetError { file: folder.clone(), why: error.into() })?;
        Ok(names.into_iter().filter(|file| is_record(file)).chain(self.admission_files.iter().cloned()).collect())
    }
}

fn is_record(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ["json", "yaml", "yml"].iter().any(|known| ending == *known))
}

/// The repository of a target admission; none in a record that is not filled in.
fn read_target(file: PathBuf) -> Result<Option<NamedTarget>, ReadTargetError> {
    match read_fields(&file) {
        Ok(fields) => Ok(fields.map(|(path, is_admitted)| NamedTarget { file, path, is_admitted })),
        Err(why) => Err(ReadTargetError { file, why }),
    }
}

/// Path and status, whatever else a record has or lacks.
fn read_fields(file: &Path) -> Result<Option<(PathBuf, bool)>, ErrorCause> {
    let text = own_files::read_to_string(file)?;
    let source::Reading { node, problems } = source::read(&file.display().to_string(), &text);
    let node = node.filter(|_| problems.is_empty()).ok_or("it is neither JSON nor YAML")?;
    let Some(named) = node.get_child(FIELD).map(source::Node::to_value) else { return Ok(None) };
    let is_draft = node.get_child(STATUS).is_some_and(|status| status.to_value() == TargetStatus::NotAdmitted.as_str());
    match named.as_str() {
        None if named.is_null() => Ok(None),
        Some("") => Ok(None),
        Some(path) if path.starts_with('/') => Ok(Some((PathBuf::from(path), !is_draft))),
        _ => Err(format!("`{FIELD}` is no absolute path").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_its_repository_or_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text, expected) in [
            ("a.json", r#"{"target_repository_path": "/srv/site", "further": 1}"#, Ok(Some(("/srv/site", true)))),
            ("a.yaml", "admission_status: admitted\ntarget_repository_path: /s\n", Ok(Some(("/s", true)))),
            ("odd.yaml", "admission_status: perhaps\ntarget_repository_path: /s\n", Ok(Some(("/s", true)))),
            ("draft.yaml", "admission_status: not_admitted\ntarget_repository_path: /s\n", Ok(Some(("/s", false)))),
            ("empty.yaml", "admission_status: not_admitted\ntarget_repository_path: \"\"\n", Ok(None)),
            ("without.yaml", "admission_status: not_admitted\n", Ok(None)),
            ("relative.yaml", "target_repository_path: srv/site\n", Err(())),
            ("number.json", r#"{"target_repository_path": 1}"#, Err(())),
            ("twice.json", r#"{"target_repository_path": "/a", "target_repository_path": "/b"}"#, Err(())),
            ("broken.json", "{", Err(())),
        ] {
            let file = folder.path().join(name);
            own_files::write_file(&file, text).unwrap();
            let found = read_fields(&file).map_err(drop);
            assert_eq!(
                found,
                expected.map(|it: Option<(&str, bool)>| it.map(|(path, admits)| (path.into(), admits))),
                "{name}"
            );
        }
        assert!(read_fields(&folder.path().join("absent.yaml")).is_err());
    }

    #[test]
    fn everything_that_is_named_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let admissions = folder.path().join("target");
        std::fs::create_dir(&admissions).unwrap();
        own_files::write_file(admissions.join("one.yaml"), "target_repository_path: /srv/one\n").unwrap();
        own_files::write_file(admissions.join("one.yaml.sig"), "no record").unwrap();
        let other = folder.path().join("two.json");
        own_files::write_file(&other, r#"{"target_repository_path": "/srv/two"}"#).unwrap();
        let named = NamedRepositories {
            admissions: Some(admissions),
            admission_files: vec![other],
            protected_roots: vec!["/srv/three".into()],
        };
        let mut paths = named.paths().unwrap();
        paths.sort();
        assert_eq!(paths, ["/srv/one", "/srv/three", "/srv/two"].map(PathBuf::from));
        let absent = NamedRepositories { admission_files: vec!["/nowhere/x.yaml".into()], ..Default::default() };
        assert!(absent.paths().unwrap_err().to_string().contains("/nowhere/x.yaml cannot be read"));
        assert!(NamedRepositories::default().paths().unwrap().is_empty());
    }
}
