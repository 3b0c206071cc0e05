//! What profile `strict` shall show to a program and let it write. Everything of the host that is not named here is absent.

use std::path::{Component, Path, PathBuf};

use sandbox_facts::Access;
use serde::{Deserialize, Serialize};

use crate::SuperviseError;

/// They go to the stage in one message.
const CANARIES_MAX: usize = 24;

/// Where the private home lies inside unless the confinement says otherwise.
pub const HOME_DEFAULT: &str = "/home/user";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    pub workspace: Workspace,
    /// Where the private home lies inside; it is empty at the start but for the canaries, and vanishes at the end.
    pub home: PathBuf,
    /// For the private home, `/tmp`, `/var/tmp` and `/dev/shm` together.
    pub private: Space,
    /// Files and directories of the host at stated places. A place below the workspace is made in it if it is not there.
    pub mounts: Vec<Mount>,
    /// A port of 127.0.0.1 inside, for which [`crate::Confined::take_listener`] gives the listening socket.
    pub listener: Option<u16>,
    /// Processes and threads of the program at any one time.
    pub processes: Option<u64>,
    pub canaries: Vec<Canary>,
    /// The kernel uid and gid of the run where the harness is root. `None` draws one of 0x7000_0000 to 0x7fff_ffff (1879048192 to
    /// 2147483647) at random for each call, which no system gives to anybody. Where the harness is itself in a user namespace
    /// without them, it is the last uid of that namespace's largest range, which runs at the same time then share.
    pub uid: Option<u32>,
}

/// The one directory whose changes are the result of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Its place inside.
    pub target: PathBuf,
    pub from: WorkspaceFrom,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceFrom {
    /// A directory of the host, written directly. [`crate::Spec::watched`] limits its growth.
    Directory(PathBuf),
    /// Directories of the host, the first on top, that stay as they are; changes go to `upper`.
    Layers { lower: Vec<PathBuf>, upper: Upper },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upper {
    /// In memory: a hard limit on what the program can write. [`crate::Confined::take_upper`] gives the directory, which stays
    /// readable after the end.
    Memory(Space),
    /// A directory of the host that holds nothing else; changes are in `upper` within it. [`crate::Spec::watched`] limits its
    /// growth.
    Directory(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    pub bytes: u64,
    pub inodes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub source: PathBuf,
    pub target: PathBuf,
    pub access: Access,
}

/// A decoy under the private home. Whoever opens it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// Relative to the home.
    pub path: PathBuf,
    pub content: String,
}

impl Confinement {
    /// The workspace as the host has it, at its own path, a private gigabyte, and nothing else.
    pub fn new(workspace: PathBuf) -> Self {
        Self {
            workspace: Workspace { target: workspace.clone(), from: WorkspaceFrom::Directory(workspace) },
            home: PathBuf::from(HOME_DEFAULT),
            private: Space { bytes: 1 << 30, inodes: 200_000 },
            mounts: Vec::new(),
            listener: None,
            processes: None,
            canaries: Vec::new(),
            uid: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SuperviseError> {
        let mounts = self.mounts.iter().flat_map(|mount| [&mount.source, &mount.target]);
        let paths = [&self.workspace.target, &self.home].into_iter().chain(self.workspace.from.sources()).chain(mounts);
        if let Some(path) = paths.into_iter().find(|path| !is_plain_absolute(path)) {
            return Err(SuperviseError::bad_spec(format!("not a plain absolute path: {}", path.display())));
        }
        let targets = self.mounts.iter().map(|mount| &mount.target).chain([&self.workspace.target, &self.home]);
        let sources = self.mounts.iter().map(|mount| &mount.source).chain(self.workspace.from.sources());
        if let Some(path) = targets.chain(sources).find(|path| is_kernels(path)) {
            return Err(SuperviseError::bad_spec(format!("a place of the kernel's own: {}", path.display())));
        }
        if self.canaries.len() > CANARIES_MAX {
            return Err(SuperviseError::bad_spec(format!("more than {CANARIES_MAX} canaries")));
        }
        if let Some(canary) = self.canaries.iter().find(|canary| !is_plain_relative(&canary.path)) {
            return Err(SuperviseError::bad_spec(format!("canary outside the home: {}", canary.path.display())));
        }
        match self.uid {
            Some(uid) if uid < 1000 || uid == u32::MAX => {
                Err(SuperviseError::bad_spec(format!("not a run's uid: {uid}")))
            }
            _ => Ok(()),
        }
    }
}

impl WorkspaceFrom {
    fn sources(&self) -> Vec<&PathBuf> {
        match self {
            Self::Directory(path) => vec![path],
            Self::Layers { lower, upper: Upper::Directory(upper) } => lower.iter().chain([upper]).collect(),
            Self::Layers { lower, upper: Upper::Memory(_) } => lower.iter().collect(),
        }
    }
}

/// Neither to be shown as the host has it nor to be covered inside. Only the host's memory disk is like any other directory.
fn is_kernels(path: &Path) -> bool {
    let below = |place: &str| path.starts_with(place);
    below("/proc") || below("/sys") || (below("/dev") && (path == Path::new("/dev/shm") || !below("/dev/shm")))
}

/// Absolute, not the root, and without a step up: it means the same place whoever reads it.
pub(crate) fn is_plain_absolute(path: &Path) -> bool {
    path.strip_prefix("/").is_ok_and(is_plain_relative)
}

fn is_plain_relative(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_places_are_accepted() {
        let base = || Confinement::new(PathBuf::from("/run/tree"));
        let mount = |source: &str, target: &str| Mount {
            source: source.into(),
            target: target.into(),
            access: Access::ReadOnly,
        };
        let canary = |path: &str| Canary { path: path.into(), content: String::new() };
        let cases = [
            (base(), true),
            (Confinement::new("work".into()), false),
            (Confinement::new("/".into()), false),
            (Confinement { home: "/a/../b".into(), ..base() }, false),
            (Confinement { mounts: vec![mount("/a", "/b")], ..base() }, true),
            (Confinement { mounts: vec![mount("a", "/b")], ..base() }, false),
            (Confinement { mounts: vec![mount("/a", "/")], ..base() }, false),
            (Confinement { mounts: vec![mount("/a", "/proc/sys")], ..base() }, false),
            (Confinement { mounts: vec![mount("/proc", "/b")], ..base() }, false),
            (Confinement { mounts: vec![mount("/dev/kvm", "/b")], ..base() }, false),
            (Confinement { mounts: vec![mount("/dev/shm/a", "/dev/shm/b")], ..base() }, true),
            (Confinement { home: "/dev/shm".into(), ..base() }, false),
            (Confinement { canaries: vec![canary(".ssh/id")], ..base() }, true),
            (Confinement { canaries: vec![canary("id"); CANARIES_MAX + 1], ..base() }, false),
            (Confinement { canaries: vec![canary("../id")], ..base() }, false),
            (Confinement { canaries: vec![canary("/id")], ..base() }, false),
            (Confinement { canaries: vec![canary("")], ..base() }, false),
            (Confinement { uid: Some(0), ..base() }, false),
            (Confinement { uid: Some(70_000), ..base() }, true),
        ];
        for (confinement, good) in cases {
            assert_eq!(confinement.check().is_ok(), good, "{confinement:?}");
        }
    }
}
