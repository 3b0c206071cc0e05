//! Comparing a list of files that an engine names with the files that changed.
//!
//! The harness names files from the root of the repository. An engine may write `./a`,
//! `a/../b`, `a\b`, or the whole path in a workspace whose place is not known here.

use std::collections::{BTreeMap, BTreeSet};

use contract::text::show_controls;

use super::was_cut;

/// Comparison of a claimed list of files with the changed files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileComparison {
    /// Named, and not changed.
    pub(super) unchanged: Vec<String>,
    /// Named in a way that leaves open which files are meant: a folder in which files
    /// changed, or a name that was cut.
    pub(super) unclear: Vec<String>,
    /// Changed, and not named.
    pub(super) unnamed: Vec<String>,
}

/// A path as written, brought into the form in which the harness names files.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// From the root of the repository.
    Inside(String),
    /// From the root of the file system, with its leading slash.
    Absolute(String),
    /// No file of a repository: it leads out, or names nothing.
    Nowhere,
}

/// Compares claimed names with changed paths. The workspace's own path is guessed from
/// names that end like a changed path.
pub(super) fn compare_files(named: &[String], changed_files: &[String]) -> FileComparison {
    let changed: BTreeSet<String> = changed_files.iter().map(|path| show_controls(path)).collect();
    let places: Vec<(&String, Place)> = named.iter().map(|name| (name, place(name, &changed))).collect();
    let root = workspace(places.iter().map(|(_, place)| place), &changed);
    let mut compared = FileComparison::default();
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for (name, place) in &places {
        match inside(place, root) {
            Some(path) if changed.contains(path) => _ = found.insert(path),
            Some(path) if holds_changes(path, &changed) => compared.unclear.push((*name).clone()),
            _ if was_cut(name) => compared.unclear.push((*name).clone()),
            _ => compared.unchanged.push((*name).clone()),
        }
    }
    compared.unnamed = changed.iter().filter(|path| !found.contains(path.as_str())).cloned().collect();
    compared
}

/// A name that is exactly a changed file is that file, however odd: a backslash may be part
/// of a name.
fn place(name: &str, changed: &BTreeSet<String>) -> Place {
    if changed.contains(name) {
        return Place::Inside(name.to_owned());
    }
    let slashed = name.replace('\\', "/");
    let path = without_drive(&slashed);
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() && !absolute => return Place::Nowhere,
            ".." => {}
            part => parts.push(part),
        }
    }
    match (parts.is_empty(), absolute) {
        (true, _) => Place::Nowhere,
        (false, false) => Place::Inside(parts.join("/")),
        (false, true) => Place::Absolute(format!("/{}", parts.join("/"))),
    }
}

fn without_drive(path: &str) -> &str {
    match path.as_bytes() {
        [drive, b':', b'/', ..] if drive.is_ascii_alphabetic() => path.get(2..).unwrap_or(path),
        _ => path,
    }
}

/// The folder that, taken off the absolute paths, makes most of them changed files. One
/// folder for the whole list: with one for each path, `/w/src/a` would pass for `a`. Of
/// equals the shortest, which leaves the longest path to agree.
fn workspace<'a>(places: impl Iterator<Item = &'a Place>, changed: &BTreeSet<String>) -> Option<&'a str> {
    let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
    for place in places {
        let Place::Absolute(path) = place else { continue };
        for (slash, _) in path.match_indices('/') {
            let (root, rest) = path.split_at(slash);
            if changed.contains(rest.trim_start_matches('/')) {
                *votes.entry(root).or_default() += 1;
            }
        }
    }
    votes.into_iter().max_by_key(|(root, count)| (*count, std::cmp::Reverse(root.len()))).map(|(root, _)| root)
}

fn inside<'a>(place: &'a Place, root: Option<&str>) -> Option<&'a str> {
    match place {
        Place::Inside(path) => Some(path),
        Place::Absolute(path) => path.strip_prefix(root?)?.strip_prefix('/'),
        Place::Nowhere => None,
    }
}

fn holds_changes(folder: &str, changed: &BTreeSet<String>) -> bool {
    let folder = format!("{folder}/");
    changed.range(folder.clone()..).next().is_some_and(|path| path.starts_with(&folder))
}
