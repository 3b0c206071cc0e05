//! Landlock as a second layer under the mounts: reading everywhere inside, writing only
//! where it is meant.
//!
//! Its network rights are never handled: denying them would break test servers, and the
//! network namespace is enough.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use super::failure::{At, ConfineFailure, ConfineStep};
use crate::kernel::landlock;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
/// Removing and making entries of every kind: bits 4 to 12.
const CHANGE_ENTRIES: u64 = 0x1ff0;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEVICE: u64 = 1 << 15;

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// Rights that can be granted on a file that is no directory.
const FILE_RIGHTS: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE;
/// The first version that can allow moving a file to another directory; the one before
/// forbids it to everybody.
const ABI_MIN: u32 = 2;

/// Restricts this thread. Returns the version in force, or `None` if the kernel has no
/// usable one.
pub(crate) fn restrict_thread(writable: &[&Path]) -> Result<Option<u32>, ConfineFailure> {
    let Some(abi) = landlock::abi().ok().filter(|abi| *abi >= ABI_MIN) else { return Ok(None) };
    let known = handled(abi);
    let ruleset = landlock::ruleset(known).at(ConfineStep::Landlock, "making a rule set")?;
    let allow = |path: &Path, rights: u64| {
        let place = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let directory = FileType::from_raw_mode(fstat(&place)?.st_mode) == FileType::Directory;
        let rights = if directory { rights } else { rights & FILE_RIGHTS };
        landlock::allow_beneath(&ruleset, place.as_fd(), rights & known)
    };
    allow(Path::new("/"), READ).at(ConfineStep::Landlock, "/")?;
    for path in ["/dev", "/proc"].map(Path::new).iter().chain(writable) {
        allow(path, u64::MAX).at(ConfineStep::Landlock, path.display())?;
    }
    landlock::restrict(&ruleset).at(ConfineStep::Landlock, "restricting")?;
    Ok(Some(abi))
}

fn handled(abi: u32) -> u64 {
    let since = |version: u32, right: u64| if abi >= version { right } else { 0 };
    READ | WRITE_FILE | CHANGE_ENTRIES | REFER | since(3, TRUNCATE) | since(5, IOCTL_DEVICE)
}
