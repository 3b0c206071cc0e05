//! Why a confinement could not be built: the step, the error, and what was being done.

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfineFailure {
    pub step: ConfineStep,
    pub errno: Option<i32>,
    pub text: String,
}

impl ConfineFailure {
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
