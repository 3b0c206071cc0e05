//! What the run has for itself: home and temporary directories, in memory, limited together and gone at the end.

use std::io;
use std::path::Path;

use rustix::fs::{Mode, chmodat, mkdirat};
use rustix::mount::{MountAttrFlags, UnmountFlags, unmount};

use super::root::{Root, memory, record};
use crate::applied::MountKind;
use crate::confinement::{Access, Space};
use crate::kernel::mount::Change;

/// Where the file system lies while its parts are being mounted; relative to the new root.
const STAGING: &str = ".private";

/// Each part's name in the file system, its place and its mode.
pub(crate) fn build(root: &mut Root, home: &Path, space: Space) -> io::Result<()> {
    let parts = [
        ("home", home, 0o755),
        ("tmp", Path::new("/tmp"), 0o1777),
        ("var-tmp", Path::new("/var/tmp"), 0o1777),
        ("shm", Path::new("/dev/shm"), 0o1777),
    ];
    let mount = memory(space, "0755", MountAttrFlags::MOUNT_ATTR_NODEV)?;
    for (name, _, mode) in parts {
        mkdirat(&mount, name, Mode::from_raw_mode(0o755))?;
        // The mode of mkdir is subject to the umask.
        chmodat(&mount, name, Mode::from_raw_mode(mode), rustix::fs::AtFlags::empty())?;
    }
    let staging = Path::new(STAGING);
    root.attach_unrecorded(&mount, true, staging)?;
    for (name, target, _) in parts {
        let part = root.copy(&staging.join(name), Change { no_devices: true, ..Change::default() })?;
        root.attach(part, true, record(target, MountKind::Private, Access::ReadWrite))?;
    }
    unmount(staging, UnmountFlags::DETACH)?;
    root.remove_directory(staging)
}
