//! Why a patch is not taken, each with what a person can do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use contract::{Reason, Stage, Status};
use tree::{BranchName, BranchNameProblem, Oid, TreeError};

#[derive(Debug)]
pub enum TakeError {
    NotPass(Status, Vec<Reason>),
    Stage(Stage),
    Redacted,
    NothingChanged,
    NoRepository,
    /// It cannot be read, or is of a kind that nothing is written into.
    Repository(TreeError),
    NoBaseline {
        repository: PathBuf,
        commit: String,
        problem: String,
    },
    AnotherTree {
        what: &'static str,
        expected: String,
        found: String,
    },
    /// What the contract's branch policy comes to is no branch's name.
    Policy {
        name: String,
        problem: BranchNameProblem,
    },
    NoIdentity(&'static str),
    BranchExists {
        branch: BranchName,
        commit: Option<Oid>,
    },
    InTheWay {
        branch: BranchName,
        other: String,
    },
    Locked {
        branch: BranchName,
        lock: PathBuf,
    },
    /// The branch is there and nothing says so yet.
    NotRecorded {
        branch: BranchName,
        problem: String,
    },
    Record(String),
    Read(PathBuf, String),
    Work(io::Error),
    Write(TreeError),
    Git(TreeError),
    Clock(crate::clock::ReadClockError),
}

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPass(status, reasons) => {
                let codes: Vec<&str> = reasons.iter().map(|reason| reason.code()).collect();
                write!(f, "the verdict of the run is {status}: {}", codes.join(", "))
            }
            Self::Stage(stage) => write!(
                f,
                "the run was of stage {stage}, on a case's own files; from stage 3 on there is a repository to take the patch into"
            ),
            Self::Redacted => f.write_str(
                "its patch is redacted: without the secret that stood in it, it does not make the result that was verified",
            ),
            Self::NothingChanged => f.write_str("the run changed nothing, so that there is nothing to take"),
            Self::NoRepository => f.write_str("the contract names no repository"),
            Self::Repository(error) => write!(f, "the repository cannot be used: {error}"),
            Self::NoBaseline { repository, commit, problem } => {
                write!(f, "{} does not give the baseline commit {commit}: {problem}", repository.display())
            }
            Self::AnotherTree { what, expected, found } => {
                write!(f, "the {what} cannot be built again: expected tree {expected}, found {found}")
            }
            Self::Policy { name, problem } => {
                write!(f, "the contract's branch policy makes `{name}`, which is no name of a branch: {problem}")
            }
            Self::NoIdentity(missing) => write!(f, "git does not know who you are: {missing} is not set"),
            Self::BranchExists { branch, commit: Some(commit) } => {
                write!(f, "branch {branch} is there already, at {commit}, and is not this change")
            }
            Self::BranchExists { branch, commit: None } => {
                write!(f, "branch {branch} is there already and is not simply a commit")
            }
            Self::InTheWay { branch, other } => {
                write!(f, "branch {branch} cannot be beside {other}: git keeps both under one name")
            }
            Self::Locked { branch, lock } => {
                write!(f, "somebody else is at work on branch {branch}: {} is there", lock.display())
            }
            Self::NotRecorded { branch, problem } => {
                write!(f, "branch {branch} is made, but that it was taken could not be recorded: {problem}")
            }
            Self::Record(problem) => write!(f, "cannot record that the patch is taken: {problem}"),
            Self::Read(path, problem) => write!(f, "cannot read {}: {problem}", path.display()),
            Self::Work(error) => write!(f, "cannot make a folder to work in: {error}"),
            Self::Write(error) => write!(f, "cannot write into the repository: {error}"),
            Self::Git(error) => error.fmt(f),
            Self::Clock(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TakeError {}

impl TakeError {
    /// What would help; `RUN` stands for the run.
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
            Self::NotRecorded { .. } => "free disk space or mend what is named, then run the same command again",
            Self::Record(_) | Self::Read(..) | Self::Work(_) | Self::Write(_) | Self::Git(_) | Self::Clock(_) => {
                "cto doctor"
            }
        }
    }
}
