//! `/dev`: the harmless nodes, terminals and message queues of its own. The nodes
//! themselves come with the sources.

use std::path::Path;

use rustix::mount::MountAttrFlags;
use sandbox_facts::{Access, MountKind};

use super::failure::{At, ConfineFailure, ConfineStep};
use super::root::{Root, filesystem, record_mount};

const LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];

/// Adds links, terminals and message queues to `/dev`.
pub(crate) fn build_dev(root: &mut Root) -> Result<(), ConfineFailure> {
    for (path, to) in LINKS {
        root.link_path(Path::new(path), Path::new(to)).at(ConfineStep::Devices, path)?;
    }
    let terminals = [("newinstance", ""), ("ptmxmode", "0666"), ("mode", "620")];
    mount(root, "devpts", &terminals, Path::new("/dev/pts"))?;
    mount(root, "mqueue", &[], Path::new("/dev/mqueue"))
}

/// A kind that this kernel was built without is left out.
fn mount(root: &mut Root, kind: &str, options: &[(&str, &str)], target: &Path) -> Result<(), ConfineFailure> {
    let mount = match filesystem(kind, options, MountAttrFlags::MOUNT_ATTR_NOEXEC) {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(()),
        result => result.at(ConfineStep::Devices, kind)?,
    };
    root.attach_mount(mount, true, record_mount(target, MountKind::Private, Access::ReadWrite))
        .at(ConfineStep::Devices, kind)
}
