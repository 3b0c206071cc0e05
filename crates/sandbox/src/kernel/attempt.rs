//! Calls that must not work inside, made with arguments that can do no harm if they do.
//!
//! Each carries a word in the sixth argument, which none of them has: the kernel ignores
//! it, and a filter can know it.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use libc::{c_int, c_long};

use super::{checked, owned};

/// One of [`ATTEMPTS`]; there is no other way to get one.
#[derive(Debug)]
pub(crate) struct ProbeAttempt {
    /// Name in the posture's list of probes.
    pub(crate) name: &'static str,
    number: c_long,
    args: [usize; 5],
}

const NEW_USER: usize = libc::CLONE_NEWUSER as usize;
const SEIZE: usize = 0x4206;

/// One of each class.
///
/// Integers and null pointers only: whatever the kernel makes of them, no memory of this
/// process is read or written.
pub(crate) const ATTEMPTS: &[ProbeAttempt] = &[
    attempt("mount", libc::SYS_mount, [0; 5]),
    attempt("unshare", libc::SYS_unshare, [NEW_USER, 0, 0, 0, 0]),
    attempt("setns", libc::SYS_setns, [0, NEW_USER, 0, 0, 0]),
    attempt("ptrace", libc::SYS_ptrace, [SEIZE, 1, 0, 0, 0]),
    // With null pointers these change nothing if they work: they ask for the limits, and
    // set no priority.
    attempt("limits of process 1", libc::SYS_prlimit64, [1, libc::RLIMIT_NOFILE as usize, 0, 0, 0]),
    attempt("scheduling of process 1", libc::SYS_sched_setscheduler, [1, 0, 0, 0, 0]),
    attempt("priority of process 1", libc::SYS_setpriority, [0, 1, 0, 0, 0]),
    attempt("keyctl", libc::SYS_keyctl, [0; 5]),
    attempt("bpf", libc::SYS_bpf, [0; 5]),
    attempt("io_uring_setup", libc::SYS_io_uring_setup, [1, 0, 0, 0, 0]),
    attempt("open_by_handle_at", libc::SYS_open_by_handle_at, [0; 5]),
    attempt("init_module", libc::SYS_init_module, [0; 5]),
];

const fn attempt(name: &'static str, number: c_long, args: [usize; 5]) -> ProbeAttempt {
    ProbeAttempt { name, number, args }
}

impl ProbeAttempt {
    /// Makes the call; an `Ok` means that the sandbox let it through.
    #[expect(unsafe_code, reason = "the calls have no wrappers, being forbidden")]
    pub(crate) fn make_call(&self, word: u64) -> io::Result<()> {
        let [a, b, c, d, e] = self.args;
        // SAFETY: the arguments are integers and null pointers out of a constant table.
        checked(unsafe { libc::syscall(self.number, a, b, c, d, e, word) }).map(drop)
    }
}

/// Opens a socket with the probe's word in the unused sixth argument.
#[expect(unsafe_code, reason = "no wrapper passes a sixth argument")]
pub(crate) fn socket(family: u16, kind: c_int, protocol: c_int, word: u64) -> io::Result<OwnedFd> {
    let (family, kind) = (c_int::from(family), kind | libc::SOCK_CLOEXEC);
    // SAFETY: plain numbers are passed.
    owned(unsafe { libc::syscall(libc::SYS_socket, family, kind, protocol, 0_usize, 0_usize, word) })
}

/// `address` is a `struct sockaddr` of its family.
#[expect(unsafe_code, reason = "no wrapper passes a sixth argument")]
pub(crate) fn connect_to(socket: BorrowedFd<'_>, address: &[u8], word: u64) -> io::Result<()> {
    let socket = socket.as_raw_fd();
    // SAFETY: the address lives as long as the call, has the given length, and is only read.
    let result =
        unsafe { libc::syscall(libc::SYS_connect, socket, address.as_ptr(), address.len(), 0_usize, 0_usize, word) };
    checked(result).map(drop)
}

/// Makes a new file with these permissions.
#[expect(unsafe_code, reason = "no wrapper passes a sixth argument")]
pub(crate) fn create_file(path: &CStr, mode: libc::mode_t, word: u64) -> io::Result<OwnedFd> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero and lives as long as the call.
    owned(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, mode, 0_usize, word) })
}
