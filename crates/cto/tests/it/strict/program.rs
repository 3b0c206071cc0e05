//! Attacking programs. Each prints `TRIED` before it tries anything, and `REACHED` when it gets through.

use super::row::Row;

pub(super) const TRIED: &str = "TRIED";
pub(super) const REACHED: &str = "REACHED";

/// With `call(name, args...)` for system calls by name, and `did(result)` for those the C library has; both raise an error.
const PRELUDE: &str = "\
import ctypes, os, socket, stat, sys, time
print('TRIED', flush=True)
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    'x86_64': {'bpf': 321, 'clone': 56, 'io_uring_setup': 425, 'keyctl': 250, 'userfaultfd': 323},
    'aarch64': {'bpf': 280, 'clone': 220, 'io_uring_setup': 425, 'keyctl': 219, 'userfaultfd': 282},
}[os.uname().machine]
def did(result):
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def call(name, *args):
    args = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return did(libc.syscall(ctypes.c_long(NUMBERS[name]), *args))
def reached(): print('REACHED', flush=True)
";

pub(super) fn sh(tries: &'static str, script: &str) -> Row {
    Row::new(tries, shell(script))
}

pub(super) fn python(tries: &'static str, script: &str) -> Row {
    Row::new(tries, ["/usr/bin/python3".to_owned(), "-c".to_owned(), format!("{PRELUDE}{script}")].into())
}

/// Opens a file for writing, which is enough to know, and changes nothing. What is masked is the null device.
pub(super) fn opens(tries: &'static str, place: &str) -> Row {
    let open = format!("file = os.open(os.path.expandvars({place:?}), os.O_WRONLY)");
    python(tries, &format!("{open}\nif os.fstat(file).st_rdev != os.makedev(1, 3): reached()"))
}

/// A shell script that says first that it was started.
pub(super) fn shell(script: &str) -> Vec<String> {
    let script = format!("echo {TRIED}\n{script}");
    ["/bin/sh".to_owned(), "-c".to_owned(), script].into()
}
