//! References that a landing makes: a branch, and the mark that an approval was used.

use std::fmt;

use super::BranchName;

/// Folder of the marks of used approvals, below `refs/`.
const USED: &str = "cto/used";

/// A name below `refs/`, of plain components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefName(String);

impl RefName {
    /// Reference of a branch.
    pub(super) fn branch(name: &BranchName) -> Self {
        Self(format!("heads/{}", name.as_str()))
    }

    /// Name below `refs/`.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Folders above it below `refs/`, and its own last part.
    pub(super) fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }

    /// Full name, as git's files have it.
    pub(super) fn full(&self) -> Vec<u8> {
        format!("refs/{}", self.0).into_bytes()
    }
}

/// Form for people: a branch by its own name, anything else in full.
impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.strip_prefix("heads/") {
            Some(branch) => f.write_str(branch),
            None => write!(f, "refs/{}", self.0),
        }
    }
}

/// The mark in a repository that an approval was used there: `refs/cto/used/<request
/// digest>`. Nothing of ours ever removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedMark(RefName);

impl UsedMark {
    /// `None` unless the text is a digest in 64 lower-case hex digits.
    pub fn new(request_digest: &str) -> Option<Self> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let fits = request_digest.len() == 64 && request_digest.bytes().all(hex);
        fits.then(|| Self(RefName(format!("{USED}/{request_digest}"))))
    }

    /// Reference of the mark.
    pub(super) fn name(&self) -> &RefName {
        &self.0
    }
}

impl fmt::Display for UsedMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
