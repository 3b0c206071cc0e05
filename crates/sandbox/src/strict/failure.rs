//! Failure of building a confinement: the step, the error, and the action that failed.

use std::fmt::Display;
use std::io;

use serde::{Deserialize, Serialize};

/// The steps in the order in which they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfineStep {
    Identity,
    Sources,
    Namespaces,
    IdMap,
    Cgroup,
    Network,
    Root,
    System,
    Devices,
    Proc,
    Mounts,
    Workspace,
    Pivot,
    Canaries,
    Privileges,
    Directory,
    Limits,
    Landlock,
    Seccomp,
    Probe,
    /// The confined side ended or fell silent before it was ready.
    Lost,
}

/// Failed step of building a confinement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfineFailure {
    /// Step that failed.
    pub step: ConfineStep,
    /// Error number of the kernel, if it gave one.
    pub errno: Option<i32>,
    /// Action that failed, and the error in words.
    pub text: String,
}

impl ConfineFailure {
    /// Failure without an error of the kernel.
    pub(crate) fn new(step: ConfineStep, text: impl Into<String>) -> Self {
        Self { step, errno: None, text: text.into() }
    }
}

/// Says which step an error belongs to.
pub(crate) trait At<T> {
    fn at(self, step: ConfineStep, what: impl Display) -> Result<T, ConfineFailure>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: ConfineStep, what: impl Display) -> Result<T, ConfineFailure> {
        self.map_err(|error| {
            let error: io::Error = error.into();
            ConfineFailure { step, errno: error.raw_os_error(), text: format!("{what}: {error}") }
        })
    }
}
