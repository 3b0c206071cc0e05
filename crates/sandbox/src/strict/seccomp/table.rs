//! Which system calls are refused, reported or recorded. What is not named here is allowed.
//!
//! A list of what is forbidden, because programs that build and test software use nearly everything else; capabilities,
//! namespaces and mounts are the first line, and this closes what they leave open. Calls newer than [`LAST_KNOWN`] do not exist.

use libc::{EAFNOSUPPORT, ENOSYS, EPERM, c_long};

/// The last call that was looked at when this table was written.
pub(super) const LAST_KNOWN: u32 = 466;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Refused, without a word: programs try these and fall back.
    Refuse(i32),
    /// Refused and reported.
    Report(i32),
    /// Allowed and recorded, whoever asks.
    Record,
    /// Allowed and recorded, unless it is the probe's own.
    Note,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) number: c_long,
    /// All of them have to hold.
    pub(super) when: &'static [Test],
    pub(super) action: Action,
}

/// About the low half of an argument, which is all the kernel looks at in each of these.
#[derive(Debug, Clone, Copy)]
pub(super) struct Test {
    pub(super) arg: u32,
    pub(super) is: Is,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Is {
    AnyBit(u32),
    OneOf(&'static [u32]),
    NoneOf(&'static [u32]),
}

const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;
/// Only in `unshare`: in `clone` the bit belongs to the exit signal.
const NEW_TIME: u32 = 0x80;
const CREATES: u32 = (libc::O_CREAT | 0o20_000_000) as u32;
/// A file with these bits would be a way to the owner's rights for every user of the host, long after the run.
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
const NETLINK: u32 = libc::AF_NETLINK as u32;
/// Of netlink only the list of interfaces, which name resolution and runtimes read.
const FAMILIES: &[u32] = &[libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32, NETLINK];
const PERSONALITIES: &[u32] = &[0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, u32::MAX];
/// Typing into a terminal, and changing what it means.
const TERMINAL_TRICKS: &[u32] = &[0x5412, 0x541c, 0x5423];

/// The same on every processor; not every list has it yet.
const FCHMODAT2: c_long = 452;

const fn arg(arg: u32, is: Is) -> Test {
    Test { arg, is }
}

const fn rule(name: &'static str, number: c_long, when: &'static [Test], action: Action) -> Rule {
    Rule { name, number, when, action }
}

/// Whole calls, named as the kernel names them.
macro_rules! calls {
    ($action:expr; $($name:ident = $number:ident),* $(,)?) => {
        &[$(rule(stringify!($name), libc::$number, &[], $action)),*]
    };
}

/// Calls that depend on arguments.
const CONDITIONAL: &[Rule] = &[
    rule(
        "openat_set_id",
        libc::SYS_openat,
        &[arg(2, Is::AnyBit(CREATES)), arg(3, Is::AnyBit(SET_ID))],
        Action::Report(EPERM),
    ),
    rule("ioctl_terminal", libc::SYS_ioctl, &[arg(1, Is::OneOf(TERMINAL_TRICKS))], Action::Report(EPERM)),
    rule("clone_namespace", libc::SYS_clone, &[arg(0, Is::AnyBit(NAMESPACES))], Action::Report(EPERM)),
    rule("unshare", libc::SYS_unshare, &[arg(0, Is::AnyBit(NAMESPACES | NEW_TIME))], Action::Report(EPERM)),
    rule("socket", libc::SYS_socket, &[arg(0, Is::NoneOf(FAMILIES))], Action::Report(EAFNOSUPPORT)),
    rule(
        "socket",
        libc::SYS_socket,
        &[arg(0, Is::OneOf(&[NETLINK])), arg(2, Is::NoneOf(&[0]))],
        Action::Report(EAFNOSUPPORT),
    ),
    rule("socketpair", libc::SYS_socketpair, &[arg(0, Is::NoneOf(FAMILIES))], Action::Report(EAFNOSUPPORT)),
    rule("fchmod_set_id", libc::SYS_fchmod, &[arg(1, Is::AnyBit(SET_ID))], Action::Report(EPERM)),
    rule("fchmodat_set_id", libc::SYS_fchmodat, &[arg(2, Is::AnyBit(SET_ID))], Action::Report(EPERM)),
    rule("fchmodat2_set_id", FCHMODAT2, &[arg(2, Is::AnyBit(SET_ID))], Action::Report(EPERM)),
    rule("mknodat_set_id", libc::SYS_mknodat, &[arg(2, Is::AnyBit(SET_ID))], Action::Report(EPERM)),
    rule("personality", libc::SYS_personality, &[arg(0, Is::NoneOf(PERSONALITIES))], Action::Report(EPERM)),
];

#[cfg(target_arch = "x86_64")]
const CONDITIONAL_HERE: &[Rule] = &[
    rule(
        "open_set_id",
        libc::SYS_open,
        &[arg(1, Is::AnyBit(CREATES)), arg(2, Is::AnyBit(SET_ID))],
        Action::Report(EPERM),
    ),
    rule("creat_set_id", libc::SYS_creat, &[arg(1, Is::AnyBit(SET_ID))], Action::Report(EPERM)),
    rule("chmod_set_id", libc::SYS_chmod, &[arg(1, Is::AnyBit(SET_ID))], Action::Report(EPERM)),
    rule("mknod_set_id", libc::SYS_mknod, &[arg(1, Is::AnyBit(SET_ID))], Action::Report(EPERM)),
];
#[cfg(not(target_arch = "x86_64"))]
const CONDITIONAL_HERE: &[Rule] = &[];

const RECORDED: &[Rule] = calls! { Action::Record; execve = SYS_execve, execveat = SYS_execveat };

const NOTED: &[Rule] = calls! { Action::Note; connect = SYS_connect };

/// Ways out, and ways into other processes and the kernel.
const REPORTED: &[Rule] = calls! { Action::Report(EPERM);
    mount = SYS_mount, umount2 = SYS_umount2, pivot_root = SYS_pivot_root, chroot = SYS_chroot,
    move_mount = SYS_move_mount, open_tree = SYS_open_tree, fsopen = SYS_fsopen, fsconfig = SYS_fsconfig,
    fsmount = SYS_fsmount, fspick = SYS_fspick, mount_setattr = SYS_mount_setattr, setns = SYS_setns,
    ptrace = SYS_ptrace, process_vm_readv = SYS_process_vm_readv, process_vm_writev = SYS_process_vm_writev,
    pidfd_getfd = SYS_pidfd_getfd, kcmp = SYS_kcmp,
    keyctl = SYS_keyctl, add_key = SYS_add_key, request_key = SYS_request_key,
    bpf = SYS_bpf, perf_event_open = SYS_perf_event_open, userfaultfd = SYS_userfaultfd,
    kexec_load = SYS_kexec_load, kexec_file_load = SYS_kexec_file_load, init_module = SYS_init_module,
    finit_module = SYS_finit_module, delete_module = SYS_delete_module, reboot = SYS_reboot,
    swapon = SYS_swapon, swapoff = SYS_swapoff, acct = SYS_acct, quotactl = SYS_quotactl,
    quotactl_fd = SYS_quotactl_fd, open_by_handle_at = SYS_open_by_handle_at, syslog = SYS_syslog,
    fanotify_init = SYS_fanotify_init, sethostname = SYS_sethostname, setdomainname = SYS_setdomainname,
    settimeofday = SYS_settimeofday, clock_settime = SYS_clock_settime, vhangup = SYS_vhangup,
};

#[cfg(target_arch = "x86_64")]
const REPORTED_HERE: &[Rule] = calls! { Action::Report(EPERM);
    iopl = SYS_iopl, ioperm = SYS_ioperm, modify_ldt = SYS_modify_ldt, uselib = SYS_uselib, ustat = SYS_ustat,
    sysfs = SYS_sysfs, _sysctl = SYS__sysctl,
};
#[cfg(not(target_arch = "x86_64"))]
const REPORTED_HERE: &[Rule] = &[];

/// Their arguments are in memory, where a filter cannot look. Everybody has to cope with kernels that lack them.
const ABSENT: &[Rule] = calls! { Action::Refuse(ENOSYS);
    clone3 = SYS_clone3, openat2 = SYS_openat2, io_uring_setup = SYS_io_uring_setup,
    io_uring_enter = SYS_io_uring_enter, io_uring_register = SYS_io_uring_register,
    name_to_handle_at = SYS_name_to_handle_at, lookup_dcookie = SYS_lookup_dcookie, nfsservctl = SYS_nfsservctl,
};

pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    [CONDITIONAL, CONDITIONAL_HERE, RECORDED, NOTED, REPORTED, REPORTED_HERE, ABSENT].into_iter().flatten()
}
