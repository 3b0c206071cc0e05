//! `/proc` of the run's own processes, without the parts that are the whole machine's to change or to keep secret.

use std::path::{Path, PathBuf};

use rustix::mount::MountAttrFlags;

use super::failure::{At, ConfineFailure, ConfineStep};
use super::root::{Root, filesystem, record};
use crate::applied::MountKind;
use crate::confinement::Access;
use crate::kernel::mount::Change;

/// Read by programs, written by none.
const READ_ONLY: [&str; 4] = ["bus", "fs", "irq", "sys"];
/// Of no use to a program that builds and tests software.
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

/// Has to come while the host's own `/proc` is still visible: the kernel gives a new one only to who could see one already.
pub(crate) fn build(root: &mut Root) -> Result<(), ConfineFailure> {
    let shape = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = filesystem("proc", &[], shape).at(ConfineStep::Proc, "mounting proc")?;
    root.attach(proc, true, record(Path::new("/proc"), MountKind::Proc, Access::ReadWrite))
        .at(ConfineStep::Proc, "attaching proc")?;
    root.directory(Path::new(EMPTY)).at(ConfineStep::Proc, EMPTY)?;
    for name in READ_ONLY {
        cover(root, name, false)?;
    }
    for name in MASKED {
        cover(root, name, true)?;
    }
    Ok(())
}

/// Mounts over an entry of `/proc`: itself, read-only, or nothing if it is masked. An entry this kernel lacks is left alone.
fn cover(root: &mut Root, name: &str, masked: bool) -> Result<(), ConfineFailure> {
    let target = Path::new("/proc").join(name);
    let Some(directory) = root.is_directory(&target) else { return Ok(()) };
    let (source, kind) = match (masked, directory) {
        (false, _) => (target.clone(), MountKind::Proc),
        (true, true) => (PathBuf::from(EMPTY), MountKind::Masked),
        (true, false) => (PathBuf::from("/dev/null"), MountKind::Masked),
    };
    let shape = Change { read_only: true, no_exec: true, ..Change::default() };
    let cover = root.copy(&source, shape).at(ConfineStep::Proc, target.display())?;
    root.attach(cover, directory, record(&target, kind, Access::ReadOnly)).at(ConfineStep::Proc, target.display())
}
