//! `/proc` of the run's own processes, without the parts that are the whole machine's to
//! change or to keep secret.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, statat};
use rustix::mount::{MountAttrFlags, MoveMountFlags, move_mount};
use sandbox_facts::{Access, MountKind};

use super::failure::{At, ConfineFailure, ConfineStep};
use super::root::{Root, copy_mount_at, filesystem, record_mount};
use crate::kernel::mount::{MountChange, change_mount};

/// Read by programs, written by none.
const READ_ONLY: [&str; 4] = ["bus", "fs", "irq", "sys"];
/// Paths of no use to a program that builds and tests software.
const MASKED: [&str; 14] = [
    "acpi",
    "asound",
    "interrupts",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "latency_stats",
    "sched_debug",
    "scsi",
    "sysrq-trigger",
    "timer_list",
    "timer_stats",
];
/// An empty directory of the new root, to hide directories behind.
const EMPTY: &str = "/run";
/// To hide files behind; mounted read-only, as all devices are.
const NULL: &str = "/dev/null";

/// Has to come while the host's own `/proc` is still visible: the kernel gives a new one
/// only to who could see one already.
pub(crate) fn build_proc(root: &mut Root) -> Result<(), ConfineFailure> {
    let shape = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = filesystem("proc", &[], shape).at(ConfineStep::Proc, "mounting proc")?;
    root.attach_mount(&proc, true, record_mount(Path::new("/proc"), MountKind::Proc, Access::ReadWrite))
        .at(ConfineStep::Proc, "attaching proc")?;
    root.directory(Path::new(EMPTY)).at(ConfineStep::Proc, EMPTY)?;
    for name in READ_ONLY {
        cover(root, &proc, name, false).at(ConfineStep::Proc, name)?;
    }
    for name in MASKED {
        cover(root, &proc, name, true).at(ConfineStep::Proc, name)?;
    }
    Ok(())
}

/// Mounts over an entry of `/proc`: itself, read-only, or nothing if it is masked. An entry
/// this kernel lacks is left alone.
fn cover(root: &mut Root, proc: &OwnedFd, name: &str, masked: bool) -> io::Result<()> {
    let Ok(stat) = statat(proc, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
    let directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let (cover, kind) = match (masked, directory) {
        (false, _) => (copy_mount_at(proc, Path::new(name))?, MountKind::Proc),
        (true, true) => (root.copy_mount(Path::new(EMPTY))?, MountKind::Masked),
        (true, false) => (root.copy_mount(Path::new(NULL))?, MountKind::Masked),
    };
    if directory || !masked {
        change_mount(&cover, MountChange { read_only: true, no_exec: true, ..MountChange::default() })?;
    }
    move_mount(cover.as_fd(), "", proc.as_fd(), name, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    root.mounts.push(record_mount(&Path::new("/proc").join(name), kind, Access::ReadOnly));
    Ok(())
}
