//! Paths of the host that the caller named, opened as mounts of their own and owned by the
//! run's user.
//!
//! Root opens them outside, with its own rights, and translates ids on the way; an ordinary
//! user opens them inside the new mount namespace, where it has the right to.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, fstat, stat};
use sandbox_facts::{Access, MountKind, Ownership};

use super::failure::{At, ConfineFailure, ConfineStep};
use super::identity::Identity;
use super::idmap::{Translations, change_owner};
use super::system::open_part;
use crate::confinement::{Confinement, Upper, WorkspaceFrom};
use crate::kernel::mount::MountChange;

/// One mount for each of [`sources`], in their order.
#[derive(Debug)]
pub(crate) struct OpenedMounts {
    /// Opened mounts, detached.
    pub(crate) mounts: Vec<OwnedFd>,
    /// Mechanism by which the program owns them.
    pub(crate) ownership: Ownership,
}

/// The same, sorted by what it is for.
#[derive(Debug)]
pub(crate) struct Sorted {
    /// Mounts with a place of their own.
    pub(crate) placed: Vec<PlacedMount>,
    /// Layers of the workspace, if it is made of layers.
    pub(crate) layers: Option<OpenedLayers>,
}

/// Opened mount and its place inside.
#[derive(Debug)]
pub(crate) struct PlacedMount {
    pub(crate) mount: OwnedFd,
    /// True for a directory, false for a file.
    pub(crate) directory: bool,
    pub(crate) target: PathBuf,
    pub(crate) kind: MountKind,
    pub(crate) access: Access,
}

/// Opened layers of a workspace.
#[derive(Debug)]
pub(crate) struct OpenedLayers {
    pub(crate) lower: Vec<OwnedFd>,
    /// Place of the changes; none for an upper layer in memory.
    pub(crate) upper: Option<OwnedFd>,
}

impl OpenedMounts {
    /// `translations` are for root alone.
    pub(crate) fn open_given(
        confinement: &Confinement,
        identity: &Identity,
        translations: Translations,
    ) -> Result<Self, ConfineFailure> {
        let mut opener = Opener {
            translations: identity.root.then_some(translations),
            run: identity.uid,
            ownership: if identity.root { Ownership::Idmapped } else { Ownership::Same },
        };
        let open = |(source, access): (&Path, Access)| opener.open(source, access);
        let mounts = sources(confinement).into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { mounts, ownership: opener.ownership })
    }

    /// Assigns the opened mounts to their places, in the order in which they were opened.
    pub(crate) fn sort(self, confinement: &Confinement) -> io::Result<Sorted> {
        let mut mounts = self.mounts.into_iter();
        let mut next = || mounts.next().ok_or(io::ErrorKind::UnexpectedEof);
        let place = |mount: OwnedFd, target: &Path, kind, access| -> io::Result<PlacedMount> {
            let directory = FileType::from_raw_mode(fstat(&mount)?.st_mode) == FileType::Directory;
            Ok(PlacedMount { mount, directory, target: target.to_owned(), kind, access })
        };
        let mut placed = Vec::new();
        for mount in &confinement.mounts {
            placed.push(place(next()?, &mount.target, MountKind::Given, mount.access)?);
        }
        let layers = match &confinement.workspace.from {
            WorkspaceFrom::Directory(_) => {
                let target = &confinement.workspace.target;
                placed.push(place(next()?, target, MountKind::Workspace, Access::ReadWrite)?);
                None
            }
            WorkspaceFrom::Layers { lower, upper } => {
                let lower = lower.iter().map(|_| next()).collect::<Result<_, _>>()?;
                let upper = matches!(upper, Upper::Directory(_)).then(next).transpose()?;
                Some(OpenedLayers { lower, upper })
            }
        };
        Ok(Sorted { placed, layers })
    }
}

/// Paths to open: mounts, then the workspace or its layers, then the place of their
/// changes.
fn sources(confinement: &Confinement) -> Vec<(&Path, Access)> {
    let mut sources: Vec<(&Path, Access)> =
        confinement.mounts.iter().map(|mount| (mount.source.as_path(), mount.access)).collect();
    match &confinement.workspace.from {
        WorkspaceFrom::Directory(source) => sources.push((source, Access::ReadWrite)),
        WorkspaceFrom::Layers { lower, upper } => {
            sources.extend(lower.iter().map(|lower| (lower.as_path(), Access::ReadOnly)));
            if let Upper::Directory(upper) = upper {
                sources.push((upper, Access::ReadWrite));
            }
        }
    }
    sources
}

struct Opener {
    translations: Option<Translations>,
    run: u32,
    ownership: Ownership,
}

impl Opener {
    fn open(&mut self, source: &Path, access: Access) -> Result<OwnedFd, ConfineFailure> {
        let shape = MountChange { read_only: access == Access::ReadOnly, no_devices: true, ..MountChange::default() };
        let plain = || open_part(source, shape).at(ConfineStep::Sources, source.display());
        let Some(translations) = &mut self.translations else { return plain() };
        if let Ok(mount) = translated(source, shape, translations) {
            return Ok(mount);
        }
        if access == Access::ReadWrite {
            change_owner(source, self.run).at(ConfineStep::Sources, source.display())?;
            self.ownership = Ownership::Changed;
        }
        plain()
    }
}

fn translated(source: &Path, shape: MountChange<'_>, translations: &mut Translations) -> io::Result<OwnedFd> {
    let owner = stat(source)?;
    let ids = translations.namespace_of((owner.st_uid, owner.st_gid))?;
    open_part(source, MountChange { ids: Some(ids.as_fd()), ..shape })
}
