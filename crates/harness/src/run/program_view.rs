//! View of a program: its tree, its private places, and the paths of the host that it is
//! shown.
//!
//! Without a sandbox it sees the host's own paths. In one it sees fixed places, the same in
//! every run, so that build products of one tree are valid in another.

use std::path::{Path, PathBuf};

use contract::decision::Profile;
use sandbox::{Access, Canary, ConfinedWorkspace, Confinement, HostMount, Space, Upper, Watched, WorkspaceFrom};

use crate::home::placement::{DECOYS, HostPlaces, TMP, is_system};
pub(crate) use crate::home::placement::{GIVEN, TREE};
use crate::run::bytecode::ShownInstallation;

/// Paths of one program, on the host and as the program sees them.
#[derive(Debug, Clone)]
pub(crate) struct ProgramView {
    profile: Profile,
    /// Tree on the host.
    root: PathBuf,
    /// Layers between the tree and what is written; the first on top.
    layers: Vec<PathBuf>,
    workspace: WorkspaceFrom,
    mounts: Vec<HostMount>,
    places: HostPlaces,
    /// Private home, as the program sees it.
    pub(crate) home: PathBuf,
    /// Private temporary folder, as the program sees it.
    pub(crate) tmp: PathBuf,
}

impl ProgramView {
    /// On the host's own paths.
    pub(crate) fn on_host(root: PathBuf, home: PathBuf, tmp: PathBuf) -> Self {
        let workspace = WorkspaceFrom::Directory(root.clone());
        let (layers, mounts, places) = (Vec::new(), Vec::new(), HostPlaces::default());
        Self { profile: Profile::None, root, layers, workspace, mounts, places, home, tmp }
    }

    /// In a sandbox.
    pub(crate) fn confined(root: PathBuf, places: HostPlaces) -> Self {
        let (home, tmp) = (PathBuf::from(sandbox::HOME_DEFAULT), PathBuf::from(TMP));
        let workspace = WorkspaceFrom::Directory(root.clone());
        let (layers, mounts) = (Vec::new(), places.mounts());
        Self { profile: Profile::Strict, root, layers, workspace, mounts, places, home, tmp }
    }

    /// Puts layers of unchangeable files under the tree; changes go above them.
    pub(crate) fn with_layers(mut self, layers: Vec<PathBuf>, workspace: WorkspaceFrom) -> Self {
        self.layers = layers;
        self.workspace = workspace;
        self
    }

    /// Shows something of the host and says where the program finds it.
    pub(crate) fn show_path(&mut self, host: &Path, name: &str, access: Access) -> PathBuf {
        if self.profile == Profile::None {
            return host.to_owned();
        }
        let target = Path::new(GIVEN).join(name);
        self.mounts.push(HostMount { source: host.to_owned(), target: target.clone(), access });
        target
    }

    /// The tree as the program sees it.
    pub(crate) fn tree(&self) -> &Path {
        if self.profile == Profile::None { &self.root } else { Path::new(TREE) }
    }

    /// A path as the program sees it; a relative one lies in the tree.
    pub(crate) fn seen(&self, path: &Path) -> PathBuf {
        self.places.inside(&self.tree().join(path))
    }

    /// Finds a program for a working directory that the program sees. One with a slash is
    /// not looked for: it may be there only inside.
    pub(crate) fn find_program(&self, name: &str, path: &[PathBuf], cwd: &Path) -> Option<PathBuf> {
        if name.contains('/') && self.profile != Profile::None {
            return Some(self.seen(&cwd.join(name)));
        }
        if name.contains('/') {
            return sandbox::find_program(name, &[], cwd);
        }
        let there = |dir: &PathBuf| {
            let hosts = self.of_host(dir);
            hosts.iter().any(|host| sandbox::find_program(name, std::slice::from_ref(host), Path::new("/")).is_some())
        };
        path.iter().map(|dir| self.seen(dir)).find(there).map(|dir| dir.join(name))
    }

    /// Paths of the host behind a path that the program sees; empty if there is none.
    pub(crate) fn of_host(&self, seen: &Path) -> Vec<PathBuf> {
        if self.profile == Profile::None {
            return vec![seen.to_owned()];
        }
        if let Ok(below) = seen.strip_prefix(TREE) {
            return self.layers.iter().chain([&self.root]).map(|layer| layer.join(below)).collect();
        }
        let mount = self.mounts.iter().filter(|mount| seen.starts_with(&mount.target));
        match mount.max_by_key(|mount| mount.target.components().count()) {
            Some(mount) => {
                seen.strip_prefix(&mount.target).map(|below| vec![mount.source.join(below)]).unwrap_or_default()
            }
            None if is_system(seen) => vec![seen.to_owned()],
            None => Vec::new(),
        }
    }

    /// The host's directories that the program may write to, to be watched while it runs:
    /// nothing else limits them, nor files that have no name.
    pub(crate) fn watched(&self, space: Space) -> Watched {
        let mut roots: Vec<PathBuf> = match &self.workspace {
            WorkspaceFrom::Directory(root) => vec![root.clone()],
            WorkspaceFrom::Layers { upper: Upper::Directory(upper), .. } => vec![upper.clone()],
            WorkspaceFrom::Layers { upper: Upper::Memory(_), .. } => Vec::new(),
        };
        let given = self.mounts.iter().filter(|mount| mount.access == Access::ReadWrite);
        roots.extend(given.map(|mount| mount.source.clone()));
        if self.profile == Profile::None {
            roots.extend([self.home.clone(), self.tmp.clone()]);
        }
        Watched { roots, space }
    }

    /// Folders in a sandbox that may hold an installation of a program: the system's prefixes, and mounts that nothing inside can
    /// change.
    pub(crate) fn shown_installations(&self) -> Vec<ShownInstallation> {
        let system =
            ["/usr", "/usr/local"].map(|prefix| ShownInstallation { host: prefix.into(), seen: prefix.into() });
        let mounts = self.mounts.iter().filter(|mount| mount.access == Access::ReadOnly);
        let mounted = mounts.map(|mount| ShownInstallation { host: mount.source.clone(), seen: mount.target.clone() });
        system.into_iter().chain(mounted).collect()
    }

    /// True if a mount lies at a place, or below or above it.
    pub(crate) fn has_mount_near(&self, place: &Path) -> bool {
        self.mounts.iter().any(|mount| mount.target.starts_with(place) || place.starts_with(&mount.target))
    }

    /// Confinement for the program; `None` without a sandbox.
    pub(crate) fn confinement(&self, space: Space, processes: u64, canary: &str) -> Option<Confinement> {
        if self.profile == Profile::None {
            return None;
        }
        Some(Confinement {
            workspace: ConfinedWorkspace { target: PathBuf::from(TREE), from: self.workspace.clone() },
            home: self.home.clone(),
            private: space,
            mounts: self.mounts.clone(),
            listener: None,
            processes: Some(processes),
            canaries: canaries(canary),
            uid: None,
        })
    }
}

fn canaries(secret: &str) -> Vec<Canary> {
    DECOYS
        .iter()
        .map(|path| Canary { path: PathBuf::from(path), content: format!("{}\n", decoy(path, secret)) })
        .collect()
}

/// The name of a decoy's key, which may look like a secret by itself.
pub(crate) fn decoy_key_id(secret: &str) -> String {
    format!("AKIA{}", secret.to_uppercase().get(..16).unwrap_or_default())
}

/// Content that looks like the real thing; the secret is the same in all of them.
fn decoy(path: &str, secret: &str) -> String {
    match path {
        ".aws/credentials" => {
            format!("[default]\naws_access_key_id = {}\naws_secret_access_key = {secret}", decoy_key_id(secret))
        }
        ".config/gh/hosts.yml" => format!("github.com:\n    oauth_token: {secret}\n    user: operator"),
        ".env" => format!("API_TOKEN={secret}"),
        _ => format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{secret}\n-----END OPENSSH PRIVATE KEY-----"),
    }
}
