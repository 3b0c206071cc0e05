//! What lies where inside: the order in which the new root is furnished.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use super::failure::{At, ConfineFailure, ConfineStep};
use super::given::{Placed, Sorted};
use super::root::{Root, record};
use super::{dev, etc, overlay, private, proc, system};
use crate::confinement::{Confinement, Space, Upper, WorkspaceFrom};
use crate::{LimitBy, LimitKind, LimitRule};

/// File systems that lie below the root as long as it is being furnished.
#[derive(Debug)]
pub(super) struct Hidden {
    private: OwnedFd,
    layers: Option<OwnedFd>,
}

impl Hidden {
    pub(super) fn open(confinement: &Confinement) -> io::Result<Self> {
        let layers = match confinement.workspace.from {
            WorkspaceFrom::Layers { .. } => Some(overlay::open()?),
            WorkspaceFrom::Directory(_) => None,
        };
        Ok(Self { private: private::open(confinement.private)?, layers })
    }

    pub(super) fn root(&self) -> io::Result<Root> {
        let all: Vec<_> = [Some(&self.private), self.layers.as_ref()].into_iter().flatten().map(AsFd::as_fd).collect();
        Root::new(&all)
    }
}

/// What every run has. What the caller named may lie below it, and comes later.
pub(super) fn furnish(root: &mut Root, hidden: &Hidden, home: &Path) -> Result<(), ConfineFailure> {
    etc::build(root, home)?;
    system::build(root)?;
    dev::build(root)?;
    proc::build(root)?;
    private::build(root, &hidden.private, home).at(ConfineStep::Root, "private directories")
}

/// What the caller named, shallow places before deep ones. Returns the directory that takes the changes of a workspace of layers.
pub(super) fn add_given(
    root: &mut Root,
    hidden: &Hidden,
    confinement: &Confinement,
    given: &Sorted,
) -> Result<Option<OwnedFd>, ConfineFailure> {
    let mut placed: Vec<&Placed> = given.placed.iter().collect();
    placed.sort_by_key(|placed| placed.target.components().count());
    let Some((layers, place)) = given.layers.as_ref().zip(hidden.layers.as_ref()) else {
        return attach(root, &placed).map(|()| None);
    };
    let workspace = &confinement.workspace.target;
    let (within, beside): (Vec<&Placed>, Vec<&Placed>) =
        placed.into_iter().partition(|placed| placed.target.starts_with(workspace));
    attach(root, &beside)?;
    let changes = overlay::build(root, place.as_fd(), layers, memory(confinement), workspace)
        .at(ConfineStep::Workspace, "joining the layers of the workspace")?;
    attach(root, &within)?;
    Ok(Some(changes))
}

fn attach(root: &mut Root, all: &[&Placed]) -> Result<(), ConfineFailure> {
    for placed in all {
        let record = record(&placed.target, placed.kind, placed.access);
        root.attach(&placed.mount, placed.directory, record).at(ConfineStep::Mounts, placed.target.display())?;
    }
    Ok(())
}

/// The limits that the sizes of file systems in memory are.
pub(super) fn limits(confinement: &Confinement) -> Vec<LimitRule> {
    let rule = |kind, value| LimitRule { kind, by: LimitBy::Tmpfs, value };
    let rules = |space: Space| [rule(LimitKind::Disk, space.bytes), rule(LimitKind::Inodes, space.inodes)];
    [Some(confinement.private), memory(confinement)].into_iter().flatten().flat_map(rules).collect()
}

fn memory(confinement: &Confinement) -> Option<Space> {
    match &confinement.workspace.from {
        WorkspaceFrom::Layers { upper: Upper::Memory(space), .. } => Some(*space),
        WorkspaceFrom::Layers { upper: Upper::Directory(_), .. } | WorkspaceFrom::Directory(_) => None,
    }
}
