//! Processes: forking into namespaces, and what a process gives up before a program takes it over.

use std::io;

use libc::{c_int, c_long};
use rustix::process::Pid;

use super::checked;

#[derive(Debug)]
pub(crate) enum Forked {
    Child,
    Parent(Pid),
}

/// Forks a child that starts in new namespaces (`CLONE_NEW*`, or 0 for a plain fork). Only for single-threaded processes: the
/// child goes on with a copy of this thread alone.
#[expect(unsafe_code, reason = "no wrapper forks into namespaces")]
pub(crate) fn fork_into(namespaces: c_int) -> io::Result<Forked> {
    let flags = c_long::from(namespaces) | c_long::from(libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is a fork: the child has its own copy of all memory.
    let pid = checked(unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) })?;
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    Ok(Pid::from_raw(pid).map_or(Forked::Child, Forked::Parent))
}

/// Leaves the namespaces named by `CLONE_NEW*` flags for new ones.
#[expect(unsafe_code, reason = "the wrapper is unsafe, for flags that are not given here")]
pub(crate) fn unshare(flags: rustix::thread::UnshareFlags) -> io::Result<()> {
    let flags = flags - rustix::thread::UnshareFlags::FILES;
    // SAFETY: unshare can only break threads that share a descriptor table, and that flag was removed.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(io::Error::from)
}

/// Marks every descriptor from `first` on as closed on exec.
#[expect(unsafe_code, reason = "no wrapper knows close_range")]
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: with this flag no descriptor is closed, so none is taken from its owner.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    checked(result).map(drop)
}

/// Joins a new, empty session keyring. A kernel without keyrings has nothing to leave.
#[expect(unsafe_code, reason = "no wrapper knows keyctl")]
pub(crate) fn join_new_session_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: c_long = 1;
    // SAFETY: a null name asks for an anonymous keyring; no memory is passed.
    let result = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0_usize) };
    match checked(result) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        result => result.map(drop),
    }
}
