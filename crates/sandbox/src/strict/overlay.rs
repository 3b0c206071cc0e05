//! A workspace of layers: directories that stay as they are, and one above them that takes every change.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, UnmountFlags, unmount};

use super::root::{Root, filesystem, memory, record};
use super::sources::Layers;
use crate::applied::MountKind;
use crate::confinement::{Access, Space};

/// Where the layers lie while they are being joined; relative to the new root, which is the working directory then.
const STAGING: &str = ".layers";
const UPPER: &str = "upper";
const WORK: &str = "work";

/// Mounts the workspace and returns the directory that holds its changes.
pub(crate) fn build(root: &mut Root, layers: &Layers, space: Option<Space>, target: &Path) -> io::Result<OwnedFd> {
    let place = |name: &str| Path::new(STAGING).join(name);
    let mut lower = Vec::new();
    for (index, layer) in layers.lower.iter().enumerate() {
        let place = place(&index.to_string());
        root.attach_unrecorded(&layer.mount, true, &place)?;
        lower.push(place);
    }
    let above = place("above");
    let changes = match (&layers.upper, space) {
        (Some(upper), _) => attach_above(root, &upper.mount, &above)?,
        (None, Some(space)) => attach_above(root, &memory(space, "0755", MountAttrFlags::MOUNT_ATTR_NODEV)?, &above)?,
        (None, None) => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let overlay = join(&lower, &above)?;
    root.attach(overlay, true, record(target, MountKind::Workspace, Access::ReadWrite))?;
    for place in lower.iter().chain([&above]) {
        unmount(place, UnmountFlags::DETACH)?;
        root.remove_directory(place)?;
    }
    root.remove_directory(Path::new(STAGING))?;
    Ok(changes)
}

/// Removes what the overlay needed for itself beside the changes: a directory that not even its owner may enter. The program
/// never saw it.
pub(crate) fn clean(upper: &Path) {
    let inner = upper.join(WORK).join("work");
    let _ = fs::set_permissions(&inner, fs::Permissions::from_mode(0o700));
    // Marks and halves of changes: one level, made by the kernel.
    for entry in fs::read_dir(&inner).into_iter().flatten().flatten() {
        let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir(entry.path()));
    }
    let _ = fs::remove_dir(&inner);
    let _ = fs::remove_dir(upper.join(WORK));
}

fn attach_above(root: &Root, mount: &OwnedFd, place: &Path) -> io::Result<OwnedFd> {
    root.attach_unrecorded(mount, true, place)?;
    let directory = root.open_directory(place)?;
    for name in [UPPER, WORK] {
        match mkdirat(&directory, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&directory, UPPER, flags, Mode::empty())?)
}

fn join(lower: &[PathBuf], above: &Path) -> io::Result<OwnedFd> {
    let text = |path: &Path| path.display().to_string();
    let lower = lower.iter().map(|place| text(place)).collect::<Vec<_>>().join(":");
    let (upper, work) = (text(&above.join(UPPER)), text(&above.join(WORK)));
    // The marks of the overlay are user attributes: the only ones a user namespace may write.
    let options = [("lowerdir", lower.as_str()), ("upperdir", &upper), ("workdir", &work), ("userxattr", "")];
    filesystem("overlay", &options, MountAttrFlags::MOUNT_ATTR_NODEV)
}
