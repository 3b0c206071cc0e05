//! Facts of a sandbox: how it confined its program, and what its recorders saw the program do.
//!
//! `sandbox` writes these types and `sandbox.json` holds them, so that a name of the format
//! is declared once. A type parameter stands for each word of a posture: the defaults are
//! the enums and texts that this version writes, and a reader of bundles puts a stand-in
//! where it does not judge by the word. So a name that another version added does not make
//! its bundles unreadable.

mod conduct;
mod limits;
mod posture;

pub use conduct::{
    CanaryTouch, Connection, ENTRIES_KEPT, ExecutedFile, Execution, FileKind, ObservedConduct, RefusedCall,
};
pub use limits::{HeldLimit, LimitBy, LimitKind};
pub use posture::{
    Access, MountKind, MountRecord, Namespace, Ownership, Posture, Probe, Profile, RecorderKind, RecorderState,
    SandboxIds, Seccomp,
};

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{from_value, json, to_value};

    use super::*;

    fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(rows: &[(T, &str)]) {
        for (value, name) in rows {
            assert_eq!(to_value(value).unwrap(), json!(name));
            assert_eq!(&from_value::<T>(json!(name)).unwrap(), value);
        }
        assert!(from_value::<T>(json!("of_another_version")).is_err());
    }

    /// Names stand in bundles that were signed.
    #[test]
    fn every_name_is_written_and_read_as_it_is_in_bundles() {
        check(&[(Profile::None, "none"), (Profile::Landlock, "landlock"), (Profile::Strict, "strict")]);
        let namespaces = ["user", "mount", "pid", "net", "ipc", "uts", "cgroup"];
        check(&std::array::from_fn::<_, 7, _>(|at| (Namespace::ALL[at], namespaces[at])));
        check(&[(Ownership::Same, "same"), (Ownership::Idmapped, "idmapped"), (Ownership::Changed, "changed")]);
        check(&[(Access::ReadOnly, "read_only"), (Access::ReadWrite, "read_write")]);
        check(&[
            (MountKind::System, "system"),
            (MountKind::Private, "private"),
            (MountKind::Given, "given"),
            (MountKind::Workspace, "workspace"),
            (MountKind::Device, "device"),
            (MountKind::Proc, "proc"),
            (MountKind::Masked, "masked"),
        ]);
        check(&[
            (RecorderKind::RefusedCalls, "refused_calls"),
            (RecorderKind::Executions, "executions"),
            (RecorderKind::Connections, "connections"),
            (RecorderKind::Canaries, "canaries"),
        ]);
        check(&[
            (LimitKind::Memory, "memory"),
            (LimitKind::FileSize, "file_size"),
            (LimitKind::OpenFiles, "open_files"),
            (LimitKind::CoreSize, "core_size"),
            (LimitKind::Processes, "processes"),
            (LimitKind::Disk, "disk"),
            (LimitKind::Inodes, "inodes"),
        ]);
        check(&[
            (LimitBy::Rlimit, "rlimit"),
            (LimitBy::Cgroup, "cgroup"),
            (LimitBy::Tmpfs, "tmpfs"),
            (LimitBy::Watched, "watched"),
        ]);
        check(&[
            (FileKind::Named, "named"),
            (FileKind::Removed, "removed"),
            (FileKind::Memory, "memory"),
            (FileKind::Unknown, "unknown"),
        ]);
    }
}
