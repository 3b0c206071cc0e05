//! What lies where inside: the order in which the new root is furnished.

use std::os::fd::OwnedFd;

use super::failure::{At, ConfineFailure, ConfineStep};
use super::root::{Root, record};
use super::sources::{Placed, Sources};
use super::{dev, etc, overlay, private, proc};
use crate::applied::MountKind;
use crate::confinement::{Confinement, Space, Upper, WorkspaceFrom};
use crate::{LimitBy, LimitKind, LimitRule};

/// Furnishes the root. Returns the directory that takes the changes of a workspace of layers.
///
/// What the caller named may lie below what is made here, so it comes last, and shallow places before deep ones.
pub(super) fn build(
    root: &mut Root,
    confinement: &Confinement,
    sources: &Sources,
) -> Result<Option<OwnedFd>, ConfineFailure> {
    for (path, to) in &sources.links {
        root.link(path, to).at(ConfineStep::System, path.display())?;
    }
    etc::build(root, &confinement.home)?;
    let of_system = |placed: &&Placed| matches!(placed.kind, MountKind::System | MountKind::Device);
    let (system, mut given): (Vec<&Placed>, Vec<&Placed>) = sources.placed.iter().partition(of_system);
    attach(root, &system, ConfineStep::System)?;
    dev::build(root)?;
    proc::build(root)?;
    private::build(root, &confinement.home, confinement.private).at(ConfineStep::Root, "private directories")?;
    given.sort_by_key(|placed| placed.target.components().count());
    let Some(layers) = &sources.layers else { return attach(root, &given, ConfineStep::Mounts).map(|()| None) };
    let workspace = &confinement.workspace.target;
    let (within, beside): (Vec<&Placed>, Vec<&Placed>) =
        given.into_iter().partition(|placed| placed.target.starts_with(workspace));
    attach(root, &beside, ConfineStep::Mounts)?;
    let changes = overlay::build(root, layers, memory(confinement), workspace)
        .at(ConfineStep::Workspace, "joining the layers of the workspace")?;
    attach(root, &within, ConfineStep::Mounts)?;
    Ok(Some(changes))
}

fn attach(root: &mut Root, all: &[&Placed], step: ConfineStep) -> Result<(), ConfineFailure> {
    for placed in all {
        let record = record(&placed.target, placed.kind, placed.access);
        root.attach(&placed.tree.mount, placed.tree.directory, record).at(step, placed.target.display())?;
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
