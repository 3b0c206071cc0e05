//! The parts of the system that are visible inside, opened as mounts of their own before
//! the host disappears.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, readlink};
use rustix::io::Errno;
use sandbox_facts::{Access, MountKind};

use super::failure::{At, ConfineFailure, ConfineStep};
use super::root::{Root, copy_mount_at, record_mount};
use crate::kernel::mount::{MountChange, change_mount};

/// Programs and libraries. Where one of them is a link, as on merged systems, the link is
/// made again.
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

/// Mounts the visible parts of the system; links among them, as `/bin` on merged systems,
/// are made again as links.
pub(crate) fn build_system(root: &mut Root) -> Result<(), ConfineFailure> {
    for path in SYSTEM.into_iter().chain(ETC_DIRECTORIES) {
        match readlink(path, Vec::new()) {
            Ok(to) => {
                let to = to.into_string().map_err(|_| ConfineFailure::new(ConfineStep::System, path))?;
                root.link_path(Path::new(path), &PathBuf::from(to)).at(ConfineStep::System, path)?;
            }
            Err(Errno::NOENT) => {}
            Err(_) => {
                let shape = MountChange { read_only: true, no_devices: true, ..MountChange::default() };
                let mount = open_part(Path::new(path), shape).at(ConfineStep::System, path)?;
                let record = record_mount(Path::new(path), MountKind::System, Access::ReadOnly);
                root.attach_mount(mount, true, record).at(ConfineStep::System, path)?;
            }
        }
    }
    for path in DEVICES {
        let shape = MountChange { read_only: true, no_exec: true, ..MountChange::default() };
        let mount = match open_part(Path::new(path), shape) {
            // A container may lack one or the other.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            result => result.at(ConfineStep::Devices, path)?,
        };
        let record = record_mount(Path::new(path), MountKind::Device, Access::ReadWrite);
        root.attach_mount(mount, false, record).at(ConfineStep::Devices, path)?;
    }
    Ok(())
}

/// A part of the host's tree in the shape it shall have, attached nowhere.
pub(crate) fn open_part(source: &Path, shape: MountChange<'_>) -> io::Result<OwnedFd> {
    let mount = copy_mount_at(CWD, source)?;
    change_mount(&mount, shape)?;
    Ok(mount)
}
