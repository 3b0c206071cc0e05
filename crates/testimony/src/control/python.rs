//! What both of Python's runners need: modules by their names.

use super::tree::{Tree, joined};

/// The file of the module that a dotted name begins with, and how much of the name it is. `folders` are looked in first,
/// relative to where the command runs.
pub(super) fn module<'n>(tree: &Tree<'_>, dotted: &'n str, folders: &[&str]) -> Option<(String, &'n str)> {
    let ends = dotted.match_indices('.').map(|(at, _)| at).chain([dotted.len()]);
    let mut prefixes: Vec<&str> = ends.map(|end| &dotted[..end]).collect();
    prefixes.reverse();
    let exact = prefixes.iter().find_map(|prefix| {
        let file = format!("{}.py", prefix.replace('.', "/"));
        let places = [""].iter().chain(folders).filter_map(|folder| tree.here(folder));
        let path = places.filter_map(|folder| joined(&folder, &file)).find(|path| tree.has(path))?;
        Some((path, *prefix))
    });
    exact.or_else(|| {
        prefixes.iter().find_map(|prefix| Some((tree.find(&format!("{}.py", prefix.replace('.', "/")))?, *prefix)))
    })
}

pub(super) fn is_identifier(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|character| character.is_alphanumeric() || character == '_')
}

/// Whether a line of the file that is not indented begins so.
pub(super) fn has_line(content: &str, begin: &str) -> bool {
    content.lines().any(|line| line.starts_with(begin))
}
