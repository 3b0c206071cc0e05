//! Errors of a supervised run that could not begin or did not end. Everything else is an
//! [`crate::Ended`].

use std::io;
use std::path::PathBuf;

use crate::{ConfineFailure, Leftovers, Probe};

/// Error of supervising a program. In all cases but `StillAlive` nothing of the program is
/// left.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// The spec can never be run; `why` names the field.
    #[error("the program cannot be supervised as asked: {why}")]
    BadSpec { why: String },
    /// No channel to the stage could be made.
    #[error("could not open a channel to the supervising stage")]
    OpenChannel { source: io::Error },
    /// The supervising stage could not be started.
    #[error("could not start the supervising stage {exe}")]
    StartStage { exe: PathBuf, source: io::Error },
    /// Directories whose growth is limited could not be looked at.
    #[error("could not watch the size of {}", list_paths(.roots))]
    WatchDisk { roots: Vec<PathBuf>, source: io::Error },
    /// The confinement could not be built, or its probe found something open; the program
    /// was not started.
    #[error("the program could not be confined: {}", .failure.text)]
    ConfineProgram { failure: ConfineFailure, probes: Vec<Probe> },
    /// The program was killed, and the kernel did not say that all of it is gone: nothing
    /// that it could touch may be read.
    #[error("processes of the program did not end when they were killed{}", list_names(.leftovers))]
    StillAlive { leftovers: Leftovers },
}

impl SuperviseError {
    /// Refuses a spec; the text names the field.
    pub(crate) fn bad_spec(why: impl Into<String>) -> Self {
        Self::BadSpec { why: why.into() }
    }
}

fn list_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

fn list_names(leftovers: &Leftovers) -> String {
    let names = &leftovers.names;
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}
