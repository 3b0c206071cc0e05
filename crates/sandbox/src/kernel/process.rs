//! Processes: forking into namespaces, and the rights that a process drops before it
//! becomes the program.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use libc::{c_int, c_long, c_void};
use rustix::process::Pid;

use super::checked;

/// Side of a fork on which the caller is.
#[derive(Debug)]
pub(crate) enum Forked {
    /// This is the new process.
    Child,
    /// This is the old process; the new one has this pid.
    Parent(Pid),
}

/// Forks a child that starts in new namespaces (`CLONE_NEW*`, or 0 for a plain fork). Only
/// for single-threaded processes: the child goes on with a copy of this thread alone.
#[expect(unsafe_code, reason = "no wrapper forks into namespaces")]
pub(crate) fn fork_into(namespaces: c_int) -> io::Result<Forked> {
    let flags = c_long::from(namespaces) | c_long::from(libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is a fork: the child has its own
    // copy of all memory.
    let pid = checked(unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) })?;
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    Ok(Pid::from_raw(pid).map_or(Forked::Child, Forked::Parent))
}

/// The same, in the control group (of the second version) whose directory this is. Fails on
/// kernels before 5.7.
#[expect(unsafe_code, reason = "no wrapper forks into a group")]
pub(crate) fn fork_into_group(namespaces: c_int, group: BorrowedFd<'_>) -> io::Result<Forked> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    let arguments = libc::clone_args {
        flags: u64::from(namespaces.unsigned_abs()) | CLONE_INTO_CGROUP,
        pidfd: 0,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: u64::from(libc::SIGCHLD.unsigned_abs()),
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: u64::from(group.as_raw_fd().unsigned_abs()),
    };
    // SAFETY: as above; the structure lives as long as the call and has the size that is given.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, std::ptr::from_ref(&arguments), size_of::<libc::clone_args>()) };
    let pid = i32::try_from(checked(pid)?).map_err(io::Error::other)?;
    Ok(Pid::from_raw(pid).map_or(Forked::Child, Forked::Parent))
}

/// True if two tasks have one table of descriptors. False also where the kernel does not say.
#[expect(unsafe_code, reason = "no wrapper compares tasks")]
pub(crate) fn share_descriptors(one: Pid, other: Pid) -> bool {
    const KCMP_FILES: c_int = 2;
    // SAFETY: plain numbers are passed.
    unsafe { libc::syscall(libc::SYS_kcmp, one.as_raw_pid(), other.as_raw_pid(), KCMP_FILES, 0_usize, 0_usize) == 0 }
}

/// A process that is in a new user namespace and does nothing else, until it is killed or
/// this one ends. It shares this one's memory, so that none has to be copied for it.
#[expect(unsafe_code, reason = "no wrapper makes such a process")]
pub(crate) fn open_user_namespace() -> io::Result<Pid> {
    const STACK: usize = 4096;
    extern "C" fn wait_for_death(parent: *mut c_void) -> c_int {
        // SAFETY: plain numbers are passed. Only pause could fail, when a signal was
        // handled, and nothing here handles one.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
            while libc::getppid() as usize == parent.addr() {
                libc::pause();
            }
            libc::_exit(0)
        }
    }
    // The process uses it until the kernel has killed it, which nobody waits for.
    let stack: &'static mut [u128] = Box::leak(vec![0; STACK / size_of::<u128>()].into_boxed_slice());
    let top = stack.as_mut_ptr_range().end.cast();
    let parent = std::ptr::without_provenance_mut(rustix::process::getpid().as_raw_pid() as usize);
    let flags = libc::CLONE_VM | libc::CLONE_NEWUSER | libc::SIGCHLD;
    // SAFETY: the function touches no memory but its own stack, which is aligned, large
    // enough for one call and never freed.
    let pid = unsafe { libc::clone(wait_for_death, top, flags, parent) };
    Pid::from_raw(c_int::try_from(checked(c_long::from(pid))?).map_err(io::Error::other)?)
        .ok_or_else(|| io::Error::other("the process has no number"))
}

/// Leaves the namespaces named by `CLONE_NEW*` flags for new ones.
#[expect(unsafe_code, reason = "the wrapper is unsafe, for flags that are not given here")]
pub(crate) fn unshare(flags: rustix::thread::UnshareFlags) -> io::Result<()> {
    let flags = flags - rustix::thread::UnshareFlags::FILES;
    // SAFETY: unshare can only break threads that share a descriptor table, and that flag
    // was removed.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(io::Error::from)
}

/// Ends a forked process at once: what was to be done at the end of the one it is a copy of
/// is that one's to do.
#[expect(unsafe_code, reason = "no wrapper ends a process without its last acts")]
pub(crate) fn exit_at_once(code: c_int) -> ! {
    // SAFETY: nothing of this process runs any more.
    unsafe { libc::_exit(code) }
}

/// Marks every descriptor from `first` on as closed on exec.
#[expect(unsafe_code, reason = "no wrapper knows close_range")]
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: with this flag no descriptor is closed, so none is taken from its owner.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    checked(result).map(drop)
}

/// True if an executed program would inherit this descriptor.
#[expect(unsafe_code, reason = "the wrappers want descriptors that are known to be open")]
pub(crate) fn is_inherited(fd: c_int) -> bool {
    // SAFETY: the flags of any number can be asked for; one that is not open is an error.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    flags >= 0 && flags & libc::FD_CLOEXEC == 0
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
