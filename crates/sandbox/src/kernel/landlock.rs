//! Landlock's three calls, for the file system only.
//!
//! The crate `landlock` could make them: it lets its caller name the rights, leaves out those that a kernel lacks, and tells the
//! kernel's version. It is not used for its size alone. The crate handles the network, scopes and audit too, and brings types for flags
//! with a macro of their own; all of that would run in the process that confines itself, and be read again at each update. The calls
//! that are needed are in this file, and the table of rights in `strict/landlock.rs` is ten lines. `unsafe` is no reason on either
//! side: this crate needs it for other calls as well.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{checked, owned};

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;

/// `struct landlock_path_beneath_attr`, which the kernel declares packed.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// The version of Landlock this kernel has and has switched on.
#[expect(
    unsafe_code,
    reason = "three calls with two small structures, which are less to read than a crate with types of its own"
)]
pub(crate) fn abi() -> io::Result<u32> {
    // SAFETY: asking for the version passes no memory.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, CREATE_RULESET_VERSION) };
    u32::try_from(checked(version)?).map_err(io::Error::other)
}

/// A rule set that forbids every right in `handled` wherever no rule allows it.
#[expect(
    unsafe_code,
    reason = "three calls with two small structures, which are less to read than a crate with types of its own"
)]
pub(crate) fn ruleset(handled: u64) -> io::Result<OwnedFd> {
    // SAFETY: the structure is the oldest one, a single word, and its size is given.
    owned(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::from_ref(&handled), size_of::<u64>(), 0_u32)
    })
}

/// Adds the rights below a directory to a ruleset that is not in force yet.
#[expect(
    unsafe_code,
    reason = "three calls with two small structures, which are less to read than a crate with types of its own"
)]
pub(crate) fn allow_beneath(ruleset: &OwnedFd, parent: BorrowedFd<'_>, allowed: u64) -> io::Result<()> {
    let rule = PathBeneath { allowed, parent: parent.as_raw_fd() };
    // SAFETY: the structure has the layout the kernel declares and lives as long as the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            RULE_PATH_BENEATH,
            std::ptr::from_ref(&rule),
            0_u32,
        )
    };
    checked(result).map(drop)
}

/// Puts this thread, and all it starts, under the rule set. Needs no_new_privs.
#[expect(
    unsafe_code,
    reason = "three calls with two small structures, which are less to read than a crate with types of its own"
)]
pub(crate) fn restrict(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) }).map(drop)
}
