//! Faults of a source repository: the one error that lays the blame on it, in words that name what is wrong, and the command
//! that helps. Trouble of our own (a full disk, no descriptors, no git) stays what it is.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use super::Source;
use crate::error::TreeError;
use crate::git::GitOutcome;
use crate::oid::Oid;

/// Why a source repository is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceProblem {
    #[error("there is nothing at this path")]
    Missing,
    #[error("not the top of a git work tree")]
    NotARepository,
    #[error("a bare repository has no work tree")]
    Bare,
    #[error("its .git file points to a repository that does not point back (only linked worktrees are followed)")]
    GitFilePointsElsewhere,
    #[error("{0} is a symbolic link")]
    SymlinkInside(&'static str),
    /// A socket, device or pipe where git would open a file and wait.
    #[error("{0} is not a regular file")]
    SpecialFile(String),
    #[error("reftable repositories are not supported")]
    Reftable,
    #[error("SHA-256 repositories are not supported")]
    Sha256,
    #[error("it borrows objects from another repository (objects/info/alternates)")]
    Alternates,
    #[error("its index is split over two files, which is not supported")]
    SplitIndex,
    #[error("HEAD has no commit yet")]
    UnbornHead,
    #[error("unsafe reference {0:?}")]
    UnsafeReference(String),
    /// HEAD leads to a tag, a tree or a blob.
    #[error("HEAD names {oid}, which is a {kind} and no commit")]
    HeadIsNoCommit { oid: Oid, kind: &'static str },
    #[error("its configuration has {0:?}, a format that is not known")]
    UnknownFormat(String),
    /// The configuration file is not one that git reads.
    #[error("its configuration cannot be read: {0}")]
    DamagedConfig(String),
    #[error("its index is damaged: {0}")]
    DamagedIndex(String),
    /// A file or folder that the system does not give, with its word for why.
    #[error("{file} cannot be read: {error}")]
    Unreadable { file: String, error: String },
    /// An object is absent, damaged, or not what its place says.
    #[error("its content cannot be read: {0}")]
    DamagedContent(String),
    /// A partial clone that left out what the tree needs.
    #[error("the content of {0} was left out when it was cloned")]
    NotFetched(String),
    /// A path that no work tree can hold.
    #[error("{0}")]
    UnfitPath(String),
    #[error("{0}")]
    TooLarge(String),
}

impl SourceProblem {
    /// The command that helps, to be run in the repository, or what to do where no command does.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Missing => "name a repository that is there with --repo DIR",
            Self::NotARepository => "name the top of a work tree with --repo DIR: git rev-parse --show-toplevel",
            Self::Bare => "git clone REPOSITORY DIR     then --repo DIR",
            Self::GitFilePointsElsewhere => "git worktree repair     (in the repository it belongs to)",
            Self::SymlinkInside(_) => "git clone --no-hardlinks . DIR     then --repo DIR",
            Self::SpecialFile(_) => "remove it, then: git status     (in the repository)",
            Self::Reftable => "git refs migrate --ref-format=files     (in the repository)",
            Self::Sha256 => "name a repository with SHA-1 objects with --repo DIR",
            Self::Alternates => "git repack -a -d && rm .git/objects/info/alternates     (in the repository)",
            Self::SplitIndex => "git update-index --no-split-index     (in the repository)",
            Self::UnbornHead => "git commit     (in the repository)",
            Self::UnsafeReference(_) => "git symbolic-ref HEAD refs/heads/BRANCH     (in the repository)",
            Self::HeadIsNoCommit { kind: "tag", .. } => "git checkout --detach 'HEAD^{commit}'     (in the repository)",
            Self::HeadIsNoCommit { .. } => "git symbolic-ref HEAD refs/heads/BRANCH     (in the repository)",
            Self::UnknownFormat(_) => "git clone . DIR     (with the git that made it), then --repo DIR",
            Self::DamagedConfig(_) => "git config --list --local     (in the repository) names the line",
            Self::DamagedIndex(_) => "rm .git/index && git reset     (in the repository)",
            Self::Unreadable { .. } => "make it a file that you can read: ls -l, chmod     (in the repository)",
            Self::DamagedContent(_) | Self::UnfitPath(_) => "git fsck --full     (in the repository)",
            Self::NotFetched(_) => "git fetch --refetch --no-filter     (in the repository)",
            Self::TooLarge(_) => "choose a smaller repository with --repo DIR",
        }
    }
}

/// Says of an error of the operating system which file of a source could not be read.
pub(super) trait Reading<T> {
    fn reading(self, root: &Path, file: &[u8]) -> Result<T, TreeError>;
}

impl<T, E: Into<io::Error>> Reading<T> for Result<T, E> {
    fn reading(self, root: &Path, file: &[u8]) -> Result<T, TreeError> {
        self.map_err(|error| unreadable(root, file, error.into()))
    }
}

fn unreadable(root: &Path, file: &[u8], error: io::Error) -> TreeError {
    let path = root.to_path_buf();
    if is_own_shortage(&error) {
        return TreeError::Io { doing: "reading the source repository", path, source: error };
    }
    let file = if file.is_empty() { "its folder".to_owned() } else { file.escape_ascii().to_string() };
    TreeError::Source { path, problem: SourceProblem::Unreadable { file, error: error.to_string() } }
}

/// Shortages of this process or machine, which no repository causes.
fn is_own_shortage(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::INTR))
}

/// Words of the system in git's messages that speak of where we write, never of what a repository holds.
const OWN_TROUBLE: &[&str] = &[
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Too many open files",
    "Resource temporarily unavailable",
    "File too large",
];

impl Source {
    pub(super) fn refuse(&self, problem: SourceProblem) -> TreeError {
        TreeError::Source { path: self.root.clone(), problem }
    }

    /// Lays what went wrong while content of the repository was read on the repository; trouble of our own stays what it is.
    pub(super) fn blame(&self, error: TreeError) -> TreeError {
        let problem = match &error {
            TreeError::Git { outcome, stderr, .. } => match outcome {
                GitOutcome::Exited(_) | GitOutcome::Crashed(_) if is_own_trouble(stderr) => return error,
                GitOutcome::Exited(_) => SourceProblem::DamagedContent(git_words(stderr)),
                GitOutcome::Crashed(signal) => {
                    SourceProblem::DamagedContent(format!("git crashed on it (signal {signal}): {}", git_words(stderr)))
                }
                GitOutcome::Late(time) => {
                    SourceProblem::TooLarge(format!("git did not read it within {} s", time.as_secs()))
                }
                GitOutcome::TooMuch(most) => {
                    SourceProblem::TooLarge(format!("its list of files is longer than {most} bytes"))
                }
                GitOutcome::NotStarted(_) | GitOutcome::Killed | GitOutcome::Lost(_) => return error,
            },
            TreeError::Name { .. } => SourceProblem::UnfitPath(error.to_string()),
            TreeError::Limit { .. } => SourceProblem::TooLarge(error.to_string()),
            TreeError::Missing { oid } => SourceProblem::DamagedContent(format!("object {oid} is not there")),
            TreeError::Malformed { .. } => SourceProblem::DamagedContent(error.to_string()),
            TreeError::Io { .. }
            | TreeError::NoGit { .. }
            | TreeError::Mark { .. }
            | TreeError::Damaged { .. }
            | TreeError::Source { .. } => return error,
        };
        self.refuse(problem)
    }
}

fn is_own_trouble(stderr: &str) -> bool {
    OWN_TROUBLE.iter().any(|words| stderr.contains(words))
}

/// The lines of git's message that say most, as one line.
fn git_words(stderr: &str) -> String {
    const LINES: usize = 3;
    let told = stderr.lines().map(str::trim).filter(|line| line.starts_with("error:") || line.starts_with("fatal:"));
    let mut told: Vec<&str> = told.collect();
    told.dedup();
    told.truncate(LINES);
    if told.is_empty() { stderr.lines().take(LINES).collect::<Vec<_>>().join("; ") } else { told.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_told_in_one_line() {
        for (stderr, expected) in [
            ("hint: x\nerror: a\nerror: a\nwarning: y\nfatal: b\n", "error: a; fatal: b"),
            ("something else\nmore", "something else; more"),
            ("", ""),
        ] {
            assert_eq!(git_words(stderr), expected);
        }
    }

    #[test]
    fn shortages_of_our_own_are_not_the_repositorys() {
        let root = Path::new("/r");
        for (errno, own) in [(Errno::MFILE, true), (Errno::NOMEM, true), (Errno::ACCESS, false), (Errno::IO, false)] {
            let error = unreadable(root, b"index", errno.into());
            assert_eq!(matches!(error, TreeError::Io { .. }), own, "{error}");
        }
        assert!(is_own_trouble("fatal: write error: No space left on device") && !is_own_trouble("fatal: bad object"));
    }
}
