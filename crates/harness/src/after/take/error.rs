//! Reasons why a patch is not taken, each with an action for a person.

use std::io;
use std::path::PathBuf;

use contract::{Reason, Stage, Status};
use tree::{BranchName, BranchNameProblem, Oid, TreeError};

use crate::home::cause::ErrorCause;

/// Reason why a patch is not taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    #[error("the verdict of the run is {}: {}", .0, list_codes(.1))]
    NotPass(Status, Vec<Reason>),
    #[error("the run of stage {0} worked on a case's own files, so no repository can take the patch")]
    Stage(Stage),
    #[error("its patch is redacted: without the secret, it does not give the verified result")]
    Redacted,
    #[error("the run changed nothing, so that there is nothing to take")]
    NothingChanged,
    #[error("the contract names no repository")]
    NoRepository,
    /// The repository cannot be read, or is of a kind that is never written to.
    #[error("the repository cannot be used: {0}")]
    Repository(#[source] TreeError),
    #[error("{repository} does not give the baseline commit {commit}: {problem}")]
    NoBaseline {
        repository: PathBuf,
        commit: String,
        #[source]
        problem: ErrorCause,
    },
    #[error("the {what} cannot be built again: expected tree {expected}, found {found}")]
    AnotherTree { what: &'static str, expected: String, found: String },
    /// The contract's branch policy gives no valid branch name.
    #[error("the contract's branch policy makes `{name}`, which is not a valid branch name: {problem}")]
    Policy {
        name: String,
        #[source]
        problem: BranchNameProblem,
    },
    #[error("git does not know who you are: {0} is not set")]
    NoIdentity(&'static str),
    #[error("branch {branch} is there already{}", describe_tip(*.commit))]
    BranchExists { branch: BranchName, commit: Option<Oid> },
    #[error("branch {branch} cannot be beside {other}: git keeps both under one name")]
    InTheWay { branch: BranchName, other: String },
    #[error("somebody else is at work on branch {branch}: {lock} is there")]
    Locked { branch: BranchName, lock: PathBuf },
    /// The branch exists, but is not recorded yet.
    #[error("branch {branch} is made, but taking it could not be recorded: {problem}")]
    NotRecorded {
        branch: BranchName,
        #[source]
        problem: ErrorCause,
    },
    #[error("cannot record that the patch is taken: {0}: {1}")]
    Lock(PathBuf, #[source] io::Error),
    #[error("cannot record that the patch is taken: {0}")]
    Record(#[source] ErrorCause),
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] ErrorCause),
    #[error("cannot make a folder to work in: {0}")]
    Work(#[source] io::Error),
    #[error("cannot write into the repository: {0}")]
    Write(#[source] TreeError),
    #[error(transparent)]
    Git(TreeError),
    #[error(transparent)]
    Clock(crate::home::clock::ReadClockError),
}

impl TakeError {
    /// Action that would help; `RUN` stands for the run.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotPass(..) => "cto show RUN -v",
            Self::Stage(_) => "cto run TASK --repo DIR     makes a run that can be taken",
            Self::Redacted => "run the task again without the secret: cto run",
            Self::NothingChanged => "choose a run that changed something: cto runs --status pass",
            Self::NoRepository | Self::Repository(_) | Self::NoBaseline { .. } => {
                "bring back the repository the run was made on, or name a clone of it: cto take RUN --repo DIR"
            }
            Self::AnotherTree { .. } => "cto verify RUN",
            Self::Policy { .. } | Self::BranchExists { .. } | Self::InTheWay { .. } => "cto take RUN --branch NAME",
            Self::NoIdentity(_) => {
                "git config --global user.name \"Your Name\" && git config --global user.email you@example.org"
            }
            Self::Locked { .. } => "wait for the other program; if there is none, remove that file",
            Self::NotRecorded { .. } => "free disk space or fix what is named, then run the same command again",
            Self::Lock(..)
            | Self::Record(_)
            | Self::Read(..)
            | Self::Work(_)
            | Self::Write(_)
            | Self::Git(_)
            | Self::Clock(_) => "cto doctor",
        }
    }
}

fn list_codes(reasons: &[Reason]) -> String {
    let codes: Vec<&str> = reasons.iter().map(|reason| reason.code()).collect();
    codes.join(", ")
}

fn describe_tip(commit: Option<Oid>) -> String {
    commit.map_or_else(
        || " and is not simply a commit".to_owned(),
        |commit| format!(", at {commit}, and is not this change"),
    )
}
