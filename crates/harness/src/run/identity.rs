//! The operator's git identity: author and committer of commits that the harness makes.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use contract::taken::Person;
use tree::{Git, GitSettings, ObjectDatabase, SourceRepository, TreeError};
use untrusted_fs::own_files;

/// Finds name and address, each by itself, as git does: in the repository's own
/// configuration, then in the operator's files, the strongest first. `Err` names the key
/// that is not set.
pub(crate) fn find_identity(
    store: &ObjectDatabase,
    repository: GitSettings,
    files: &[PathBuf],
) -> Result<Result<Person, &'static str>, TreeError> {
    let mut layers = vec![repository];
    for file in files {
        layers.push(tree::operator_settings(store, file)?);
    }
    let find = |key: &str| {
        let found = layers.iter().filter_map(|layer| layer.get_value(key)).find(|value| !value.trim().is_empty());
        found.map(|value| value.trim().to_owned())
    };
    Ok(match (find("user.name"), find("user.email")) {
        (Some(name), Some(email)) => Ok(Person { name, email }),
        (Some(_), None) => Err("user.email"),
        (None, _) => Err("user.name"),
    })
}

/// Finds who owns a repository, for a contract that does not say: the operator, as git
/// knows them, if the folder is theirs. `scratch` is an empty folder. None where git knows
/// nobody, or the repository cannot be read; a gate then asks for the owner.
pub fn find_owner(
    repository: &Path,
    scratch: &Path,
    path: &[PathBuf],
    git_configuration: &[PathBuf],
) -> Option<Person> {
    let folder = own_files::metadata(repository).ok()?;
    if folder.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let store = ObjectDatabase::create_store(&scratch.join("owner.git"), Git::find_git(path).ok()?).ok()?;
    let settings = SourceRepository::open_repository(repository).ok()?.settings(&store).ok()?;
    find_identity(&store, settings, git_configuration).ok()?.ok()
}

/// Finds the operator by their own files of git, for records that they agree to.
pub fn find_operator(scratch: &Path, path: &[PathBuf], git_configuration: &[PathBuf]) -> Option<Person> {
    let store = ObjectDatabase::create_store(&scratch.join("operator.git"), Git::find_git(path).ok()?).ok()?;
    find_identity(&store, GitSettings::default(), git_configuration).ok()?.ok()
}
