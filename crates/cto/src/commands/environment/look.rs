//! What lies in a repository: names of files and folders, and the text of small manifests. Links are not there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// More names than this in one folder are not looked at.
const MOST_NAMES: usize = 10_000;
/// Folders that are looked into below the root.
const MOST_PLACES: usize = 200;
const DEEPEST: usize = 2;
/// Lock files of large projects have a few megabytes.
const LARGEST: u64 = 8 << 20;

/// Hold copies, products or examples, not projects.
const PASSED_OVER: &[&str] = &[
    "build",
    "dist",
    "doc",
    "docs",
    "examples",
    "fixtures",
    "node_modules",
    "target",
    "test",
    "testdata",
    "tests",
    "third_party",
    "vendor",
    "venv",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

/// A folder of the repository.
#[derive(Debug)]
pub(super) struct Place<'a> {
    root: &'a Path,
    /// Relative to the root, which is empty.
    at: String,
    names: BTreeMap<String, Kind>,
}

/// The root and the folders below it that may hold a project of their own.
pub(super) fn places(root: &Path) -> io::Result<Vec<Place<'_>>> {
    let mut places = vec![Place { root, at: String::new(), names: names(root)? }];
    let mut next = 0;
    while let Some(place) = places.get(next) {
        if place.depth() < DEEPEST {
            let below: Vec<String> = place.folders().map(|name| place.path(name)).collect();
            for at in below.into_iter().take(MOST_PLACES.saturating_sub(places.len())) {
                // What cannot be read holds nothing to suggest.
                if let Ok(names) = names(&root.join(&at)) {
                    places.push(Place { root, at, names });
                }
            }
        }
        next += 1;
    }
    Ok(places)
}

fn names(dir: &Path) -> io::Result<BTreeMap<String, Kind>> {
    let mut names = BTreeMap::new();
    for entry in fs::read_dir(dir)?.take(MOST_NAMES) {
        let entry = entry?;
        let kind = match entry.file_type()? {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Folder,
            _ => continue,
        };
        if let Ok(name) = entry.file_name().into_string() {
            names.insert(name, kind);
        }
    }
    Ok(names)
}

impl Place<'_> {
    pub(super) fn is_root(&self) -> bool {
        self.at.is_empty()
    }

    /// Where commands run, as a contract says it.
    pub(super) fn cwd(&self) -> Option<String> {
        (!self.is_root()).then(|| self.at.clone())
    }

    /// A name of this folder, relative to the root.
    pub(super) fn path(&self, name: &str) -> String {
        if self.is_root() { name.to_owned() } else { format!("{}/{name}", self.at) }
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.names.get(file) == Some(&Kind::File)
    }

    pub(super) fn has_folder(&self, name: &str) -> bool {
        self.names.get(name) == Some(&Kind::Folder)
    }

    /// Names of files, sorted.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|(_, kind)| **kind == Kind::File).map(|(name, _)| name.as_str())
    }

    /// The text of a file, or of one in a folder below. None where it is a link, no text, or too large.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        String::from_utf8(untrusted_fs::read_plain(self.root, self.path(name).as_bytes(), LARGEST)?).ok()
    }

    /// The place on this machine.
    pub(super) fn on_host(&self, name: &str) -> std::path::PathBuf {
        self.root.join(self.path(name))
    }

    /// Whether an ignore file here or in the root has a line for exactly this name; patterns are not understood.
    pub(super) fn ignores(&self, name: &str) -> bool {
        let says = |text: String| text.lines().any(|line| line.trim().trim_matches('/') == name);
        let root =
            untrusted_fs::read_plain(self.root, b".gitignore", LARGEST).and_then(|text| String::from_utf8(text).ok());
        self.read(".gitignore").is_some_and(says) || root.is_some_and(says)
    }

    fn depth(&self) -> usize {
        if self.is_root() { 0 } else { self.at.split('/').count() }
    }

    fn folders(&self) -> impl Iterator<Item = &str> {
        let plain = |name: &&str| !name.starts_with('.') && !PASSED_OVER.contains(name);
        self.names.iter().filter(|(_, kind)| **kind == Kind::Folder).map(|(name, _)| name.as_str()).filter(plain)
    }
}
