//! The table of system calls that the sandbox refuses and reports, with the judgement on an
//! attempt.
//!
//! A call that leads out, or into another process or the kernel, is a violation; one that
//! ordinary programs make in passing, and that leads nowhere, is a note. An unlisted name
//! comes from a newer sandbox and is a violation.

use super::{Counts, fits};

/// Row of the table: system calls with one judgement.
#[derive(Debug)]
pub(super) struct CallRow {
    /// Names as the recorder writes them.
    pub(super) names: &'static [&'static str],
    pub(super) counts: Counts,
    /// Reason for the judgement, for `docs/what-the-recorders-see.md`.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the page, which a test holds to the table"))]
    pub(super) why: &'static str,
}

pub(super) const CALLS: &[CallRow] = &[
    CallRow {
        names: &[
            "mount",
            "umount2",
            "pivot_root",
            "chroot",
            "move_mount",
            "open_tree",
            "fsopen",
            "fsconfig",
            "fsmount",
            "fspick",
            "mount_setattr",
        ],
        counts: Counts::Violation,
        why: "changes which files there are",
    },
    CallRow {
        names: &["setns", "unshare", "clone_namespace"],
        counts: Counts::Violation,
        why: "another namespace, where rights are other; sandboxes of agents and browsers have to be switched off",
    },
    CallRow {
        names: &["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"],
        counts: Counts::Violation,
        why: "reaches into another process; debuggers and leak checkers do it too",
    },
    CallRow {
        names: &[
            "prlimit64_first",
            "sched_setscheduler_first",
            "sched_setparam_first",
            "sched_setattr_first",
            "sched_setaffinity_first",
            "migrate_pages_first",
            "move_pages_first",
            "setpriority_first",
            "ioprio_set_first",
        ],
        counts: Counts::Violation,
        why: "starves or blinds process 1, which is the harness's own",
    },
    CallRow {
        names: &[
            "prlimit64",
            "sched_setscheduler",
            "sched_setparam",
            "sched_setattr",
            "sched_setaffinity",
            "migrate_pages",
            "move_pages",
            "setpriority",
            "ioprio_set",
            "process_madvise",
            "process_mrelease",
        ],
        counts: Counts::Note,
        why: "changes limits, scheduling or memory of another process; a process may do it to itself",
    },
    CallRow {
        names: &["pidfd_open", "pidfd_open_first"],
        counts: Counts::Note,
        why: "a handle of a process that is not the caller's own child",
    },
    CallRow {
        names: &["keyctl", "add_key", "request_key"],
        counts: Counts::Violation,
        why: "the kernel's store of keys",
    },
    CallRow {
        names: &["bpf", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"],
        counts: Counts::Violation,
        why: "code in the kernel, or in its place",
    },
    CallRow { names: &["iopl", "ioperm"], counts: Counts::Violation, why: "the machine's own ports" },
    CallRow {
        names: &["open_by_handle_at"],
        counts: Counts::Violation,
        why: "opens files by number, past every directory: a known way out of containers",
    },
    CallRow {
        names: &[
            "openat_set_id",
            "open_set_id",
            "creat_set_id",
            "chmod_set_id",
            "fchmod_set_id",
            "fchmodat_set_id",
            "fchmodat2_set_id",
            "mknod_set_id",
            "mknodat_set_id",
        ],
        counts: Counts::Violation,
        why: "a set-id file lends its owner's rights to every user of the host, also after the run",
    },
    CallRow {
        names: &["ioctl_terminal"],
        counts: Counts::Violation,
        why: "types into a terminal in the name of whoever sits there",
    },
    CallRow { names: &["personality"], counts: Counts::Violation, why: "switches protections of a program off" },
    CallRow {
        names: &[
            "reboot",
            "swapon",
            "swapoff",
            "acct",
            "sethostname",
            "setdomainname",
            "settimeofday",
            "clock_settime",
        ],
        counts: Counts::Violation,
        why: "changes the host for everybody on it",
    },
    CallRow {
        names: &["socket family *"],
        counts: Counts::Note,
        why: "runtimes and tests try which kinds of sockets there are; nothing is reached",
    },
    CallRow { names: &["kcmp"], counts: Counts::Note, why: "graphics libraries ask whether two descriptors are one" },
    CallRow { names: &["perf_event_open"], counts: Counts::Note, why: "profilers and benchmarks count events" },
    CallRow {
        names: &["userfaultfd"],
        counts: Counts::Note,
        why: "runtimes and emulators handle their own page faults",
    },
    CallRow { names: &["syslog"], counts: Counts::Note, why: "`dmesg`" },
    CallRow { names: &["fanotify_init"], counts: Counts::Note, why: "watchers of files, which fall back to inotify" },
    CallRow { names: &["quotactl", "quotactl_fd"], counts: Counts::Note, why: "asks for disk quotas" },
    CallRow { names: &["modify_ldt"], counts: Counts::Note, why: "emulators of old programs, for themselves" },
    CallRow { names: &["vhangup"], counts: Counts::Note, why: "hangs up the caller's own terminal" },
    CallRow {
        names: &["uselib", "ustat", "sysfs", "_sysctl"],
        counts: Counts::Note,
        why: "out of use; only tests of system calls make them",
    },
];

/// Judgement on a call. An unknown name is a violation, since the sandbox that reported it
/// may be newer.
pub(super) fn judge_call(name: &str) -> Counts {
    let known = CALLS.iter().find(|call| call.names.iter().any(|pattern| fits(pattern, name)));
    known.map_or(Counts::Violation, |call| call.counts)
}
