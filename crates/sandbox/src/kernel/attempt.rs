//! Calls that must not work inside, made with arguments that can do no harm if they do.

use std::io;

use libc::c_long;

use super::checked;

/// One of [`ATTEMPTS`]; there is no other way to get one.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    number: c_long,
    args: [usize; 5],
}

const NEW_USER: usize = libc::CLONE_NEWUSER as usize;
const SEIZE: usize = 0x4206;

/// One of each class, since each that is reported costs two switches of process before the program starts.
///
/// Integers and null pointers only: whatever the kernel makes of them, no memory of this process is read or written.
pub(crate) const ATTEMPTS: &[Attempt] = &[
    attempt("mount", libc::SYS_mount, [0; 5]),
    attempt("unshare", libc::SYS_unshare, [NEW_USER, 0, 0, 0, 0]),
    attempt("setns", libc::SYS_setns, [0, NEW_USER, 0, 0, 0]),
    attempt("ptrace", libc::SYS_ptrace, [SEIZE, 1, 0, 0, 0]),
    attempt("keyctl", libc::SYS_keyctl, [0; 5]),
    attempt("bpf", libc::SYS_bpf, [0; 5]),
    attempt("io_uring_setup", libc::SYS_io_uring_setup, [1, 0, 0, 0, 0]),
    attempt("open_by_handle_at", libc::SYS_open_by_handle_at, [0; 5]),
    attempt("init_module", libc::SYS_init_module, [0; 5]),
];

const fn attempt(name: &'static str, number: c_long, args: [usize; 5]) -> Attempt {
    Attempt { name, number, args }
}

impl Attempt {
    #[expect(unsafe_code, reason = "the calls have no wrappers, being forbidden")]
    pub(crate) fn make(&self) -> io::Result<()> {
        let [a, b, c, d, e] = self.args;
        // SAFETY: the arguments are integers and null pointers out of a constant table.
        checked(unsafe { libc::syscall(self.number, a, b, c, d, e) }).map(drop)
    }
}
