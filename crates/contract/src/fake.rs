//! Script of the fake engine in a case, and the claims that an engine can make.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::Speech;
use crate::model::Wire;

/// The `fake` key of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fake {
    /// Short for one `apply` step and a claim of success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<FakeStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
    /// Whose words the printed output is in, for cases that play another engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaks: Option<Speech>,
    /// Plays an engine that needs a model on this wire: the run then needs an admitted pair
    /// and gets a bridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
}

/// One thing to do. Paths are used as they stand, from the working directory: a hostile
/// case may leave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FakeStep {
    Write {
        path: PathBuf,
        text: String,
        #[serde(default)]
        executable: bool,
    },
    Append {
        path: PathBuf,
        text: String,
    },
    /// A file, a link, or a directory with all it holds.
    Delete {
        path: PathBuf,
    },
    Apply(Patch),
    /// A symbolic link.
    Link {
        path: PathBuf,
        target: PathBuf,
    },
    Mkdir {
        path: PathBuf,
    },
    InitRepository {
        path: PathBuf,
    },
    /// Unix socket without a listener.
    Socket {
        path: PathBuf,
    },
    /// A file in the state directory.
    State {
        path: PathBuf,
        text: String,
    },
    /// The text and a newline, as often as asked.
    Print {
        text: String,
        #[serde(default)]
        stream: PrintStream,
        #[serde(default = "once")]
        times: u32,
    },
    Sleep {
        seconds: u64,
    },
    /// Ends at once with this code and no result line.
    Exit {
        code: u8,
    },
    /// Sends itself a signal.
    Signal {
        signal: u8,
    },
    /// Starts a child and does not wait; detached, it has a process group of its own and
    /// none of our streams.
    Spawn {
        argv: Vec<String>,
        #[serde(default)]
        detach: bool,
    },
    /// Runs a child to its end. Its exit code is printed and stops nothing.
    Run {
        argv: Vec<String>,
    },
    /// Commits all there is, by an author and at a time that are always the same.
    Commit {
        message: String,
    },
    /// Done by the harness before the engine starts; the engine passes over it.
    StartDirty {
        path: PathBuf,
        text: String,
    },
}

/// A patch by the name of a file beside the case, as a person writes it, or by its text, as
/// the engine gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Patch {
    #[serde(rename = "patch")]
    Name(String),
    Text(String),
}

/// Output stream of a printed line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrintStream {
    #[default]
    Stdout,
    Stderr,
}

/// Claims at the end of the run. An absent field is not claimed, so nothing is compared for
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ClaimedOutcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_passed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_changed: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Claimed result of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimedOutcome {
    Success,
    Failure,
}

/// Claimed result of the engine's own review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    Approved,
    Rejected,
}

impl Fake {
    /// The steps with every patch as text, and the claims; `read` gives the text of a patch
    /// beside the case.
    pub fn resolve_patches<E>(
        self,
        mut read: impl FnMut(&str) -> Result<String, E>,
    ) -> Result<(Vec<FakeStep>, Claims), E> {
        let short = self.patch.is_some();
        let mut steps: Vec<FakeStep> = self.patch.map(|name| FakeStep::Apply(Patch::Name(name))).into_iter().collect();
        steps.extend(self.steps);
        for step in &mut steps {
            if let FakeStep::Apply(patch) = step
                && let Patch::Name(name) = patch
            {
                *patch = Patch::Text(read(name)?);
            }
        }
        let claims = self.claims.unwrap_or_else(|| if short { Claims::success() } else { Claims::default() });
        Ok((steps, claims))
    }
}

impl Claims {
    fn success() -> Self {
        Self { status: Some(ClaimedOutcome::Success), tests_passed: Some(true), ..Self::default() }
    }
}

impl FakeStep {
    /// Key of the step in a script.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Write { .. } => "write",
            Self::Append { .. } => "append",
            Self::Delete { .. } => "delete",
            Self::Apply(_) => "apply",
            Self::Link { .. } => "link",
            Self::Mkdir { .. } => "mkdir",
            Self::InitRepository { .. } => "init_repository",
            Self::Socket { .. } => "socket",
            Self::State { .. } => "state",
            Self::Print { .. } => "print",
            Self::Sleep { .. } => "sleep",
            Self::Exit { .. } => "exit",
            Self::Signal { .. } => "signal",
            Self::Spawn { .. } => "spawn",
            Self::Run { .. } => "run",
            Self::Commit { .. } => "commit",
            Self::StartDirty { .. } => "start_dirty",
        }
    }
}

fn once() -> u32 {
    1
}
