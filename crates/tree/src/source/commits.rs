//! Questions about commits, worktrees and remote-tracking references of a source, answered
//! from its files alone.

use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use untrusted_fs::{own_files, some_names};

use super::blame::BlameReading as _;
use super::{SourceRepository, packed_rows};
use crate::error::{Doing as _, TreeError};
use crate::oid::Oid;
use crate::store::git::{Git, GitCall, Input, alternates_value};
use crate::worktree::fsdir::{open_dir, read_beneath};

const SMALL: u64 = 4096;
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
/// More linked worktrees than anybody has.
const MOST_WORKTREES: usize = 10_000;

/// A linked worktree as the repository lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorktree {
    /// Name below the repository's `worktrees/`.
    pub name: String,
    /// Folder of the worktree; `None` if the repository does not say.
    pub path: Option<PathBuf>,
    /// True if it is locked against removal.
    pub is_locked: bool,
}

impl SourceRepository {
    /// The linked worktrees that the repository lists, sorted by name.
    pub fn list_worktrees(&self) -> Result<Vec<ListedWorktree>, TreeError> {
        let folder = match open_dir(self.common(), b"worktrees") {
            Err(rustix::io::Errno::NOENT) => return Ok(Vec::new()),
            opened => opened.reading(self.root(), b"worktrees")?,
        };
        let mut names = some_names(&folder, MOST_WORKTREES).reading(self.root(), b"worktrees")?;
        names.sort_unstable();
        names.iter().map(|name| self.read_worktree(name)).collect()
    }

    fn read_worktree(&self, name: &[u8]) -> Result<ListedWorktree, TreeError> {
        let file = |file: &[u8]| {
            let path = [b"worktrees/", name, b"/", file].concat();
            read_beneath(self.common().as_fd(), &path, SMALL).reading(self.root(), &path)
        };
        let place = file(b"gitdir")?.map(|text| PathBuf::from(std::ffi::OsStr::from_bytes(text.trim_ascii_end())));
        // git writes either a whole path or one that begins at the worktree's own folder here.
        let folder = self.common_path().join("worktrees").join(std::ffi::OsStr::from_bytes(name));
        let path = place.and_then(|place| folder.join(place).parent().map(Path::to_owned));
        let is_locked = file(b"locked")?.is_some();
        Ok(ListedWorktree { name: String::from_utf8_lossy(name).into_owned(), path, is_locked })
    }

    /// The commit of a reference such as `refs/remotes/origin/main`, loose or packed.
    pub fn read_reference(&self, name: &str) -> Result<Option<Oid>, TreeError> {
        let is_plain = name.starts_with("refs/") && name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !is_plain {
            return Ok(None);
        }
        let loose =
            read_beneath(self.common().as_fd(), name.as_bytes(), SMALL).reading(self.root(), name.as_bytes())?;
        if let Some(value) = loose {
            return Ok(Oid::from_hex(value.trim_ascii()));
        }
        let packed = self.packed_refs()?;
        let found = packed_rows(&packed).filter_map(Result::ok).find(|(_, found)| *found == name.as_bytes());
        Ok(found.and_then(|(value, _)| Oid::from_hex(value)))
    }

    /// For each beginning of an id, true if the repository has a commit that begins so. Runs
    /// git once, on its objects alone, with none of its configuration.
    pub fn have_commits(&self, git: &Git, scratch: &Path, beginnings: &[&str]) -> Result<Vec<bool>, TreeError> {
        let is_id = |text: &&str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let git_dir = self.bare_git_dir(scratch)?;
        let wanted: String =
            beginnings.iter().filter(|text| is_id(text)).map(|text| format!("{text}^{{commit}}\n")).collect();
        let mut call = GitCall::new("looking for commits", &git_dir, &["cat-file", "--batch-check=%(objecttype)"]);
        call.input = Input::Bytes(wanted.as_bytes());
        call.env = vec![("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates_value(&self.common_path().join("objects")))];
        let output = if wanted.is_empty() { Vec::new() } else { git.run_child(call)? };
        let mut answers = output.split(|byte| *byte == b'\n').map(|line| line == b"commit");
        Ok(beginnings.iter().map(|text| is_id(text) && answers.next() == Some(true)).collect())
    }

    /// A git directory of ours that only borrows the source's objects; made once in a
    /// scratch folder.
    pub(super) fn bare_git_dir(&self, scratch: &Path) -> Result<PathBuf, TreeError> {
        let git_dir = std::path::absolute(scratch).doing("resolving", scratch)?.join("commits.git");
        for part in ["", "objects", "refs"] {
            let path = git_dir.join(part);
            fs::create_dir_all(&path).doing("creating directory", &path)?;
        }
        let head = git_dir.join("HEAD");
        own_files::write_file(&head, format!("{}\n", self.head_commit())).doing("writing", &head)?;
        let config = git_dir.join("config");
        own_files::write_file(&config, CONFIG).doing("writing", &config)?;
        Ok(git_dir)
    }
}
