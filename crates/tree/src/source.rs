//! A source repository that may be hostile: found, resolved and checked in process, its configuration never loaded.

mod digest;
mod fetch;
mod head;
mod settings;
mod status;

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use untrusted_fs::own_files;

pub use self::digest::SourceDigest;
pub(crate) use self::head::packed_rows;
pub use self::settings::{Settings, operator_settings};
pub use self::status::SourceStatus;
use crate::error::{Doing, SourceProblem, TreeError, malformed};
use crate::fsdir::{kind, lstat, names, open_dir, open_root, read_beneath};
use crate::oid::Oid;

const SMALL: u64 = 4096;
const LARGEST_SHALLOW: u64 = 1 << 20;

/// A repository somebody else wrote, with a work tree.
#[derive(Debug)]
pub struct Source {
    root: PathBuf,
    git_dir: OwnedFd,
    common: OwnedFd,
    common_path: PathBuf,
    head: Oid,
    shallow: Vec<Oid>,
    partial: bool,
}

impl Source {
    /// Finds the repository of the work tree at `path` and refuses what is not read here.
    pub fn open(path: &Path) -> Result<Source, TreeError> {
        let root = own_files::canonicalize(path).doing("resolving", path)?;
        let top = open_root(&root)?;
        let refuse = |problem| TreeError::Source { path: root.clone(), problem };
        let (git_path, common_path) = match lstat(&top, b".git").map(|stat| kind(&stat)) {
            Ok(FileType::Directory) => (root.join(".git"), root.join(".git")),
            Ok(FileType::RegularFile) => linked_worktree(&root, &top)?,
            Ok(_) => return Err(refuse(SourceProblem::SymlinkInside(".git"))),
            Err(_) if lstat(&top, b"objects").is_ok() && lstat(&top, b"HEAD").is_ok() => {
                return Err(refuse(SourceProblem::Bare));
            }
            Err(_) => return Err(refuse(SourceProblem::NotARepository)),
        };
        let (git_dir, common) = (open_root(&git_path)?, open_root(&common_path)?);
        if git_path == common_path && lstat(&git_dir, b"commondir").is_ok() {
            return Err(refuse(SourceProblem::GitFilePointsElsewhere));
        }
        let partial = check_objects(&common).map_err(refuse)?;
        let head = head::resolve(&git_dir, &common, &root)?;
        let shallow = shallow(&common, &common_path)?;
        Ok(Source { root, git_dir, common, common_path, head, shallow, partial })
    }

    /// The top of the work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The commit HEAD named when the source was opened.
    pub fn head_commit(&self) -> Oid {
        self.head
    }

    /// The commit HEAD names now.
    pub fn head_now(&self) -> Result<Oid, TreeError> {
        head::resolve(&self.git_dir, &self.common, &self.root)
    }

    /// Whether history ends early.
    pub fn is_shallow(&self) -> bool {
        !self.shallow.is_empty()
    }

    /// Whether objects were left out when it was cloned.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// The repository itself, which linked worktrees share.
    pub(crate) fn common(&self) -> &OwnedFd {
        &self.common
    }

    pub(crate) fn common_path(&self) -> &Path {
        &self.common_path
    }

    /// The bytes of its packed references, of which there may be none.
    pub(crate) fn packed_refs(&self) -> Result<Vec<u8>, TreeError> {
        head::packed_refs(&self.common, &self.root)
    }

    fn objects(&self) -> PathBuf {
        self.common_path.join("objects")
    }
}

/// Follows a `.git` file, but only to a linked worktree's directory that names this `.git` file back and lies within the
/// repository it shares: anything else could lend a repository its holder may not read.
fn linked_worktree(root: &Path, top: &OwnedFd) -> Result<(PathBuf, PathBuf), TreeError> {
    let elsewhere = || TreeError::Source { path: root.to_path_buf(), problem: SourceProblem::GitFilePointsElsewhere };
    let found = follow(top, b".git", root, b"gitdir: ")?.and_then(|git_dir| {
        let inner = open_root(&git_dir).ok()?;
        let back = follow(&inner, b"gitdir", &git_dir, b"").ok()??;
        let common = follow(&inner, b"commondir", &git_dir, b"").ok()??;
        let holds = back == root.join(".git") && git_dir.parent() == Some(&common.join("worktrees"));
        holds.then_some((git_dir, common))
    });
    found.ok_or_else(elsewhere)
}

/// The path a one-line file names, made canonical; none if there is no such file or place.
fn follow(dir: &OwnedFd, name: &[u8], base: &Path, prefix: &[u8]) -> Result<Option<PathBuf>, TreeError> {
    let text = read_beneath(dir.as_fd(), name, SMALL).doing_at("reading", name)?;
    let line = text.as_deref().and_then(|text| text.strip_prefix(prefix)).map(<[u8]>::trim_ascii_end);
    Ok(line.and_then(|line| own_files::canonicalize(base.join(OsStr::from_bytes(line))).ok()))
}

/// Refuses object directories that lead elsewhere; whether it is a partial clone.
fn check_objects(common: &OwnedFd) -> Result<bool, SourceProblem> {
    if lstat(common, b"reftable").is_ok() {
        return Err(SourceProblem::Reftable);
    }
    let objects = open_dir(common, b"objects").map_err(|_| SourceProblem::SymlinkInside("objects"))?;
    for name in names(&objects).map_err(|_| SourceProblem::NotARepository)? {
        if lstat(&objects, &name).is_ok_and(|stat| kind(&stat) == FileType::Symlink) {
            return Err(SourceProblem::SymlinkInside("a directory of objects"));
        }
    }
    if let Ok(info) = open_dir(&objects, b"info")
        && (lstat(&info, b"alternates").is_ok() || lstat(&info, b"http-alternates").is_ok())
    {
        return Err(SourceProblem::Alternates);
    }
    let Ok(pack) = open_dir(&objects, b"pack") else { return Ok(false) };
    let packs = names(&pack).map_err(|_| SourceProblem::NotARepository)?;
    if packs.iter().any(|name| lstat(&pack, name).is_ok_and(|stat| kind(&stat) != FileType::RegularFile)) {
        return Err(SourceProblem::SymlinkInside("a pack"));
    }
    Ok(packs.iter().any(|name| name.ends_with(b".promisor")))
}

fn shallow(common: &OwnedFd, path: &Path) -> Result<Vec<Oid>, TreeError> {
    let text = read_beneath(common.as_fd(), b"shallow", LARGEST_SHALLOW).doing("reading shallow file of", path)?;
    let lines = text.unwrap_or_default();
    let lines = lines.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let parse = |line| Oid::from_hex(line).ok_or_else(|| malformed("shallow file", path.display().to_string()));
    lines.map(parse).collect()
}
