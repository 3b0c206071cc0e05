//! Private space of the run: home and temporary directories, in memory, limited together
//! and gone at the end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, chmodat, mkdirat};
use rustix::mount::{FsPickFlags, MountAttrFlags, fsconfig_reconfigure, fsconfig_set_string, fspick};
use sandbox_facts::{Access, MountKind};

use super::root::{Root, copy_mount_at, memory, record_mount, sizes};
use crate::confinement::Space;

/// File system that holds all private places; it gets hidden below the root.
pub(crate) fn open_private(space: Space) -> io::Result<OwnedFd> {
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

/// Each part's name in the file system, its place and its mode.
fn parts(home: &Path) -> [(&'static str, &Path, u32); 4] {
    [
        ("home", home, 0o755),
        ("tmp", Path::new("/tmp"), 0o1777),
        ("var-tmp", Path::new("/var/tmp"), 0o1777),
        ("shm", Path::new("/dev/shm"), 0o1777),
    ]
}

/// Makes the directories between a private place and a mount below it, each a mount of its
/// own: the program owns them, and could move one aside with the mount in it and put
/// something else at the path that others trust.
pub(crate) fn pin_parents(root: &mut Root, target: &Path, home: &Path) -> io::Result<()> {
    let is_between = |dir: &&Path| parts(home).iter().any(|(_, place, _)| dir.starts_with(place) && dir != place);
    let mut between: Vec<&Path> = target.ancestors().skip(1).filter(is_between).collect();
    between.reverse();
    for dir in between {
        if root.mounts.iter().any(|mount| dir.starts_with(&mount.target) && mount.kind == MountKind::Given) {
            // Read-only, and nothing in it can be moved.
            return Ok(());
        }
        if root.mounts.iter().all(|mount| mount.target != dir) {
            let made = root.directory(dir)?;
            root.attach_mount(
                copy_mount_at(made, Path::new(""))?,
                true,
                record_mount(dir, MountKind::Private, Access::ReadWrite),
            )?;
        }
    }
    Ok(())
}

/// Mounts the private directories into the root.
pub(crate) fn build_private(root: &mut Root, whole: impl AsFd, home: &Path) -> io::Result<()> {
    for (name, target, mode) in parts(home) {
        mkdirat(&whole, name, Mode::from_raw_mode(0o755))?;
        // The mode of mkdir is subject to the umask.
        chmodat(&whole, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
        let part = copy_mount_at(&whole, Path::new(name))?;
        root.attach_mount(part, true, record_mount(target, MountKind::Private, Access::ReadWrite))?;
    }
    Ok(())
}
