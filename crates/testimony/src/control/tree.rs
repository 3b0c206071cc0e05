//! The exam's files, found by the names that commands and runners use.

use std::collections::BTreeSet;

/// Larger files are no place for a test.
const LARGEST_FILE: usize = 4 << 20;

/// Inputs for making a control test.
#[derive(Clone, Copy)]
pub struct ControlInputs<'a> {
    pub argv: &'a [String],
    /// Working directory of the command relative to the repository root; empty for the root
    /// itself.
    pub cwd: &'a str,
    /// Every path of the exam's tree.
    pub paths: &'a [String],
    /// The content of one of them.
    pub read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl std::fmt::Debug for ControlInputs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room").field("argv", &self.argv).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// The exam's tree, seen from where the command runs.
pub(super) struct ExamView<'a> {
    paths: BTreeSet<&'a str>,
    cwd: String,
    read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl<'a> ExamView<'a> {
    /// Takes the exam's tree and the working directory of its command.
    pub(super) fn of_exam(inputs: &ControlInputs<'a>) -> Self {
        let paths = inputs.paths.iter().map(String::as_str).collect();
        Self { paths, cwd: joined("", inputs.cwd).unwrap_or_default(), read: inputs.read }
    }

    /// Working directory of the command, relative to the root.
    pub(super) fn cwd(&self) -> &str {
        &self.cwd
    }

    /// All paths of the tree, in order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &'a str> {
        self.paths.iter().copied()
    }

    /// True if the tree has a file at this path.
    pub(super) fn has_file(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// The content of a file, unless it is too large.
    pub(super) fn read_file(&self, path: &str) -> Option<Vec<u8>> {
        self.has_file(path).then(|| (self.read)(path)).flatten().filter(|content| content.len() <= LARGEST_FILE)
    }

    /// Content of a file as text; invalid UTF-8 is replaced.
    pub(super) fn read_text(&self, path: &str) -> Option<String> {
        self.read_file(path).map(|content| String::from_utf8_lossy(&content).into_owned())
    }

    /// A path that the command names, from the root; None where it leaves the repository.
    pub(super) fn path_from_root(&self, path: &str) -> Option<String> {
        joined(&self.cwd, path)
    }

    /// The file that a runner calls so: from where the command runs, from the root, or the
    /// only one that ends like this.
    pub(super) fn find_file(&self, name: &str) -> Option<String> {
        let named =
            [self.path_from_root(name), joined("", name)].into_iter().flatten().find(|path| self.has_file(path));
        named.or_else(|| {
            let ending = format!("/{}", joined("", name)?);
            let mut similar = self.paths().filter(|path| path.ends_with(&ending));
            let found = similar.next()?;
            similar.next().is_none().then(|| found.to_owned())
        })
    }

    /// Folders from where the command runs up to the root, the root last.
    pub(super) fn upwards(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.cwd.as_str()), |folder| match folder.rsplit_once('/') {
            _ if folder.is_empty() => None,
            Some((parent, _)) => Some(parent),
            None => Some(""),
        })
    }
}

/// `path` below `folder`, without `.` and `..`.
pub(super) fn joined(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The folder a path lies in; the root is empty.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Last component of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
