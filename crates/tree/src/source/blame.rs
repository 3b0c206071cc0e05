//! Attribution of read errors to a source repository. Errors of our own (a full disk, no
//! descriptors, no git) stay as they are.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use super::SourceRepository;
use crate::error::{GitOutcome, TreeError};
use crate::source_problem::SourceProblem;

/// Names the file of a source that an error of the operating system is about.
pub(super) trait BlameReading<T> {
    fn reading(self, root: &Path, file: &[u8]) -> Result<T, TreeError>;
}

impl<T, E: Into<io::Error>> BlameReading<T> for Result<T, E> {
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

/// Words of the system in git's messages that are about where we write, never about what a
/// repository holds.
const OWN_TROUBLE: &[&str] = &[
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Too many open files",
    "Resource temporarily unavailable",
    "File too large",
];

impl SourceRepository {
    /// Error that lays the blame on this source repository.
    pub(super) fn refuse_source(&self, problem: SourceProblem) -> TreeError {
        TreeError::Source { path: self.root.clone(), problem }
    }

    /// Lays what went wrong while content of the repository was read on the repository;
    /// trouble of our own stays what it is.
    pub(super) fn blame_source(&self, error: TreeError) -> TreeError {
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
        self.refuse_source(problem)
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
