//! Why a supervised run could not begin, or did not come to an end. Everything else is an [`crate::Ended`].

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::{ConfineFailure, Leftovers, Probe};

#[derive(Debug)]
pub enum SuperviseError {
    /// The spec can never be run; `why` names the field.
    BadSpec { why: String },
    /// No channel to the stage could be made.
    OpenChannel { source: io::Error },
    /// The supervising stage could not be started.
    StartStage { exe: PathBuf, source: io::Error },
    /// Directories whose growth is limited could not be looked at.
    WatchDisk { roots: Vec<PathBuf>, source: io::Error },
    /// The confinement could not be built, or its probe found something open; the program was not started.
    ConfineProgram { failure: ConfineFailure, probes: Vec<Probe> },
    /// The program was killed, and the kernel did not say that all of it is gone: nothing that it could touch may be read.
    StillAlive { leftovers: Leftovers },
}

impl SuperviseError {
    pub(crate) fn bad_spec(why: impl Into<String>) -> Self {
        Self::BadSpec { why: why.into() }
    }
}

impl fmt::Display for SuperviseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadSpec { why } => write!(f, "the program cannot be supervised as asked: {why}"),
            Self::OpenChannel { .. } => f.write_str("could not open a channel to the supervising stage"),
            Self::ConfineProgram { failure, .. } => write!(f, "the program could not be confined: {}", failure.text),
            Self::WatchDisk { roots, .. } => {
                let roots: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
                write!(f, "could not watch the size of {}", roots.join(", "))
            }
            Self::StillAlive { leftovers } if leftovers.names.is_empty() => {
                f.write_str("processes of the program did not end when they were killed")
            }
            Self::StillAlive { leftovers } => {
                write!(f, "processes of the program did not end when they were killed: {}", leftovers.names.join(", "))
            }
            Self::StartStage { exe, .. } => write!(f, "could not start the supervising stage {}", exe.display()),
        }
    }
}

impl std::error::Error for SuperviseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::BadSpec { .. } | Self::ConfineProgram { .. } | Self::StillAlive { .. } => None,
            Self::OpenChannel { source } | Self::StartStage { source, .. } | Self::WatchDisk { source, .. } => {
                Some(source)
            }
        }
    }
}
