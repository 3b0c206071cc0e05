//! The contents of a foreign repository: names of files and folders, and the text of small
//! manifests. Links are ignored.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use untrusted_fs::{lstat, open_dir, open_root, plain_names, read_plain, some_names};

/// Upper bound on the names of one folder that are read.
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
enum EntryKind {
    File,
    Folder,
}

/// A folder of the repository that may hold a project.
#[derive(Debug)]
pub(crate) struct ProjectFolder<'a> {
    root: &'a Path,
    /// Relative to the root, which is empty.
    at: String,
    names: BTreeMap<String, EntryKind>,
}

/// Lists the root and the folders below it that may hold a project of their own.
pub(crate) fn list_project_folders(root: &Path) -> io::Result<Vec<ProjectFolder<'_>>> {
    let top = open_root(root)?;
    let all = |_: &[u8]| true;
    let mut places = vec![ProjectFolder { root, at: String::new(), names: list_names(&top, &all)? }];
    let mut next = 0;
    while let Some(place) = places.get(next) {
        if place.depth() < DEEPEST {
            let below: Vec<String> = place.folders().map(|name| place.path_of(name)).collect();
            for at in below.into_iter().take(MOST_PLACES.saturating_sub(places.len())) {
                // What cannot be read holds nothing to suggest. Nothing is looked for below
                // the deepest folders, so that only names of manifests matter there.
                let is_deepest = at.split('/').count() >= DEEPEST;
                let names = list_names_below(&top, &at, &|name| !is_deepest || may_matter(name));
                if let Ok(names) = names {
                    places.push(ProjectFolder { root, at, names });
                }
            }
        }
        next += 1;
    }
    Ok(places)
}

fn list_names_below(
    root: &OwnedFd,
    at: &str,
    is_wanted: &dyn Fn(&[u8]) -> bool,
) -> io::Result<BTreeMap<String, EntryKind>> {
    let mut dir = root.as_fd().try_clone_to_owned()?;
    for part in at.split('/') {
        dir = open_dir(&dir, part.as_bytes())?;
    }
    list_names(&dir, is_wanted)
}

/// Endings of manifests, lock files and configuration.
const ENDINGS: [&str; 12] =
    ["toml", "json", "lock", "yaml", "yml", "xml", "mod", "sum", "cfg", "ini", "dist", "gradle"];

/// False for names that no draft needs, so that a large repository is not examined file by
/// file.
fn may_matter(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    match name.rsplit_once('.') {
        None => true,
        Some((stem, ending)) => {
            let is_python =
                ending == "py" && (stem.starts_with("test") || matches!(stem, "setup" | "noxfile" | "conftest"));
            let is_text = ending == "txt"
                && (stem.starts_with("requirements") || stem.ends_with("requirements") || stem == "CMakeLists");
            stem.is_empty() || is_python || is_text || ENDINGS.contains(&ending)
        }
    }
}

fn list_names(dir: &OwnedFd, is_wanted: &dyn Fn(&[u8]) -> bool) -> io::Result<BTreeMap<String, EntryKind>> {
    let mut names = BTreeMap::new();
    for name in some_names(dir, MOST_NAMES)?.into_iter().filter(|name| is_wanted(name)) {
        let kind = match untrusted_fs::kind(&lstat(dir, &name)?) {
            kind if kind.is_file() => EntryKind::File,
            kind if kind.is_dir() => EntryKind::Folder,
            _ => continue,
        };
        if let Ok(name) = String::from_utf8(name) {
            names.insert(name, kind);
        }
    }
    Ok(names)
}

impl ProjectFolder<'_> {
    /// True for the root of the repository.
    pub(crate) fn is_root(&self) -> bool {
        self.at.is_empty()
    }

    /// Working directory of commands, as a contract writes it.
    pub(crate) fn cwd(&self) -> Option<String> {
        (!self.is_root()).then(|| self.at.clone())
    }

    /// A name of this folder, relative to the root.
    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.is_root() { name.to_owned() } else { format!("{}/{name}", self.at) }
    }

    /// True if the folder holds a plain file of that name. A link does not count.
    pub(crate) fn has_file(&self, file: &str) -> bool {
        self.names.get(file) == Some(&EntryKind::File)
    }

    /// True if the folder holds a folder of that name. A link does not count.
    pub(crate) fn has_folder(&self, name: &str) -> bool {
        self.names.get(name) == Some(&EntryKind::Folder)
    }

    /// Names of files, sorted.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|(_, kind)| **kind == EntryKind::File).map(|(name, _)| name.as_str())
    }

    /// The text of a file, or of one in a folder below. None where it is a link, no text,
    /// or too large.
    pub(crate) fn read_text(&self, name: &str) -> Option<String> {
        String::from_utf8(read_plain(self.root, self.path_of(name).as_bytes(), LARGEST)?).ok()
    }

    /// Tells whether a folder holds a file whose name ends so.
    pub(crate) fn has_ending_in(&self, folder: &str, ending: &str) -> bool {
        let ends = |name: &Vec<u8>| Path::new(OsStr::from_bytes(name)).extension().is_some_and(|found| found == ending);
        plain_names(self.root, self.path_of(folder).as_bytes(), MOST_NAMES).iter().any(ends)
    }

    /// Names of plain files in a folder below, sorted, at most so many.
    pub(crate) fn names_below(&self, folder: &str, most: usize) -> Vec<String> {
        let mut names = plain_names(self.root, self.path_of(folder).as_bytes(), MOST_NAMES);
        names.sort();
        names.into_iter().filter_map(|name| String::from_utf8(name).ok()).take(most).collect()
    }

    /// Names of folders that may hold a project or a package.
    pub(crate) fn project_names(&self) -> impl Iterator<Item = &str> {
        self.folders()
    }

    /// Path of a name on this machine.
    pub(crate) fn host_path(&self, name: &str) -> PathBuf {
        self.root.join(self.path_of(name))
    }

    /// Tells whether an ignore file here or in the root has a line for exactly this name;
    /// patterns are not understood.
    pub(crate) fn ignores(&self, name: &str) -> bool {
        let says = |text: String| text.lines().any(|line| line.trim().trim_matches('/') == name);
        let root = read_plain(self.root, b".gitignore", LARGEST).and_then(|text| String::from_utf8(text).ok());
        self.read_text(".gitignore").is_some_and(says) || root.is_some_and(says)
    }

    fn depth(&self) -> usize {
        if self.is_root() { 0 } else { self.at.split('/').count() }
    }

    fn folders(&self) -> impl Iterator<Item = &str> {
        let plain = |name: &&str| !name.starts_with('.') && !PASSED_OVER.contains(name);
        self.names.iter().filter(|(_, kind)| **kind == EntryKind::Folder).map(|(name, _)| name.as_str()).filter(plain)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::create_dir_all;
    use std::os::unix::fs::symlink;

    use untrusted_fs::own_files;

    use super::*;

    #[test]
    fn links_and_folders_without_projects_are_passed_over() {
        let (outside, repository) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        own_files::write_file(outside.path().join("package.json"), "{}").unwrap();
        for folder in ["app/web/deep", "node_modules/x", ".hidden", "wheels"] {
            create_dir_all(repository.path().join(folder)).unwrap();
        }
        own_files::write_file(repository.path().join("wheels/a.whl"), "").unwrap();
        symlink(outside.path(), repository.path().join("linked")).unwrap();
        symlink(outside.path().join("package.json"), repository.path().join("package.json")).unwrap();
        let folders = list_project_folders(repository.path()).unwrap();
        let found: Vec<&str> = folders.iter().map(|folder| folder.at.as_str()).collect();
        assert_eq!(found, ["", "app", "wheels", "app/web"]);
        assert!(!folders[0].has_file("package.json") && folders[0].read_text("package.json").is_none());
        assert!(folders[0].has_ending_in("wheels", "whl") && !folders[0].has_ending_in("linked", "json"));
    }

    #[test]
    fn a_file_is_no_repository() {
        let folder = tempfile::tempdir().unwrap();
        own_files::write_file(folder.path().join("file"), "").unwrap();
        assert!(list_project_folders(&folder.path().join("file")).is_err());
        assert!(list_project_folders(folder.path()).is_ok());
    }
}
