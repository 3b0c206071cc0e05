//! Common parts of Python's two runners: modules by their names.

use super::tree::{ExamView, joined};

/// The file of the module that a dotted name begins with, and how much of the name it is.
/// `folders` are looked in first, relative to where the command runs.
pub(super) fn module<'n>(tree: &ExamView<'_>, dotted: &'n str, folders: &[&str]) -> Option<(String, &'n str)> {
    let ends = dotted.match_indices('.').map(|(at, _)| at).chain([dotted.len()]);
    let mut prefixes: Vec<&str> = ends.map(|end| &dotted[..end]).collect();
    prefixes.reverse();
    let exact = prefixes.iter().find_map(|prefix| {
        let file = format!("{}.py", prefix.replace('.', "/"));
        let places = [""].iter().chain(folders).filter_map(|folder| tree.path_from_root(folder));
        let path = places.filter_map(|folder| joined(&folder, &file)).find(|path| tree.has_file(path))?;
        Some((path, *prefix))
    });
    exact.or_else(|| {
        prefixes.iter().find_map(|prefix| Some((tree.find_file(&format!("{}.py", prefix.replace('.', "/")))?, *prefix)))
    })
}

/// True for text that can be a Python identifier.
pub(super) fn is_identifier(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|character| character.is_alphanumeric() || character == '_')
}

/// True if an unindented line of the file begins like this.
pub(super) fn has_line(content: &str, begin: &str) -> bool {
    content.lines().any(|line| line.starts_with(begin))
}
