//! Layout of the new root: its parts, and the order in which they are added.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use sandbox_facts::{HeldLimit, LimitBy, LimitKind, MountKind};

use super::failure::{At, ConfineFailure, ConfineStep};
use super::given::{PlacedMount, Sorted};
use super::root::{Root, record_mount};
use super::{dev, etc, overlay, private, proc, system};
use crate::confinement::{Confinement, HOME_DEFAULT, Space, Upper, WorkspaceFrom};

/// A directory that every system has.
const STAGING: &str = "/tmp";
/// Provisional size of private directories that are made ahead, until the order gives the
/// real one.
const AHEAD: Space = Space { bytes: 1 << 20, inodes: 1024 };

/// File systems that lie below the root as long as it is being furnished.
#[derive(Debug)]
pub(super) struct Hidden {
    private: OwnedFd,
    layers: Option<OwnedFd>,
}

impl Hidden {
    fn open(space: Space, layers: bool) -> io::Result<Self> {
        Ok(Self { private: private::open_private(space)?, layers: layers.then(overlay::open_holder).transpose()? })
    }

    fn root(&self, staging: &Path) -> io::Result<Root> {
        let all: Vec<_> = [Some(&self.private), self.layers.as_ref()].into_iter().flatten().map(AsFd::as_fd).collect();
        Root::new(&all, staging)
    }
}

/// A root that has what every run has.
#[derive(Debug)]
pub(super) struct FurnishedRoot {
    pub(super) root: Root,
    pub(super) hidden: Hidden,
}

impl FurnishedRoot {
    /// Builds the common part of the root for one confinement.
    pub(super) fn new(confinement: &Confinement) -> Result<Self, ConfineFailure> {
        let layers = matches!(confinement.workspace.from, WorkspaceFrom::Layers { .. });
        Self::make(confinement.private, layers, &confinement.home, Path::new(STAGING))
    }

    /// Before it is known for what. `staging` must be no part of what the caller may name.
    pub(super) fn build_ahead(staging: &Path) -> Result<Self, ConfineFailure> {
        Self::make(AHEAD, true, Path::new(HOME_DEFAULT), staging)
    }

    /// Adapts a root that was built ahead to this confinement.
    pub(super) fn fit_to(self, confinement: &Confinement) -> Result<Self, ConfineFailure> {
        let resized = private::resize(&self.hidden.private, confinement.private);
        resized.at(ConfineStep::Root, "sizing private directories").map(|()| self)
    }

    fn make(space: Space, layers: bool, home: &Path, staging: &Path) -> Result<Self, ConfineFailure> {
        let hidden = Hidden::open(space, layers).at(ConfineStep::Root, "making private directories")?;
        let mut root = hidden.root(staging).at(ConfineStep::Root, "mounting the new root")?;
        furnish(&mut root, &hidden, home)?;
        Ok(Self { root, hidden })
    }
}

/// Adds the parts that every run has. They come first, because paths of the caller may lie
/// below them.
fn furnish(root: &mut Root, hidden: &Hidden, home: &Path) -> Result<(), ConfineFailure> {
    etc::build_etc(root, home)?;
    system::build_system(root)?;
    dev::build_dev(root)?;
    proc::build_proc(root)?;
    private::build_private(root, &hidden.private, home).at(ConfineStep::Root, "private directories")
}

/// Adds the caller's paths, shallow ones before deep ones. Returns the directory that takes
/// the changes of a workspace of layers.
pub(super) fn add_given(
    root: &mut Root,
    hidden: &Hidden,
    confinement: &Confinement,
    given: &Sorted,
) -> Result<Option<OwnedFd>, ConfineFailure> {
    let mut placed: Vec<&PlacedMount> = given.placed.iter().collect();
    placed.sort_by_key(|placed| placed.target.components().count());
    let Some((layers, place)) = given.layers.as_ref().zip(hidden.layers.as_ref()) else {
        return attach(root, &confinement.home, &placed).map(|()| None);
    };
    let workspace = &confinement.workspace.target;
    let (within, beside): (Vec<&PlacedMount>, Vec<&PlacedMount>) =
        placed.into_iter().partition(|placed| placed.target.starts_with(workspace));
    attach(root, &confinement.home, &beside)?;
    let changes = overlay::build_workspace(root, place.as_fd(), layers, memory(confinement), workspace)
        .at(ConfineStep::Workspace, "joining the layers of the workspace")?;
    attach(root, &confinement.home, &within)?;
    Ok(Some(changes))
}

fn attach(root: &mut Root, home: &Path, all: &[&PlacedMount]) -> Result<(), ConfineFailure> {
    for placed in all {
        if placed.kind == MountKind::Given {
            private::pin_parents(root, &placed.target, home).at(ConfineStep::Mounts, placed.target.display())?;
        }
        let record = record_mount(&placed.target, placed.kind, placed.access);
        root.attach_mount(&placed.mount, placed.directory, record).at(ConfineStep::Mounts, placed.target.display())?;
    }
    Ok(())
}

/// The limits that the sizes of file systems in memory are.
pub(super) fn limits(confinement: &Confinement) -> Vec<HeldLimit> {
    let rule = |kind, value| HeldLimit { kind, by: LimitBy::Tmpfs, value };
    let rules = |space: Space| [rule(LimitKind::Disk, space.bytes), rule(LimitKind::Inodes, space.inodes)];
    [Some(confinement.private), memory(confinement)].into_iter().flatten().flat_map(rules).collect()
}

fn memory(confinement: &Confinement) -> Option<Space> {
    match &confinement.workspace.from {
        WorkspaceFrom::Layers { upper: Upper::Memory(space), .. } => Some(*space),
        WorkspaceFrom::Layers { upper: Upper::Directory(_), .. } | WorkspaceFrom::Directory(_) => None,
    }
}
