//! Description of profile `strict`: the paths that a program sees and those that it may
//! write. Everything of the host that is not named here is absent.

use std::path::{Component, Path, PathBuf};

use sandbox_facts::Access;
use serde::{Deserialize, Serialize};

use crate::SuperviseError;

/// Limit on canaries: all of them go to the stage in one message.
const CANARIES_MAX: usize = 24;

/// Default path of the private home inside.
pub const HOME_DEFAULT: &str = "/home/user";

/// Request for profile `strict`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The one directory whose changes are the result.
    pub workspace: ConfinedWorkspace,
    /// Path of the private home inside. It is empty at the start except for the canaries,
    /// and vanishes at the end.
    pub home: PathBuf,
    /// Limit of the private home, `/tmp`, `/var/tmp` and `/dev/shm` together.
    pub private: Space,
    /// Files and directories of the host at stated places. A place below the workspace is
    /// made in it if it is not there.
    pub mounts: Vec<HostMount>,
    /// A port of 127.0.0.1 inside, for which [`crate::Confined::take_listener`] gives the
    /// listening socket.
    pub listener: Option<u16>,
    /// Processes and threads of the program at any one time.
    pub processes: Option<u64>,
    /// Decoys that the private home starts with.
    pub canaries: Vec<Canary>,
    /// The kernel uid and gid of the run where the harness is root. `None` draws one of
    /// 0x7000_0000 to 0x7fff_ffff (1879048192 to 2147483647) at random for each call, which
    /// no system gives to anybody. Where the harness is itself in a user namespace without
    /// them, it is the last uid of that namespace's largest range, which runs at the same
    /// time then share.
    pub uid: Option<u32>,
}

/// The one directory whose changes are the result of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinedWorkspace {
    /// Path of the workspace inside.
    pub target: PathBuf,
    /// Origin of its content, and the place of the changes.
    pub from: WorkspaceFrom,
}

/// Origin of the workspace, and with it the place that takes the program's changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceFrom {
    /// A directory of the host, written directly. [`crate::Spec::watched`] limits its growth.
    Directory(PathBuf),
    /// Directories of the host, the first on top, that stay as they are; changes go to `upper`.
    Layers { lower: Vec<PathBuf>, upper: Upper },
}

/// Place that takes the changes to a workspace of layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upper {
    /// In memory: a hard limit on what the program can write.
    /// [`crate::Confined::take_upper`] gives the directory, which stays readable after the
    /// end.
    Memory(Space),
    /// A directory of the host that holds nothing else; changes are in `upper` within it.
    /// [`crate::Spec::watched`] limits its growth.
    Directory(PathBuf),
}

/// Limit of a file system in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Upper bound on the content of all files together.
    pub bytes: u64,
    /// Upper bound on the number of files and directories.
    pub inodes: u64,
}

/// File or directory of the host at a path inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMount {
    /// Path on the host.
    pub source: PathBuf,
    /// Path inside.
    pub target: PathBuf,
    /// Rights of the program.
    pub access: Access,
}

/// A decoy under the private home. Each program that opens it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// Relative to the home.
    pub path: PathBuf,
    /// Secret that proves a read if it turns up anywhere.
    pub content: String,
}

impl Confinement {
    /// The workspace as the host has it, at its own path, a private gigabyte, and nothing else.
    pub fn new(workspace: PathBuf) -> Self {
        Self {
            workspace: ConfinedWorkspace { target: workspace.clone(), from: WorkspaceFrom::Directory(workspace) },
            home: PathBuf::from(HOME_DEFAULT),
            private: Space { bytes: 1 << 30, inodes: 200_000 },
            mounts: Vec::new(),
            listener: None,
            processes: None,
            canaries: Vec::new(),
            uid: None,
        }
    }

    /// Refuses paths that are not plain and absolute, places of the kernel's own, canaries
    /// outside of the home, and uids that belong to the system.
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
            return Err(SuperviseError::bad_spec(format!("more than {CANARIES_MAX} decoys")));
        }
        if let Some(canary) = self.canaries.iter().find(|canary| !is_plain_relative(&canary.path)) {
            return Err(SuperviseError::bad_spec(format!("decoy outside the home: {}", canary.path.display())));
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

/// Neither to be shown as the host has it nor to be covered inside. Only the host's memory
/// disk is like any other directory.
fn is_kernels(path: &Path) -> bool {
    let below = |place: &str| path.starts_with(place);
    below("/proc") || below("/sys") || (below("/dev") && (path == Path::new("/dev/shm") || !below("/dev/shm")))
}

/// True for an absolute path other than the root, without a step up: it means the same to
/// every reader.
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
        let mount = |source: &str, target: &str| HostMount {
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
