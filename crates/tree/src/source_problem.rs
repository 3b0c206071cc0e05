//! Faults of a source repository, each with a sentence and the command that helps.

use crate::oid::Oid;

/// Reason why a source repository is not read.
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
    /// The git directory is elsewhere, as in a submodule or after `git init
    /// --separate-git-dir`.
    #[error("its .git file points to a separate git directory, as a submodule's does")]
    GitDirElsewhere,
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
    /// Two openings of one path led to two repositories.
    #[error("another repository was put in its place while it was read")]
    Replaced,
    #[error("unsafe reference {0:?}")]
    UnsafeReference(String),
    /// HEAD leads to a tag, a tree or a blob.
    #[error("HEAD names {oid}, which is a {kind} and no commit")]
    HeadIsNoCommit { oid: Oid, kind: &'static str },
    #[error("it has no commit, branch or tag {0:?}")]
    UnknownCommit(String),
    #[error("several of its objects begin with {0:?}")]
    AmbiguousCommit(String),
    #[error("no local branch and no tag reaches commit {0}")]
    UnreachableCommit(Oid),
    /// A run goes on from the patch of another, which holds on its baseline alone.
    #[error("HEAD is {found}, but the continued run started at {expected}")]
    AnotherBaseline { expected: String, found: Oid },
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
    /// The command that helps, to be run in the repository, or what to do where no command
    /// does.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Missing => "name a repository that is there with --repo DIR",
            Self::NotARepository => "name the top of a work tree with --repo DIR: git rev-parse --show-toplevel",
            Self::Bare => "git clone REPOSITORY DIR     then --repo DIR",
            Self::GitFilePointsElsewhere => "git worktree repair     (in the repository it belongs to)",
            Self::GitDirElsewhere => "git clone . DIR     (in it), then name DIR",
            Self::SymlinkInside(_) => "git clone --no-hardlinks . DIR     then --repo DIR",
            Self::SpecialFile(_) => "remove it, then: git status     (in the repository)",
            Self::Reftable => "git refs migrate --ref-format=files     (in the repository)",
            Self::Sha256 => "name a repository with SHA-1 objects with --repo DIR",
            Self::Alternates => "git repack -a -d && rm .git/objects/info/alternates     (in the repository)",
            Self::SplitIndex => "git update-index --no-split-index     (in the repository)",
            Self::UnbornHead => "git commit     (in the repository)",
            Self::Replaced => "git rev-parse --git-dir     (at that path), and say it again when nobody changes it",
            Self::UnsafeReference(_) => "git symbolic-ref HEAD refs/heads/BRANCH     (in the repository)",
            Self::HeadIsNoCommit { kind: "tag", .. } => "git checkout --detach 'HEAD^{commit}'     (in the repository)",
            Self::HeadIsNoCommit { .. } => "git symbolic-ref HEAD refs/heads/BRANCH     (in the repository)",
            Self::UnknownCommit(_) => "git branch -a && git tag     (in the repository), then --at NAME",
            Self::AmbiguousCommit(_) => "name more digits: git log --format=%H     (in the repository)",
            Self::UnreachableCommit(_) => "git branch NAME COMMIT     (in the repository), then --at NAME",
            Self::AnotherBaseline { .. } => "add --at COMMIT with the commit that it started at",
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
