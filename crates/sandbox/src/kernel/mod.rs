//! Calls into the kernel that no safe wrapper offers: the doors through which this crate
//! uses `unsafe`.
//!
//! Each function is safe to call with any argument its type allows. None of them decides
//! anything.

pub(crate) mod attempt;
pub(crate) mod landlock;
pub(crate) mod lease;
pub(crate) mod mount;
pub(crate) mod process;
pub(crate) mod seccomp;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::c_long;

/// The result of a raw call as an error or a number.
fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes the descriptor a raw call has just returned.
#[expect(unsafe_code, reason = "the kernel returns new descriptors as plain numbers")]
fn owned(result: c_long) -> io::Result<OwnedFd> {
    let fd = i32::try_from(checked(result)?).map_err(io::Error::other)?;
    // SAFETY: the callers pass the result of a call that creates a descriptor, which nobody
    // else knows yet.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
