//! Installing a system call filter, and answering the calls it passes on.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use libc::{c_long, c_ulong, seccomp_notif, seccomp_notif_resp, sock_filter, sock_fprog};

use super::{checked, owned};

const SET_MODE_FILTER: c_long = 1;
const CONTINUE: u32 = 1;

/// A call that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingCall {
    /// Number of the waiting call, by which it is answered.
    pub(crate) id: u64,
    /// Pid in the receiver's pid namespace; 0 if it is not visible there.
    pub(crate) pid: u32,
    /// Number of the system call.
    pub(crate) number: i32,
    /// Arguments as the process passed them; pointers are not followed.
    pub(crate) args: [u64; 6],
}

/// Answer to a call that the filter passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallAnswer {
    /// The call fails with this error number.
    Refuse(i32),
    /// The kernel goes on as if there were no filter. Never a way to allow something that
    /// the filter alone forbids.
    Continue,
}

/// Puts this thread, and all it starts, under the filter. Needs no_new_privs.
pub(crate) fn install_filter(filter: &[sock_filter]) -> io::Result<()> {
    checked(set_filter(filter, 0)?).map(drop)
}

/// The same, with a descriptor at which the calls that the filter passes on arrive.
pub(crate) fn install_with_listener(filter: &[sock_filter]) -> io::Result<OwnedFd> {
    // A waiting call that every signal restarts would arrive again and again; older kernels
    // do not know the flag.
    let patient = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    owned(set_filter(filter, patient)?).or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => owned(set_filter(filter, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?),
        _ => Err(error),
    })
}

#[expect(unsafe_code, reason = "no wrapper knows seccomp filters")]
fn set_filter(filter: &[sock_filter], flags: c_ulong) -> io::Result<c_long> {
    let len = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: program and filter live as long as the call, which copies them and writes to
    // neither.
    Ok(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, std::ptr::from_ref(&program)) })
}

/// The next waiting call. The one that made it may be gone again: then this is `NotFound`.
#[expect(unsafe_code, reason = "no wrapper knows the listener's calls")]
pub(crate) fn receive_call(listener: BorrowedFd<'_>) -> io::Result<WaitingCall> {
    // SAFETY: the structure holds integers only, for which all bits zero is a value; the
    // kernel demands zeros.
    let mut call: seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is the one the request names and lives as long as the call.
    let result =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, std::ptr::from_mut(&mut call)) };
    checked(c_long::from(result))?;
    Ok(WaitingCall { id: call.id, pid: call.pid, number: call.data.nr, args: call.data.args })
}

/// True if the call still waits. Only then does memory that was read meanwhile belong to
/// the process that made it.
#[expect(unsafe_code, reason = "no wrapper knows the listener's calls")]
pub(crate) fn still_waits(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the request reads one integer, which lives as long as the call.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, std::ptr::from_ref(&id)) == 0 }
}

/// Answers a waiting call. Fails if its process is gone.
#[expect(unsafe_code, reason = "no wrapper knows the listener's calls")]
pub(crate) fn answer_call(listener: BorrowedFd<'_>, id: u64, answer: CallAnswer) -> io::Result<()> {
    let (error, flags) = match answer {
        CallAnswer::Refuse(errno) => (-errno, 0),
        CallAnswer::Continue => (0, CONTINUE),
    };
    let mut response = seccomp_notif_resp { id, val: 0, error, flags };
    // SAFETY: the structure is the one the request names and lives as long as the call.
    let result =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, std::ptr::from_mut(&mut response)) };
    checked(c_long::from(result)).map(drop)
}
