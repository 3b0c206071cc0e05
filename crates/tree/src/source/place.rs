//! The place of a repository, found by any path in it and identified by its git directory.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use untrusted_fs::own_files;

use super::follow;
use crate::worktree::fsdir::{kind, lstat};

/// Folder and the repository that it belongs to, as the file system resolves them. The
/// repository need not be readable: one that `Source::open` refuses has a place too.
#[derive(Debug)]
pub struct RepositoryPlace {
    /// Folder that was asked about.
    folder: PathBuf,
    /// Nearest folder above that has a git directory, or is one; the folder itself if there
    /// is none.
    top: PathBuf,
    git_dir: Option<GitDir>,
}

/// Git directory that holds objects and references, which linked work trees share.
#[derive(Debug)]
struct GitDir {
    path: PathBuf,
    /// File system and number there: a second mount has another path, and the same of these.
    number: (u64, u64),
}

impl RepositoryPlace {
    /// Finds it. A path at which nothing lies is taken as it is written.
    pub fn find_place(path: &Path) -> Self {
        let folder = own_files::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let found = folder.ancestors().find_map(|top| Some((top.to_owned(), GitDir::of(top)?)));
        match found {
            Some((top, git_dir)) => Self { folder, top, git_dir: Some(git_dir) },
            None => Self { top: folder.clone(), folder, git_dir: None },
        }
    }

    /// The top of the repository.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// True if both belong to one repository, or if this one, or its git directory, lies in
    /// the other folder.
    pub fn lies_in(&self, other: &Self) -> bool {
        let is_shared = match (&self.git_dir, &other.git_dir) {
            (Some(own), Some(others)) => own.number == others.number,
            _ => false,
        };
        let git_dir_lies_in = self.git_dir.as_ref().is_some_and(|git_dir| git_dir.path.starts_with(&other.folder));
        is_shared || git_dir_lies_in || self.folder.starts_with(&other.folder)
    }
}

impl GitDir {
    /// The git directory of a work tree's top, or of a bare repository.
    fn of(top: &Path) -> Option<Self> {
        let path = Self::path_of(top)?;
        let stat = rustix::fs::fstat(untrusted_fs::open_root(&path).ok()?).ok()?;
        Some(Self { path, number: (stat.st_dev, stat.st_ino) })
    }

    fn path_of(top: &Path) -> Option<PathBuf> {
        let folder = untrusted_fs::open_root(top).ok()?;
        match lstat(&folder, b".git").map(|stat| kind(&stat)) {
            Ok(FileType::RegularFile) => {
                let own = follow(&folder, b".git", top, b"gitdir: ").ok()??;
                let inner = untrusted_fs::open_root(&own).ok()?;
                Some(follow(&inner, b"commondir", &own, b"").ok().flatten().unwrap_or(own))
            }
            Ok(_) => own_files::canonicalize(top.join(".git")).ok(),
            Err(_) => (lstat(&folder, b"objects").is_ok() && lstat(&folder, b"HEAD").is_ok()).then(|| top.to_owned()),
        }
    }
}
