//! The two ends of a push: the repository it is of, and the destination it names.

use std::path::{Component, Path, PathBuf};

use contract::sandbox::WORKSPACE;

/// Repository that git works in, from its working directory and its `-C` and `--git-dir`;
/// none if that is unknown.
pub(super) fn repository(directory: Option<&str>, given: &[&str]) -> Option<PathBuf> {
    let mut place = plain(Path::new(directory?))?;
    let mut given = given.iter().copied();
    while let Some(argument) = given.next() {
        let value = match argument {
            "-C" | "--git-dir" => given.next()?,
            "push" => break,
            _ => match argument.strip_prefix("--git-dir=") {
                Some(value) => value,
                None => continue,
            },
        };
        place = plain(&place.join(value))?;
    }
    Some(place)
}

/// True if a folder is the workspace, or lies in it or around it.
pub(super) fn is_workspace(folder: &Path) -> bool {
    folder.starts_with(WORKSPACE) || Path::new(WORKSPACE).starts_with(folder)
}

/// An absolute path without `.` and `..`.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => plain.push(component),
        }
    }
    plain.is_absolute().then_some(plain)
}

/// True if a text is an address with a host in it, such as `https://host/path`.
pub(super) fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| scheme != "file")
}

/// True if a destination has the form `host:path`. A colon behind a slash belongs to a path.
pub(super) fn is_host_path(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/')) && !text.starts_with("file:")
}
