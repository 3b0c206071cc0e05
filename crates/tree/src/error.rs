//! What can go wrong here, each with what was being done and to what.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::git::GitOutcome;
use crate::oid::Oid;
use crate::source::SourceProblem;

/// A failure of this crate.
#[derive(Debug)]
pub enum TreeError {
    /// The operating system refused something.
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// A git child ended badly; `stderr` holds its first lines.
    Git { doing: &'static str, outcome: GitOutcome, stderr: String },
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
    /// A source repository that is at fault: it is refused, and nothing of ours is broken.
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
