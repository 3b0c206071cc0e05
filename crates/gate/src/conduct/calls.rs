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

/// Refused system calls with their verdicts.
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
        why: "changes the visible files",
    },
    CallRow {
        names: &["setns", "unshare", "clone_namespace"],
        counts: Counts::Violation,
        why: "enters another namespace with other rights; switch off the sandboxes of agents and browsers",
    },
    CallRow {
        names: &["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"],
        counts: Counts::Violation,
        why: "reads or controls another process, as debuggers and leak checkers do",
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
        why: "could stop process 1, which belongs to the harness",
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
        why: "changes limits, scheduling or memory of another process; a process may change its own",
    },
    CallRow {
        names: &["pidfd_open", "pidfd_open_first"],
        counts: Counts::Note,
        why: "opens a handle of a process that is not the caller's child",
    },
    CallRow {
        names: &["keyctl", "add_key", "request_key"],
        counts: Counts::Violation,
        why: "uses the kernel's key store",
    },
    CallRow {
        names: &["bpf", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"],
        counts: Counts::Violation,
        why: "loads code into the kernel, or replaces it",
    },
    CallRow { names: &["iopl", "ioperm"], counts: Counts::Violation, why: "accesses hardware ports" },
    CallRow {
        names: &["open_by_handle_at"],
        counts: Counts::Violation,
        why: "opens files by number without their directory: a known container escape",
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
        why: "makes a set-id file, which gives its owner's rights to every user of the host, even after the run",
    },
    CallRow { names: &["ioctl_terminal"], counts: Counts::Violation, why: "types input into the terminal of a user" },
    CallRow { names: &["personality"], counts: Counts::Violation, why: "switches off protections of a program" },
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
        why: "changes the host for all its users",
    },
    CallRow {
        names: &["socket family *"],
        counts: Counts::Note,
        why: "runtimes and tests probe for socket types; the call reaches nothing",
    },
    CallRow { names: &["kcmp"], counts: Counts::Note, why: "graphics libraries compare file descriptors" },
    CallRow { names: &["perf_event_open"], counts: Counts::Note, why: "profilers and benchmarks use it" },
    CallRow {
        names: &["userfaultfd"],
        counts: Counts::Note,
        why: "runtimes and emulators use it for their own page faults",
    },
    CallRow { names: &["syslog"], counts: Counts::Note, why: "`dmesg` reads the kernel log" },
    CallRow { names: &["fanotify_init"], counts: Counts::Note, why: "file watchers try it, and then use inotify" },
    CallRow { names: &["quotactl", "quotactl_fd"], counts: Counts::Note, why: "reads disk quotas" },
    CallRow { names: &["modify_ldt"], counts: Counts::Note, why: "emulators of old programs use it for themselves" },
    CallRow { names: &["vhangup"], counts: Counts::Note, why: "hangs up the caller's own terminal" },
    CallRow {
        names: &["uselib", "ustat", "sysfs", "_sysctl"],
        counts: Counts::Note,
        why: "obsolete; only tests of system calls use them",
    },
];

/// Judgement on a call. An unknown name is a violation, since the sandbox that reported it
/// may be newer.
pub(super) fn judge_call(name: &str) -> Counts {
    let known = CALLS.iter().find(|call| call.names.iter().any(|pattern| fits(pattern, name)));
    known.map_or(Counts::Violation, |call| call.counts)
}
