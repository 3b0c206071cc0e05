//! What the run has for itself: home and temporary directories, in memory, limited together and gone at the end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, chmodat, mkdirat};
use rustix::mount::{FsPickFlags, MountAttrFlags, fsconfig_reconfigure, fsconfig_set_string, fspick};

use super::root::{Root, copy, memory, record, sizes};
use crate::applied::MountKind;
use crate::confinement::{Access, Space};

/// The file system of which the private places are parts; to be hidden below the root.
pub(crate) fn open(space: Space) -> io::Result<OwnedFd> {
    memory(space, "0755", MountAttrFlags::MOUNT_ATTR_NODEV)
}

/// Makes it larger or smaller, while nothing lies in it that counts.
pub(crate) fn resize(whole: impl AsFd, space: Space) -> io::Result<()> {
    let context = fspick(whole, "", FsPickFlags::FSPICK_EMPTY_PATH | FsPickFlags::FSPICK_CLOEXEC)?;
    for (key, value) in sizes(space) {
        fsconfig_set_string(context.as_fd(), key, value)?;
    }
    Ok(fsconfig_reconfigure(context.as_fd())?)
}

pub(crate) fn build(root: &mut Root, whole: impl AsFd, home: &Path) -> io::Result<()> {
    // Each part's name in the file system, its place and its mode.
    let parts = [
        ("home", home, 0o755),
        ("tmp", Path::new("/tmp"), 0o1777),
        ("var-tmp", Path::new("/var/tmp"), 0o1777),
        ("shm", Path::new("/dev/shm"), 0o1777),
    ];
    for (name, target, mode) in parts {
        mkdirat(&whole, name, Mode::from_raw_mode(0o755))?;
        // The mode of mkdir is subject to the umask.
        chmodat(&whole, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
        let part = copy(&whole, Path::new(name))?;
        root.attach(part, true, record(target, MountKind::Private, Access::ReadWrite))?;
    }
    Ok(())
}
