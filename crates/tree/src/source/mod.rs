//! A source repository that may be hostile: found, resolved and checked in process, its
//! configuration never loaded.

mod at;
mod baseline;
mod blame;
mod commits;
mod digest;
mod fetch;
mod head;
mod history;
pub(crate) mod land;
mod place;
mod references;
mod settings;
mod status;

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;
use untrusted_fs::own_files;

pub use self::baseline::SourceBaseline;
use self::blame::BlameReading as _;
pub use self::commits::ListedWorktree;
pub use self::digest::{SourceDigest, folder_digest};
pub(crate) use self::head::packed_rows;
pub use self::history::EarlierFile;
pub use self::place::RepositoryPlace;
pub use self::references::{References, digest_references};
pub use self::settings::{GitSettings, operator_settings};
pub use self::status::SourceStatus;
use crate::error::TreeError;
use crate::oid::Oid;
use crate::source_problem::SourceProblem;
use crate::worktree::fsdir::{kind, lstat, open_dir, read_beneath};

const SMALL: u64 = 4096;
const LARGEST_SHALLOW: u64 = 1 << 20;

/// Repository of somebody else, with a work tree unless `open_target` found it bare.
#[derive(Debug)]
pub struct SourceRepository {
    root: PathBuf,
    bare: bool,
    git_dir: OwnedFd,
    common: OwnedFd,
    common_path: PathBuf,
    head: Oid,
    shallow: Vec<Oid>,
    partial: bool,
}

impl SourceRepository {
    /// Finds the repository of the work tree at `path` and refuses what is not read here.
    pub fn open_repository(path: &Path) -> Result<SourceRepository, TreeError> {
        SourceRepository::open_as(path, false, None)
    }

    /// The same for a submodule of this repository, whose git directory may lie in this one's.
    pub fn open_submodule(&self, path: &[u8]) -> Result<SourceRepository, TreeError> {
        SourceRepository::open_as(&self.root.join(OsStr::from_bytes(path)), false, Some(&self.common_path))
    }

    /// The same for a repository that is to get a commit, which needs no work tree.
    pub fn open_target(path: &Path) -> Result<SourceRepository, TreeError> {
        SourceRepository::open_as(path, true, None)
    }

    fn open_as(path: &Path, may_be_bare: bool, parent: Option<&Path>) -> Result<SourceRepository, TreeError> {
        let root = match own_files::canonicalize(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(TreeError::Source { path: path.to_path_buf(), problem: SourceProblem::Missing });
            }
            found => found.reading(path, b"")?,
        };
        let refuse = |problem| TreeError::Source { path: root.clone(), problem };
        let open = |path: &Path| untrusted_fs::open_root(path).reading(&root, path.as_os_str().as_bytes());
        let top = open(&root)?;
        let mut bare = false;
        let (git_path, common_path) = match lstat(&top, b".git").map(|stat| kind(&stat)) {
            Ok(FileType::Directory) => (root.join(".git"), root.join(".git")),
            Ok(FileType::RegularFile) => match parent {
                Some(parent) => submodule_dir(&root, &top, parent)?,
                None => linked_worktree(&root, &top)?,
            },
            Ok(_) => return Err(refuse(SourceProblem::SymlinkInside(".git"))),
            Err(_) if lstat(&top, b"objects").is_ok() && lstat(&top, b"HEAD").is_ok() => {
                if !may_be_bare {
                    return Err(refuse(SourceProblem::Bare));
                }
                bare = true;
                (root.clone(), root.clone())
            }
            Err(_) => return Err(refuse(SourceProblem::NotARepository)),
        };
        let (git_dir, common) = (open(&git_path)?, open(&common_path)?);
        if git_path == common_path && lstat(&git_dir, b"commondir").is_ok() {
            return Err(refuse(SourceProblem::GitFilePointsElsewhere));
        }
        let partial = check_objects(&common, &root)?;
        let head = head::resolve_head(&git_dir, &common, &root)?;
        let shallow = shallow(&common, &root)?;
        Ok(SourceRepository { root, bare, git_dir, common, common_path, head, shallow, partial })
    }

    /// The top of the work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// True if there is no work tree.
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// The commit HEAD named when the source was opened.
    pub fn head_commit(&self) -> Oid {
        self.head
    }

    /// The commit HEAD names now.
    pub fn head_now(&self) -> Result<Oid, TreeError> {
        head::resolve_head(&self.git_dir, &self.common, &self.root)
    }

    /// The branch that is checked out, by its short name; none where HEAD names a commit
    /// itself.
    pub fn checked_out(&self) -> Result<Option<String>, TreeError> {
        head::checked_out(&self.git_dir, &self.root)
    }

    /// Text that tells this repository from another at the same path: its git directory's
    /// path, file system and number there.
    pub fn identity(&self) -> Result<String, TreeError> {
        let system = rustix::fs::fstatvfs(&self.common).reading(&self.root, b".git")?.f_fsid;
        let number = rustix::fs::fstat(&self.common).reading(&self.root, b".git")?.st_ino;
        Ok(format!("{}\n{system:x}\n{number:x}\n", self.common_path.display()))
    }

    /// Refuses where another opening of this path led to another repository. A link may be
    /// pointed elsewhere between two looks, and nothing is written where nothing was read.
    pub fn require_same_repository(&self, other: &SourceRepository) -> Result<(), TreeError> {
        if self.identity()? == other.identity()? { Ok(()) } else { Err(self.refuse_source(SourceProblem::Replaced)) }
    }

    /// Owners other than this process's user of the work tree, its git directory and the
    /// repository that linked worktrees share.
    pub fn other_owners(&self) -> Result<Vec<u32>, TreeError> {
        let own = rustix::process::geteuid().as_raw();
        let owner = |stat: rustix::io::Result<rustix::fs::Stat>, part: &[u8]| {
            stat.map(|stat| stat.st_uid).reading(&self.root, part)
        };
        let mut owners = vec![
            owner(rustix::fs::lstat(&self.root), b"")?,
            owner(rustix::fs::fstat(&self.git_dir), b".git")?,
            owner(rustix::fs::fstat(&self.common), b".git")?,
        ];
        owners.retain(|owner| *owner != own);
        owners.dedup();
        Ok(owners)
    }

    /// True if the history ends early.
    pub fn is_shallow(&self) -> bool {
        !self.shallow.is_empty()
    }

    /// True if objects were left out when it was cloned.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Git directory of this worktree, which linked worktrees do not share.
    pub(crate) fn git_dir(&self) -> &OwnedFd {
        &self.git_dir
    }

    /// The repository itself, which linked worktrees share.
    pub(crate) fn common(&self) -> &OwnedFd {
        &self.common
    }

    /// Git directory that holds objects and references; that of the main repository in a
    /// linked work tree.
    pub fn common_path(&self) -> &Path {
        &self.common_path
    }

    /// Bytes of its packed references; may be empty.
    pub(crate) fn packed_refs(&self) -> Result<Vec<u8>, TreeError> {
        head::packed_refs(&self.common, &self.root)
    }

    fn objects(&self) -> PathBuf {
        self.common_path.join("objects")
    }
}

/// Follows a `.git` file, but only to a linked worktree's directory that names this `.git`
/// file back and lies within the repository it shares: anything else could lend a
/// repository its holder may not read.
fn linked_worktree(root: &Path, top: &OwnedFd) -> Result<(PathBuf, PathBuf), TreeError> {
    let refuse = |problem| TreeError::Source { path: root.to_path_buf(), problem };
    let named = follow(top, b".git", root, b"gitdir: ")?;
    let inner = named.as_ref().and_then(|git_dir| untrusted_fs::open_root(git_dir).ok());
    // A linked worktree's directory has no objects of its own.
    if inner.as_ref().is_some_and(|inner| lstat(inner, b"objects").is_ok()) {
        return Err(refuse(SourceProblem::GitDirElsewhere));
    }
    let found = named.zip(inner).and_then(|(git_dir, inner)| {
        let back = follow(&inner, b"gitdir", &git_dir, b"").ok()??;
        let common = follow(&inner, b"commondir", &git_dir, b"").ok()??;
        let holds = back == root.join(".git") && git_dir.parent() == Some(&common.join("worktrees"));
        holds.then_some((git_dir, common))
    });
    found.ok_or_else(|| refuse(SourceProblem::GitFilePointsElsewhere))
}

/// Git directory of a submodule, below the one of the repository that it is part of.
fn submodule_dir(root: &Path, top: &OwnedFd, parent: &Path) -> Result<(PathBuf, PathBuf), TreeError> {
    let named = follow(top, b".git", root, b"gitdir: ")?.filter(|git_dir| git_dir.starts_with(parent));
    let refused = || TreeError::Source { path: root.to_path_buf(), problem: SourceProblem::GitFilePointsElsewhere };
    named.map(|git_dir| (git_dir.clone(), git_dir)).ok_or_else(refused)
}

/// The path a one-line file names, made canonical; none if there is no such file or place.
fn follow(dir: &OwnedFd, name: &[u8], base: &Path, prefix: &[u8]) -> Result<Option<PathBuf>, TreeError> {
    let text = read_beneath(dir.as_fd(), name, SMALL).reading(base, name)?;
    let line = text.as_deref().and_then(|text| text.strip_prefix(prefix)).map(<[u8]>::trim_ascii_end);
    Ok(line.and_then(|line| own_files::canonicalize(base.join(OsStr::from_bytes(line))).ok()))
}

/// Refuses object directories that lead elsewhere, and files in them that git would wait
/// for; true for a partial clone.
fn check_objects(common: &OwnedFd, root: &Path) -> Result<bool, TreeError> {
    let refuse = |problem| Err(TreeError::Source { path: root.to_path_buf(), problem });
    if lstat(common, b"reftable").is_ok() {
        return refuse(SourceProblem::Reftable);
    }
    let objects = match open_dir(common, b"objects") {
        Err(Errno::LOOP | Errno::NOTDIR) => return refuse(SourceProblem::SymlinkInside("objects")),
        opened => opened.reading(root, b"objects")?,
    };
    for (name, kind) in entries(&objects).reading(root, b"objects")? {
        match kind {
            FileType::Symlink => return refuse(SourceProblem::SymlinkInside("a directory of objects")),
            FileType::Directory if is_fan_out(&name) => check_loose(&objects, &name, root)?,
            _ => {}
        }
    }
    if let Ok(info) = open_dir(&objects, b"info")
        && (lstat(&info, b"alternates").is_ok() || lstat(&info, b"http-alternates").is_ok())
    {
        return refuse(SourceProblem::Alternates);
    }
    let pack = match open_dir(&objects, b"pack") {
        Err(Errno::NOENT) => return Ok(false),
        opened => opened.reading(root, b"objects/pack")?,
    };
    let packs = entries(&pack).reading(root, b"objects/pack")?;
    if packs.iter().any(|(_, kind)| *kind != FileType::RegularFile) {
        return refuse(SourceProblem::SymlinkInside("a pack"));
    }
    Ok(packs.iter().any(|(name, _)| name.ends_with(b".promisor")))
}

/// The first two digits of object ids.
fn is_fan_out(name: &[u8]) -> bool {
    name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit)
}

/// Git opens these by name: a pipe would keep it waiting, a link would lead it elsewhere.
fn check_loose(objects: &OwnedFd, folder: &[u8], root: &Path) -> Result<(), TreeError> {
    let place = [b"objects/", folder].concat();
    let dir = open_dir(objects, folder).reading(root, &place)?;
    let odd = entries(&dir).reading(root, &place)?.into_iter().find(|(_, kind)| *kind != FileType::RegularFile);
    odd.map_or(Ok(()), |(name, _)| {
        let file = [place.as_slice(), b"/", &name].concat().escape_ascii().to_string();
        Err(TreeError::Source { path: root.to_path_buf(), problem: SourceProblem::SpecialFile(file) })
    })
}

/// The names in a directory and what each is.
fn entries(dir: &OwnedFd) -> Result<Vec<(Vec<u8>, FileType)>, Errno> {
    let mut found = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        // Some file systems do not say.
        let kind = match entry.file_type() {
            FileType::Unknown => lstat(dir, name).map(|stat| kind(&stat))?,
            told => told,
        };
        found.push((name.to_vec(), kind));
    }
    Ok(found)
}

fn shallow(common: &OwnedFd, root: &Path) -> Result<Vec<Oid>, TreeError> {
    let text = read_beneath(common.as_fd(), b"shallow", LARGEST_SHALLOW).reading(root, b"shallow")?;
    let lines = text.unwrap_or_default();
    let lines = lines.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let damaged = || SourceProblem::DamagedContent("the file .git/shallow has a line that is no object id".to_owned());
    let parse =
        |line| Oid::from_hex(line).ok_or_else(|| TreeError::Source { path: root.to_path_buf(), problem: damaged() });
    lines.map(parse).collect()
}
