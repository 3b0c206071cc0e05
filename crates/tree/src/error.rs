//! What can go wrong here, each with what was being done and to what.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::oid::Oid;

/// A failure of this crate.
#[derive(Debug)]
pub enum TreeError {
    /// The operating system refused something.
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// A git child ended badly; `stderr` holds its first lines.
    Git { doing: &'static str, outcome: String, stderr: String },
    /// No git was found.
    NoGit { looked_in: Vec<PathBuf> },
    /// An object the store should hold is not there.
    Missing { oid: Oid },
    /// Bytes that should have a known form do not.
    Malformed { what: &'static str, detail: String },
    /// A path that must not be written into a tree or a directory.
    Name { path: Vec<u8>, problem: &'static str },
    /// A limit of the caller was reached.
    Limit { limit: Limit, path: Vec<u8> },
    /// A layer bears a mark that no overlay of the harness leaves.
    Mark { path: Vec<u8>, mark: &'static str },
    /// A checkout is not as it was built.
    Damaged { path: PathBuf, problem: &'static str },
    /// A source repository this crate does not read.
    Source { path: PathBuf, problem: SourceProblem },
}

/// The limits of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Entries,
    TotalBytes,
    FileBytes,
    Depth,
}

/// Why a source repository is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceProblem {
    NotARepository,
    Bare,
    GitFilePointsElsewhere,
    SymlinkInside(&'static str),
    Reftable,
    Sha256,
    Alternates,
    SplitIndex,
    UnbornHead,
    UnsafeReference(String),
    UnknownFormat(String),
    TooLarge(&'static str),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Entries => "too many new files and directories",
            Limit::TotalBytes => "too many new bytes",
            Limit::FileBytes => "file too large",
            Limit::Depth => "directories too deep",
        })
    }
}

impl fmt::Display for SourceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceProblem::NotARepository => f.write_str("not the top of a git work tree"),
            SourceProblem::Bare => f.write_str("a bare repository has no work tree"),
            SourceProblem::GitFilePointsElsewhere => f.write_str(
                "its .git file points to a repository that does not point back (only linked worktrees are followed)",
            ),
            SourceProblem::SymlinkInside(what) => write!(f, "{what} is a symbolic link"),
            SourceProblem::Reftable => f.write_str("reftable repositories are not supported"),
            SourceProblem::Sha256 => f.write_str("SHA-256 repositories are not supported"),
            SourceProblem::Alternates => {
                f.write_str("it borrows objects from another repository (objects/info/alternates)")
            }
            SourceProblem::SplitIndex => {
                f.write_str("a split index is not supported (git update-index --no-split-index)")
            }
            SourceProblem::UnbornHead => f.write_str("HEAD has no commit yet"),
            SourceProblem::UnsafeReference(name) => write!(f, "unsafe reference {name:?}"),
            SourceProblem::UnknownFormat(setting) => {
                write!(f, "its configuration has {setting:?}, a format that nothing is written into here")
            }
            SourceProblem::TooLarge(what) => write!(f, "{what} is too large"),
        }
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeError::Io { doing, path, source } => write!(f, "{doing} {}: {source}", path.display()),
            TreeError::Git { doing, outcome, stderr } => write!(f, "{doing}: git {outcome}: {stderr}"),
            TreeError::NoGit { looked_in } => write!(f, "no git in {looked_in:?}"),
            TreeError::Missing { oid } => write!(f, "object {oid} is not in the store"),
            TreeError::Malformed { what, detail } => write!(f, "malformed {what}: {detail}"),
            TreeError::Name { path, problem } => write!(f, "path \"{}\" {problem}", path.escape_ascii()),
            TreeError::Limit { limit, path } => write!(f, "{limit} at \"{}\"", path.escape_ascii()),
            TreeError::Mark { path, mark } => write!(f, "forged overlay mark {mark} at \"{}\"", path.escape_ascii()),
            TreeError::Damaged { path, problem } => write!(f, "checkout damaged: {} {problem}", path.display()),
            TreeError::Source { path, problem } => write!(f, "source repository {}: {problem}", path.display()),
        }
    }
}

impl TreeError {
    /// Tells whether a directory could not be entered, or is none, whoever made it so.
    pub(crate) fn is_shut(&self) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
        let TreeError::Io { source, .. } = self else { return false };
        let is_link = source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
        is_link || matches!(source.kind(), NotADirectory | NotFound | PermissionDenied)
    }
}

impl std::error::Error for TreeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TreeError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

pub(crate) fn malformed(what: &'static str, detail: impl Into<String>) -> TreeError {
    TreeError::Malformed { what, detail: detail.into() }
}

/// Adds what was being done, and to what, to an operating system error.
pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, TreeError>;
    fn doing_at(self, doing: &'static str, path: &[u8]) -> Result<T, TreeError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, TreeError> {
        self.map_err(|e| TreeError::Io { doing, path: path.to_path_buf(), source: e.into() })
    }

    fn doing_at(self, doing: &'static str, path: &[u8]) -> Result<T, TreeError> {
        use std::os::unix::ffi::OsStrExt;
        self.doing(doing, Path::new(std::ffi::OsStr::from_bytes(path)))
    }
}
