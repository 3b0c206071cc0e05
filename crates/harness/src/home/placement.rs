//! Places inside a sandbox: its own, and those of mounts from the host.
//!
//! A mount without a chosen place appears at its own path. If the sandbox has something of
//! its own there, the mount appears below [`MOVED`] instead. A sandbox's private folders
//! are empty file systems, so that such a mount can lie at its own path too: launchers,
//! environments of Python and linked libraries name the path that they were installed at.

use std::path::{Component, Path, PathBuf};

use contract::task::{Environment, Mount};
use sandbox::Access;

use crate::home::host::Tools;

/// The tree a program works in, inside a sandbox.
pub(crate) const TREE: &str = "/workspace";
/// Folder inside a sandbox for files that the harness itself provides.
pub(crate) const GIVEN: &str = "/run/cto";
/// Folder for temporary files inside a sandbox.
pub(crate) const TMP: &str = "/tmp";
/// Above the whole path of what cannot appear at that path.
const MOVED: &str = "/opt/cto";

/// Shown in every sandbox as the host has them.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Made for every sandbox. A mount below one of them would add to it or replace a part of it.
const CLOSED: &[&str] = &[TREE, GIVEN, "/etc", "/proc", "/sys", "/dev"];
/// Empty and private. A mount below one of them hides nothing but a decoy.
const PRIVATE: &[&str] = &[sandbox::HOME_DEFAULT, TMP, "/var/tmp", "/dev/shm"];
/// Decoys in the private home, where a thief would look and an honest program does not.
pub(crate) const DECOYS: &[&str] = &[".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".env"];

/// True for paths that every sandbox shows anyway.
pub(crate) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

fn is_private(path: &Path) -> bool {
    PRIVATE.iter().map(Path::new).any(|place| path.starts_with(place) && path != place)
}

/// True for an absolute path without `..`: it means the same to every reader.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.is_absolute() && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// A part of the host that no sandbox shows: all of it at once, or what the kernel makes up.
pub(crate) fn is_never_shown(source: &Path) -> bool {
    let kernel = ["/proc", "/sys", "/dev"].iter().any(|place| source.starts_with(place));
    source == Path::new("/") || (kernel && !is_private(source))
}

/// The place of the sandbox's own that a mount at `target` would lie in or hide.
pub(crate) fn conflict(target: &Path) -> Option<PathBuf> {
    let mut closed = SYSTEM.iter().chain(CLOSED).map(PathBuf::from);
    let decoys = DECOYS.iter().map(|decoy| Path::new(sandbox::HOME_DEFAULT).join(decoy));
    let mut own = closed.clone().chain(PRIVATE.iter().map(PathBuf::from)).chain(decoys);
    let inside = closed.find(|place| target.starts_with(place)).filter(|_| !is_private(target));
    inside.or_else(|| own.find(|place| place.starts_with(target)))
}

/// A file or folder of the host and its place inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedPath {
    /// Path on the host.
    pub(crate) source: PathBuf,
    /// Path inside.
    pub(crate) target: PathBuf,
    /// Nobody chose the place, and it is not the own path.
    is_moved: bool,
}

impl PlacedPath {
    /// Place of a contract's mount: the chosen target, else one by the rules above.
    pub(crate) fn of_mount(mount: &Mount) -> Self {
        let source = Path::new(&mount.source);
        match &mount.target {
            Some(target) => Self { source: source.to_owned(), target: target.into(), is_moved: false },
            None => Self::by_itself(source),
        }
    }

    fn by_itself(source: &Path) -> Self {
        let is_moved = !is_system(source) && (is_private(source) || conflict(source).is_some());
        let below = source.strip_prefix("/").unwrap_or(source);
        let target = if is_moved { Path::new(MOVED).join(below) } else { source.to_owned() };
        Self { source: source.to_owned(), target, is_moved }
    }

    /// The own path, where a moved mount can lie at that too.
    fn own_path(&self) -> Option<&Path> {
        (self.is_moved && conflict(&self.source).is_none()).then_some(&self.source)
    }

    /// True if the program finds it by the path that the host has it at.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_moved && self.own_path().is_none()
    }

    /// True if every sandbox has it there anyway.
    fn is_shown_anyway(&self) -> bool {
        is_system(&self.source) && self.source == self.target
    }

    fn overlaps(&self, place: &Path) -> bool {
        self.target.starts_with(place) || place.starts_with(&self.target)
    }
}

/// Everything of the host that a contract's sandboxes show beside the system.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostPlaces(Vec<PlacedPath>);

impl HostPlaces {
    /// The operator's Rust toolchain and the contract's mounts.
    pub(crate) fn new(tools: &Tools, environment: &Environment) -> Self {
        let tools = tools.shown().into_iter().map(|place| PlacedPath::by_itself(&place));
        Self(tools.chain(environment.mounts.iter().map(PlacedPath::of_mount)).collect())
    }

    /// Mounts of a sandbox, all read-only.
    pub(crate) fn mounts(&self) -> Vec<sandbox::HostMount> {
        let read_only = |source: &Path, target: &Path| sandbox::HostMount {
            source: source.to_owned(),
            target: target.to_owned(),
            access: Access::ReadOnly,
        };
        let targets = self.0.iter().filter(|placed| !placed.is_shown_anyway());
        let targets = targets.map(|placed| read_only(&placed.source, &placed.target));
        // A place that the contract chose is never covered.
        let is_free = |path: &&Path| !self.0.iter().any(|placed| placed.overlaps(path));
        let own = self.0.iter().filter_map(PlacedPath::own_path).filter(is_free).map(|path| read_only(path, path));
        targets.chain(own).collect()
    }

    /// A path as a program inside has to name it: one that lies in a moved mount has moved
    /// with it.
    pub(crate) fn inside(&self, path: &Path) -> PathBuf {
        let is_chosen = self.0.iter().any(|placed| !placed.is_moved && path.starts_with(&placed.target));
        let moved = self.0.iter().filter(|placed| placed.is_moved && !is_chosen);
        let below = moved.filter_map(|placed| path.strip_prefix(&placed.source).ok().map(|below| (placed, below)));
        let nearest = below.max_by_key(|(placed, _)| placed.source.components().count());
        nearest.map_or_else(|| path.to_owned(), |(placed, below)| join(&placed.target, below))
    }

    /// The path of the host for what a program sees at `path`; `None` where that is nothing
    /// of the host's.
    pub(crate) fn host_path(&self, path: &Path) -> Option<PathBuf> {
        let path = self.inside(path);
        let below =
            self.0.iter().filter_map(|placed| path.strip_prefix(&placed.target).ok().map(|below| (placed, below)));
        let nearest = below.max_by_key(|(placed, _)| placed.target.components().count());
        let mounted = nearest.map(|(placed, below)| join(&placed.source, below));
        mounted.or_else(|| is_system(&path).then(|| path.clone()))
    }
}

/// Joining an empty path would add a slash, after which a file is not found.
fn join(place: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { place.to_owned() } else { place.join(below) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(mounts: &[(&str, Option<&str>)]) -> HostPlaces {
        let mount = |(source, target): &(&str, Option<&str>)| Mount {
            source: (*source).to_owned(),
            target: target.map(str::to_owned),
        };
        let environment = Environment { mounts: mounts.iter().map(mount).collect(), ..Environment::default() };
        HostPlaces::new(&Tools::default(), &environment)
    }

    #[test]
    fn a_mount_without_a_target_has_a_place() {
        for (source, expected) in [
            ("/srv/go", &["/srv/go"][..]),
            ("/home/ada/go", &["/home/ada/go"]),
            ("/opt/cto/bin", &["/opt/cto/bin"]),
            ("/run/user/1000/x", &["/run/user/1000/x"]),
            ("/usr/share/go", &[]),
            ("/tmp/go", &["/opt/cto/tmp/go", "/tmp/go"]),
            ("/tmp/ü b/go", &["/opt/cto/tmp/ü b/go", "/tmp/ü b/go"]),
            ("/var/tmp/go", &["/opt/cto/var/tmp/go", "/var/tmp/go"]),
            ("/dev/shm/go", &["/opt/cto/dev/shm/go", "/dev/shm/go"]),
            ("/home/user/go", &["/opt/cto/home/user/go", "/home/user/go"]),
            ("/home/user/.config/go", &["/opt/cto/home/user/.config/go", "/home/user/.config/go"]),
            // Each hides or lies in something of the sandbox's own.
            ("/home/user/.config", &["/opt/cto/home/user/.config"]),
            ("/home/user/.ssh/id_ed25519", &["/opt/cto/home/user/.ssh/id_ed25519"]),
            ("/home/user", &["/opt/cto/home/user"]),
            ("/home", &["/opt/cto/home"]),
            ("/tmp", &["/opt/cto/tmp"]),
            ("/var", &["/opt/cto/var"]),
            ("/run", &["/opt/cto/run"]),
            ("/etc/go", &["/opt/cto/etc/go"]),
            ("/workspace/go", &["/opt/cto/workspace/go"]),
            ("/run/cto/go", &["/opt/cto/run/cto/go"]),
        ] {
            let mounts = places(&[(source, None)]).mounts();
            let found: Vec<&str> = mounts.iter().map(|mount| mount.target.to_str().unwrap_or_default()).collect();
            assert_eq!(found, expected, "{source}");
            assert!(mounts.iter().all(|mount| mount.source == Path::new(source)), "{source}");
        }
    }

    #[test]
    fn a_chosen_place_is_taken_unless_it_hides_something() {
        for (target, hidden) in [
            ("/opt/go", None),
            ("/tmp/go", None),
            ("/home/user/.cargo/registry", None),
            ("/dev/shm/go", None),
            ("/tmp", Some("/tmp")),
            ("/home", Some("/home/user")),
            ("/var", Some("/var/tmp")),
            ("/home/user/.aws", Some("/home/user/.aws/credentials")),
            ("/home/user/.env", Some("/home/user/.env")),
            ("/workspace/vendor", Some("/workspace")),
            ("/usr/local/go", Some("/usr")),
            ("/etc/go", Some("/etc")),
            ("/dev/go", Some("/dev")),
            ("/dev/shm", Some("/dev")),
            ("/", Some("/usr")),
        ] {
            assert_eq!(conflict(Path::new(target)), hidden.map(PathBuf::from), "{target}");
        }
    }

    #[test]
    fn paths_move_with_their_mount() {
        let both = places(&[("/tmp/go", None), ("/srv/go", Some("/tmp/other")), ("/tmp/go/pkg", None)]);
        let chosen = places(&[("/tmp/go", None), ("/srv/go", Some("/tmp/go"))]);
        for (places, path, inside, host) in [
            (&both, "/tmp/go", "/opt/cto/tmp/go", Some("/tmp/go")),
            (&both, "/tmp/go/bin", "/opt/cto/tmp/go/bin", Some("/tmp/go/bin")),
            (&both, "/opt/cto/tmp/go/bin", "/opt/cto/tmp/go/bin", Some("/tmp/go/bin")),
            (&both, "/tmp/go/pkg/a", "/opt/cto/tmp/go/pkg/a", Some("/tmp/go/pkg/a")),
            (&both, "/tmp/gopher", "/tmp/gopher", None),
            (&both, "/tmp/other/bin", "/tmp/other/bin", Some("/srv/go/bin")),
            (&both, "/srv/go/bin", "/srv/go/bin", None),
            (&both, "/usr/bin", "/usr/bin", Some("/usr/bin")),
            (&chosen, "/tmp/go/bin", "/tmp/go/bin", Some("/srv/go/bin")),
        ] {
            assert_eq!(places.inside(Path::new(path)), Path::new(inside), "{path}");
            assert_eq!(places.host_path(Path::new(path)).as_deref(), host.map(Path::new), "{path}");
        }
        let targets: Vec<PathBuf> = chosen.mounts().into_iter().map(|mount| mount.target).collect();
        assert_eq!(targets, ["/opt/cto/tmp/go", "/tmp/go"].map(PathBuf::from), "what was chosen is not covered");
    }
}
