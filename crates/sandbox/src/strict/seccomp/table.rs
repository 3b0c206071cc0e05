//! Table of system calls that are refused, reported or recorded. A call that is not named
//! here is allowed.
//!
//! A list of what is forbidden, because programs that build and test software use nearly
//! everything else; capabilities, namespaces and mounts are the first line, and this closes
//! the gaps that they leave. Calls newer than [`LAST_KNOWN`] do not exist.

use libc::{EAFNOSUPPORT, ENOSYS, EPERM, c_long};

/// Last call that was known when this table was written.
pub(super) const LAST_KNOWN: u32 = 466;

/// Treatment of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Refused, without a word: programs try these and fall back.
    Refuse(i32),
    /// Refused and reported.
    Report(i32),
    /// Allowed and recorded, also if the probe makes it.
    Record,
    /// Allowed and recorded, unless it is the probe's own.
    Note,
    /// Allowed on the caller's own threads, which the stage finds out; refused and reported
    /// on others. Refused where nobody listens.
    OwnThread { pid_arg: usize, errno: i32 },
    /// Allowed on the caller's own threads and children, which the stage finds out; refused
    /// and reported on others. Allowed where nobody listens: runtimes need it to wait for
    /// their children.
    OwnFamily { pid_arg: usize, errno: i32 },
}

/// Row of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallRule {
    /// Name of the call in records.
    pub(super) name: &'static str,
    /// Number of the call on this architecture.
    pub(super) number: c_long,
    /// All of them have to hold.
    pub(super) when: &'static [Test],
    /// Treatment if all tests hold.
    pub(super) action: Action,
}

impl CallRule {
    /// True if the rule is about this call.
    pub(super) fn fits_call(&self, number: c_long, args: &[u64; 6]) -> bool {
        self.number == number && self.when.iter().all(|test| test.holds(args))
    }
}

/// Condition on the low half of an argument; the kernel ignores the high half in these
/// calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Test {
    /// Index of the argument, from 0.
    pub(super) arg: u32,
    pub(super) is: Is,
}

impl Test {
    fn holds(&self, args: &[u64; 6]) -> bool {
        let whole = usize::try_from(self.arg).ok().and_then(|arg| args.get(arg)).copied().unwrap_or_default();
        let value = u32::try_from(whole & u64::from(u32::MAX)).unwrap_or_default();
        match self.is {
            Is::AnyBit(bits) => value & bits != 0,
            Is::OneOf(values) => values.contains(&value),
            Is::NoneOf(values) => !values.contains(&value),
        }
    }
}

/// Condition on one argument.
#[derive(Debug, Clone, Copy)]
pub(super) enum Is {
    /// At least one of these bits is set.
    AnyBit(u32),
    /// The value is one of these.
    OneOf(&'static [u32]),
    /// The value is none of these.
    NoneOf(&'static [u32]),
}

const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;
/// Flag of `unshare` only: in `clone` the bit belongs to the exit signal.
const NEW_TIME: u32 = 0x80;
const CREATES: u32 = (libc::O_CREAT | 0o20_000_000) as u32;
/// A file with these bits would be a way to the owner's rights for every user of the host,
/// long after the run.
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
const NETLINK: u32 = libc::AF_NETLINK as u32;
/// Socket families that are allowed. Of netlink only the list of interfaces, which name
/// resolution and runtimes read.
const FAMILIES: &[u32] = &[libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32, NETLINK];
const PERSONALITIES: &[u32] = &[0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, u32::MAX];
/// Typing into a terminal, and changing what it means.
const TERMINAL_TRICKS: &[u32] = &[0x5412, 0x541c, 0x5423];

/// The caller, in calls that name a process.
const SELF: u32 = 0;
/// Process 1, which supervises the program and is the harness's.
const FIRST: &[u32] = &[1];
/// `PRIO_PROCESS`, `PRIO_PGRP`; the own group is a program's, never that of process 1.
const PRIORITY_OF_PROCESS: &[u32] = &[0];
const PRIORITY_OF_GROUP: &[u32] = &[1];
/// `IOPRIO_WHO_PROCESS`, `IOPRIO_WHO_PGRP`.
const IO_PRIORITY_OF_PROCESS: &[u32] = &[1];
const IO_PRIORITY_OF_GROUP: &[u32] = &[2];

/// The same on every processor; not every list has it yet.
const FCHMODAT2: c_long = 452;

const fn arg(arg: u32, is: Is) -> Test {
    Test { arg, is }
}

const fn rule(name: &'static str, number: c_long, when: &'static [Test], action: Action) -> CallRule {
    CallRule { name, number, when, action }
}

/// Whole calls, named as the kernel names them.
macro_rules! calls {
    ($action:expr; $($name:ident = $number:ident),* $(,)?) => {
        &[$(rule(stringify!($name), libc::$number, &[], $action)),*]
    };
}

/// Calls that depend on arguments.
const CONDITIONAL: &[CallRule] = &[
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

/// Calls on a process that its first argument names: 0 is the caller and is free, process 1
/// is the harness's.
macro_rules! calls_on_processes {
    ($($name:ident = $number:ident as $action:ident),* $(,)?) => {
        &[$(
            rule(concat!(stringify!($name), "_first"), libc::$number, &[arg(0, Is::OneOf(FIRST))], Action::Report(EPERM)),
            rule(
                stringify!($name),
                libc::$number,
                &[arg(0, Is::NoneOf(&[SELF, 1]))],
                Action::$action { pid_arg: 0, errno: EPERM },
            ),
        )*]
    };
}

/// Calls with which a program could starve, blind or stop process 1, which has the same
/// user.
const ON_PROCESSES: &[CallRule] = calls_on_processes! {
    prlimit64 = SYS_prlimit64 as OwnThread,
    sched_setscheduler = SYS_sched_setscheduler as OwnThread,
    sched_setparam = SYS_sched_setparam as OwnThread,
    sched_setattr = SYS_sched_setattr as OwnThread,
    sched_setaffinity = SYS_sched_setaffinity as OwnThread,
    migrate_pages = SYS_migrate_pages as OwnThread,
    move_pages = SYS_move_pages as OwnThread,
    pidfd_open = SYS_pidfd_open as OwnFamily,
};

/// The same for calls that name a process, a group or a whole user.
const PRIORITIES: &[CallRule] = &[
    rule(
        "setpriority_first",
        libc::SYS_setpriority,
        &[arg(0, Is::OneOf(PRIORITY_OF_PROCESS)), arg(1, Is::OneOf(FIRST))],
        Action::Report(EPERM),
    ),
    rule(
        "setpriority",
        libc::SYS_setpriority,
        &[arg(0, Is::OneOf(PRIORITY_OF_PROCESS)), arg(1, Is::NoneOf(&[SELF]))],
        Action::OwnThread { pid_arg: 1, errno: EPERM },
    ),
    rule(
        "setpriority",
        libc::SYS_setpriority,
        &[arg(0, Is::OneOf(PRIORITY_OF_GROUP)), arg(1, Is::NoneOf(&[SELF]))],
        Action::Report(EPERM),
    ),
    rule("setpriority", libc::SYS_setpriority, &[arg(0, Is::NoneOf(&[0, 1]))], Action::Report(EPERM)),
    rule(
        "ioprio_set_first",
        libc::SYS_ioprio_set,
        &[arg(0, Is::OneOf(IO_PRIORITY_OF_PROCESS)), arg(1, Is::OneOf(FIRST))],
        Action::Report(EPERM),
    ),
    rule(
        "ioprio_set",
        libc::SYS_ioprio_set,
        &[arg(0, Is::OneOf(IO_PRIORITY_OF_PROCESS)), arg(1, Is::NoneOf(&[SELF]))],
        Action::OwnThread { pid_arg: 1, errno: EPERM },
    ),
    rule(
        "ioprio_set",
        libc::SYS_ioprio_set,
        &[arg(0, Is::OneOf(IO_PRIORITY_OF_GROUP)), arg(1, Is::NoneOf(&[SELF]))],
        Action::Report(EPERM),
    ),
    rule("ioprio_set", libc::SYS_ioprio_set, &[arg(0, Is::NoneOf(&[1, 2]))], Action::Report(EPERM)),
];

#[cfg(target_arch = "x86_64")]
const CONDITIONAL_HERE: &[CallRule] = &[
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
const CONDITIONAL_HERE: &[CallRule] = &[];

const RECORDED: &[CallRule] = calls! { Action::Record; execve = SYS_execve, execveat = SYS_execveat };

const NOTED: &[CallRule] = calls! { Action::Note; connect = SYS_connect };

/// Ways out, and ways into other processes and the kernel.
const REPORTED: &[CallRule] = calls! { Action::Report(EPERM);
    mount = SYS_mount, umount2 = SYS_umount2, pivot_root = SYS_pivot_root, chroot = SYS_chroot,
    move_mount = SYS_move_mount, open_tree = SYS_open_tree, fsopen = SYS_fsopen, fsconfig = SYS_fsconfig,
    fsmount = SYS_fsmount, fspick = SYS_fspick, mount_setattr = SYS_mount_setattr, setns = SYS_setns,
    ptrace = SYS_ptrace, process_vm_readv = SYS_process_vm_readv, process_vm_writev = SYS_process_vm_writev,
    pidfd_getfd = SYS_pidfd_getfd, kcmp = SYS_kcmp, process_madvise = SYS_process_madvise,
    process_mrelease = SYS_process_mrelease,
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
const REPORTED_HERE: &[CallRule] = calls! { Action::Report(EPERM);
    iopl = SYS_iopl, ioperm = SYS_ioperm, modify_ldt = SYS_modify_ldt, uselib = SYS_uselib, ustat = SYS_ustat,
    sysfs = SYS_sysfs, _sysctl = SYS__sysctl,
};
#[cfg(not(target_arch = "x86_64"))]
const REPORTED_HERE: &[CallRule] = &[];

/// Their arguments are in memory, where a filter cannot look. Everybody has to cope with
/// kernels that lack them.
const ABSENT: &[CallRule] = calls! { Action::Refuse(ENOSYS);
    clone3 = SYS_clone3, openat2 = SYS_openat2, io_uring_setup = SYS_io_uring_setup,
    io_uring_enter = SYS_io_uring_enter, io_uring_register = SYS_io_uring_register,
    name_to_handle_at = SYS_name_to_handle_at, lookup_dcookie = SYS_lookup_dcookie, nfsservctl = SYS_nfsservctl,
};

/// All rules of the table; those with conditions on arguments come first.
pub(super) fn rules() -> impl Iterator<Item = &'static CallRule> {
    let about_arguments = [CONDITIONAL, CONDITIONAL_HERE, ON_PROCESSES, PRIORITIES];
    about_arguments.into_iter().chain([RECORDED, NOTED, REPORTED, REPORTED_HERE, ABSENT]).flatten()
}
