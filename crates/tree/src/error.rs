//! Errors of this crate, each with the action that failed and its object.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::oid::Oid;
use crate::source_problem::SourceProblem;

/// A failure of this crate.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The operating system refused something.
    #[error("{doing} {path}: {source}")]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// A git child ended badly; `stderr` holds its first lines.
    #[error("{doing}: git {outcome}: {stderr}")]
    Git {
        doing: &'static str,
        #[source]
        outcome: GitOutcome,
        stderr: String,
    },
    /// No git was found.
    #[error("no git in {looked_in:?}")]
    NoGit { looked_in: Vec<PathBuf> },
    /// An object the store should hold is not there.
    #[error("object {oid} is not in the store")]
    Missing { oid: Oid },
    /// Bytes that should have a known form do not.
    #[error("malformed {what}: {detail}")]
    Malformed { what: &'static str, detail: String },
    /// A path that must not be written into a tree or a directory.
    #[error("path \"{}\" {problem}", .path.escape_ascii())]
    Name { path: Vec<u8>, problem: &'static str },
    /// A limit of the caller was reached.
    #[error("{limit} at \"{}\"", .path.escape_ascii())]
    Limit { limit: Limit, path: Vec<u8> },
    /// A layer bears a mark that no overlay of the harness leaves.
    #[error("forged overlay mark {mark} at \"{}\"", .path.escape_ascii())]
    Mark { path: Vec<u8>, mark: &'static str },
    /// A checkout is not as it was built.
    #[error("checkout damaged: {path} {problem}")]
    Damaged { path: PathBuf, problem: &'static str },
    /// A source repository that is at fault: it is refused, and nothing of ours is broken.
    #[error("source repository {path}: {problem}")]
    Source {
        path: PathBuf,
        #[source]
        problem: SourceProblem,
    },
}

/// The end of a git child that did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitOutcome {
    #[error("did not start ({0})")]
    NotStarted(String),
    #[error("ended with exit status: {0}")]
    Exited(i32),
    /// Ended by a signal that a program brings on itself.
    #[error("crashed with signal {0}")]
    Crashed(i32),
    /// A signal ended it.
    #[error("was killed")]
    Killed,
    /// Stopped by us after this time.
    #[error("was stopped after {} s", .0.as_secs())]
    Late(Duration),
    /// Stopped by us because it wrote more bytes than this.
    #[error("was stopped after {0} bytes")]
    TooMuch(usize),
    /// Its pipes or its status could not be read.
    #[error("was lost ({0})")]
    Lost(String),
}

/// The limits of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// New files and directories.
    Entries,
    /// Bytes of all new and changed files.
    TotalBytes,
    /// Bytes of one file.
    FileBytes,
    /// Directories within each other.
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

impl TreeError {
    /// True if a directory could not be entered, or is none.
    pub(crate) fn is_shut(&self) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
        let TreeError::Io { source, .. } = self else { return false };
        let is_link = source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
        is_link || matches!(source.kind(), NotADirectory | NotFound | PermissionDenied)
    }
}

/// Error of data that does not have the format it claims.
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
