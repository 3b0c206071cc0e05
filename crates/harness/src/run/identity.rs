//! The operator's git identity: author and committer of what is put into a repository.

use std::path::PathBuf;

use contract::taken::Person;
use tree::{Settings, Store, TreeError};

/// Finds name and address, each by itself, as git does: in the repository's own configuration, then in the operator's files,
/// the strongest first. `Err` names the key that nobody sets.
pub(crate) fn find_identity(
    store: &Store,
    repository: Settings,
    files: &[PathBuf],
) -> Result<Result<Person, &'static str>, TreeError> {
    let mut layers = vec![repository];
    for file in files {
        layers.push(tree::operator_settings(store, file)?);
    }
    let find = |key: &str| {
        let found = layers.iter().filter_map(|layer| layer.get(key)).find(|value| !value.trim().is_empty());
        found.map(|value| value.trim().to_owned())
    };
    Ok(match (find("user.name"), find("user.email")) {
        (Some(name), Some(email)) => Ok(Person { name, email }),
        (Some(_), None) => Err("user.email"),
        (None, _) => Err("user.name"),
    })
}
