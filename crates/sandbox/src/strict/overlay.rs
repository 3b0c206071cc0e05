//! A workspace of layers: directories that stay as they are, and one above them that takes
//! every change.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, MoveMountFlags, move_mount};
use rustix::process::fchdir;
use sandbox_facts::{Access, MountKind};

use super::given::OpenedLayers;
use super::root::{Root, filesystem, memory, record_mount};
use crate::confinement::Space;

/// Name of the layer that takes the changes.
const ABOVE: &str = "above";
const UPPER: &str = "upper";
const WORK: &str = "work";
/// Holds a directory for each layer.
const SPACE: Space = Space { bytes: 1 << 20, inodes: 1024 };

/// Holder of the layers' mount points, so that they have names; it gets hidden below the
/// root.
pub(crate) fn open_holder() -> io::Result<OwnedFd> {
    memory(SPACE, "0755", MountAttrFlags::MOUNT_ATTR_NODEV)
}

/// Mounts the workspace and returns the directory that holds its changes.
pub(crate) fn build_workspace(
    root: &mut Root,
    hidden: BorrowedFd<'_>,
    layers: &OpenedLayers,
    space: Option<Space>,
    target: &Path,
) -> io::Result<OwnedFd> {
    let lower: Vec<String> = (0..layers.lower.len()).map(|index| index.to_string()).collect();
    for (layer, name) in layers.lower.iter().zip(&lower) {
        attach(hidden, layer, name)?;
    }
    let changes = match (&layers.upper, space) {
        (Some(upper), _) => attach_above(hidden, upper)?,
        (None, Some(space)) => attach_above(hidden, &memory(space, "0755", MountAttrFlags::MOUNT_ATTR_NODEV)?)?,
        (None, None) => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let overlay = join(hidden, &lower)?;
    root.attach_mount(overlay, true, record_mount(target, MountKind::Workspace, Access::ReadWrite))?;
    Ok(changes)
}

/// Removes what the overlay needed for itself beside the changes: a directory that not even
/// its owner may enter. The program never saw it.
pub(crate) fn clean_overlay(upper: &Path) {
    if let Ok(above) = untrusted_fs::open_root(upper) {
        let _ = untrusted_fs::remove_tree_at(above.as_fd(), WORK.as_bytes());
    }
}

fn attach(hidden: BorrowedFd<'_>, mount: &OwnedFd, name: &str) -> io::Result<()> {
    mkdirat(hidden, name, Mode::from_raw_mode(0o755))?;
    Ok(move_mount(mount.as_fd(), "", hidden, name, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

fn attach_above(hidden: BorrowedFd<'_>, mount: &OwnedFd) -> io::Result<OwnedFd> {
    attach(hidden, mount, ABOVE)?;
    for name in [UPPER, WORK] {
        match mkdirat(mount, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(mount, UPPER, flags, Mode::empty())?)
}

/// The kernel looks the names up from the working directory.
fn join(hidden: BorrowedFd<'_>, lower: &[String]) -> io::Result<OwnedFd> {
    fchdir(hidden)?;
    let lower = lower.join(":");
    let [upper, work] = [UPPER, WORK].map(|name| format!("{ABOVE}/{name}"));
    // The marks of the overlay are user attributes: the only ones a user namespace may write.
    let options = [("lowerdir", lower.as_str()), ("upperdir", &upper), ("workdir", &work), ("userxattr", "")];
    filesystem("overlay", &options, MountAttrFlags::MOUNT_ATTR_NODEV)
}
