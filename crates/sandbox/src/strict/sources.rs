//! The parts of the host that will be visible inside, opened as mounts of their own before the host disappears.
//!
//! Root opens them with its own rights and translates ids on the way; an ordinary user opens them inside the new mount
//! namespace, where it has the right to.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, fstat, readlink, stat};
use rustix::mount::{OpenTreeFlags, open_tree};

use super::failure::{At, ConfineFailure, ConfineStep};
use super::identity::Identity;
use super::idmap::{Translations, change_owner};
use crate::applied::{MountKind, Ownership};
use crate::confinement::{Access, Confinement, Upper, WorkspaceFrom};
use crate::kernel::mount::{Change, change};

/// Programs and libraries. Where one of them is a link, as on merged systems, the link is made again.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Directories of `/etc` that programs need and that hold no secret.
const ETC_DIRECTORIES: [&str; 6] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/fonts",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/ssl/certs",
];
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// A copy of a part of the host's tree, attached nowhere yet.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) mount: OwnedFd,
    pub(crate) directory: bool,
}

#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) tree: Tree,
    pub(crate) target: PathBuf,
    pub(crate) kind: MountKind,
    pub(crate) access: Access,
}

#[derive(Debug)]
pub(crate) struct Sources {
    /// System, devices and what the caller named, each to be attached at its target.
    pub(crate) placed: Vec<Placed>,
    /// Path inside and what it points to.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    pub(crate) layers: Option<Layers>,
    pub(crate) ownership: Ownership,
}

#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) lower: Vec<Tree>,
    /// None for an upper layer in memory.
    pub(crate) upper: Option<Tree>,
}

impl Sources {
    pub(crate) fn open(confinement: &Confinement, identity: &Identity) -> Result<Self, ConfineFailure> {
        let mut opener = Opener {
            translations: identity.root.then(|| Translations::new(identity.uid)),
            run: identity.uid,
            ownership: if identity.root { Ownership::Idmapped } else { Ownership::Same },
        };
        let mut sources = Self { placed: Vec::new(), links: Vec::new(), layers: None, ownership: opener.ownership };
        sources.open_system()?;
        for mount in &confinement.mounts {
            let tree = opener.given(&mount.source, mount.access)?;
            sources.place(tree, &mount.target, MountKind::Given, mount.access);
        }
        match &confinement.workspace.from {
            WorkspaceFrom::Directory(source) => {
                let tree = opener.given(source, Access::ReadWrite)?;
                let target = &confinement.workspace.target;
                sources.place(tree, target, MountKind::Workspace, Access::ReadWrite);
            }
            WorkspaceFrom::Layers { lower, upper } => sources.layers = Some(opener.layers(lower, upper)?),
        }
        sources.ownership = opener.ownership;
        Ok(sources)
    }

    fn place(&mut self, tree: Tree, target: &Path, kind: MountKind, access: Access) {
        self.placed.push(Placed { tree, target: target.to_owned(), kind, access });
    }

    fn open_system(&mut self) -> Result<(), ConfineFailure> {
        for path in SYSTEM.into_iter().chain(ETC_DIRECTORIES) {
            if let Ok(to) = readlink(path, Vec::new()) {
                let to = to.into_string().map_err(|_| ConfineFailure::new(ConfineStep::System, path))?;
                self.links.push((path.into(), to.into()));
            } else if stat(path).is_ok() {
                let shape = Change { read_only: true, no_devices: true, ..Change::default() };
                let tree = open(Path::new(path), shape).at(ConfineStep::System, path)?;
                self.place(tree, Path::new(path), MountKind::System, Access::ReadOnly);
            }
        }
        // A container may lack one or the other.
        for path in DEVICES.into_iter().filter(|path| stat(*path).is_ok()) {
            let shape = Change { read_only: true, no_exec: true, ..Change::default() };
            let tree = open(Path::new(path), shape).at(ConfineStep::Devices, path)?;
            self.place(tree, Path::new(path), MountKind::Device, Access::ReadWrite);
        }
        Ok(())
    }
}

struct Opener {
    translations: Option<Translations>,
    run: u32,
    ownership: Ownership,
}

impl Opener {
    /// What the caller named, as files of the run's own user.
    fn given(&mut self, source: &Path, access: Access) -> Result<Tree, ConfineFailure> {
        let shape = Change { read_only: access == Access::ReadOnly, no_devices: true, ..Change::default() };
        let plain = || open(source, shape).at(ConfineStep::Sources, source.display());
        let Some(translations) = &mut self.translations else { return plain() };
        if let Ok(tree) = translated(source, shape, translations) {
            return Ok(tree);
        }
        if access == Access::ReadWrite {
            change_owner(source, self.run).at(ConfineStep::Sources, source.display())?;
            self.ownership = Ownership::Changed;
        }
        plain()
    }

    fn layers(&mut self, lower: &[PathBuf], upper: &Upper) -> Result<Layers, ConfineFailure> {
        let lower = lower.iter().map(|source| self.given(source, Access::ReadOnly)).collect::<Result<_, _>>()?;
        let upper = match upper {
            Upper::Memory(_) => None,
            Upper::Directory(source) => Some(self.given(source, Access::ReadWrite)?),
        };
        Ok(Layers { lower, upper })
    }
}

fn open(source: &Path, shape: Change<'_>) -> io::Result<Tree> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let mount = open_tree(CWD, source, flags)?;
    change(&mount, shape)?;
    let directory = FileType::from_raw_mode(fstat(&mount)?.st_mode) == FileType::Directory;
    Ok(Tree { mount, directory })
}

fn translated(source: &Path, shape: Change<'_>, translations: &mut Translations) -> io::Result<Tree> {
    let owner = stat(source)?;
    let ids = translations.of((owner.st_uid, owner.st_gid))?;
    open(source, Change { ids: Some(ids.as_fd()), ..shape })
}
