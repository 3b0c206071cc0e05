//! Changing a mount, attached or not.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::checked;

const RDONLY: u64 = 0x1;
const NOSUID: u64 = 0x2;
const NODEV: u64 = 0x4;
const NOEXEC: u64 = 0x8;
const IDMAP: u64 = 0x10_0000;
const AT_RECURSIVE: i32 = 0x8000;

/// `struct mount_attr`.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

/// Attributes to add to a mount; none is ever removed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MountChange<'a> {
    /// Nothing can be written through the mount.
    pub(crate) read_only: bool,
    /// Device files cannot be opened through the mount.
    pub(crate) no_devices: bool,
    /// Files cannot be executed through the mount.
    pub(crate) no_exec: bool,
    /// Ids on the file system are read through the map of this user namespace.
    pub(crate) ids: Option<BorrowedFd<'a>>,
}

/// Changes a mount and all below it, and cuts its ties to the mounts it was copied from.
/// Set-uid bits never count.
pub(crate) fn change_mount(mount: impl AsFd, change: MountChange<'_>) -> io::Result<()> {
    let flag = |wanted: bool, bit: u64| if wanted { bit } else { 0 };
    let set = NOSUID
        | flag(change.read_only, RDONLY)
        | flag(change.no_devices, NODEV)
        | flag(change.no_exec, NOEXEC)
        | flag(change.ids.is_some(), IDMAP);
    let userns = change.ids.map_or(Ok(0), |ids| u64::try_from(ids.as_raw_fd())).map_err(io::Error::other)?;
    let attributes = Attributes { set, clear: 0, propagation: libc::MS_PRIVATE, userns };
    set_attributes(mount.as_fd(), AT_RECURSIVE, &attributes)
}

/// Makes one mount read-only, and nothing that is mounted on it.
pub(crate) fn make_read_only(mount: impl AsFd) -> io::Result<()> {
    set_attributes(mount.as_fd(), 0, &Attributes { set: RDONLY, ..Attributes::default() })
}

#[expect(unsafe_code, reason = "no wrapper knows mount_setattr")]
fn set_attributes(mount: BorrowedFd<'_>, flags: i32, attributes: &Attributes) -> io::Result<()> {
    let flags = flags | libc::AT_EMPTY_PATH;
    // SAFETY: the path is a constant, and the structure lives as long as the call and has
    // the size that is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            std::ptr::from_ref(attributes),
            size_of::<Attributes>(),
        )
    };
    checked(result).map(drop)
}
